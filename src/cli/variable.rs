//! Wrong values that came from variables: clap blames the flag, which nobody gave.

use std::env;

use clap::error::{ContextKind, ContextValue};
use clap::{Command, Error};

/// Adds to an error about a value which variable has that value, if one does.
pub(super) fn point_out(error: &mut Error, command: &mut Command) {
    let text = |kind| match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text.as_str()),
        _ => None,
    };
    let (flag, value) = (
        text(ContextKind::InvalidArg),
        text(ContextKind::InvalidValue),
    );
    let (Some(flag), Some(value)) = (flag, value) else {
        return;
    };
    command.build();
    let Some(variable) = variable(command, flag, value) else {
        return;
    };
    let tip = format!("the variable {variable} has this value");
    let tips = ContextValue::StyledStrs(vec![tip.into()]);
    error.insert(ContextKind::Suggested, tips);
}

/// Returns the variable that stands for this flag of the command, or of one below it, and has this
/// value.
fn variable(command: &Command, flag: &str, value: &str) -> Option<String> {
    let mut named = command
        .get_arguments()
        .filter(|arg| arg.to_string() == flag);
    let own = named.find_map(|arg| {
        let name = arg.get_env()?;
        let is_it = env::var_os(name).is_some_and(|found| found == value);
        is_it.then(|| name.to_string_lossy().into_owned())
    });
    own.or_else(|| {
        let mut below = command.get_subcommands();
        below.find_map(|command| variable(command, flag, value))
    })
}
