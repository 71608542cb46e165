//! The signals that end a command early.

use std::io;
use std::sync::{Arc, OnceLock};

use tokio::sync::{Notify, mpsc};

use crate::ops::run::Cancel;
use crate::ui::Voice;

use super::exit::Exit;

/// A signal that somebody sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Signal {
    /// From a terminal, mostly.
    Interrupt,
    /// From a supervisor, mostly.
    Terminate,
    /// From a terminal that is gone.
    HangUp,
}

impl Signal {
    /// Returns its usual name.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Interrupt => "SIGINT",
            Self::Terminate => "SIGTERM",
            Self::HangUp => "SIGHUP",
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

/// The signals that a command ends by at once, or with what is on its way brought to an end.
pub(super) struct Ending {
    /// Set by the first signal.
    pub(super) cancel: Cancel,
    first: Arc<OnceLock<Signal>>,
    insisted: Arc<Notify>,
}

impl Ending {
    /// Catches signals from now on, also that the terminal is gone, and says what the first one does.
    pub(super) fn caught(voice: Voice) -> Self {
        let ending = Self {
            cancel: Cancel::new(),
            first: Arc::default(),
            insisted: Arc::default(),
        };
        let (cancel, first) = (ending.cancel.clone(), Arc::clone(&ending.first));
        let insisted = Arc::clone(&ending.insisted);
        let mut signals = Signals::caught();
        tokio::spawn(async move {
            let signal = signals.next().await;
            let _ = first.set(signal);
            cancel.cancel();
            let name = signal.name();
            voice.warn(&format!(
                "{name}: ending what is on its way, for some seconds at most; another SIGINT ends it at once"
            ));
            while signals.next().await != Signal::Interrupt {}
            insisted.notify_one();
        });
        ending
    }

    /// Runs `command` to its end, or until somebody insists on a sudden one; then it stops where it is.
    pub(super) async fn bound<E>(
        &self,
        command: impl Future<Output = Result<Exit, E>>,
    ) -> Result<Exit, E> {
        let exit = tokio::select! {
            biased;
            () = self.insisted.notified() => Ok(Exit::Interrupted),
            exit = command => exit,
        };
        match self.first.get() {
            Some(signal) => Ok(Exit::of_signal(*signal)),
            None => exit,
        }
    }
}

/// All the signals that end a command of people.
struct Signals(mpsc::UnboundedReceiver<Signal>);

impl Signals {
    #[cfg(unix)]
    fn caught() -> Self {
        use tokio::signal::unix::{SignalKind, signal};

        let (sender, receiver) = mpsc::unbounded_channel();
        for (kind, known) in [
            (SignalKind::interrupt(), Signal::Interrupt),
            (SignalKind::terminate(), Signal::Terminate),
            (SignalKind::hangup(), Signal::HangUp),
        ] {
            // Where one cannot be caught, it ends the process as it always does.
            let Ok(mut caught) = signal(kind) else {
                continue;
            };
            let sender = sender.clone();
            tokio::spawn(async move {
                while caught.recv().await.is_some() && sender.send(known).is_ok() {}
            });
        }
        Self(receiver)
    }

    #[cfg(not(unix))]
    fn caught() -> Self {
        let (sender, receiver) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            while tokio::signal::ctrl_c().await.is_ok() && sender.send(Signal::Interrupt).is_ok() {}
        });
        Self(receiver)
    }

    async fn next(&mut self) -> Signal {
        match self.0.recv().await {
            Some(signal) => signal,
            None => std::future::pending().await,
        }
    }
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
