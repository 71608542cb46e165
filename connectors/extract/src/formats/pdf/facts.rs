//! What the file says about itself: document information, language, printed page labels
//! (ISO 32000-1 §14.3, §14.9.2, §12.4.2).

use std::collections::HashSet;

use dpe_connector::content::DocumentHead;
use unpdf::parser::raw::stream::decompress;
use unpdf::parser::raw::{PdfDict, PdfObject, RawDocument};

use super::text_string::text_string;
use crate::elements::VALUE_BYTES;
use crate::flow::title;
use crate::reading::Reading;
use crate::{times, xml};

/// Returns what an entry of a dictionary is, wherever it stands in the file.
pub(super) fn entry<'d>(
    file: &'d RawDocument,
    dict: &'d PdfDict,
    name: &[u8],
) -> Option<&'d PdfObject> {
    dict.get(name).map(|value| file.resolve(value))
}

/// Writes document information and language; metadata in XML only where there is no information.
pub(super) fn declare(file: &RawDocument, head: &mut DocumentHead, reading: &Reading<'_>) {
    let info = entry(file, file.trailer(), b"Info").and_then(PdfObject::as_dict);
    let string = |name: &[u8]| {
        let value = entry(file, info?, name)?;
        Some(text_string(value.as_str_bytes()?))
    };
    let mut facts = Facts {
        title: string(b"Title"),
        values: vec![
            ("author", string(b"Author")),
            ("subject", string(b"Subject")),
            ("keywords", string(b"Keywords")),
            (
                "created",
                string(b"CreationDate").and_then(|date| time(&date)),
            ),
            ("modified", string(b"ModDate").and_then(|date| time(&date))),
        ],
    };
    let catalog = file.catalog().ok();
    if facts.is_empty()
        && let Some(packet) = catalog.and_then(|catalog| metadata(file, catalog))
        && let Some(found) = of_xml(&packet, reading)
    {
        facts = found;
    }
    let language = catalog.and_then(|catalog| entry(file, catalog, b"Lang"));
    let language = language.and_then(PdfObject::as_str_bytes).map(text_string);
    facts.values.push(("language", language));
    facts.write(head);
}

#[derive(Default)]
struct Facts {
    title: Option<String>,
    values: Vec<(&'static str, Option<String>)>,
}

impl Facts {
    fn is_empty(&self) -> bool {
        let mut values = self.values.iter();
        self.title.is_none() && values.all(|(_, value)| value.is_none())
    }

    fn write(self, head: &mut DocumentHead) {
        head.title = self.title.and_then(|text| title(&text));
        for (name, value) in self.values {
            let value = value.as_deref().map(str::trim).unwrap_or_default();
            if (1..=VALUE_BYTES).contains(&value.len()) {
                head.doc_metadata.insert(name.to_owned(), value.into());
            }
        }
    }
}

/// Returns a date (§7.9.4, `D:19981223195200-08'00'`) as RFC 3339; what is left out at its end has the
/// values that the standard gives it.
fn time(date: &str) -> Option<String> {
    let date = date.trim();
    let date = date.strip_prefix("D:").unwrap_or(date);
    let digits = date.bytes().take_while(u8::is_ascii_digit).count().min(14);
    if digits < 4 {
        return None;
    }
    let (digits, zone) = date.split_at(digits);
    let part = |at: usize, missing: &'static str| digits.get(at..at + 2).unwrap_or(missing);
    let zone = zone.trim().replace('\'', "");
    let zone = match zone.strip_prefix(['Z', 'z']) {
        Some(_) => "Z",
        None => &zone,
    };
    let day = format!("{}-{}-{}", &digits[..4], part(4, "01"), part(6, "01"));
    let clock = format!("{}:{}:{}", part(8, "00"), part(10, "00"), part(12, "00"));
    times::rfc3339(&format!("{day}T{clock}{zone}"))
        .or_else(|| times::rfc3339(&format!("{day}T{clock}")))
}

fn metadata(file: &RawDocument, catalog: &PdfDict) -> Option<Vec<u8>> {
    let stream = entry(file, catalog, b"Metadata")?.as_stream()?;
    decompress(stream).ok()
}

/// Reads a packet of XMP (ISO 16684-1).
fn of_xml(packet: &[u8], reading: &Reading<'_>) -> Option<Facts> {
    let text = xml::text(packet).ok()?;
    let tree = xml::parse(text.trim_end_matches('\0'), reading).ok()?;
    let value = |name: &str| {
        let as_attribute = || {
            tree.descendants()
                .filter(|node| xml::is(*node, "Description"))
                .find_map(|node| xml::attribute(node, name))
                .map(str::to_owned)
        };
        let node = tree.descendants().find(|node| xml::is(*node, name));
        let Some(node) = node else {
            return as_attribute();
        };
        let items: Vec<_> = node
            .descendants()
            .filter(|item| xml::is(*item, "li"))
            .filter_map(|item| item.text())
            .collect();
        match items.is_empty() {
            true => node.text().map(str::to_owned),
            false => Some(items.join(", ")),
        }
    };
    Some(Facts {
        title: value("title"),
        values: vec![
            ("author", value("creator")),
            ("subject", value("description")),
            ("keywords", value("Keywords").or_else(|| value("subject"))),
            (
                "created",
                value("CreateDate").and_then(|time| times::rfc3339(&time)),
            ),
            (
                "modified",
                value("ModifyDate").and_then(|time| times::rfc3339(&time)),
            ),
        ],
    })
}

/// How pages from one on are labelled.
struct Range {
    first: i64,
    /// None if it is too long for a label.
    prefix: Option<String>,
    style: Option<u8>,
    start: i64,
}

/// Nobody has more ranges of labels; damaged trees go in circles.
const MOST_LABEL_NODES: usize = 20_000;

/// Returns the label of each page, as printed; none if the file declares none.
pub(super) fn labels(file: &RawDocument, count: usize) -> Vec<Option<String>> {
    let mut ranges = ranges(file);
    ranges.sort_by_key(|range| range.first);
    let label = |page: usize| {
        let page = i64::try_from(page).ok()?;
        let after = ranges.partition_point(|range| range.first <= page);
        let range = ranges.get(after.checked_sub(1)?)?;
        let number = range.start.saturating_add(page.saturating_sub(range.first));
        let prefix = range.prefix.as_deref()?;
        let label = prefix.to_owned() + &numeral(range.style, number);
        (1..=VALUE_BYTES).contains(&label.len()).then_some(label)
    };
    (0..count).map(label).collect()
}

fn ranges(file: &RawDocument) -> Vec<Range> {
    let root = file
        .catalog()
        .ok()
        .and_then(|catalog| catalog.get(&b"PageLabels"[..]));
    let mut open: Vec<&PdfObject> = root.into_iter().collect();
    let mut ranges = Vec::new();
    let mut seen = HashSet::new();
    let (mut nodes, mut pairs) = (MOST_LABEL_NODES, MOST_LABEL_NODES);
    while let Some(node) = open.pop() {
        let Some(node) = file.resolve(node).as_dict() else {
            continue;
        };
        let kids = taken(file, node, b"Kids", &mut nodes);
        let new = |kid: &&PdfObject| kid.as_reference().is_none_or(|id| seen.insert(id));
        open.extend(kids.iter().filter(new));
        for pair in taken(file, node, b"Nums", &mut pairs).chunks_exact(2) {
            if let Some(first) = file.resolve(&pair[0]).as_i64()
                && let Some(dict) = file.resolve(&pair[1]).as_dict()
            {
                ranges.push(range(file, first, dict));
            }
        }
    }
    ranges
}

/// Returns a list of a node of a tree (§7.9.6), as far as there is room for what it names; lists may be named again
/// and again.
pub(super) fn taken<'d>(
    file: &'d RawDocument,
    node: &'d PdfDict,
    name: &[u8],
    room: &mut usize,
) -> &'d [PdfObject] {
    let list = entry(file, node, name).and_then(PdfObject::as_array);
    let list = list.unwrap_or_default();
    let list = &list[..list.len().min(*room)];
    *room -= list.len();
    list
}

fn range(file: &RawDocument, first: i64, dict: &PdfDict) -> Range {
    let prefix = entry(file, dict, b"P").and_then(PdfObject::as_str_bytes);
    let style = entry(file, dict, b"S").and_then(PdfObject::as_name);
    Range {
        first,
        prefix: Some(prefix.map(text_string).unwrap_or_default())
            .filter(|prefix| prefix.len() <= VALUE_BYTES),
        style: style.and_then(|name| name.first().copied()),
        start: entry(file, dict, b"St")
            .and_then(PdfObject::as_i64)
            .unwrap_or(1),
    }
}

fn numeral(style: Option<u8>, number: i64) -> String {
    let small = usize::try_from(number)
        .ok()
        .filter(|number| (1..5000).contains(number));
    match (style, small) {
        (None, _) => String::new(),
        (Some(b'R'), Some(number)) => roman(number),
        (Some(b'r'), Some(number)) => roman(number).to_ascii_lowercase(),
        (Some(letter @ (b'A' | b'a')), Some(number)) => {
            let letter = char::from(letter + ((number - 1) % 26) as u8);
            letter.to_string().repeat((number - 1) / 26 + 1)
        }
        _ => number.to_string(),
    }
}

fn roman(mut number: usize) -> String {
    let numerals = [
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let mut text = String::new();
    for (value, letters) in numerals {
        while number >= value {
            text.push_str(letters);
            number -= value;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use unpdf::parser::raw::RawDocument;

    use super::{labels, numeral, time};
    use crate::elements::VALUE_BYTES;

    /// The labels of two pages of a file that declares these ranges.
    fn declared(ranges: &str) -> Vec<Option<String>> {
        let file =
            format!("%PDF-1.4\n1 0 obj <</Type/Catalog/PageLabels <</Nums[{ranges}]>>>> endobj\n");
        labels(&RawDocument::load(file.as_bytes()).unwrap(), 2)
    }

    #[test]
    fn labels_out_of_all_proportion_are_none() {
        let far = format!("{} <</S/D>>", i64::MIN);
        let label = (i64::MAX).to_string();
        assert_eq!(declared(&far), [Some(label.clone()), Some(label)]);
        let long = format!("0 <</P({})>>", "a".repeat(VALUE_BYTES + 1));
        assert_eq!(declared(&long), [None, None]);
        assert_eq!(
            declared("1 <</P(A-)/S/r/St 4>>"),
            [None, Some("A-iv".to_owned())]
        );
    }

    #[test]
    fn node_of_labels_that_is_named_again_and_again_is_read_once() {
        let kids = "4 0 R ".repeat(20_000);
        let file = format!(
            "%PDF-1.4\n1 0 obj <</Type/Catalog/PageLabels 4 0 R>> endobj\n\
             4 0 obj <</Kids 5 0 R/Nums[0 <</P(A)>>]>> endobj\n5 0 obj [{kids}<</Kids 5 0 R>>] endobj\n"
        );
        let file = RawDocument::load(file.as_bytes()).unwrap();
        assert_eq!(labels(&file, 1), [Some("A".to_owned())]);
    }

    #[test]
    fn dates_become_rfc_3339() {
        let of = |date| time(date).unwrap();
        assert_eq!(of("D:199812231952-08'00'"), "1998-12-23T19:52:00-08:00");
        assert_eq!(of("D:20100102030405Z00'00'"), "2010-01-02T03:04:05Z");
        assert_eq!(of("D:20100102030405+0530"), "2010-01-02T03:04:05+05:30");
        assert_eq!(of("2010"), "2010-01-01T00:00:00Z");
        assert_eq!(of("D:20100102030405 or so"), "2010-01-02T03:04:05Z");
        assert_eq!(time("D:20101302"), None);
        assert_eq!(time("yesterday"), None);
    }

    #[test]
    fn labels_are_numbered_in_the_style_they_name() {
        assert_eq!(numeral(Some(b'r'), 1994), "mcmxciv");
        assert_eq!(numeral(Some(b'A'), 28), "BB");
        assert_eq!(numeral(Some(b'D'), 7), "7");
        assert_eq!(numeral(None, 7), "");
        assert_eq!(numeral(Some(b'a'), 1 << 60), (1u64 << 60).to_string());
    }
}
