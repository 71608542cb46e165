//! What git said to people: which of it is the reason of a failure, and which is told besides.

/// So many lines are kept.
const MOST_LINES: usize = 1000;

/// Complaints that say nothing about a reason; whoever git has started has said it before.
const EMPTY_COMPLAINTS: [&str; 3] = [
    "fatal: Could not read from remote repository.",
    "fatal: the remote end hung up unexpectedly",
    "fatal: early EOF",
];

/// The lines of one call, without secrets.
#[derive(Debug, Default)]
pub(crate) struct Said {
    lines: Vec<String>,
    omitted: usize,
}

impl Said {
    /// Notes a line.
    pub(crate) fn add(&mut self, line: String) {
        if self.lines.len() < MOST_LINES {
            self.lines.push(line);
        } else {
            self.omitted += 1;
        }
    }

    /// Takes out what says why git has failed; nothing if it said nothing.
    pub(crate) fn take_reason(&mut self) -> Option<String> {
        let is_complaint = |line: &String| line.starts_with("fatal:") || line.starts_with("error:");
        // The first complaint is the cause, what follows is advice.
        let at = self.lines.iter().position(is_complaint).unwrap_or(0);
        if at >= self.lines.len() {
            return None;
        }
        let complaint = self.lines.remove(at);
        if at == 0 || !EMPTY_COMPLAINTS.contains(&&*complaint) {
            return Some(complaint);
        }
        let cause = self.lines.remove(at - 1);
        Some(format!("{}: {cause}", complaint.trim_end_matches('.')))
    }

    /// Returns what is told besides.
    pub(crate) fn into_lines(self) -> impl Iterator<Item = String> {
        let more = self.omitted;
        let more = (more > 0).then(|| format!("and {more} lines more"));
        self.lines.into_iter().chain(more)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(lines: &[&str]) -> (Option<String>, Vec<String>) {
        let mut said = Said::default();
        lines.iter().for_each(|line| said.add((*line).to_owned()));
        (said.take_reason(), said.into_lines().collect())
    }

    #[test]
    fn the_first_complaint_is_the_reason_and_is_told_once() {
        let (why, rest) = reason(&["warning: a", "fatal: b", "fatal: c"]);
        assert_eq!(why.as_deref(), Some("fatal: b"));
        assert_eq!(rest, ["warning: a", "fatal: c"]);
        assert_eq!(reason(&["killed"]).0.as_deref(), Some("killed"));
        assert_eq!(reason(&[]).0, None);
    }

    #[test]
    fn a_complaint_without_a_reason_gets_the_one_that_came_before() {
        let advice = "Please make sure you have the correct access rights";
        let (why, rest) = reason(&[
            "git@h: Permission denied (publickey).",
            "fatal: Could not read from remote repository.",
            advice,
        ]);
        let expected = "fatal: Could not read from remote repository: \
            git@h: Permission denied (publickey).";
        assert_eq!(why.as_deref(), Some(expected));
        assert_eq!(rest, [advice]);
    }
}
