//! One connection: HTTP until both sides are done, or until nobody seems to be there.
//!
//! A connection costs a file and memory, so none is kept for a peer that is silent. While an
//! answer is made the peer has to be silent; the time of a body that does not come is `body`'s.

use std::io;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, HttpBody as _};
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::JoinError;
use tokio::time::{Instant, sleep_until};
use tower::ServiceExt;

/// How long a peer may do nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Patience {
    /// Without a byte in either direction, and for the head of a request as a whole.
    silence: Duration,
    /// Without a request, however alive the peer is.
    idle: Duration,
    /// From ping to ping on HTTP/2, and from a ping to its answer.
    ping: Duration,
}

impl Patience {
    /// That of a server.
    pub(super) const LONG: Self = Self {
        silence: Duration::from_secs(30),
        idle: Duration::from_secs(300),
        ping: Duration::from_secs(20),
    };
}

/// Serves one connection until it ends; from the moment that `stop` changes, or has no sender any
/// more, only what has begun.
pub(super) async fn serve(
    stream: TcpStream,
    router: Router,
    mut stop: watch::Receiver<()>,
    patience: Patience,
) {
    let signs = Arc::new(Signs::new());
    let answering = Arc::clone(&signs);
    let service = service_fn(move |request: Request<Incoming>| {
        let answering = Answering::new(Arc::clone(&answering));
        let answer = answer(router.clone(), request.map(Body::new));
        async move {
            let _answering = answering;
            answer.await
        }
    });
    let stream = Watched {
        stream,
        signs: Arc::clone(&signs),
    };
    let builder = builder(patience);
    let mut connection = pin!(builder.serve_connection(TokioIo::new(stream), service));
    let mut ending = false;
    loop {
        let silent_at = signs.last_byte() + patience.silence;
        let idle_at = signs.last_request() + patience.idle;
        tokio::select! {
            // What ended it is between the peer and the network.
            _ = connection.as_mut() => return,
            _ = stop.changed(), if !ending => {
                ending = true;
                connection.as_mut().graceful_shutdown();
            }
            () = sleep_until(silent_at) => {
                if signs.last_byte() + patience.silence <= Instant::now() {
                    return;
                }
            }
            () = sleep_until(idle_at), if !ending => {
                if signs.last_request() + patience.idle <= Instant::now() {
                    ending = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }
}

/// Returns the answer to a request. One with a body is seen to its end even if its peer goes away:
/// what is made of the body is in memory until then, and must not be forgotten in the count.
async fn answer(router: Router, request: Request<Body>) -> Result<Response<Body>, JoinError> {
    let has_body = !request.body().is_end_stream();
    let answer = router.oneshot(request);
    let answer = if has_body {
        tokio::spawn(answer).await?
    } else {
        answer.await
    };
    Ok(answer.unwrap_or_else(|never| match never {}))
}

fn builder(patience: Patience) -> Builder<TokioExecutor> {
    let mut builder = Builder::new(TokioExecutor::new());
    builder
        .http1()
        .timer(TokioTimer::new())
        .header_read_timeout(patience.silence);
    builder
        .http2()
        .timer(TokioTimer::new())
        .keep_alive_interval(patience.ping)
        .keep_alive_timeout(patience.ping);
    builder
}

/// When there was a sign of life. Moments are milliseconds since the connection began.
#[derive(Debug)]
struct Signs {
    begun: Instant,
    last_byte: AtomicU64,
    last_request: AtomicU64,
    /// Requests whose answer is being made.
    answering: AtomicUsize,
}

impl Signs {
    fn new() -> Self {
        Self {
            begun: Instant::now(),
            last_byte: AtomicU64::new(0),
            last_request: AtomicU64::new(0),
            answering: AtomicUsize::new(0),
        }
    }

    fn see(&self, what: &AtomicU64) {
        let now = self.begun.elapsed().as_millis();
        what.store(u64::try_from(now).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Returns when a byte came or went last, which is now as long as it is our turn.
    fn last_byte(&self) -> Instant {
        self.when(&self.last_byte)
    }

    /// Returns when a request came, or was answered, last.
    fn last_request(&self) -> Instant {
        self.when(&self.last_request)
    }

    fn when(&self, what: &AtomicU64) -> Instant {
        if self.answering.load(Ordering::Relaxed) > 0 {
            return Instant::now();
        }
        self.begun + Duration::from_millis(what.load(Ordering::Relaxed))
    }
}

/// Exists while an answer is made.
struct Answering(Arc<Signs>);

impl Answering {
    fn new(signs: Arc<Signs>) -> Self {
        signs.answering.fetch_add(1, Ordering::Relaxed);
        Self(signs)
    }
}

impl Drop for Answering {
    fn drop(&mut self) {
        self.0.see(&self.0.last_byte);
        self.0.see(&self.0.last_request);
        self.0.answering.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A stream that is watched for bytes.
struct Watched {
    stream: TcpStream,
    signs: Arc<Signs>,
}

impl Watched {
    fn stream(&mut self) -> Pin<&mut TcpStream> {
        Pin::new(&mut self.stream)
    }

    fn written(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if matches!(written, Poll::Ready(Ok(count)) if count > 0) {
            self.signs.see(&self.signs.last_byte);
        }
        written
    }
}

impl AsyncRead for Watched {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = self.stream().poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.signs.see(&self.signs.last_byte);
        }
        read
    }
}

impl AsyncWrite for Watched {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = self.stream().poll_write(context, bytes);
        self.written(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = self.stream().poll_write_vectored(context, bytes);
        self.written(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.stream().poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use axum::Router;
    use axum::routing::get;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::{TcpListener, TcpStream};
    use tokio::sync::watch;
    use tokio::time::{Instant, sleep};

    use super::{Patience, serve};

    /// Patience of a test.
    const SHORT: Patience = Patience {
        silence: Duration::from_millis(300),
        idle: Duration::from_millis(900),
        ping: Duration::from_millis(100),
    };

    /// Opens a connection to a server that answers `/slow` after more than its patience. The
    /// sender stops it.
    async fn connected() -> (TcpStream, watch::Sender<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let slow = || async {
            sleep(SHORT.silence * 2).await;
            "late"
        };
        let router = Router::new()
            .route("/", get(|| async { "there" }))
            .route("/slow", get(slow));
        let (stop, stopped) = watch::channel(());
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            let (stream, _) = listener.accept().await.unwrap();
            serve(stream, router, stopped, SHORT).await;
        });
        (TcpStream::connect(address).await.unwrap(), stop)
    }

    /// Sends bytes and reads until the server closes; returns what came, and after what time.
    async fn closed_after(bytes: &[u8]) -> (String, Duration) {
        let (mut stream, _stop) = connected().await;
        let begun = Instant::now();
        stream.write_all(bytes).await.unwrap();
        let mut reply = Vec::new();
        let read = stream.read_to_end(&mut reply);
        // A connection that is given up may be reset as well.
        let _ = tokio::time::timeout(Duration::from_secs(10), read)
            .await
            .expect("the server does not close");
        let reply = String::from_utf8_lossy(&reply).into_owned();
        (reply, begun.elapsed())
    }

    #[tokio::test]
    async fn silent_connection_is_closed_wherever_its_peer_stopped() {
        for sent in ["", "G", "PRI * HT", "GET / HTTP/1.1\r\nho"] {
            let (reply, after) = closed_after(sent.as_bytes()).await;
            assert!(!reply.contains("200"), "{reply}");
            assert!(after >= SHORT.silence, "{sent:?} after {after:?}");
        }
    }

    #[tokio::test]
    async fn connection_between_requests_is_closed_when_it_stays_silent() {
        let (reply, after) = closed_after(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").await;
        assert!(reply.ends_with("there"), "{reply}");
        assert!(after >= SHORT.silence, "{after:?}");
    }

    #[tokio::test]
    async fn head_that_trickles_has_the_same_time_as_one_that_does_not_come() {
        let (mut stream, _stop) = connected().await;
        let begun = Instant::now();
        let head = "GET / HTTP/1.1\r\nx: ".bytes().chain([b'y'; 200]);
        for byte in head {
            if stream.write_all(&[byte]).await.is_err() {
                break;
            }
            sleep(SHORT.silence / 20).await;
        }
        assert!(begun.elapsed() < SHORT.silence * 5, "{:?}", begun.elapsed());
    }

    #[tokio::test]
    async fn silence_while_an_answer_is_made_is_nobodys_fault() {
        let (reply, _) = closed_after(b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n").await;
        assert!(reply.ends_with("late"), "{reply}");
    }

    #[tokio::test]
    async fn peer_that_answers_pings_and_asks_nothing_is_told_to_go() {
        let (stream, _stop) = connected().await;
        let begun = Instant::now();
        let io = hyper_util::rt::TokioIo::new(stream);
        let executor = hyper_util::rt::TokioExecutor::new();
        let (sender, connection) =
            hyper::client::conn::http2::handshake::<_, _, axum::body::Body>(executor, io)
                .await
                .unwrap();
        let ended = tokio::time::timeout(Duration::from_secs(10), connection).await;
        assert!(ended.is_ok(), "the server does not close");
        assert!(begun.elapsed() >= SHORT.idle, "{:?}", begun.elapsed());
        drop(sender);
    }

    #[tokio::test]
    async fn peer_that_does_not_answer_pings_is_given_up() {
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
        let (_, after) = closed_after(preface).await;
        assert!(after < SHORT.idle, "{after:?}");
    }

    #[tokio::test]
    async fn stop_ends_a_connection_after_what_has_begun() {
        let (mut stream, stop) = connected().await;
        let request = b"GET /slow HTTP/1.1\r\nhost: x\r\n\r\n";
        stream.write_all(request).await.unwrap();
        sleep(SHORT.silence / 3).await;
        drop(stop);
        let mut reply = String::new();
        stream.read_to_string(&mut reply).await.unwrap();
        assert!(reply.ends_with("late"), "{reply}");
    }
}
