//! Numbers that a format shows as dates, times or durations.

use crate::times::civil;

/// How a number format shows a number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Shown {
    #[default]
    Number,
    Date,
    Duration,
}

/// Returns how a built-in format shows numbers (ECMA-376 part 1, §18.8.30).
pub(super) fn of_built_in(number: u16) -> Shown {
    match number {
        14..=22 | 27..=36 | 45 | 47 | 50..=58 => Shown::Date,
        46 => Shown::Duration,
        _ => Shown::Number,
    }
}

/// Returns how a format of this code shows numbers.
pub(super) fn of_code(code: &str) -> Shown {
    let mut characters = code.chars();
    let mut shown = Shown::Number;
    while let Some(character) = characters.next() {
        match character {
            '"' => while characters.next().is_some_and(|next| next != '"') {},
            '\\' | '_' | '*' => {
                characters.next();
            }
            '[' => {
                let inside: String = characters
                    .by_ref()
                    .take_while(|next| *next != ']')
                    .collect();
                let inside = inside.to_ascii_lowercase();
                if !inside.is_empty() && matches!(inside.trim_matches(['h', 'm', 's']), "") {
                    return Shown::Duration;
                }
            }
            // The first part is for positive numbers.
            ';' => break,
            'd' | 'D' | 'm' | 'M' | 'y' | 'Y' | 'h' | 'H' | 's' | 'S' => shown = Shown::Date,
            _ => {}
        }
    }
    let is_general = ["general", "standard"]
        .iter()
        .any(|name| code.eq_ignore_ascii_case(name));
    if is_general { Shown::Number } else { shown }
}

/// Returns the day and time that a number is, as ISO 8601 with a space; a time alone below 1. `None` if
/// it is no day that spreadsheets know.
pub(super) fn date(number: f64, is_1904: bool) -> Option<String> {
    if !(0.0..2_958_466.0).contains(&number) {
        return None;
    }
    let milliseconds = (number * 86_400_000.0).round() as i64;
    let (day, rest) = (milliseconds / 86_400_000, milliseconds % 86_400_000);
    let time = time(rest);
    if number < 1.0 && !is_1904 && day == 0 {
        return Some(time);
    }
    // Days since 1970-01-01. Before March 1900 the numbers are off by the day that never was.
    let since = match is_1904 {
        true => day - 24_107,
        false if day < 60 => day - 25_568,
        false => day - 25_569,
    };
    let (year, month, day) = civil(since);
    let date = format!("{year:04}-{month:02}-{day:02}");
    Some(if rest == 0 {
        date
    } else {
        format!("{date} {time}")
    })
}

/// Returns hours, minutes and seconds that a number of days is.
pub(super) fn duration(number: f64) -> Option<String> {
    if number.is_nan() || number.abs() >= 2_958_466.0 {
        return None;
    }
    let milliseconds = (number.abs() * 86_400_000.0).round() as i64;
    let sign = if number < 0.0 { "-" } else { "" };
    let hours = milliseconds / 3_600_000;
    let below = time(milliseconds % 3_600_000);
    Some(format!("{sign}{hours:02}{}", &below[2..]))
}

fn time(milliseconds: i64) -> String {
    let (seconds, rest) = (milliseconds / 1000, milliseconds % 1000);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let time = format!("{hour:02}:{minute:02}:{second:02}");
    if rest == 0 {
        time
    } else {
        format!("{time}.{rest:03}")
    }
}

#[cfg(test)]
mod tests {
    use super::{Shown, date, duration, of_code};

    #[test]
    fn numbers_become_the_days_they_are() {
        // As openpyxl 3.1 reads them.
        for (number, is_1904, expected) in [
            (1.0, false, "1900-01-01"),
            (59.0, false, "1900-02-28"),
            (61.0, false, "1900-03-01"),
            (43_831.0, false, "2020-01-01"),
            (43_831.75, false, "2020-01-01 18:00:00"),
            (42_369.0, true, "2020-01-01"),
            (0.5, false, "12:00:00"),
            (0.000_011_574_074, false, "00:00:01"),
        ] {
            assert_eq!(date(number, is_1904).as_deref(), Some(expected));
        }
        assert_eq!(date(-1.0, false), None);
        assert_eq!(duration(1.5).as_deref(), Some("36:00:00"));
    }

    #[test]
    fn codes_say_what_is_a_date() {
        for (code, shown) in [
            ("yyyy\\-mm\\-dd", Shown::Date),
            ("[$-409]d\\-mmm", Shown::Date),
            ("[h]:mm", Shown::Duration),
            ("0.00\" days\"", Shown::Number),
            ("[Red]0.0;dd", Shown::Number),
            ("General", Shown::Number),
            ("#,##0\\ _d", Shown::Number),
        ] {
            assert_eq!(of_code(code), shown, "{code}");
        }
    }
}
