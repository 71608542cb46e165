//! Lists of child hashes on the wire (hash contract §6.1, step 4).

use super::contract::{Contract, Contracts};
use super::fields::wrong_type;
use super::hash::{Hash, HashError};
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

/// Judges a list of hashes at hand like one on the wire.
pub(super) fn check_list(
    hashes: &[Hash],
    name: &str,
    contract: Contract,
    declared: Contracts,
) -> Result<(), Violation> {
    let accepted = declared.with(contract);
    for (position, &hash) in hashes.iter().enumerate() {
        check_contract(hash, contract, accepted)
            .map_err(|violation| violation.under(&format!("/{name}/{position}")))?;
    }
    Ok(())
}

/// Writes a list that has been judged.
pub(super) fn write_list(hashes: &[Hash], sink: &mut (impl Sink + ?Sized)) {
    let mut list = ListWriter::new();
    for &hash in hashes {
        list.put(hash, sink);
    }
    list.end(sink);
}

fn child(item: Value<'_>, contract: Contract, accepted: Contracts) -> Result<Hash, Violation> {
    let hash = Hash::from_value(item, accepted)?;
    check_contract(hash, contract, accepted)?;
    Ok(hash)
}

fn check_contract(hash: Hash, contract: Contract, accepted: Contracts) -> Result<(), Violation> {
    if !accepted.contains(hash.contract()) {
        let error = HashError::Contract;
        return Err(Violation::new(
            error.code(),
            String::new(),
            error.to_string(),
        ));
    }
    if hash.contract() != contract {
        let message = "the child's contract is not the contract of this object";
        return Err(Violation::here(message));
    }
    Ok(())
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
