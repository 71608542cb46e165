//! Invitations and other entries of a calendar within a message (iCalendar, RFC 5545).
//!
//! What people wrote and agreed is read: what, when, where, who, and whether it is off. Identifiers, stamps, alarms and descriptions of time
//! zones change by themselves or are for programs.

use std::borrow::Cow;

use dpe_connector::content::{Category, Metadata};
use encoding_rs::{Encoding, UTF_8};

use super::part;
use crate::elements::Elements;
use crate::formats::{html, plain};
use crate::times;

/// What is read of an entry.
static READ: [(&str, Kind); 20] = [
    ("SUMMARY", Kind::Title),
    ("DTSTART", Kind::Time),
    ("DTEND", Kind::Time),
    ("DUE", Kind::Time),
    ("DURATION", Kind::Value),
    ("FREEBUSY", Kind::Times),
    ("STATUS", Kind::Value),
    ("RECURRENCE-ID", Kind::Time),
    ("RRULE", Kind::Value),
    ("RDATE", Kind::Times),
    ("EXDATE", Kind::Times),
    ("LOCATION", Kind::Value),
    ("RESOURCES", Kind::Value),
    ("CATEGORIES", Kind::Value),
    ("CONTACT", Kind::Value),
    ("URL", Kind::Value),
    ("ORGANIZER", Kind::Person),
    ("ATTENDEE", Kind::Person),
    ("DESCRIPTION", Kind::Text),
    ("COMMENT", Kind::Text),
];

#[derive(Clone, Copy)]
enum Kind {
    Title,
    Time,
    /// Several, or stretches of time.
    Times,
    Value,
    Person,
    Text,
}

/// One line of a calendar: a property with its parameters and its value as written.
struct Property<'l> {
    name: String,
    parameters: Vec<(&'l str, &'l str)>,
    value: Cow<'l, str>,
}

/// Adds what the entries of a calendar say. `false` if that is nothing: the text is no calendar, or all that its
/// entries say is unknown here.
pub(super) fn add(text: &str, elements: &mut Elements) -> bool {
    let before = elements.len();
    let mut open: Vec<String> = Vec::new();
    let mut entries = Entries::of(elements);
    for line in lines(text) {
        let Some(property) = property(&line) else {
            continue;
        };
        match &*property.name {
            "BEGIN" if open.len() < MAX_DEPTH => open.push(property.value.to_ascii_uppercase()),
            "END" => {
                if is_entry(&open) {
                    entries.end();
                }
                open.pop();
            }
            "METHOD" if open == ["VCALENDAR"] => {
                entries.method = Some(unescaped(&property.value));
            }
            _ if is_entry(&open) => entries.add(&property),
            _ => {}
        }
    }
    entries.end();
    elements.len() > before
}

/// Calendar, entry and what is within it.
const MAX_DEPTH: usize = 8;

fn is_entry(open: &[String]) -> bool {
    match open {
        [calendar, entry] => {
            calendar == "VCALENDAR"
                && matches!(&**entry, "VEVENT" | "VTODO" | "VJOURNAL" | "VFREEBUSY")
        }
        _ => false,
    }
}

/// What is read of the entries of a calendar.
struct Entries<'e> {
    elements: &'e mut Elements,
    /// What the calendar is for, a cancellation for instance, until an entry says something.
    method: Option<String>,
    /// The description as a page, for entries that have no other.
    page: Option<String>,
    is_described: bool,
}

impl<'e> Entries<'e> {
    fn of(elements: &'e mut Elements) -> Self {
        Self {
            elements,
            method: None,
            page: None,
            is_described: false,
        }
    }

    fn add(&mut self, property: &Property<'_>) {
        if property.name == "X-ALT-DESC" {
            let is_page = property.parameter("FMTTYPE") == Some("text/html");
            self.page = is_page.then(|| unescaped(&property.value));
            return;
        }
        let known = READ.iter().find(|known| known.0 == property.name);
        let known = known.filter(|_| !property.value.trim().is_empty());
        let Some((name, kind)) = known else { return };
        if let Some(method) = self.method.take() {
            self.fact("method", method.trim());
        }
        self.is_described |= *name == "DESCRIPTION";
        self.add_known(property, &name.to_ascii_lowercase(), *kind);
    }

    fn add_known(&mut self, property: &Property<'_>, name: &str, kind: Kind) {
        let zone = property.parameter("TZID");
        match kind {
            Kind::Title => {
                let title = unescaped(&property.value);
                self.elements
                    .push_text(Category::Title, &title, &Metadata::new());
            }
            Kind::Time => self.fact(name, &time(&property.value, zone)),
            Kind::Times => {
                for value in property.value.split(',') {
                    let ends = value.split('/').map(|end| time(end, zone));
                    self.fact(name, &ends.collect::<Vec<_>>().join("/"));
                }
            }
            Kind::Value => self.fact(name, unescaped(&property.value).trim()),
            Kind::Person => {
                let said = said("field", name);
                self.elements
                    .push_text(Category::EmailAddress, &person(property), &said);
            }
            Kind::Text => self.paragraphs(name, &unescaped(&property.value)),
        }
    }

    /// Ends an entry.
    fn end(&mut self) {
        let page = self.page.take().filter(|_| !self.is_described);
        if let Some(page) = page {
            self.paragraphs("description", html::words(&page).trim());
        }
        self.is_described = false;
    }

    fn fact(&mut self, name: &str, value: &str) {
        self.elements
            .push_text(Category::FormKeysValues, value, &said("name", name));
    }

    fn paragraphs(&mut self, name: &str, text: &str) {
        for paragraph in plain::paragraphs(text) {
            self.elements
                .push_text(Category::NarrativeText, paragraph, &said("name", name));
        }
    }
}

fn said(label: &str, name: &str) -> Metadata {
    let mut metadata = Metadata::new();
    metadata.insert(label.to_owned(), name.into());
    metadata
}

/// Returns the lines, put together where they were folded (RFC 5545, 3.1).
fn lines(text: &str) -> Vec<Cow<'_, str>> {
    let mut lines: Vec<Cow<'_, str>> = Vec::new();
    for line in text.lines() {
        match (line.strip_prefix([' ', '\t']), lines.last_mut()) {
            (_, Some(last)) if last.ends_with('=') && is_quoted_printable(last) => {
                last.to_mut().pop();
                last.to_mut().push_str(line);
            }
            (Some(rest), Some(last)) => last.to_mut().push_str(rest),
            _ => lines.push(line.into()),
        }
    }
    lines
}

/// Whether a line is written as vCalendar 1.0 has it; it then goes on where it ends in `=`.
fn is_quoted_printable(line: &str) -> bool {
    let near = &line[..line.floor_char_boundary(256)];
    let head = near.split(':').next().unwrap_or_default();
    let mut parameters = head.split([';', '=']).skip(1);
    parameters.any(|value| value.eq_ignore_ascii_case("quoted-printable"))
}

fn quoted_printable(value: &str, charset: Option<&str>) -> String {
    let bytes = part::quoted_printable(value.as_bytes());
    let encoding = charset.and_then(|label| Encoding::for_label(label.as_bytes()));
    encoding.unwrap_or(UTF_8).decode(&bytes).0.into_owned()
}

/// Takes a line apart: `NAME;PARAMETER="a:b":value`.
fn property(line: &str) -> Option<Property<'_>> {
    let mut parts = Vec::new();
    let mut is_quoted = false;
    let mut start = 0;
    for (at, byte) in line.bytes().enumerate() {
        match byte {
            b'"' => is_quoted = !is_quoted,
            b';' if !is_quoted => {
                parts.push(&line[start..at]);
                start = at + 1;
            }
            b':' if !is_quoted => {
                parts.push(&line[start..at]);
                let parameters = parts.iter().skip(1);
                let mut property = Property {
                    name: parts[0].trim().to_ascii_uppercase(),
                    parameters: parameters.filter_map(|one| one.split_once('=')).collect(),
                    value: line[at + 1..].trim_end().into(),
                };
                if is_quoted_printable(line) {
                    let charset = property.parameter("CHARSET");
                    property.value = quoted_printable(&property.value, charset).into();
                }
                return Some(property);
            }
            _ => {}
        }
    }
    None
}

impl Property<'_> {
    fn parameter(&self, wanted: &str) -> Option<&str> {
        let mut parameters = self.parameters.iter();
        let (_, value) = parameters.find(|(name, _)| name.eq_ignore_ascii_case(wanted))?;
        Some(value.trim_matches('"')).filter(|value| !value.is_empty())
    }
}

/// Returns a name with its address.
fn person(property: &Property<'_>) -> String {
    let scheme = property.value.get(..7);
    let address = match scheme.is_some_and(|scheme| scheme.eq_ignore_ascii_case("mailto:")) {
        true => &property.value[7..],
        false => &property.value,
    };
    match property.parameter("CN") {
        Some(name) if name != address && !address.is_empty() => format!("{name} <{address}>"),
        Some(name) => name.to_owned(),
        None => address.to_owned(),
    }
}

/// Returns a time as RFC 3339 as far as it is one; a time of some place stays one, with the zone's name beside it.
fn time(value: &str, zone: Option<&str>) -> String {
    let value = value.trim();
    let (local, is_utc) = match value.strip_suffix('Z') {
        Some(local) => (local, true),
        None => (value, false),
    };
    let Some(date) = extended(local) else {
        return value.to_owned();
    };
    match zone {
        _ if is_utc => format!("{date}Z"),
        Some(zone) if local.len() > 8 => format!("{date} {zone}"),
        _ => date,
    }
}

/// Returns `20240131T090000` as `2024-01-31T09:00:00`, and a date alone likewise.
fn extended(value: &str) -> Option<String> {
    let digits = |from: usize, to: usize| {
        let digits = value.get(from..to)?;
        digits
            .bytes()
            .all(|byte| byte.is_ascii_digit())
            .then_some(digits)
    };
    let date = format!("{}-{}-{}", digits(0, 4)?, digits(4, 6)?, digits(6, 8)?);
    let extended = match value.len() {
        8 => date,
        15 if value.as_bytes()[8] == b'T' => {
            let (hour, minute, second) = (digits(9, 11)?, digits(11, 13)?, digits(13, 15)?);
            format!("{date}T{hour}:{minute}:{second}")
        }
        _ => return None,
    };
    times::rfc3339(&extended).map(|_| extended)
}

/// Undoes the escapes of a text (RFC 5545, 3.3.11).
fn unescaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let mut characters = value.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some('n' | 'N') => text.push('\n'),
                Some(escaped @ ('\\' | ';' | ',' | '"')) => text.push(escaped),
                Some(other) => text.extend(['\\', other]),
                None => text.push('\\'),
            },
            other => text.push(other),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use dpe_connector::content::Category;

    use super::add;
    use crate::elements::Elements;

    fn read(calendar: &str) -> Vec<(Category, String)> {
        let mut elements = Elements::default();
        add(calendar, &mut elements);
        let elements = elements.into_vec().into_iter();
        elements
            .map(|element| (element.category, element.text.unwrap_or_default()))
            .collect()
    }

    #[test]
    fn entry_says_what_when_where_and_who() {
        // Property forms as RFC 5545 has them.
        let entry = "BEGIN:VCALENDAR\nPRODID:x\nBEGIN:VTIMEZONE\nTZID:America/New_York\nEND:VTIMEZONE\n\
            BEGIN:VEVENT\nUID:1\nDTSTAMP:19960704T120000Z\n\
            ORGANIZER;CN=\"Doe: John\":mailto:jdoe@example.com\n\
            DTSTART;TZID=America/New_York:19970714T133000\nDTEND:19970714T170000Z\nDUE;VALUE=DATE:19970715\n\
            SUMMARY:Department\n  Party\nLOCATION:Room \\, 5\\; left\n\
            DESCRIPTION:First\\nline\\n\\nsecond \\\\ paragraph\n\
            BEGIN:VALARM\nDESCRIPTION:alarm\nEND:VALARM\nEND:VEVENT\nEND:VCALENDAR\n";
        let expected = [
            (Category::EmailAddress, "Doe: John <jdoe@example.com>"),
            (
                Category::FormKeysValues,
                "1997-07-14T13:30:00 America/New_York",
            ),
            (Category::FormKeysValues, "1997-07-14T17:00:00Z"),
            (Category::FormKeysValues, "1997-07-15"),
            (Category::Title, "Department Party"),
            (Category::FormKeysValues, "Room , 5; left"),
            (Category::NarrativeText, "First\nline"),
            (Category::NarrativeText, "second \\ paragraph"),
        ];
        let expected = expected.map(|(category, text)| (category, text.to_owned()));
        assert_eq!(read(entry), expected);
    }

    #[test]
    fn meeting_that_is_off_says_so_and_of_which_times() {
        let entry = "BEGIN:VCALENDAR\nMETHOD:CANCEL\nBEGIN:VEVENT\nUID:1\nSTATUS:CANCELLED\n\
            RECURRENCE-ID;TZID=Europe/Berlin:20240101T100000\nEXDATE:20240201T100000Z,20240202T100000Z\n\
            RDATE;VALUE=PERIOD:20240301T100000Z/PT3H\n\
            X-ALT-DESC;FMTTYPE=text/html:<p>Only here\\, in <b>bold</b></p>\nEND:VEVENT\n\
            BEGIN:VFREEBUSY\nFREEBUSY:20240401T100000Z/20240401T110000Z\nCOMMENT:busy\nEND:VFREEBUSY\n\
            BEGIN:VEVENT\nDESCRIPTION:once\nX-ALT-DESC;FMTTYPE=text/html:<p>twice</p>\nEND:VEVENT\n\
            END:VCALENDAR\n";
        let texts: Vec<String> = read(entry).into_iter().map(|(_, text)| text).collect();
        let expected = [
            "CANCEL",
            "CANCELLED",
            "2024-01-01T10:00:00 Europe/Berlin",
            "2024-02-01T10:00:00Z",
            "2024-02-02T10:00:00Z",
            "2024-03-01T10:00:00Z/PT3H",
            "Only here, in bold",
            "2024-04-01T10:00:00Z/2024-04-01T11:00:00Z",
            "busy",
            "once",
        ];
        assert_eq!(texts, expected);
    }

    #[test]
    fn words_of_earlier_calendars_are_decoded() {
        // The encoding of RFC 2045, as vCalendar 1.0 names it in parameters.
        let entry = "BEGIN:VCALENDAR\nBEGIN:VEVENT\n\
            SUMMARY;CHARSET=ISO-8859-1;ENCODING=QUOTED-PRINTABLE:Gr=FC=DFe=\n aus K=\nempten\n\
            LOCATION;QUOTED-PRINTABLE:Caf=C3=A9\nCONTACT:a=\nURL:b=3D\nEND:VEVENT\nEND:VCALENDAR\n";
        let texts: Vec<String> = read(entry).into_iter().map(|(_, text)| text).collect();
        assert_eq!(texts, ["Grüße aus Kempten", "Café", "a=", "b=3D"]);
    }

    #[test]
    fn entries_of_which_nothing_is_read_leave_their_text_to_others() {
        let mut elements = Elements::default();
        for entry in ["UID:1", "SUMMARY:", "X-OTHER:words"] {
            let text = format!(
                "BEGIN:VCALENDAR\nMETHOD:PUBLISH\nBEGIN:VEVENT\n{entry}\nEND:VEVENT\nEND:VCALENDAR"
            );
            assert!(!add(&text, &mut elements), "{entry}");
        }
        assert!(elements.is_empty());
    }

    #[test]
    fn what_has_no_entries_is_no_calendar() {
        let mut elements = Elements::default();
        for text in [
            "words",
            "SUMMARY:words",
            "BEGIN:VCALENDAR\nSUMMARY:x\nEND:VCALENDAR",
        ] {
            assert!(!add(text, &mut elements), "{text}");
        }
        assert!(elements.is_empty());
    }

    #[test]
    fn odd_values_stay_as_written() {
        let entry = |line: &str| {
            format!("BEGIN:VCALENDAR\nBEGIN:VEVENT\n{line}\nEND:VEVENT\nEND:VCALENDAR")
        };
        for (line, text) in [
            ("DTSTART:soon", "soon"),
            ("DTSTART:20240199T250000", "20240199T250000"),
            ("dtstart:2024é131", "2024é131"),
            ("ATTENDEE:tel:+1", "tel:+1"),
            ("SUMMARY:a\\x\\", "a\\x\\"),
        ] {
            assert_eq!(read(&entry(line))[0].1, text);
        }
        assert!(read(&entry("SUMMARY;X=\":no end")).is_empty());
    }
}
