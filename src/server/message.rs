//! Message steps that requests share (http-binding §6.2): what can be judged from the request
//! alone, before any document or right is looked at.

use http::HeaderMap;
use http::header::{IF_MATCH, IF_NONE_MATCH};

use crate::json::Text;
use crate::model::{Contract, Contracts, FileUri, Hash};
use crate::protocol::condition::{self, EntityTag, IfNoneMatch};
use crate::protocol::response::merged;
use crate::protocol::{ErrorCode, headers};
use crate::server::answer::Refusal;

/// M1: the whole body is I-JSON.
pub(super) fn json(body: &[u8]) -> Result<Text<'_>, Refusal> {
    Text::parse(body).map_err(|error| Refusal::invalid(format!("the body is not I-JSON: {error}")))
}

/// M2: the declared contract is one of the server's, compared exactly.
pub(super) fn contract(headers: &HeaderMap, declared: Contracts) -> Result<Contract, Refusal> {
    let code = ErrorCode::ContractUnsupported;
    let value = merged(headers, &headers::DPE_HASH_CONTRACT)
        .ok_or_else(|| Refusal::coded(code, "no DPE-Hash-Contract is declared"))?;
    std::str::from_utf8(&value)
        .ok()
        .and_then(Contract::from_name)
        .filter(|contract| declared.contains(*contract))
        .ok_or_else(|| Refusal::coded(code, "the declared hash contract is not supported"))
}

/// M3: the grammar of a URI in the query.
pub(super) fn file_uri(text: &str) -> Result<FileUri, Refusal> {
    FileUri::parse(text).map_err(|invalid| Refusal::invalid(format!("uri: {invalid}")))
}

/// Condition of a commit as its header fields say it (http-binding §5.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteCondition {
    None,
    IfAbsent,
    Base(Option<Hash>),
}

impl WriteCondition {
    /// Reads the condition of a commit.
    pub(super) fn of_commit(headers: &HeaderMap, declared: Contracts) -> Result<Self, Refusal> {
        let if_match = merged(headers, &IF_MATCH);
        let if_none_match = merged(headers, &IF_NONE_MATCH);
        match (if_match, if_none_match) {
            (None, None) => Ok(Self::None),
            (Some(value), None) => base(&value, declared),
            (None, Some(value)) => condition::if_absent(&value)
                .map(|()| Self::IfAbsent)
                .map_err(|_| Refusal::invalid("If-None-Match of a commit is exactly *")),
            (Some(_), Some(_)) => Err(Refusal::invalid(
                "If-Match and If-None-Match exclude each other",
            )),
        }
    }

    /// Reads the condition of a delete.
    pub(super) fn of_delete(headers: &HeaderMap, declared: Contracts) -> Result<Self, Refusal> {
        if headers.contains_key(IF_NONE_MATCH) {
            return Err(Refusal::invalid("a delete has no If-None-Match"));
        }
        match merged(headers, &IF_MATCH) {
            Some(value) => base(&value, declared),
            None => Ok(Self::None),
        }
    }
}

fn base(value: &[u8], declared: Contracts) -> Result<WriteCondition, Refusal> {
    let tag = condition::if_match(value)
        .map_err(|_| Refusal::invalid("If-Match is exactly one entity-tag"))?;
    Ok(WriteCondition::Base(tag_hash(tag, declared)))
}

/// Returns the hash a strong tag stands for. Anything else is not refused, it just never matches:
/// texts of hashes are unique, so comparing hashes is comparing texts (http-binding §5.2).
fn tag_hash(tag: EntityTag<'_>, declared: Contracts) -> Option<Hash> {
    token(std::str::from_utf8(tag.strong()?).ok()?, declared)
}

/// Returns the hash a version token stands for, if it is one.
pub(super) fn token(text: &str, declared: Contracts) -> Option<Hash> {
    Hash::parse(text, declared).ok()
}

/// Condition of get_skeleton.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ReadCondition {
    None,
    Any,
    Tags(Vec<Vec<u8>>),
}

impl ReadCondition {
    /// Reads `If-None-Match`.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, Refusal> {
        let Some(value) = merged(headers, &IF_NONE_MATCH) else {
            return Ok(Self::None);
        };
        match condition::if_none_match(&value) {
            Ok(IfNoneMatch::Any) => Ok(Self::Any),
            Ok(IfNoneMatch::Tags(tags)) => Ok(Self::Tags(
                tags.into_iter().map(|tag| tag.opaque().to_vec()).collect(),
            )),
            Err(_) => Err(Refusal::invalid(
                "If-None-Match is * or a list of entity-tags",
            )),
        }
    }

    /// Whether an existing document of this version matches, by weak comparison.
    pub(super) fn matches(&self, doc_hash: Hash) -> bool {
        match self {
            Self::None => false,
            Self::Any => true,
            Self::Tags(tags) => {
                let text = doc_hash.to_string();
                tags.iter().any(|tag| tag == text.as_bytes())
            }
        }
    }
}
