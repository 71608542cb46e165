//! `dpe connector`, as a command.

mod check;
mod list;

use std::process::{Command, Output};

/// Returns the command, in an environment that says nothing of the machine.
fn connector(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_dpe"));
    command
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .arg("connector")
        .args(arguments);
    command
}

/// Returns the lines of stdout as objects.
fn objects(output: &Output) -> Vec<serde_json::Value> {
    let text = std::str::from_utf8(&output.stdout).unwrap();
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}
