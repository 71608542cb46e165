//! A command line that clap refuses, for people and for programs.

use std::env;
use std::ffi::OsString;

use clap::error::ErrorKind;

use crate::error::Error;
use crate::ui::Voice;

use super::exit::Exit;
use super::{definition, variable};

/// Tells why the command line is not understood, or shows the help that it asks for.
pub(super) fn tell(mut error: clap::Error, arguments: &[OsString]) -> Exit {
    variable::point_out(&mut error, &mut definition::command());
    // Help that nobody reads any more is no failure.
    let _ = error.print();
    if !error.use_stderr() {
        return Exit::Success;
    }
    if wants_json(arguments) && !is_run(arguments) {
        Voice::default().answer(&Error::usage(message(&error), way_out(&error)));
    }
    Exit::Usage
}

/// Returns whether results are to be JSON, as far as that is known of a wrong command line.
fn wants_json(arguments: &[OsString]) -> bool {
    let mut flags = arguments.iter().take_while(|argument| *argument != "--");
    let is_no = |value: &str| matches!(value, "" | "0" | "false" | "no" | "off" | "n" | "f");
    flags.any(|argument| argument == "--json")
        || env::var("DPE_JSON").is_ok_and(|value| !is_no(&value.to_ascii_lowercase()))
}

/// Returns whether the command is `dpe run`, which writes nothing but its report to standard output (connector
/// contract §24).
fn is_run(arguments: &[OsString]) -> bool {
    let lenient = definition::command().ignore_errors(true);
    let matches = lenient.try_get_matches_from(arguments);
    matches.is_ok_and(|matches| matches.subcommand_name() == Some("run"))
}

fn message(error: &clap::Error) -> String {
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "nothing says what to do".to_owned();
    }
    let text = error.render().to_string();
    let is_about_usage = |part: &&str| part.starts_with("Usage:") || part.starts_with("For more");
    let parts = text.split("\n\n").map(str::trim);
    let parts: Vec<String> = parts
        .take_while(|part| !is_about_usage(part))
        .map(|part| part.split_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    let text = parts.join("; ");
    text.strip_prefix("error: ").unwrap_or(&text).to_owned()
}

fn way_out(error: &clap::Error) -> String {
    let text = error.render().to_string();
    let usage = text.lines().find(|line| line.starts_with("Usage:"));
    match usage {
        Some(usage) => usage.to_owned(),
        None => "see `dpe --help`".to_owned(),
    }
}
