//! Keeps what a panic says, for a log that is no place for the usual message (connector contract
//! §24, §27).

use std::any::Any;
use std::backtrace::{Backtrace, BacktraceStatus};
use std::panic::{self, PanicHookInfo};
use std::sync::{Mutex, PoisonError};

/// What the last panic said.
static LAST: Mutex<Option<String>> = Mutex::new(None);

/// From now on, panics of this process say nothing on stderr; what they say is in the log of the
/// call they end.
pub fn record_panics() {
    panic::set_hook(Box::new(|info| {
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        *last = Some(description(info));
    }));
}

/// Returns what is known of a panic that was caught.
pub(super) fn traceback(panic: &(dyn Any + Send)) -> String {
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    last.take().unwrap_or_else(|| message(panic).to_owned())
}

fn description(info: &PanicHookInfo<'_>) -> String {
    let message = message(info.payload());
    let place = info.location();
    let place = place.map_or_else(|| "an unknown place".to_owned(), ToString::to_string);
    let backtrace = Backtrace::capture();
    match backtrace.status() {
        BacktraceStatus::Captured => format!("panicked at {place}: {message}\n{backtrace}"),
        _ => format!("panicked at {place}: {message}"),
    }
}

fn message(payload: &(dyn Any + Send)) -> &str {
    payload
        .downcast_ref::<&str>()
        .copied()
        .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
        .unwrap_or("it did not say why")
}
