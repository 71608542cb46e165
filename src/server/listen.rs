//! The remote on a socket: HTTP/1.1 and cleartext HTTP/2 with prior knowledge.
//!
//! Takes connections and lets them end; what happens on one is the business of `connection`.

use std::future::Future;
use std::io;
use std::pin::pin;
use std::time::Duration;

use axum::Extension;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::server::connection::{self, Patience};
use crate::server::room::Room;
use crate::server::sessions::SWEEP_EVERY;
use crate::server::{OnIncident, Service};

/// How long requests in flight may take once the server is to end.
const GRACE: Duration = Duration::from_secs(5);

/// Most connections at one time; the next ones wait until one of them ends.
const CONNECTIONS: usize = 1024;

/// After what time to try again when no connection can be taken.
const PAUSE: Duration = Duration::from_millis(200);

/// How often to say that connections cannot be taken.
const SAY_EVERY: Duration = Duration::from_secs(10);

/// Serves `service` on `listener` until `shutdown` is ready; then takes no more connections and
/// returns when the requests in flight are answered, after five seconds at the latest.
pub async fn serve(listener: TcpListener, service: &Service, shutdown: impl Future<Output = ()>) {
    let sweeps = async {
        loop {
            sleep(SWEEP_EVERY).await;
            service.sweep().await;
        }
    };
    tokio::select! {
        () = accept(listener, service, shutdown) => {}
        () = sweeps => {}
    }
}

async fn accept(listener: TcpListener, service: &Service, shutdown: impl Future<Output = ()>) {
    let mut shutdown = pin!(shutdown);
    let (stop, stopped) = watch::channel(());
    let router = service
        .router()
        .layer(Extension(Room::new(service.max_payload_bytes())));
    let most = most_connections();
    let mut log = Log::new(service.on_incident());
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            () = &mut shutdown => break,
            Some(_) = open.join_next() => {}
            taken = listener.accept(), if open.len() < most => match taken {
                Ok((stream, _)) => {
                    // Small answers must not wait for the acknowledgement of earlier ones.
                    drop(stream.set_nodelay(true));
                    let router = router.clone();
                    open.spawn(connection::serve(stream, router, stopped.clone(), Patience::LONG));
                    if open.len() == most {
                        log.say(|| format!("{most} connections are open; more have to wait"));
                    }
                }
                Err(error) if is_of_the_peer(&error) => {}
                Err(error) => {
                    log.say(|| format!("no connection can be taken: {error}"));
                    sleep(PAUSE).await;
                }
            },
        }
    }
    drop((listener, stop));
    // What is not answered by then is given up together with the set.
    let _ = timeout(GRACE, async { while open.join_next().await.is_some() {} }).await;
}

/// Whether only the connection that was to be taken failed.
fn is_of_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(
        error.kind(),
        ConnectionAborted | ConnectionRefused | ConnectionReset
    )
}

/// Returns how many connections there may be: the store needs files, too.
fn most_connections() -> usize {
    let files = files().and_then(|files| usize::try_from(files).ok());
    let most = files.map_or(CONNECTIONS, |files| files / 4 * 3);
    most.clamp(1, CONNECTIONS)
}

/// Returns how many files the process may have open, if that is bounded.
#[cfg(unix)]
fn files() -> Option<u64> {
    use rustix::process::{Resource, getrlimit};
    getrlimit(Resource::Nofile).current
}

#[cfg(not(unix))]
fn files() -> Option<u64> {
    None
}

/// Says what happens again and again only now and then.
struct Log {
    on_incident: OnIncident,
    said: Option<Instant>,
}

impl Log {
    fn new(on_incident: OnIncident) -> Self {
        Self {
            on_incident,
            said: None,
        }
    }

    fn say(&mut self, what: impl FnOnce() -> String) {
        if self.said.is_none_or(|said| said.elapsed() >= SAY_EVERY) {
            self.said = Some(Instant::now());
            (self.on_incident)(&what());
        }
    }
}
