//! Times as sources declare them to times as metadata says them (RFC 3339).
//!
//! Knows no clock and no zone: a time that names none is given as UTC, for most programs mean it.

/// Returns a time of ISO 8601's extended form as RFC 3339: a date alone stays one, a fraction of a second is left
/// out. `None` if it is none, or one of the year 0 (an unset field).
pub(crate) fn rfc3339(time: &str) -> Option<String> {
    let time = time.trim();
    let date = time.get(..10)?;
    let (year, month, day) = (
        number(date, 0, 4)?,
        number(date, 5, 2)?,
        number(date, 8, 2)?,
    );
    let is_date = date.as_bytes()[4] == b'-'
        && date.as_bytes()[7] == b'-'
        && year > 0
        && (1..=12).contains(&month)
        && (1..=31).contains(&day);
    let rest = &time[10..];
    if !is_date || rest.is_empty() {
        return is_date.then(|| date.to_owned());
    }
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (hour, minute) = (number(rest, 0, 2)?, number(rest, 3, 2)?);
    let has_seconds = rest.as_bytes().get(5) == Some(&b':');
    let second = match has_seconds {
        true => number(rest, 6, 2)?,
        false => 0,
    };
    if rest.as_bytes()[2] != b':' || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let rest = &rest[if has_seconds { 8 } else { 5 }..];
    let zone = zone(rest.trim_start_matches(|c: char| c == '.' || c == ',' || c.is_ascii_digit()))?;
    Some(format!("{date}T{hour:02}:{minute:02}:{second:02}{zone}"))
}

/// Returns a time of Windows, in steps of 100 ns since 1601 in UTC, as RFC 3339. `None` if it is not set, or is
/// beyond the year 9999.
pub(crate) fn of_file_time(steps: u64) -> Option<String> {
    const STEPS_A_SECOND: u64 = 10_000_000;
    const SECONDS_A_DAY: i64 = 86_400;
    /// Days from 1601 to 1970.
    const DAYS_BEFORE: i64 = 134_774;
    if steps == 0 {
        return None;
    }
    let seconds = i64::try_from(steps / STEPS_A_SECOND).ok()?;
    let (year, month, day) = civil(seconds / SECONDS_A_DAY - DAYS_BEFORE);
    let second = seconds % SECONDS_A_DAY;
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let time = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z");
    (year <= 9999).then_some(time)
}

/// Returns year, month and day of a day since 1970-01-01 (H. Hinnant's algorithm).
pub(crate) fn civil(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

fn zone(zone: &str) -> Option<String> {
    if matches!(zone, "" | "Z" | "z") {
        return Some("Z".to_owned());
    }
    let offset = zone.strip_prefix(['+', '-'])?;
    let minutes = offset.get(2..)?.trim_start_matches(':');
    let (hour, minute) = (number(offset, 0, 2)?, number(minutes, 0, 2).unwrap_or(0));
    (hour <= 23 && minute <= 59).then(|| format!("{}{hour:02}:{minute:02}", &zone[..1]))
}

fn number(text: &str, at: usize, length: usize) -> Option<u32> {
    let digits = text.get(at..at + length)?;
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::{of_file_time, rfc3339};

    #[test]
    fn times_of_windows_become_rfc_3339() {
        // By Python: datetime(1601, 1, 1) + timedelta(microseconds=steps // 10).
        for (steps, expected) in [
            (1, "1601-01-01T00:00:00Z"),
            (116_444_736_000_000_000, "1970-01-01T00:00:00Z"),
            (125_962_560_000_000_000, "2000-02-29T00:00:00Z"),
            (133_515_162_000_000_000, "2024-02-04T10:30:00Z"),
        ] {
            assert_eq!(of_file_time(steps).as_deref(), Some(expected));
        }
        assert_eq!(of_file_time(0), None);
        assert_eq!(of_file_time(u64::MAX), None);
    }

    #[test]
    fn declared_times_become_rfc_3339() {
        for (declared, expected) in [
            ("2010-03-04T05:06:07Z", Some("2010-03-04T05:06:07Z")),
            (
                "2010-03-04T05:06:07.123456789",
                Some("2010-03-04T05:06:07Z"),
            ),
            (
                "2010-03-04T05:06:07+01:00",
                Some("2010-03-04T05:06:07+01:00"),
            ),
            ("2010-03-04T05:06-0330", Some("2010-03-04T05:06:00-03:30")),
            ("2010-03-04", Some("2010-03-04")),
            ("2010-13-04", None),
            ("0000-00-00T00:00:00", None),
            ("2010-03-04T25:00:00Z", None),
            ("2010-03-04Tä", None),
            ("2010-03-04T05:06:07+1é", None),
            ("yesterday ä", None),
            ("", None),
        ] {
            assert_eq!(rfc3339(declared).as_deref(), expected, "{declared}");
        }
    }
}
