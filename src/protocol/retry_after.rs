//! The value of `Retry-After` (http-binding §19): seconds, or one of three date forms.
//!
//! The clock is an argument; whoever waits also decides how long is too long.

use jiff::civil::Date;
use jiff::tz::Offset;
use jiff::{Timestamp, ToSpan};

const WEEKDAYS: [&str; 7] = [
    "Monday",
    "Tuesday",
    "Wednesday",
    "Thursday",
    "Friday",
    "Saturday",
    "Sunday",
];
const MONTHS: [&str; 12] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
];

/// The field's text as received; its dates mean something only together with a clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RetryAfter(String);

/// How long to wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// That many seconds from now.
    Seconds(u64),
    /// More seconds than can be represented.
    Unbounded,
}

impl RetryAfter {
    /// Keeps the merged value of the field.
    pub fn new(value: impl Into<String>) -> Self {
        Self(value.into())
    }

    /// Returns the delay counted from `now`, or `None` if the text is of no accepted form, which
    /// counts as an absent field.
    pub fn wait(&self, now: Timestamp) -> Option<Wait> {
        let text = self.0.trim_matches([' ', '\t']);
        if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Some(text.parse().map_or(Wait::Unbounded, Wait::Seconds));
        }
        let at = imf_fixdate(text)
            .or_else(|| rfc_850(text, now))
            .or_else(|| asctime(text))?;
        let seconds = at.saturating_sub(now.as_second());
        Some(Wait::Seconds(u64::try_from(seconds).unwrap_or(0)))
    }
}

/// `Fri, 09 Oct 2026 08:00:30 GMT`, in seconds of Unix time.
fn imf_fixdate(text: &str) -> Option<i64> {
    let (weekday, rest) = text.split_once(", ")?;
    WEEKDAYS.iter().find(|name| name[..3] == *weekday)?;
    let [day, month, year, time, zone] = parts(rest)?;
    let date = Date::new(year_of(year)?, month_of(month)?, two(day)?).ok()?;
    (zone == "GMT")
        .then_some(date)
        .and_then(|date| instant(date, time))
}

/// `Friday, 09-Oct-26 08:00:30 GMT`: the latest year with these two digits whose instant is not
/// after `now` + 50 years.
fn rfc_850(text: &str, now: Timestamp) -> Option<i64> {
    let (weekday, rest) = text.split_once(", ")?;
    WEEKDAYS.iter().find(|name| **name == weekday)?;
    let [date, time, "GMT"] = parts(rest)? else {
        return None;
    };
    let [day, month, year] = split(date, '-')?;
    let (day, month, year) = (two(day)?, month_of(month)?, i16::from(two(year)?));
    let latest = Offset::UTC.to_datetime(now).checked_add(50.years()).ok()?;
    let century = latest.year() / 100 * 100;
    let latest = Offset::UTC.to_timestamp(latest).ok()?.as_second();
    // Every date that exists at all exists in one of four successive centuries.
    (0..4)
        .filter_map(|back| Date::new(century - back * 100 + year, month, day).ok())
        .filter_map(|date| instant(date, time))
        .find(|at| *at <= latest)
}

/// `Fri Oct  9 08:00:30 2026`; the day is two digits, or a space and one digit.
fn asctime(text: &str) -> Option<i64> {
    let (weekday, rest) = text.split_once(' ')?;
    WEEKDAYS.iter().find(|name| name[..3] == *weekday)?;
    let (month, rest) = rest.split_once(' ')?;
    let (day, rest) = rest.split_at_checked(2)?;
    let day = match day.strip_prefix(' ') {
        Some(digit) => digits(digit, 1)?,
        None => digits(day, 2)?,
    };
    let [time, year] = parts(rest.strip_prefix(' ')?)?;
    let day = i8::try_from(day).ok()?;
    let date = Date::new(year_of(year)?, month_of(month)?, day).ok()?;
    instant(date, time)
}

/// Seconds of Unix time of `hh:mm:ss` on `date` in UTC. Second 60 is the first of the next minute.
fn instant(date: Date, time: &str) -> Option<i64> {
    let [hour, minute, second] = split(time, ':')?;
    let (hour, minute, second) = (two(hour)?, two(minute)?, two(second)?);
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let midnight = Offset::UTC
        .to_timestamp(date.at(0, 0, 0, 0))
        .ok()?
        .as_second();
    Some(midnight + i64::from(hour) * 3600 + i64::from(minute) * 60 + i64::from(second))
}

/// Splits at single spaces into exactly `N` parts.
fn parts<const N: usize>(text: &str) -> Option<[&str; N]> {
    split(text, ' ')
}

fn split<const N: usize>(text: &str, at: char) -> Option<[&str; N]> {
    let parts: Vec<&str> = text.split(at).collect();
    parts.try_into().ok()
}

fn month_of(name: &str) -> Option<i8> {
    (1i8..)
        .zip(MONTHS)
        .find_map(|(number, month)| (month == name).then_some(number))
}

fn year_of(text: &str) -> Option<i16> {
    digits(text, 4).and_then(|year| i16::try_from(year).ok())
}

fn two(text: &str) -> Option<i8> {
    digits(text, 2).and_then(|value| i8::try_from(value).ok())
}

/// Reads exactly `length` ASCII digits.
fn digits(text: &str, length: usize) -> Option<u32> {
    (text.len() == length && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait(value: &str) -> Option<Wait> {
        let now = "2026-10-09T08:00:00Z".parse().expect("a valid instant");
        RetryAfter::new(value).wait(now)
    }

    #[test]
    fn accepted_forms_give_the_values_of_the_table() {
        let digits = "9".repeat(400);
        assert_eq!(wait(&digits), Some(Wait::Unbounded));
        for (value, seconds) in [
            ("0", 0),
            ("007", 7),
            ("\t7", 7),
            (" 7 \t", 7),
            ("Mon, 09 Oct 2026 08:00:30 GMT", 30),
            ("Fri, 09 Oct 2026 08:00:60 GMT", 60),
            ("Fri, 09 Oct 2026 07:00:00 GMT", 0),
            ("Friday, 09-Oct-26 08:00:30 GMT", 30),
            ("Friday, 09-Oct-76 08:00:00 GMT", 1_577_923_200),
            ("Friday, 09-Oct-76 08:00:01 GMT", 0),
            ("Friday, 09-Oct-77 08:00:00 GMT", 0),
            ("Fri Oct  9 08:00:30 2026", 30),
            ("Fri Oct 09 08:00:30 2026", 30),
        ] {
            assert_eq!(wait(value), Some(Wait::Seconds(seconds)), "{value}");
        }
    }

    #[test]
    fn anything_else_counts_as_absent() {
        for value in [
            "1.5",
            "-1",
            "+1",
            "7s",
            "7, 7",
            "",
            "\u{a0}7",
            "Fri, 9 Oct 2026 08:00:30 GMT",
            "fri, 09 Oct 2026 08:00:30 GMT",
            "Fri, 09 oct 2026 08:00:30 GMT",
            "Fri, 09 Oct 2026 08:00:30 UTC",
            "Fri, 09 Oct 2026 08:00:30 +0000",
            "Fri, 09 Oct 2026 08:00:61 GMT",
            "Fri, 09 Oct 2026 24:00:00 GMT",
            "Fri, 09 Oct 2026 08:60:00 GMT",
            "Fri, 09 Oct 2026  08:00:30 GMT",
            "Fri,  09 Oct 2026 08:00:30 GMT",
            "Sun, 31 Nov 2026 08:00:30 GMT",
            "Foo, 09 Oct 2026 08:00:30 GMT",
            "Friday, 09 Oct 2026 08:00:30 GMT",
            "Fri, 09-Oct-26 08:00:30 GMT",
            "Friday, 9-Oct-26 08:00:30 GMT",
            "Fri Oct 9 08:00:30 2026",
            "Fri Oct  9 08:00:30 2026 GMT",
            "Fri, 09 Oct 2026 08:00:30 GMT, 7",
        ] {
            assert_eq!(wait(value), None, "{value}");
        }
    }
}
