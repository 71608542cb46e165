//! The remote called in-process: the same router, no socket.

use axum::Router;
use axum::body::Body;
use http_body_util::BodyExt;
use tower::ServiceExt;

use crate::protocol::{Request, Response};
use crate::server::Service;
use crate::sync::ports::{LocalFault, Transport, TransportFailure};

/// A transport that ends in a service of this process.
#[derive(Clone, Debug)]
pub struct InProcess {
    router: Router,
    base: String,
}

impl InProcess {
    /// Returns a transport to `service`.
    pub fn new(service: &Service) -> Self {
        Self {
            router: service.router(),
            base: service.inner.base.clone(),
        }
    }
}

impl Transport for InProcess {
    async fn send(&self, request: Request) -> Result<Response, TransportFailure> {
        let request = self.to_http(request).map_err(|error| {
            let why = format!("the request cannot be written as HTTP: {error}");
            TransportFailure::local(LocalFault::Request, why)
        })?;
        let answer = self.router.clone().oneshot(request).await;
        let (head, body) = answer.unwrap_or_else(|never| match never {}).into_parts();
        let body = body
            .collect()
            .await
            .map_err(|error| TransportFailure::lost(format!("the reply broke off: {error}")))?;
        Ok(Response {
            status: head.status.as_u16(),
            headers: head.headers,
            body: body.to_bytes(),
        })
    }
}

impl InProcess {
    fn to_http(&self, request: Request) -> Result<http::Request<Body>, http::Error> {
        let target = format!("{}/{}", self.base, request.target);
        let mut http = http::Request::builder().method(request.method).uri(target);
        for (name, value) in request.headers {
            http = http.header(name, value);
        }
        // The bytes are handed over, not copied.
        http.body(request.body.map_or_else(Body::empty, Body::from))
    }
}
