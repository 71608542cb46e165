//! Whether the table of a file's objects is where the file says (ISO 32000-1 §7.5.4, §7.5.5).
//!
//! A file that was cut off, or changed by something that does not know PDF, has none there. Parsers then go by the
//! objects that they come upon, and nobody knows what else there was.

use super::content::is_space;
use super::starts::id_before;

/// How far from the end the place of the table is given, in bytes; others look as far.
const TAIL_BYTES: usize = 4096;

/// Returns whether a table, or a stream that is one, stands where the end of the file says.
pub(super) fn is_in_place(bytes: &[u8]) -> bool {
    let table = place(bytes).and_then(|place| bytes.get(place..));
    table.is_some_and(is_table)
}

/// Returns what the last `startxref` says.
fn place(bytes: &[u8]) -> Option<usize> {
    let tail = &bytes[bytes.len().saturating_sub(TAIL_BYTES)..];
    let keyword = b"startxref";
    let at = memchr::memmem::rfind(tail, keyword)? + keyword.len();
    let digits = tail[at..].trim_ascii_start();
    let end = digits.iter().take_while(|byte| byte.is_ascii_digit());
    let digits = &digits[..end.count()];
    std::str::from_utf8(digits).ok()?.parse().ok()
}

fn is_table(bytes: &[u8]) -> bool {
    let blanks = bytes.iter().take_while(|byte| is_space(**byte)).count();
    let bytes = &bytes[blanks..];
    let head = &bytes[..bytes.len().min(64)];
    let object = memchr::memmem::find(head, b"obj");
    head.starts_with(b"xref") || object.is_some_and(|at| id_before(&head[..at]).is_some())
}

#[cfg(test)]
mod tests {
    use super::is_in_place;

    #[test]
    fn a_table_is_where_the_end_of_the_file_says() {
        assert!(is_in_place(b"%PDF-1.4\nxref\n0 1\nstartxref\n9\n%%EOF"));
        assert!(is_in_place(b"%PDF-1.5\n7 0 obj\n<<>>startxref 9 %%EOF"));
    }

    #[test]
    fn a_file_that_was_cut_off_or_moved_has_none_there() {
        assert!(!is_in_place(b"%PDF-1.4\n1 0 obj\n<<>>\nendobj\n"));
        assert!(!is_in_place(b"%PDF-1.4\nxref\nstartxref\n5\n%%EOF"));
        assert!(!is_in_place(
            b"%PDF-1.4\nxref\nstartxref\n99999999999999999999\n"
        ));
        assert!(!is_in_place(b""));
    }
}
