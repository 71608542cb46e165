//! The member `runner` of a definition (§34). It changes how a round is run, and never what it
//! comes to.

use std::time::Duration;

use crate::json::Value;

use super::error::DefinitionError;
use super::members::Place;
use super::positive_integer;

/// Longer than anybody waits: beyond it, a number of seconds stands for this.
const LONGEST: Duration = Duration::from_secs(u32::MAX as u64);

/// Settings of a round; what is absent has its usual value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// Most items of a batch.
    pub max_items: Option<u64>,
    /// How long a scan may take.
    pub scan_timeout: Option<Duration>,
    /// How long reading a part of a blob may take.
    pub blob_timeout: Option<Duration>,
    /// Most bytes of a message; raised if the remote takes more.
    pub max_message_bytes: Option<u64>,
    /// Most resubmissions after conflicts, per item.
    pub conflict_retries: Option<u32>,
    /// Most attempts to save what a failed save left behind.
    pub state_retries: Option<u64>,
    /// A number of documents, or a share in percent: a round that would delete more stops. Our own.
    pub max_delete: Option<String>,
}

impl Tuning {
    /// Reads the object. Keys that are not known are ignored; null is absent.
    pub(super) fn read(runner: Value<'_>) -> Result<Self, DefinitionError> {
        let mut tuning = Self::default();
        for (name, member) in Place::root(runner).open()? {
            if member.value.is_null() {
                continue;
            }
            match &*name {
                "max_items" => tuning.max_items = Some(count(&name, &member)?),
                "scan_timeout" => tuning.scan_timeout = Some(seconds(&name, &member)?),
                "blob_timeout" => tuning.blob_timeout = Some(seconds(&name, &member)?),
                "max_message_bytes" => tuning.max_message_bytes = Some(count(&name, &member)?),
                "conflict_retries" => {
                    let retries = member.value.number().and_then(|number| number.as_integer());
                    let retries = retries.and_then(|retries| u32::try_from(retries).ok());
                    let retries = retries.filter(|retries| *retries <= 2);
                    tuning.conflict_retries =
                        Some(retries.ok_or_else(|| refused(&name, "is no integer from 0 to 2"))?);
                }
                "state_retries" => tuning.state_retries = Some(count(&name, &member)?),
                "max_delete" => tuning.max_delete = Some(limit(&name, &member)?),
                _ => {}
            }
        }
        Ok(tuning)
    }
}

fn count(name: &str, member: &Place<'_>) -> Result<u64, DefinitionError> {
    positive_integer(member.value).ok_or_else(|| refused(name, "is no positive integer"))
}

fn seconds(name: &str, member: &Place<'_>) -> Result<Duration, DefinitionError> {
    let seconds = member.value.number();
    let seconds: Option<f64> = seconds.and_then(|number| number.literal().parse().ok());
    match seconds {
        // Whoever writes a number that is nearly nothing means something.
        Some(seconds) if seconds > 0.0 => Ok(Duration::try_from_secs_f64(seconds)
            .unwrap_or(LONGEST)
            .clamp(Duration::from_nanos(1), LONGEST)),
        _ => Err(refused(name, "is no positive number of seconds")),
    }
}

fn limit(name: &str, member: &Place<'_>) -> Result<String, DefinitionError> {
    let number = member.value.number().and_then(|number| number.as_integer());
    let text = match number {
        Some(number) => number.to_string(),
        None => member.value.as_str().unwrap_or_default().into_owned(),
    };
    let digits = text.strip_suffix('%').unwrap_or(&text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(refused(
            name,
            "is neither a number of documents nor a share such as \"50%\"",
        ));
    }
    Ok(text)
}

fn refused(name: &str, why: &str) -> DefinitionError {
    DefinitionError::inside("/runner", name, why)
}
