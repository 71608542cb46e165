//! The definition of the command line as a whole: what the derives cannot say.
//!
//! Help, completions, manual and `docs/cli.md` all come from here.

use clap::builder::Resettable;
use clap::{ColorChoice, Command, CommandFactory};

use super::{Cli, run};

/// Common flags that mean nothing to a command that works without a remote.
const OF_REMOTES: [&str; 11] = [
    "config",
    "remote",
    "state_dir",
    "timeout",
    "limit_upload",
    "cacert",
    "client_cert",
    "log_file",
    "log_format",
    "log_max_size",
    "log_keep",
];

/// The commands that work without a remote.
const WITHOUT_REMOTE: [&str; 5] = ["extract", "hash-object", "connector", "completions", "man"];

/// Returns the definition of the command line.
pub(super) fn command() -> Command {
    let command = Cli::command()
        .mut_args(|arg| arg.hide_env_values(true))
        .mut_subcommands(|command| command.mut_args(|arg| arg.hide_env_values(true)));
    let command = without(command, &WITHOUT_REMOTE, &OF_REMOTES);
    without(command, &["run"], &run::NO_FLAGS)
}

/// Returns the definition of the command line, in which the variables of the flags that mean nothing to
/// `dpe run` are not read: a wrong one among them is no wrong usage (connector contract §24).
pub(super) fn command_of_run() -> Command {
    let unread = |command: Command, flag| command.mut_arg(flag, |arg| arg.env(Resettable::Reset));
    let command = run::NO_FLAGS.into_iter().fold(command(), unread);
    command.mut_subcommand("run", |run| run::NO_FLAGS.into_iter().fold(run, unread))
}

/// Returns how text about the command line itself is coloured. It may be wrong in every other
/// respect, so this looks at nothing but the flag and its variable.
pub(super) fn color(arguments: &[String], variable: Option<String>) -> ColorChoice {
    let given = arguments.iter().enumerate().find_map(|(at, argument)| {
        let value = argument.strip_prefix("--color=").map(str::to_owned);
        value.or_else(|| (argument == "--color").then(|| arguments.get(at + 1).cloned())?)
    });
    match given.or(variable).as_deref() {
        Some("always") => ColorChoice::Always,
        Some("never") => ColorChoice::Never,
        _ => ColorChoice::Auto,
    }
}

/// Hides flags from the help of commands to which they mean nothing. They are still taken, so that a
/// script may give them to every command.
fn without(command: Command, commands: &[&str], flags: &[&str]) -> Command {
    let hidden: Vec<_> = command
        .get_arguments()
        .filter(|arg| flags.contains(&arg.get_id().as_str()))
        .map(|arg| arg.clone().hide(true))
        .collect();
    commands.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |command| hide(command, &hidden))
    })
}

/// A flag that a command has itself is not handed down to it.
fn hide(command: Command, hidden: &[clap::Arg]) -> Command {
    let own = |arg: &&clap::Arg| {
        command
            .get_arguments()
            .any(|own| own.get_id() == arg.get_id())
    };
    let hidden: Vec<_> = hidden.iter().filter(|arg| !own(arg)).cloned().collect();
    command
        .args(&hidden)
        .mut_subcommands(|below| hide(below, &hidden))
}

#[cfg(test)]
mod tests {
    use clap::ColorChoice;

    use super::{color, command, command_of_run};

    #[test]
    fn the_definition_is_sound() {
        command().debug_assert();
        command_of_run().debug_assert();
    }

    #[test]
    fn the_colour_of_help_is_known_before_anything_else_is() {
        let color = |line: &str, variable: Option<&str>| {
            let line: Vec<String> = line.split(' ').map(str::to_owned).collect();
            color(&line, variable.map(str::to_owned))
        };
        assert_eq!(color("push --colour", None), ColorChoice::Auto);
        assert_eq!(color("push --color never", None), ColorChoice::Never);
        assert_eq!(
            color("--color=always x", Some("never")),
            ColorChoice::Always
        );
        assert_eq!(color("push", Some("never")), ColorChoice::Never);
    }

    #[test]
    fn what_works_without_a_remote_shows_no_flags_of_one() {
        for name in super::WITHOUT_REMOTE {
            let mut whole = command();
            whole.build();
            let below = whole.find_subcommand_mut(name).unwrap();
            let help = below.render_long_help().to_string();
            assert!(!help.contains("--cacert"), "{help}");
            assert!(!help.contains("--remote"), "{help}");
            assert!(help.contains("--color"), "{help}");
        }
    }
}
