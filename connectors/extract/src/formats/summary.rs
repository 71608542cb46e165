//! What the office formats in compound files say about themselves: property sets ([MS-OLEPS]).

use dpe_connector::content::DocumentHead;

use super::compound::{self, Compound};
use super::sheets::civil;
use crate::ExtractError;
use crate::codepage::{self, WESTERN};
use crate::elements::VALUE_BYTES;
use crate::flow::title;
use crate::reading::Reading;

const STREAM: &str = "/\u{5}SummaryInformation";

/// Intervals of 100 ns in a second, and seconds from 1601 to 1970.
const INTERVALS: u64 = 10_000_000;
const EPOCH: i64 = 11_644_473_600;

/// Writes title and metadata into a head; a set that cannot be read is noted.
///
/// # Errors
///
/// `bomb`.
pub(super) fn declare(
    head: &mut DocumentHead,
    file: &mut Compound<'_>,
    reading: &mut Reading<'_>,
) -> Result<(), ExtractError> {
    let bytes = compound::stream(file, STREAM, reading);
    let bytes = reading.tolerated("the summary", bytes)?.flatten();
    if let Some(bytes) = bytes {
        read(&bytes, head);
    }
    Ok(())
}

fn read(bytes: &[u8], head: &mut DocumentHead) -> Option<()> {
    let start = number(bytes, 44)? as usize;
    let section = bytes.get(start..)?;
    let count = number(section, 4)?.min(1024) as usize;
    let entries = section.get(8..)?.chunks_exact(8).take(count);
    let entries: Vec<(u32, &[u8])> = entries
        .filter_map(|entry| {
            let value = section.get(number(entry, 4)? as usize..)?;
            Some((number(entry, 0)?, value))
        })
        .collect();
    let code_page = entries.iter().find(|(id, _)| *id == 1);
    let code_page = code_page.and_then(|(_, value)| number(value, 4));
    let code_page = code_page.map_or(WESTERN, |page| page as u16);
    for (id, value) in entries {
        let name = match id {
            2 => {
                head.title = text(value, code_page).as_deref().and_then(title);
                continue;
            }
            3 => "subject",
            4 => "author",
            5 => "keywords",
            6 => "description",
            12 => "created",
            13 => "modified",
            _ => continue,
        };
        let value = match id {
            12 | 13 => time(value),
            _ => text(value, code_page),
        };
        let value = value.unwrap_or_default();
        if (1..=VALUE_BYTES).contains(&value.trim().len()) {
            head.doc_metadata
                .insert(name.to_owned(), value.trim().into());
        }
    }
    Some(())
}

fn text(value: &[u8], code_page: u16) -> Option<String> {
    let length = number(value, 4)? as usize;
    let (bytes, page) = match number(value, 0)? & 0xFFFF {
        0x1E => (value.get(8..8usize.checked_add(length)?)?, code_page),
        0x1F => (
            value.get(8..8usize.checked_add(length.checked_mul(2)?)?)?,
            1200,
        ),
        _ => return None,
    };
    let text = codepage::decode(page, bytes);
    Some(text.split('\0').next().unwrap_or_default().to_owned())
}

fn time(value: &[u8]) -> Option<String> {
    if number(value, 0)? & 0xFFFF != 0x40 {
        return None;
    }
    let intervals = u64::from(number(value, 4)?) | u64::from(number(value, 8)?) << 32;
    let seconds = i64::try_from(intervals / INTERVALS).ok()?;
    // An unset field is 0, or some time before there were computers.
    let since = seconds.checked_sub(EPOCH).filter(|since| *since > 0)?;
    let (year, month, day) = civil(since.div_euclid(86_400));
    let rest = since.rem_euclid(86_400);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    (year <= 9999)
        .then(|| format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z"))
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(bytes.try_into().ok()?))
}
