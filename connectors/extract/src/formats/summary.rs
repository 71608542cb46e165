//! What the office formats in compound files say about themselves: property sets ([MS-OLEPS]).

use dpe_connector::content::DocumentHead;

use super::compound::{self, Compound};
use crate::codepage::{self, WESTERN};
use crate::elements::VALUE_BYTES;
use crate::flow::title;
use crate::little_endian::u32_at;
use crate::reading::Reading;
use crate::{ExtractError, times};

const STREAM: &str = "/\u{5}SummaryInformation";

/// Steps of 100 ns from 1601 to 1980.
const EPOCH: u64 = 119_600_064_000_000_000;

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
    let start = u32_at(bytes, 44)? as usize;
    let section = bytes.get(start..)?;
    let count = u32_at(section, 4)?.min(1024) as usize;
    let entries = section.get(8..)?.chunks_exact(8).take(count);
    let entries: Vec<(u32, &[u8])> = entries
        .filter_map(|entry| {
            let value = section.get(u32_at(entry, 4)? as usize..)?;
            Some((u32_at(entry, 0)?, value))
        })
        .collect();
    let code_page = entries.iter().find(|(id, _)| *id == 1);
    let code_page = code_page.and_then(|(_, value)| u32_at(value, 4));
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
    let length = u32_at(value, 4)? as usize;
    let (bytes, page) = match u32_at(value, 0)? & 0xFFFF {
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
    if u32_at(value, 0)? & 0xFFFF != 0x40 {
        return None;
    }
    let steps = u64::from(u32_at(value, 4)?) | u64::from(u32_at(value, 8)?) << 32;
    // An unset field is 0, or some time before there were such documents.
    times::of_file_time(steps).filter(|_| steps > EPOCH)
}
