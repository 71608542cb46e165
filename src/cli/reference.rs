//! `docs/cli.md`: the help of every command, as one text to read and to search.

use std::fmt::Write as _;

use clap::{Arg, Command};

use super::definition;

/// Columns of the text, whatever the terminal.
const WIDTH: usize = 100;

const HEAD: &str = "\
# The command line

Written from the definitions of the program; CONTRIBUTING.md says how to write it anew. Options that commands share are
listed once, under `dpe`. What every exit code means, and what programs read, is in [scripting.md](scripting.md).
";

/// Returns the text of `docs/cli.md`.
fn reference() -> String {
    let mut command = definition::command()
        .term_width(WIDTH)
        .disable_help_subcommand(true);
    command.build();
    let mut text = HEAD.to_owned();
    describe(&mut command, "dpe", &mut text);
    text
}

fn describe(command: &mut Command, name: &str, text: &mut String) {
    let help = command.render_long_help().to_string();
    let lines: Vec<&str> = help.lines().map(str::trim_end).collect();
    let help = lines.join("\n");
    let _ = write!(text, "\n## {name}\n\n```text\n{}\n```\n", help.trim_end());
    let below = command.get_subcommands();
    for command in below.filter(|command| !command.is_hide_set()) {
        let name = format!("{name} {}", command.get_name());
        let mut own = command.clone().mut_args(hidden_if_shared);
        describe(&mut own, &name, text);
    }
}

fn hidden_if_shared(arg: Arg) -> Arg {
    let is_shared = arg.is_global_set();
    arg.hide(is_shared)
}

#[test]
fn docs_cli_md_says_what_the_definitions_say() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/cli.md");
    let expected = reference();
    if std::env::var_os("DPE_WRITE_DOCS").is_some() {
        std::fs::write(path, &expected).unwrap();
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(
        found == expected,
        "docs/cli.md is behind the definitions; write it anew with \
         `DPE_WRITE_DOCS=1 cargo test -p dpe --lib docs_cli_md`"
    );
}
