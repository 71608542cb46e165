//! Timestamps as a client accepts them from a server (http-binding §14.2).

use jiff::civil::Date;

/// Whether `text` is an RFC 3339 date-time: a date that exists, `T`, `t` or a space, a time with
/// an optional fraction and seconds up to 60, and `Z`, `z` or an offset.
pub(crate) fn is_rfc3339(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() > 19
        && date_exists(&bytes[..10])
        && matches!(bytes[10], b'T' | b't' | b' ')
        && is_time(&bytes[11..19])
        && is_offset(after_fraction(&bytes[19..]))
}

fn date_exists(date: &[u8]) -> bool {
    let read = || {
        let year = i16::try_from(digits(&date[..4])?).ok()?;
        let month = i8::try_from(digits(&date[5..7])?).ok()?;
        let day = i8::try_from(digits(&date[8..10])?).ok()?;
        Date::new(year, month, day).ok()
    };
    date[4] == b'-' && date[7] == b'-' && read().is_some()
}

fn is_time(time: &[u8]) -> bool {
    let below = |part: &[u8], bound| digits(part).is_some_and(|value| value < bound);
    time[2] == b':'
        && time[5] == b':'
        && below(&time[..2], 24)
        && below(&time[3..5], 60)
        && below(&time[6..8], 61)
}

/// Skips a fraction with at least one digit; anything else is left for the offset to refuse.
fn after_fraction(rest: &[u8]) -> &[u8] {
    let Some(fraction) = rest.strip_prefix(b".") else {
        return rest;
    };
    let length = fraction
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if length == 0 {
        rest
    } else {
        &fraction[length..]
    }
}

fn is_offset(offset: &[u8]) -> bool {
    match offset {
        [b'Z' | b'z'] => true,
        [b'+' | b'-', hour @ .., b':', _, _] if hour.len() == 2 => {
            let below = |part, bound| digits(part).is_some_and(|value| value < bound);
            below(hour, 24) && below(&offset[4..], 60)
        }
        _ => false,
    }
}

fn digits(text: &[u8]) -> Option<u32> {
    let is_number = text.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(text)
        .ok()
        .filter(|_| is_number)?
        .parse()
        .ok()
}

#[cfg(test)]
mod tests {
    use super::is_rfc3339;

    #[test]
    fn date_times_of_rfc_3339_are_told_from_everything_else() {
        for good in [
            "2026-10-01T00:00:00Z",
            "2024-02-29t23:59:60.123456789z",
            "2026-10-01 00:00:00+05:30",
            "2026-10-01T00:00:00.5-00:00",
        ] {
            assert!(is_rfc3339(good), "{good}");
        }
        for bad in [
            "",
            "2026-10-01",
            "2026-10-01T00:00:00",
            "2026-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-10-01T24:00:00Z",
            "2026-10-01T00:60:00Z",
            "2026-10-01T00:00:61Z",
            "2026-10-01T00:00:00.Z",
            "2026-10-01T00:00:00+0530",
            "2026-10-01T00:00:00+24:00",
            "2026-10-01T00:00Z",
            "2026-10-01T00:00:00Zx",
            "+026-10-01T00:00:00Z",
            "2026-10-01_00:00:00Z",
            "２026-10-01T00:00:00Z",
        ] {
            assert!(!is_rfc3339(bad), "{bad}");
        }
    }
}
