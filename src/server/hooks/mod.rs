//! The conformance side channel: what a test of the remote needs and the protocol does not offer.
//!
//! It lives beside the remote, below a path of its own, asks nobody who he is, and is off unless
//! somebody turns it on. Its bodies are closed JSON objects; refusals have the form of the
//! protocol's. What the hooks do is the service's business (`steering`).

mod injection;
mod self_write;

use std::borrow::Cow;

use axum::body::Body;
use http::request::Parts;
use http::{HeaderMap, Method, StatusCode, header};

use crate::json::{Value, Writer};
use crate::protocol::wire::{InvalidEnvelope, envelope};
use crate::server::answer::{self, Answer, Refusal};
use crate::server::hooks::injection::{Arming, Injections};
use crate::server::service::Service;
use crate::server::write::invalid_envelope;
use crate::server::{body, message, route};

/// The side channel of one service.
#[derive(Debug)]
pub(super) struct Hooks {
    /// Path below which the hooks are, taken apart.
    path: Vec<Vec<u8>>,
    injections: Injections,
}

/// What a path at or below that of the side channel stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Hook {
    SelfWrite,
    ExpireSession,
    AdvanceClock,
    InjectError,
    Unknown,
}

impl Hooks {
    /// Returns a side channel below a path such as `/__hooks__`.
    pub(super) fn new(path: &str) -> Self {
        Self {
            path: route::segments(path.strip_prefix('/').unwrap_or(path)).collect(),
            injections: Injections::default(),
        }
    }

    /// Returns the hook of a request path; `None` if the path is not the side channel's.
    pub(super) fn find(&self, path: &str) -> Option<Hook> {
        let segments: Vec<_> = route::segments(path.strip_prefix('/')?).collect();
        let rest: Vec<_> = segments.strip_prefix(&*self.path)?.iter().collect();
        Some(match *rest {
            [name] if name == b"self-write" => Hook::SelfWrite,
            [name] if name == b"expire-session" => Hook::ExpireSession,
            [clock, advance] if clock == b"clock" && advance == b"advance" => Hook::AdvanceClock,
            [name] if name == b"inject-error" => Hook::InjectError,
            _ => Hook::Unknown,
        })
    }

    /// Returns the error that is armed for a request with these header fields, and counts it.
    pub(super) fn injected(&self, headers: &HeaderMap) -> Option<Refusal> {
        self.injections.strike(headers)
    }

    /// Carries out a request to a hook.
    pub(super) async fn answer(
        &self,
        service: &Service,
        hook: Hook,
        head: &Parts,
        body: Body,
    ) -> Result<Answer, Refusal> {
        if let Err(refusal) = admit(hook, &head.method) {
            body::drain(&head.headers, body);
            return Err(refusal);
        }
        let max = service.inner.limits.max_payload_bytes;
        let (body, _place) = body::read(head, body, max).await?;
        if hook == Hook::SelfWrite {
            return self_write::answer(service, body).await;
        }
        let text = message::json(&body)?;
        let mut reply = Writer::new();
        reply.begin_object();
        match hook {
            Hook::ExpireSession => {
                let session = session_id(text.root()).map_err(invalid_envelope)?;
                let expired = service.expire_session(&session).await?;
                reply.name("expired").boolean(expired);
            }
            Hook::AdvanceClock => {
                let seconds = advance_seconds(text.root()).map_err(invalid_envelope)?;
                reply.name("now").string(&service.advance_clock(seconds));
            }
            _ => {
                let arming = Arming::read(text.root()).map_err(invalid_envelope)?;
                reply.name("armed").boolean(true);
                reply.name("count").integer(arming.count());
                self.injections.arm(arming);
            }
        }
        reply.end_object();
        Ok(answer::json(StatusCode::OK, reply.into_bytes()))
    }
}

/// Path, then method, as for the protocol (http-binding §6.1).
fn admit(hook: Hook, method: &Method) -> Result<(), Refusal> {
    if hook == Hook::Unknown {
        return Err(Refusal::bare(StatusCode::NOT_FOUND));
    }
    if method != Method::POST {
        let status = StatusCode::METHOD_NOT_ALLOWED;
        return Err(Refusal::bare_with(status, header::ALLOW, "POST"));
    }
    Ok(())
}

fn session_id(body: Value<'_>) -> Result<String, InvalidEnvelope> {
    let [session] = envelope::members(body, ["session_id"])?;
    let session = envelope::mandatory(session, "session_id")?;
    envelope::string(session, "session_id").map(Cow::into_owned)
}

fn advance_seconds(body: Value<'_>) -> Result<u64, InvalidEnvelope> {
    let [seconds] = envelope::members(body, ["advance_seconds"])?;
    let seconds = envelope::mandatory(seconds, "advance_seconds")?;
    count(seconds, "advance_seconds", 1)
}

/// Reads an integer of at least `least`.
fn count(value: Value<'_>, name: &str, least: u64) -> Result<u64, InvalidEnvelope> {
    value
        .number()
        .and_then(|number| u64::try_from(number.as_integer()?).ok())
        .filter(|&count| count >= least)
        .ok_or_else(|| InvalidEnvelope::new(format!("{name} is no integer of at least {least}")))
}

#[cfg(test)]
mod tests {
    use super::{Hook, Hooks};

    #[test]
    fn hooks_are_known_by_their_decoded_segments() {
        let hooks = Hooks::new("/a/__hooks__");
        for (path, hook) in [
            ("/a/__hooks__/self-write", Some(Hook::SelfWrite)),
            ("/a/__hooks__/expire-session", Some(Hook::ExpireSession)),
            ("/a/__hooks__/clock/advance", Some(Hook::AdvanceClock)),
            ("/a/__hooks__/inject-error", Some(Hook::InjectError)),
            ("/%61/__hooks__/self%2Dwrite", Some(Hook::SelfWrite)),
            ("/a/__hooks__/clock%2Fadvance", Some(Hook::Unknown)),
            ("/a/__hooks__/self-write/", Some(Hook::Unknown)),
            ("/a/__hooks__/clock", Some(Hook::Unknown)),
            ("/a/__hooks__/", Some(Hook::Unknown)),
            ("/a/__hooks__", Some(Hook::Unknown)),
            ("/a/__hooks__x/self-write", None),
            ("/a", None),
            ("/documents", None),
            ("*", None),
        ] {
            assert_eq!(hooks.find(path), hook, "{path}");
        }
    }
}
