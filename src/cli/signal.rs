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
    let (next, known) = (next(), Arc::clone(&first));
    tokio::spawn(async move {
        let _ = known.set(next.await);
        cancel.cancel();
    });
    first
}

/// Returns what is ready with the first signal. Signals are caught from now on; where they cannot
/// be, they end the process as they always do.
pub(super) fn next() -> impl Future<Output = Signal> {
    let caught = caught();
    async {
        match caught {
            Ok(signal) => signal.await,
            Err(_) => std::future::pending().await,
        }
    }
}

/// Returns what is ready with the first signal. Signals are caught from now on.
///
/// # Errors
///
/// When they cannot be caught.
#[cfg(unix)]
pub(super) fn caught() -> io::Result<impl Future<Output = Signal>> {
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
pub(super) fn caught() -> io::Result<impl Future<Output = Signal>> {
    Ok(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
        Signal::Interrupt
    })
}
