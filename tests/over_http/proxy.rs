//! A proxy that makes things go wrong: it stands between a client and a server, forwards what
//! passes, and does to chosen requests what a bad network or a foreign gateway would do.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use futures_util::stream;
use http::{HeaderMap, Method, Request, Response};
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// What happens to one request.
pub(crate) enum Fault {
    /// The connection ends before the server saw anything.
    ResetBefore,
    /// The connection to the server ends in the middle of the request, and the client's with it.
    CutRequest,
    /// The server does what it is asked, and its answer is lost.
    SwallowReply,
    /// The server does what it is asked, and its answer breaks off in the middle of the body.
    CutReply,
    /// Somebody else answers; the server sees nothing.
    Answer(Foreign),
    /// The server does what it is asked, and somebody else answers.
    AnswerAfter(Foreign),
    /// The request takes its time.
    Delay(Duration),
    /// Something else happens first, then the request is forwarded.
    Meanwhile(Meanwhile),
    /// Something else happens instead, and there is no answer.
    Instead(Meanwhile),
    /// The server does what it is asked, then something else happens, and there is no answer.
    Afterwards(Meanwhile),
}

pub(crate) type Meanwhile = Box<dyn FnOnce() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// An answer that did not come from the server.
#[derive(Clone, Debug)]
pub(crate) struct Foreign {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: &'static str,
}

impl Foreign {
    /// Returns the error page of a gateway.
    pub(crate) fn html(status: u16) -> Self {
        Self {
            status,
            headers: vec![("content-type", "text/html".to_owned())],
            body: "<html><body><h1>Nobody is here</h1></body></html>",
        }
    }

    /// Returns an answer without a body.
    pub(crate) fn bare(status: u16) -> Self {
        Self {
            status,
            headers: Vec::new(),
            body: "",
        }
    }

    /// Returns a DPE error that may be retried.
    pub(crate) fn busy(status: u16, code: &str, retry_after: String) -> Self {
        Self {
            status,
            headers: vec![
                ("dpe-error-code", code.to_owned()),
                ("retry-after", retry_after),
            ],
            body: "",
        }
    }
}

/// A request as it came by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    /// Path and query.
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

type Chooser = Box<dyn FnMut(&Seen) -> Option<Fault> + Send>;

#[derive(Default)]
struct Plan {
    /// Address of the server.
    server: String,
    chooser: Option<Chooser>,
    seen: Vec<Seen>,
}

/// A running proxy; it ends when dropped.
pub(crate) struct FaultProxy {
    pub(crate) url: String,
    plan: Arc<Mutex<Plan>>,
    task: JoinHandle<()>,
}

impl FaultProxy {
    /// Starts a proxy in front of the remote at `url`.
    pub(crate) async fn before(url: &str) -> Self {
        let authority = url.strip_prefix("http://").unwrap();
        let (server, path) = authority.split_at(authority.find('/').unwrap_or(authority.len()));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let plan = Arc::<Mutex<Plan>>::default();
        plan.lock().unwrap().server = server.to_owned();
        let task = tokio::spawn(accept(listener, Arc::clone(&plan)));
        Self {
            url: format!("http://{address}{path}"),
            plan,
            task,
        }
    }

    /// Lets `chooser` decide what happens to each request from now on.
    pub(crate) fn choose(&self, chooser: impl FnMut(&Seen) -> Option<Fault> + Send + 'static) {
        self.plan.lock().unwrap().chooser = Some(Box::new(chooser));
    }

    /// Does `fault` to the first request from now on that `matches`.
    pub(crate) fn once(&self, matches: impl Fn(&Seen) -> bool + Send + 'static, fault: Fault) {
        let mut fault = Some(fault);
        self.choose(move |seen| if matches(seen) { fault.take() } else { None });
    }

    /// Forwards to the remote at `url` from now on.
    pub(crate) fn turn_to(&self, url: &str) {
        let authority = url.strip_prefix("http://").unwrap();
        let server = authority.split('/').next().unwrap();
        self.plan.lock().unwrap().server = server.to_owned();
    }

    /// Returns what has come by, and forgets it.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        std::mem::take(&mut self.plan.lock().unwrap().seen)
    }
}

impl Drop for FaultProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Seen {
    /// Whether this is a request to an operation, such as `PUT /documents`.
    pub(crate) fn is(&self, method: &Method, path: &str) -> bool {
        self.method == *method && self.target.contains(path)
    }
}

async fn accept(listener: TcpListener, plan: Arc<Mutex<Plan>>) {
    // Connections end with the proxy.
    let mut connections = tokio::task::JoinSet::new();
    while let Ok((stream, _)) = listener.accept().await {
        let plan = Arc::clone(&plan);
        connections.spawn(async move {
            let service = service_fn(|request| handle(request, &plan));
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(TokioIo::new(stream), service)
                .await;
        });
    }
}

/// A connection that ends without an answer.
#[derive(Debug, thiserror::Error)]
#[error("this connection ends here")]
struct Gone;

type Answer = Response<BoxBody<Bytes, Gone>>;

async fn handle(request: Request<Incoming>, plan: &Mutex<Plan>) -> Result<Answer, Gone> {
    let (head, body) = request.into_parts();
    let seen = Seen {
        method: head.method,
        target: head.uri.to_string(),
        headers: head.headers,
        body: body.collect().await.map_err(|_| Gone)?.to_bytes(),
    };
    let (fault, server) = {
        let mut plan = plan.lock().unwrap();
        plan.seen.push(seen.clone());
        let fault = plan.chooser.as_mut().and_then(|chooser| chooser(&seen));
        (fault, plan.server.clone())
    };
    match fault {
        None => forward(&seen, &server).await,
        Some(Fault::ResetBefore) => Err(Gone),
        Some(Fault::CutRequest) => cut_request(&seen, &server).await,
        Some(Fault::SwallowReply) => {
            forward(&seen, &server).await?;
            Err(Gone)
        }
        Some(Fault::CutReply) => cut(forward(&seen, &server).await?).await,
        Some(Fault::Answer(foreign)) => Ok(answer(&foreign)),
        Some(Fault::AnswerAfter(foreign)) => {
            forward(&seen, &server).await?;
            Ok(answer(&foreign))
        }
        Some(Fault::Delay(duration)) => {
            tokio::time::sleep(duration).await;
            forward(&seen, &server).await
        }
        Some(Fault::Instead(meanwhile)) => {
            meanwhile().await;
            Err(Gone)
        }
        Some(Fault::Afterwards(meanwhile)) => {
            forward(&seen, &server).await?;
            meanwhile().await;
            Err(Gone)
        }
        Some(Fault::Meanwhile(meanwhile)) => {
            meanwhile().await;
            forward(&seen, &server).await
        }
    }
}

async fn forward(seen: &Seen, server: &str) -> Result<Answer, Gone> {
    let stream = TcpStream::connect(server).await.map_err(|_| Gone)?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
        .await
        .map_err(|_| Gone)?;
    let driver = tokio::spawn(connection);
    let mut request = Request::new(Full::new(seen.body.clone()));
    *request.method_mut() = seen.method.clone();
    *request.uri_mut() = seen.target.parse().map_err(|_| Gone)?;
    *request.headers_mut() = seen.headers.clone();
    let (head, body) = sender
        .send_request(request)
        .await
        .map_err(|_| Gone)?
        .into_parts();
    let body = body.collect().await.map_err(|_| Gone)?.to_bytes();
    driver.abort();
    Ok(Response::from_parts(head, whole(body)))
}

/// Lets the server have the head and half of the body.
async fn cut_request(seen: &Seen, server: &str) -> Result<Answer, Gone> {
    let mut request = format!("{} {} HTTP/1.1\r\n", seen.method, seen.target).into_bytes();
    for (name, value) in &seen.headers {
        request.extend_from_slice(format!("{name}: ").as_bytes());
        request.extend_from_slice(value.as_bytes());
        request.extend_from_slice(b"\r\n");
    }
    request.extend_from_slice(b"\r\n");
    request.extend_from_slice(&seen.body[..seen.body.len() / 2]);
    let mut stream = TcpStream::connect(server).await.map_err(|_| Gone)?;
    stream.write_all(&request).await.map_err(|_| Gone)?;
    Err(Gone)
}

/// Keeps the length that was promised, and half of the bytes.
async fn cut(answer: Answer) -> Result<Answer, Gone> {
    let (head, body) = answer.into_parts();
    let body = body.collect().await?.to_bytes();
    let half = body.slice(..body.len() / 2);
    let frames = stream::iter([Ok(Frame::data(half)), Err(Gone)]);
    Ok(Response::from_parts(
        head,
        BodyExt::boxed(StreamBody::new(frames)),
    ))
}

fn answer(foreign: &Foreign) -> Answer {
    let mut answer = Response::builder().status(foreign.status);
    for (name, value) in &foreign.headers {
        answer = answer.header(*name, value);
    }
    answer
        .body(whole(Bytes::from_static(foreign.body.as_bytes())))
        .unwrap()
}

fn whole(bytes: Bytes) -> BoxBody<Bytes, Gone> {
    Full::new(bytes)
        .map_err(|never: Infallible| match never {})
        .boxed()
}

/// Posts a JSON body to a URL, past every proxy, and returns the JSON that is answered.
pub(crate) async fn post(url: &str, body: String) -> serde_json::Value {
    let rest = url.strip_prefix("http://").unwrap();
    let (server, path) = rest.split_at(rest.find('/').unwrap());
    let mut headers = HeaderMap::new();
    headers.insert("host", server.parse().unwrap());
    headers.insert("content-type", "application/json".parse().unwrap());
    let request = Seen {
        method: Method::POST,
        target: path.to_owned(),
        headers,
        body: body.into(),
    };
    let answer = forward(&request, server).await.unwrap();
    let body = answer.into_body().collect().await.unwrap().to_bytes();
    serde_json::from_slice(&body).unwrap()
}
