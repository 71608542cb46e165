//! Numbers as a person would type them, of cells and charts of all formats alike.
//!
//! Knows no number formats: how many digits a cell shows is its look.

/// Returns a number with as many digits as it takes to read it back; very large and very small ones with an
/// exponent of at least two digits, as spreadsheets show it. Noise of calculation, which shows in the digits after
/// the fifteenth that spreadsheets keep, is rounded away: 0.1 + 0.2 is 0.3.
pub(crate) fn plain(number: f64) -> String {
    let number = without_noise(number);
    match number.abs() {
        0.0 => "0".to_owned(),
        1e-4..1e16 => format!("{number}"),
        _ if !number.is_finite() => String::new(),
        _ => with_exponent(number),
    }
}

/// Returns the number that a text is, as [`plain`] has it; other texts as they are.
pub(crate) fn plain_text(text: &str) -> String {
    match finite(text) {
        Some(number) => plain(number),
        None => text.to_owned(),
    }
}

/// Returns the number that a text is; what has no digits (`inf`, `nan`) is none.
pub(crate) fn finite(text: &str) -> Option<f64> {
    let number: f64 = text.trim().parse().ok()?;
    number.is_finite().then_some(number)
}

/// Returns the number of fifteen digits if that has at least three fewer.
fn without_noise(number: f64) -> f64 {
    // Whole numbers are counted, or names of things.
    if number.fract() == 0.0 || !number.is_finite() {
        return number;
    }
    let fifteen = format!("{number:.14e}");
    match fifteen.split_once('e') {
        Some((digits, _)) if digits.ends_with("000") => fifteen.parse().unwrap_or(number),
        _ => number,
    }
}

fn with_exponent(number: f64) -> String {
    let text = format!("{number:e}");
    let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let (sign, exponent) = match exponent.strip_prefix('-') {
        Some(exponent) => ('-', exponent),
        None => ('+', exponent),
    };
    format!("{digits}E{sign}{exponent:0>2}")
}

#[cfg(test)]
mod tests {
    use super::{plain, plain_text};

    #[test]
    fn numbers_are_as_short_as_they_can_be() {
        // Digits as Python's repr has them, the exponent as spreadsheets do.
        for (number, expected) in [
            (3.0, "3"),
            (-0.0, "0"),
            (0.1, "0.1"),
            (2.0 / 3.0, "0.6666666666666666"),
            (0.000_1, "0.0001"),
            (0.000_015, "1.5E-05"),
            (1e15, "1000000000000000"),
            (9_007_199_254_740_991.0, "9007199254740991"),
            (1e20, "1E+20"),
            (1.5e300, "1.5E+300"),
            (-1e-7, "-1E-07"),
            (f64::INFINITY, ""),
        ] {
            assert_eq!(plain(number), expected);
        }
    }

    #[test]
    fn noise_of_calculation_is_no_digit() {
        for (number, expected) in [
            (0.1 + 0.2, "0.3"),
            (3_891.200_000_000_000_3, "3891.2"),
            (0.7 + 0.1, "0.8"),
            (-1.999_999_999_999_999_8, "-2"),
            (1_000_000_000_000_001.0, "1000000000000001"),
            (1.000_000_000_001_2, "1.0000000000012"),
        ] {
            assert_eq!(plain(number), expected);
        }
    }

    #[test]
    fn texts_that_are_no_numbers_stay() {
        for (text, expected) in [
            ("0.60000000000000009", "0.6"),
            (" 7.50 ", "7.5"),
            ("nan", "nan"),
            ("Infinity", "Infinity"),
            ("May", "May"),
        ] {
            assert_eq!(plain_text(text), expected);
        }
    }
}
