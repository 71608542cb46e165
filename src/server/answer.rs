//! What a server says: answers, and refusals with or without a DPE code (http-binding §11).

use std::borrow::Cow;

use axum::body::Body;
use http::{HeaderName, HeaderValue, Response, StatusCode, header};

use crate::model::{Code, Hash, Violation};
use crate::protocol::problem::Problem;
use crate::protocol::{ErrorCode, Missing, headers};

/// Entries of a missing list in total (http-binding §22).
const MISSING_BUDGET: usize = 1000;

/// Seconds after which to ask again what a person has to mend first (http-binding §22).
const LASTING_UNAVAILABILITY: u64 = 86400;

/// A complete response.
pub(super) type Answer = Response<Body>;

/// Returns a response without a body.
pub(super) fn empty(status: StatusCode) -> Answer {
    let mut answer = Response::new(Body::empty());
    *answer.status_mut() = status;
    answer
}

/// Returns a response with a JSON body.
pub(super) fn json(status: StatusCode, body: impl Into<Body>) -> Answer {
    let media_type = HeaderValue::from_static(headers::MEDIA_TYPE_JSON);
    with_body(status, media_type, body)
}

fn with_body(status: StatusCode, media_type: HeaderValue, body: impl Into<Body>) -> Answer {
    let mut answer = Response::new(body.into());
    *answer.status_mut() = status;
    answer
        .headers_mut()
        .insert(header::CONTENT_TYPE, media_type);
    answer
}

/// Adds `DPE-Doc-Hash`.
pub(super) fn set_doc_hash(answer: &mut Answer, doc_hash: Hash) {
    let value = header_value(&doc_hash.to_string());
    answer.headers_mut().insert(headers::DPE_DOC_HASH, value);
}

/// Adds `DPE-Doc-Hash` and `ETag`.
pub(super) fn set_version(answer: &mut Answer, doc_hash: Hash) {
    set_doc_hash(answer, doc_hash);
    let tag = header_value(&format!("\"{doc_hash}\""));
    answer.headers_mut().insert(header::ETAG, tag);
}

/// Makes a header value of text that is known to be visible ASCII.
pub(super) fn header_value(text: &str) -> HeaderValue {
    HeaderValue::from_str(text).expect("hashes and normalised URLs are visible ASCII")
}

/// Why a request is not carried out.
#[derive(Clone, Debug)]
pub(super) enum Refusal {
    /// Not a DPE error: neither problem body nor code.
    Bare {
        status: StatusCode,
        field: Option<(HeaderName, &'static str)>,
    },
    /// A DPE error.
    Coded(Box<Coded>),
}

/// A DPE error.
#[derive(Clone, Debug)]
pub(super) struct Coded {
    code: ErrorCode,
    status: u16,
    detail: Cow<'static, str>,
    missing: Option<Missing>,
    /// Bytes of the object that were received, where a chunk says something else.
    upload_offset: Option<u64>,
    /// Seconds; for the codes that may be retried.
    retry_after: u64,
}

impl Refusal {
    /// Returns a refusal without a code.
    pub(super) fn bare(status: StatusCode) -> Self {
        Self::Bare {
            status,
            field: None,
        }
    }

    /// Returns a refusal without a code, but with a header field that says what would do.
    pub(super) fn bare_with(status: StatusCode, name: HeaderName, value: &'static str) -> Self {
        Self::Bare {
            status,
            field: Some((name, value)),
        }
    }

    /// Returns a refusal with the regular status of its code.
    pub(super) fn coded(code: ErrorCode, detail: impl Into<Cow<'static, str>>) -> Self {
        Self::with_status(code, code.status(), detail)
    }

    /// Returns a refusal whose operation gives the code another status.
    pub(super) fn with_status(
        code: ErrorCode,
        status: u16,
        detail: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::Coded(Box::new(Coded {
            code,
            status,
            detail: detail.into(),
            missing: None,
            upload_offset: None,
            retry_after: 1,
        }))
    }

    /// Returns a `DPE_VALIDATION`.
    pub(super) fn invalid(detail: impl Into<Cow<'static, str>>) -> Self {
        Self::coded(ErrorCode::Validation, detail)
    }

    /// Says that the caller has no right to what was asked.
    pub(super) fn forbidden() -> Self {
        let code = ErrorCode::Forbidden;
        Self::coded(code, "the caller may not do this to this document")
    }

    /// Returns a `DPE_MISSING_CONTENT` that lists what is missing.
    pub(super) fn missing(missing: Missing) -> Self {
        let code = ErrorCode::MissingContent;
        Self::Coded(Box::new(Coded {
            code,
            status: code.status(),
            detail:
                "the document refers to content that is neither inline, nor in the session, nor \
                     part of its current state"
                    .into(),
            missing: Some(missing),
            upload_offset: None,
            retry_after: 1,
        }))
    }

    /// Returns a refusal that may be retried after so many seconds.
    pub(super) fn later(code: ErrorCode, retry_after: u64, detail: &'static str) -> Self {
        Self::Coded(Box::new(Coded {
            code,
            status: code.status(),
            detail: detail.into(),
            missing: None,
            upload_offset: None,
            retry_after,
        }))
    }

    /// Adds how much of an object was received.
    pub(super) fn at_offset(mut self, offset: u64) -> Self {
        if let Self::Coded(coded) = &mut self {
            coded.upload_offset = Some(offset);
        }
        self
    }

    /// Says that the store failed and the request had no effect; `lasting` if that remains so
    /// until a person does something (http-binding §11.4).
    pub(super) fn unavailable(lasting: bool) -> Self {
        let code = ErrorCode::Unavailable;
        let (detail, retry_after) = if lasting {
            let detail = "the store is damaged or cannot take this request; see its log, or move \
                          the store aside and push again";
            (detail, LASTING_UNAVAILABILITY)
        } else {
            ("the store cannot be used at the moment", 1)
        };
        Self::later(code, retry_after, detail)
    }

    /// Says that there is no room for what was to be stored; nobody knows when there will be.
    pub(super) fn disk_full() -> Self {
        let detail = "the disk of the remote is full; make room there and push again";
        Self::later(ErrorCode::Unavailable, LASTING_UNAVAILABILITY, detail)
    }

    /// Returns the response; one to HEAD has no body.
    pub(super) fn into_answer(self, to_head: bool) -> Answer {
        match self {
            Self::Bare { status, field } => {
                let mut answer = empty(status);
                if let Some((name, value)) = field {
                    let value = HeaderValue::from_static(value);
                    answer.headers_mut().insert(name, value);
                }
                answer
            }
            Self::Coded(coded) => coded.into_answer(to_head),
        }
    }
}

impl Coded {
    fn into_answer(mut self, to_head: bool) -> Answer {
        let truncated = self
            .missing
            .as_mut()
            .is_some_and(|missing| missing.truncate(MISSING_BUDGET));
        let problem = Problem {
            code: self.code,
            status: self.status,
            detail: &self.detail,
            missing: self.missing.as_ref().map(|missing| (missing, truncated)),
        };
        let status = StatusCode::from_u16(self.status).expect("codes have valid statuses");
        let mut answer = if to_head {
            empty(status)
        } else {
            let media_type = HeaderValue::from_static(headers::MEDIA_TYPE_PROBLEM);
            with_body(status, media_type, problem.encode())
        };
        let fields = answer.headers_mut();
        let code = HeaderValue::from_static(self.code.as_str());
        fields.insert(headers::DPE_ERROR_CODE, code);
        if let Some(offset) = self.upload_offset {
            fields.insert(headers::DPE_UPLOAD_OFFSET, offset.into());
        }
        if self.code.retryable() {
            fields.insert(header::RETRY_AFTER, self.retry_after.into());
        }
        answer
    }
}

impl From<Violation> for Refusal {
    /// Pointers stay here: they never travel (core §2.8).
    fn from(violation: Violation) -> Self {
        let code = match violation.code {
            Code::Validation => ErrorCode::Validation,
            Code::CategoryUnknown => ErrorCode::CategoryUnknown,
            Code::ContractUnsupported => ErrorCode::ContractUnsupported,
        };
        Self::coded(code, violation.message)
    }
}
