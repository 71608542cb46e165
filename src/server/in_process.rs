//! The remote called in-process: the same router, no socket.

use axum::Router;
use axum::body::Body;
use http_body_util::BodyExt;
use tower::ServiceExt;

use crate::protocol::{Request, Response};
use crate::server::Service;

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

impl InProcess {
    /// Sends `request` and returns the reply.
    ///
    /// # Errors
    ///
    /// When the request cannot be written as HTTP; it was certainly not sent then.
    pub async fn send(&self, request: Request) -> Result<Response, http::Error> {
        let request = self.to_http(request)?;
        let answer = self.router.clone().oneshot(request).await;
        let (head, body) = answer.unwrap_or_else(|never| match never {}).into_parts();
        let body = body.collect().await;
        let body = body.expect("answers are complete before they are sent");
        Ok(Response {
            status: head.status.as_u16(),
            headers: head.headers,
            body: body.to_bytes(),
        })
    }

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
