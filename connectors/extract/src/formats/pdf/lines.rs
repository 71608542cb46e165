//! Pieces of painted text to lines and paragraphs, by where they stand. Knows no columns and no tables.

use super::marks::Mark;
use super::painted::Matrix;

/// A gap of this part of a letter's height is a space between words.
const SPACE: f64 = 0.18;

/// Lines further apart than this many heights of letters belong to different paragraphs.
const PARAGRAPH: f64 = 1.8;

/// A piece of text, as it is painted.
#[derive(Clone, Debug)]
pub(super) struct Shown {
    pub(super) text: String,
    pub(super) mark: Mark,
    /// Whether its letters are equally wide.
    pub(super) is_fixed: bool,
    pub(super) place: Matrix,
    pub(super) end: (f64, f64),
    /// Of its letters.
    pub(super) height: f64,
}

/// Lines, as pieces of text come one after the other.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) paragraphs: Vec<Vec<String>>,
    pen: Pen,
}

impl Lines {
    pub(super) fn add(&mut self, shown: &Shown) {
        let gap = self.pen.move_to(shown);
        let text = shown.text.as_str();
        if text.is_empty() {
            return;
        }
        let (false, Some(lines)) = (gap == Gap::Paragraph, self.paragraphs.last_mut()) else {
            self.paragraphs.push(vec![text.to_owned()]);
            return;
        };
        match lines.last_mut() {
            Some(line) if gap != Gap::Line => {
                if gap == Gap::Space && !line.ends_with(' ') && !text.starts_with(' ') {
                    line.push(' ');
                }
                line.push_str(text);
            }
            _ => lines.push(text.to_owned()),
        }
    }
}

/// What is between two pieces of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Gap {
    None,
    Space,
    Line,
    Paragraph,
}

/// Where the last piece ended, which way it went, and how high its letters are.
#[derive(Default)]
pub(super) struct Pen {
    last: Option<Piece>,
}

#[derive(Clone, Copy)]
struct Piece {
    end: (f64, f64),
    way: (f64, f64),
    height: f64,
}

impl Pen {
    /// Returns what is between a piece and the one before; the first one begins a paragraph.
    pub(super) fn move_to(&mut self, shown: &Shown) -> Gap {
        let place = shown.place;
        let length = place[0].hypot(place[1]).max(f64::MIN_POSITIVE);
        let way = (place[0] / length, place[1] / length);
        let last = self.last.replace(Piece {
            end: shown.end,
            way,
            height: shown.height,
        });
        let Some(last) = last else {
            return Gap::Paragraph;
        };
        let height = shown.height.max(last.height);
        let (x, y) = (place[4] - last.end.0, place[5] - last.end.1);
        let gap = x * way.0 + y * way.1;
        let off = (y * way.0 - x * way.1).abs();
        let is_turned = (last.way.0 - way.0).abs() + (last.way.1 - way.1).abs() > 0.1;
        if is_turned || off > PARAGRAPH * height {
            Gap::Paragraph
        } else if off >= 0.5 * height || gap <= -height {
            Gap::Line
        } else if gap > SPACE * height {
            Gap::Space
        } else {
            Gap::None
        }
    }
}

/// Joins the lines of a paragraph; between letters of Chinese and Japanese there are no spaces.
pub(super) fn joined(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines {
        let line = line.trim();
        if !text.is_empty() && !is_dense(&text, line) {
            text.push(' ');
        }
        text.push_str(line);
    }
    text
}

/// Whether nothing comes between two lines.
pub(super) fn is_dense(before: &str, after: &str) -> bool {
    before.ends_with(is_ideograph) && after.starts_with(is_ideograph)
}

fn is_ideograph(letter: char) -> bool {
    matches!(letter, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{FF00}'..='\u{FFEF}')
}

#[cfg(test)]
mod tests {
    use super::{Lines, Shown, joined};
    use crate::formats::pdf::marks::Mark;

    #[test]
    fn pieces_become_words_lines_and_paragraphs_by_where_they_are() {
        let mut lines = Lines::default();
        let mut add = |text: &str, (x, y): (f64, f64), end: f64| {
            lines.add(&Shown {
                text: text.to_owned(),
                mark: Mark::None,
                is_fixed: false,
                place: [1.0, 0.0, 0.0, 1.0, x, y],
                end: (end, y),
                height: 10.0,
            });
        };
        add("one", (0.0, 100.0), 30.0);
        add("ly", (30.5, 100.0), 40.0);
        add("two", (45.0, 102.0), 60.0);
        add("below", (0.0, 88.0), 40.0);
        add("apart", (0.0, 50.0), 40.0);
        assert_eq!(
            lines.paragraphs,
            [vec!["onely two", "below"], vec!["apart"]]
        );
    }

    #[test]
    fn lines_are_joined_without_space_in_chinese_only() {
        let lines = |texts: &[&str]| {
            joined(
                &texts
                    .iter()
                    .map(|text| (*text).to_owned())
                    .collect::<Vec<_>>(),
            )
        };
        assert_eq!(lines(&["a ", "b"]), "a b");
        assert_eq!(lines(&["漢", "字"]), "漢字");
        assert_eq!(lines(&["설치", "안내"]), "설치 안내");
    }
}
