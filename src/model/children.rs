//! Lists of child hashes on the wire (hash contract §6.1, step 4).

use super::contract::{Contract, Contracts};
use super::fields::wrong_type;
use super::hash::Hash;
use super::violation::Violation;
use crate::json::Value;
use crate::json::canonical::Sink;

/// Judges a list in order and writes it; a list with a violation is written up to there.
pub(super) fn write_wire_list(
    list: Value<'_>,
    name: &str,
    contract: Contract,
    declared: Contracts,
    sink: &mut (impl Sink + ?Sized),
) -> Result<Vec<Hash>, Violation> {
    let items = list.items().ok_or_else(|| wrong_type(name, "an array"))?;
    let accepted = declared.with(contract);
    let mut writer = ListWriter::new();
    let mut hashes = Vec::new();
    for (position, item) in items.enumerate() {
        let hash = child(item, contract, accepted)
            .map_err(|violation| violation.under(&format!("/{name}/{position}")))?;
        writer.put(hash, sink);
        hashes.push(hash);
    }
    writer.end(sink);
    Ok(hashes)
}

fn child(item: Value<'_>, contract: Contract, accepted: Contracts) -> Result<Hash, Violation> {
    let hash = Hash::from_value(item, accepted)?;
    if hash.contract() != contract {
        let message = "the child's contract is not the contract of this object";
        return Err(Violation::here(message));
    }
    Ok(hash)
}

/// Writes hashes as a JSON array.
pub(super) struct ListWriter {
    separator: &'static [u8],
}

impl ListWriter {
    pub(super) fn new() -> Self {
        Self { separator: b"[" }
    }

    pub(super) fn put(&mut self, hash: Hash, sink: &mut (impl Sink + ?Sized)) {
        sink.put(self.separator);
        self.separator = b",";
        hash.put_quoted(sink);
    }

    pub(super) fn end(self, sink: &mut (impl Sink + ?Sized)) {
        sink.put(if self.separator == b"[" { b"[]" } else { b"]" });
    }
}
