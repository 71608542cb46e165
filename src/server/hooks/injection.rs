//! Armed errors: what the next requests with a certain probe get instead of an answer.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use http::{HeaderMap, HeaderName, HeaderValue};

use crate::json::Value;
use crate::protocol::ErrorCode;
use crate::protocol::response::merged;
use crate::protocol::wire::{InvalidEnvelope, envelope};
use crate::server::answer::Refusal;
use crate::server::hooks::count;

/// Header field that marks a request as one of a probe.
const PROBE: HeaderName = HeaderName::from_static("dpe-conformance-probe");

/// Seconds of `Retry-After` unless the arming says otherwise.
const RETRY_AFTER: u64 = 1;

/// The armed errors, at most one for each probe.
#[derive(Debug, Default)]
pub(super) struct Injections {
    armed: Mutex<HashMap<Vec<u8>, Injection>>,
}

#[derive(Clone, Copy, Debug)]
struct Injection {
    code: ErrorCode,
    /// Requests that it is still to hit.
    left: u64,
    /// Seconds.
    retry_after: u64,
}

/// A request to arm an error.
#[derive(Debug)]
pub(super) struct Arming {
    probe: String,
    injection: Injection,
}

impl Injections {
    /// Arms an error; the last arming of a probe wins.
    pub(super) fn arm(&self, Arming { probe, injection }: Arming) {
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        armed.insert(probe.into_bytes(), injection);
    }

    /// Returns the error for a request, if one is armed for its probe, and counts it.
    pub(super) fn strike(&self, headers: &HeaderMap) -> Option<Refusal> {
        let probe = merged(headers, &PROBE)?;
        let mut armed = self.armed.lock().unwrap_or_else(PoisonError::into_inner);
        let injection = armed.get_mut(&*probe)?;
        let Injection {
            code, retry_after, ..
        } = *injection;
        injection.left -= 1;
        if injection.left == 0 {
            armed.remove(&*probe);
        }
        let detail = "the error that was asked for by the side channel";
        Some(Refusal::later(code, retry_after, detail))
    }
}

impl Arming {
    /// Reads the body of the request.
    pub(super) fn read(body: Value<'_>) -> Result<Self, InvalidEnvelope> {
        let names = ["code", "probe", "count", "retry_after"];
        let [code, probe, left, retry_after] = envelope::members(body, names)?;
        let code = envelope::string(envelope::mandatory(code, "code")?, "code")?;
        let code = ErrorCode::from_text(&code).filter(|code| code.retryable());
        let probe = envelope::string(envelope::mandatory(probe, "probe")?, "probe")?;
        Ok(Self {
            probe: sendable(&probe)?.to_owned(),
            injection: Injection {
                code: code
                    .ok_or_else(|| InvalidEnvelope::new("code is none of a retryable error"))?,
                left: left.map_or(Ok(1), |left| count(left, "count", 1))?,
                retry_after: retry_after.map_or(Ok(RETRY_AFTER), seconds)?,
            },
        })
    }

    /// Returns how many requests will be hit.
    pub(super) fn count(&self) -> u64 {
        self.injection.left
    }
}

/// Reads a number of seconds; what is told in a header field is rounded up (http-binding §11.4).
fn seconds(value: Value<'_>) -> Result<u64, InvalidEnvelope> {
    let number = value.number();
    number
        .and_then(|number| number.literal().parse::<f64>().ok())
        .filter(|seconds| *seconds >= 0.0)
        // An amount that no integer can hold becomes the largest.
        .map(|seconds| seconds.ceil() as u64)
        .ok_or_else(|| InvalidEnvelope::new("retry_after is no number of at least 0"))
}

/// Refuses a probe that no request could carry.
fn sendable(probe: &str) -> Result<&str, InvalidEnvelope> {
    let is_value = HeaderValue::from_str(probe).is_ok();
    if is_value && !probe.is_empty() && probe.trim() == probe {
        Ok(probe)
    } else {
        Err(InvalidEnvelope::new("probe is no value of a header field"))
    }
}
