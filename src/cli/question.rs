//! Questions to a person, who may not be there.

use std::io::{self, BufRead, IsTerminal};

use crate::ui::Voice;

/// What a person says to a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Yes,
    No,
    /// There is no terminal.
    NobodyToAsk,
}

/// Returns whether there is a terminal to ask on.
pub(super) fn somebody_is_there() -> bool {
    io::stdin().is_terminal()
}

/// Asks `question`, if there is a terminal.
pub(super) fn ask(voice: Voice, question: &str) -> Answer {
    if !somebody_is_there() {
        return Answer::NobodyToAsk;
    }
    voice.ask(&format!("{question} [y/N] "));
    let mut answer = String::new();
    match io::stdin().lock().read_line(&mut answer) {
        Ok(_) if matches!(answer.trim(), "y" | "Y" | "yes") => Answer::Yes,
        _ => Answer::No,
    }
}
