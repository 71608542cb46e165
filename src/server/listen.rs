//! The remote on a socket: HTTP/1.1 and cleartext HTTP/2 with prior knowledge.

use std::future::Future;
use std::io;
use std::time::Duration;

use axum::serve::ListenerExt;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::server::Service;
use crate::server::sessions::SWEEP_EVERY;

/// How long requests in flight may take once the server is to end.
const GRACE: Duration = Duration::from_secs(5);

/// Serves `service` on `listener` until `shutdown` is ready; then takes no more connections and
/// returns when the requests in flight are answered, after five seconds at the latest.
///
/// # Errors
///
/// When the socket fails for good.
pub async fn serve(
    listener: TcpListener,
    service: &Service,
    shutdown: impl Future<Output = ()>,
) -> io::Result<()> {
    let (stop, stopped) = oneshot::channel::<()>();
    // Small answers must not wait for the acknowledgement of earlier ones.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    let server = axum::serve(listener, service.router()).with_graceful_shutdown(async {
        // Either way it is time: the sender goes only together with this function.
        let _ = stopped.await;
    });
    let deadline = async {
        shutdown.await;
        let _ = stop.send(());
        tokio::time::sleep(GRACE).await;
    };
    let sweeps = async {
        loop {
            tokio::time::sleep(SWEEP_EVERY).await;
            service.sweep().await;
        }
    };
    tokio::select! {
        served = server.into_future() => served,
        () = deadline => Ok(()),
        () = sweeps => Ok(()),
    }
}
