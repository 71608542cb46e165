//! The service: one request in, one response out. Transport steps T1–T4 are here (http-binding
//! §6.1); what follows is in a file per operation.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use axum::Router;
use axum::body::Body;
use axum::extract::State;
use bytes::Bytes;
use futures_util::stream;
use http::request::Parts;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use tokio::sync::Semaphore;

use crate::protocol::wire::capabilities::Limits;
use crate::server::access::{Access, Caller};
use crate::server::answer::{Answer, Refusal};
use crate::server::blocking::blocking;
use crate::server::clock::Clock;
use crate::server::hooks::Hooks;
use crate::server::query_form::QueryForm;
use crate::server::route::{Prefix, Route};
use crate::server::store::{self, Store};
use crate::server::verification::Verification;
use crate::server::{body, negotiate, read, upload, write};

/// Work on bodies up to this many bytes is done where it arises; more would hold up other requests.
const INLINE_BYTES: usize = 64 << 10;

/// Readers of the store at one time.
const READERS: usize = 8;

/// Told what goes wrong inside, for the log.
pub type OnIncident = Arc<dyn Fn(&str) + Send + Sync>;

/// How a service presents itself.
#[derive(Clone)]
pub struct Options {
    /// Path under which the remote lives, such as `/r/1`; empty for the root.
    pub prefix: String,
    /// Externally visible URL of the remote, prefix included, without a `/` at the end.
    pub public_url: String,
    /// Who may do what.
    pub access: Access,
    /// Path of the conformance side channel, such as `/__hooks__`, outside of `prefix`; whoever
    /// can send a request can use it.
    pub hooks: Option<String>,
    /// Told what goes wrong inside.
    pub on_incident: OnIncident,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            prefix: String::new(),
            public_url: "http://localhost".to_owned(),
            access: Access::default(),
            hooks: None,
            on_incident: Arc::new(|_| {}),
        }
    }
}

/// A remote over a store. Clones share it.
#[derive(Clone)]
pub struct Service {
    pub(super) inner: Arc<Inner>,
}

pub(super) struct Inner {
    pub(super) store: Store,
    pub(super) limits: Limits,
    pub(super) public_url: String,
    pub(super) access: Access,
    pub(super) clock: Clock,
    hooks: Option<Hooks>,
    /// When the store was swept last, in seconds since 1970 on our clock.
    pub(super) swept: AtomicI64,
    /// Prefix as it was given, for callers in-process.
    pub(super) base: String,
    prefix: Prefix,
    readers: Arc<Semaphore>,
    /// Of pages that came in chunks, which may be larger than any body.
    pub(super) verification: Verification,
    on_incident: OnIncident,
}

impl Service {
    /// Returns a service over `store`.
    pub fn new(store: Store, limits: Limits, options: Options) -> Self {
        let on_incident = Arc::clone(&options.on_incident);
        store.report_failures_to(Arc::new(move |why| {
            on_incident(&format!("the store failed to write: {why}"));
        }));
        let clock = Clock::default();
        // Opening the store was a sweep, too.
        let swept = AtomicI64::new(clock.now().seconds());
        Self {
            inner: Arc::new(Inner {
                store,
                limits,
                public_url: options.public_url,
                access: options.access,
                clock,
                hooks: options.hooks.as_deref().map(Hooks::new),
                swept,
                prefix: Prefix::new(&options.prefix),
                base: options.prefix,
                readers: Arc::new(Semaphore::new(READERS)),
                verification: Verification::new(),
                on_incident: options.on_incident,
            }),
        }
    }

    /// Returns the service as a router, for a socket or for calls in-process.
    pub fn router(&self) -> Router {
        // The paths are compared decoded (http-binding §1.2), which a routing table would not do.
        Router::new().fallback(handle).with_state(self.clone())
    }

    /// Returns how long a body may be.
    pub(super) fn max_payload_bytes(&self) -> u64 {
        self.inner.limits.max_payload_bytes
    }

    /// Returns where to say what goes wrong.
    pub(super) fn on_incident(&self) -> OnIncident {
        Arc::clone(&self.inner.on_incident)
    }
}

async fn handle(State(service): State<Service>, request: Request<Body>) -> Response<Body> {
    let (head, body) = request.into_parts();
    if let Some(hooks) = &service.inner.hooks
        && let Some(hook) = hooks.find(head.uri.path())
    {
        let answer = hooks.answer(&service, hook, &head, body).await;
        return answer.unwrap_or_else(|refusal| refusal.into_answer(false));
    }
    let Some(route) = service.inner.prefix.route(head.uri.path()) else {
        body::drain(&head.headers, body);
        return Refusal::bare(StatusCode::NOT_FOUND).into_answer(false);
    };
    let to_head = head.method == Method::HEAD;
    let is_documents = route == Route::Documents;
    let mut answer = service
        .answer(route, &head, body)
        .await
        .unwrap_or_else(|refusal| refusal.into_answer(to_head));
    if is_documents {
        let vary = HeaderValue::from_static("DPE-Hash-Contract");
        answer.headers_mut().insert(header::VARY, vary);
    }
    if to_head || answer.status() == StatusCode::NOT_MODIFIED {
        // Such an answer has no body, but its length is not known to be 0: that would be the
        // length of the answer to GET (RFC 9110 §8.6).
        return answer.map(|_| Body::from_stream(stream::empty::<Result<Bytes, Infallible>>()));
    }
    answer
}

impl Service {
    async fn answer(&self, route: Route, head: &Parts, body: Body) -> Result<Answer, Refusal> {
        let admitted = match self.admit(&route, head) {
            Ok(admitted) => admitted,
            Err(refusal) => {
                body::drain(&head.headers, body);
                return Err(refusal);
            }
        };
        let Admitted { caller, form } = admitted;
        match (route, head.method.as_str()) {
            (Route::Capabilities, _) => Ok(read::capabilities(self)),
            (Route::Heads, _) => read::heads(self, head, body, caller).await,
            (Route::Move, _) => write::move_(self, head, body, caller).await,
            (Route::Negotiate, _) => negotiate::negotiate(self, head, body, caller).await,
            (Route::Staged(path), "HEAD") => upload::resume_query(self, head, path, caller).await,
            (Route::Staged(path), _) => upload::upload(self, head, body, path, caller).await,
            (Route::Documents, "PUT") => write::commit(self, head, body, form, caller).await,
            (Route::Documents, "DELETE") => write::delete(self, head, form, caller).await,
            (Route::Documents, "HEAD") => read::head(self, head, form, caller).await,
            (Route::Documents, _) if form.uri.is_some() => {
                read::skeleton(self, head, form, caller).await
            }
            (Route::Documents, _) => read::list(self, head, form, caller).await,
        }
    }

    /// Steps T2–T4.
    fn admit(&self, route: &Route, head: &Parts) -> Result<Admitted, Refusal> {
        if !route.allows(&head.method) {
            let status = StatusCode::METHOD_NOT_ALLOWED;
            return Err(Refusal::bare_with(status, header::ALLOW, route.allow()));
        }
        let hooks = self.inner.hooks.as_ref();
        if let Some(refusal) = hooks.and_then(|hooks| hooks.injected(&head.headers)) {
            return Err(refusal);
        }
        let caller = self.inner.access.caller(&head.headers).ok_or_else(|| {
            let status = StatusCode::UNAUTHORIZED;
            Refusal::bare_with(status, header::WWW_AUTHENTICATE, "Bearer")
        })?;
        let form = match route {
            Route::Documents => {
                let query = head.uri.query().unwrap_or_default();
                QueryForm::read(&head.method, query).map_err(Refusal::invalid)?
            }
            _ => QueryForm::default(),
        };
        Ok(Admitted { caller, form })
    }

    /// Reads from the store where waiting for a disk holds up nobody else.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        query: impl FnOnce(&Store) -> rusqlite::Result<T> + Send + 'static,
    ) -> Result<T, Refusal> {
        let permit = Arc::clone(&self.inner.readers).acquire_owned().await;
        let permit = permit.expect("the semaphore is never closed");
        let store = self.inner.store.clone();
        let result = blocking(move || {
            // The query goes on when its caller went away, so the permit is the query's.
            let _permit = permit;
            query(&store)
        })
        .await;
        result.map_err(|error| {
            (self.inner.on_incident)(&format!("the store failed to read: {error}"));
            Refusal::unavailable(store::is_damage(&error))
        })
    }
}

/// What T2–T4 found out.
struct Admitted {
    caller: Caller,
    form: QueryForm,
}

/// Runs work on `bytes` bytes: here if they are few, else where it holds up nobody.
pub(super) async fn off_thread<T: Send + 'static>(
    bytes: usize,
    work: impl FnOnce() -> T + Send + 'static,
) -> T {
    if bytes <= INLINE_BYTES {
        work()
    } else {
        blocking(work).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::time::Duration;

    use tempfile::TempDir;
    use tokio::time::timeout;

    use super::{Options, READERS, Service};
    use crate::protocol::wire::capabilities::Limits;
    use crate::server::store::{OpenMode, Store};

    #[tokio::test]
    async fn reader_whose_caller_went_away_counts_until_it_ends() {
        let dir = TempDir::new().unwrap();
        let store = Store::open(dir.path(), OpenMode::Create).unwrap();
        let service = Service::new(store, Limits::default(), Options::default());
        let (begin, begun) = mpsc::channel();
        let (ends, callers): (Vec<_>, Vec<_>) = (0..READERS)
            .map(|_| {
                let (end, ended) = mpsc::channel::<()>();
                let (begin, service) = (begin.clone(), service.clone());
                let query = move |_: &Store| {
                    begin.send(()).unwrap();
                    Ok(ended.recv())
                };
                let caller = tokio::spawn(async move { service.read(query).await.is_ok() });
                (end, caller)
            })
            .unzip();
        let mut running = 0;
        while running < READERS {
            running += begun.try_iter().count();
            tokio::task::yield_now().await;
        }
        for caller in callers {
            caller.abort();
            assert!(caller.await.unwrap_err().is_cancelled());
        }
        let short = Duration::from_millis(50);
        let next = timeout(short, service.read(|_| Ok(()))).await;
        assert!(next.is_err(), "a reader too many");
        drop(ends);
        assert!(service.read(|_| Ok(())).await.is_ok());
    }
}
