//! The signals that end a command early.

use std::io;
use std::sync::{Arc, OnceLock};

use crate::ops::run::Cancel;

/// A signal that somebody sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// From a terminal, mostly.
    Interrupt,
    /// From a supervisor, mostly.
    Terminate,
}

impl Signal {
    /// Returns its usual name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
        }
    }
}

/// Catches signals from now on. The first one is remembered and sets `cancel`, in this order; later
/// ones do nothing.
pub(super) fn first(cancel: Cancel) -> Arc<OnceLock<Signal>> {
    let first = Arc::new(OnceLock::new());
    // Where they cannot be caught, they end the process as they always do.
    if let Ok(next) = next() {
        let first = Arc::clone(&first);
        tokio::spawn(async move {
            let _ = first.set(next.await);
            cancel.cancel();
        });
    }
    first
}

/// Returns what is ready with the first signal. Signals are caught from now on.
#[cfg(unix)]
fn next() -> io::Result<impl Future<Output = Signal>> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    Ok(async move {
        tokio::select! {
            // Which of two that are there came first is known to nobody.
            biased;
            _ = terminate.recv() => Signal::Terminate,
            _ = interrupt.recv() => Signal::Interrupt,
        }
    })
}

/// Returns what is ready with the first signal.
#[cfg(not(unix))]
fn next() -> io::Result<impl Future<Output = Signal>> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Signal::Interrupt
    })
}
