//! Interruptions: a request that is given up, one that is too long, and the end (connector contract
//! §9, §15, §17).

use dpe_connector::rpc::Empty;
use dpe_connector::{ErrorCode, ScanParams};

use crate::host::Reply;

use super::Subject;
use super::bench::{Found, Why};
use super::session::{ROOMY, Session};

/// Begins a round and gives it up at once. Its answer may have been on its way.
pub(super) async fn cancel(session: &mut Session<'_>) -> Found<String> {
    let id = session.begin("scan", ScanParams::default())?;
    session.probe.cancel(id);
    let within = session.subject.deadlines.grace;
    let detail = match session.answer(id, within).await? {
        Reply::Done(_) => "answered before it was given up",
        Reply::Refused { code, .. } if code == ErrorCode::Cancelled.number() => {
            "given up with -32001"
        }
        Reply::Refused { code, message, .. } if code == ErrorCode::SourceFailed.number() => {
            return Err(Why::Source(message));
        }
        Reply::Refused { code, name, .. } => {
            return Err(Why::Broken(format!("answered with {code} ({name})")));
        }
    };
    session.is_alive().await?;
    Ok(detail.to_owned())
}

/// Ends a process as a runner does, but lets it exit by itself: its stdin stays open.
pub(super) async fn shutdown(session: &mut Session<'_>) -> Found<String> {
    let grace = session.subject.deadlines.grace;
    session.result_of("shutdown", Empty {}, grace).await?;
    let exit = session.probe.exit().await;
    let status = session.noting(exit)?;
    if status.success() {
        Ok("exited with 0".to_owned())
    } else {
        Err(Why::Broken(format!("ended with {status}")))
    }
}

/// Closes the stdin of an idle process.
pub(super) async fn end_of_input(subject: &Subject) -> Found<String> {
    let mut session = Session::open(subject, ROOMY).await?.session;
    session.probe.hang_up();
    let exit = session.probe.exit().await;
    let status = session.noting(exit)?;
    Ok(format!("ended with {status}"))
}

/// Sends a request above the limit, and another one behind it.
pub(super) async fn oversized(session: &mut Session<'_>) -> Found<String> {
    let length = usize::try_from(session.probe.limit()).unwrap_or(usize::MAX);
    let params = ScanParams {
        cursor: Some("x".repeat(length)),
        ..ScanParams::default()
    };
    let id = session.begin("scan", params)?;
    let within = session.subject.deadlines.initialize;
    let code = session.probe.refusal(id, within).await;
    let expected = ErrorCode::InvalidRequest.number();
    match session.noting(code)? {
        Some(code) if code == expected => {}
        Some(code) => return Err(Why::Broken(format!("refused with {code}, not {expected}"))),
        None => {
            let (sent, limit) = (session.probe.sent(), session.probe.limit());
            return Err(Why::Broken(format!(
                "a request of {sent} bytes, longer than max_message_bytes ({limit}), was answered; \
                 refuse it with {expected}"
            )));
        }
    }
    session.is_alive().await?;
    Ok(format!("refused with {expected}, and works on"))
}
