//! The `dpe` program.

use std::process::ExitCode;

fn main() -> ExitCode {
    dpe::cli::main()
}
