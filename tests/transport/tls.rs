//! Over TLS, with authorities and certificates made for the test.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::Request;
use dpe::config::{Network, RemoteUrl};
use dpe::sync::ports::Transport;
use dpe::transport::{Http, TransportError};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::RootCertStore;
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, pem::PemObject};
use rustls::server::WebPkiClientVerifier;
use tempfile::TempDir;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

use super::lost::authorities;
use super::raw::{self, assert_lost, assert_not_sent, get, network, put};

/// A server with a certificate of an authority of its own. It answers with the version of HTTP,
/// the path, and the headers it was sent.
pub(super) struct Server {
    pub(super) address: SocketAddr,
    directory: TempDir,
}

impl Server {
    /// Starts a server; `demanding` ones take only clients with a certificate of the authority.
    pub(super) async fn start(demanding: bool) -> Self {
        Self::offering(demanding, &["h2", "http/1.1"]).await
    }

    async fn offering(demanding: bool, protocols: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let authority = authority();
        std::fs::write(directory.path().join("ca.pem"), authority.pem()).unwrap();
        let client_key = KeyPair::generate().unwrap();
        let client = CertificateParams::new(["client".to_owned()]).unwrap();
        let client = client.signed_by(&client_key, &authority).unwrap();
        let pem = format!("{}{}", client.pem(), client_key.serialize_pem());
        std::fs::write(directory.path().join("client.pem"), pem).unwrap();
        let mut config = server_config(&authority, demanding);
        config.alpn_protocols = protocols
            .iter()
            .map(|name| name.as_bytes().to_vec())
            .collect();
        let listener = TlsListener {
            listener: TcpListener::bind("127.0.0.1:0").await.unwrap(),
            acceptor: TlsAcceptor::from(Arc::new(config)),
        };
        let address = listener.listener.local_addr().unwrap();
        let answer = |request: Request| async move {
            format!(
                "{:?} {} {:?}",
                request.version(),
                request.uri().path(),
                request.headers()
            )
        };
        let router = Router::new().fallback(answer);
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, directory }
    }

    /// Settings that trust the authority of this server.
    pub(super) fn network(&self) -> Network {
        Network {
            authorities: Some(self.directory.path().join("ca.pem")),
            ..network()
        }
    }

    fn url(&self) -> String {
        format!("https://localhost:{}/r", self.address.port())
    }
}

fn authority() -> CertifiedIssuer<'static, KeyPair> {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn server_config(
    authority: &CertifiedIssuer<'static, KeyPair>,
    demanding: bool,
) -> rustls::ServerConfig {
    let key = KeyPair::generate().unwrap();
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let params = CertificateParams::new(names).unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    let key = PrivateKeyDer::from_pem_slice(key.serialize_pem().as_bytes()).unwrap();
    let provider = Arc::new(ring::default_provider());
    let builder = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .unwrap();
    let builder = if demanding {
        let mut roots = RootCertStore::empty();
        roots.add(authority.der().clone()).unwrap();
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        builder.with_client_cert_verifier(verifier.build().unwrap())
    } else {
        builder.with_no_client_auth()
    };
    builder
        .with_single_cert(vec![certificate.der().clone()], key)
        .unwrap()
}

struct TlsListener {
    listener: TcpListener,
    acceptor: TlsAcceptor,
}

impl axum::serve::Listener for TlsListener {
    type Io = TlsStream<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let (stream, address) = self.listener.accept().await.unwrap();
            if let Ok(stream) = self.acceptor.accept(stream).await {
                return (stream, address);
            }
        }
    }

    fn local_addr(&self) -> std::io::Result<Self::Addr> {
        self.listener.local_addr()
    }
}

#[tokio::test]
async fn http_2_is_spoken_where_the_server_has_it_and_http_1_1_elsewhere() {
    for (protocols, version) in [
        (&["h2", "http/1.1"][..], "HTTP/2.0 "),
        (&["http/1.1"], "HTTP/1.1 "),
        (&[], "HTTP/1.1 "),
    ] {
        let server = Server::offering(false, protocols).await;
        let transport = raw::http(&server.url(), &server.network());
        for request in [get("x"), put("application/json", vec![b' '; 300_000])] {
            let reply = transport.send(request).await.unwrap();
            let body = String::from_utf8(reply.body.to_vec()).unwrap();
            assert!(body.starts_with(&format!("{version}/r/")), "{body}");
        }
    }
}

#[tokio::test]
async fn an_address_can_be_the_name_in_a_certificate() {
    let server = Server::start(false).await;
    let url = format!("https://{}", server.address);
    let reply = raw::send(&url, &server.network(), get("x")).await.unwrap();
    assert_eq!(reply.status, 200);
}

#[tokio::test]
async fn a_server_of_an_unknown_authority_is_sent_nothing() {
    let server = Server::start(false).await;
    let (_file, network) = authorities();
    let sent = raw::send(&server.url(), &network, get("x")).await;
    let message = assert_not_sent(sent);
    assert!(message.contains("invalid peer certificate"), "{message}");
}

#[tokio::test]
async fn a_server_with_the_certificate_of_another_is_sent_nothing() {
    let server = Server::start(false).await;
    // 127.0.0.2 is this machine too, and not in the certificate; Linux alone listens there.
    let url = format!("https://127.0.0.2:{}", server.address.port());
    assert_not_sent(raw::send(&url, &server.network(), get("x")).await);
}

#[tokio::test]
async fn a_server_that_demands_a_certificate_gets_it() {
    let server = Server::start(true).await;
    let network = Network {
        client_certificate: Some(server.directory.path().join("client.pem")),
        ..server.network()
    };
    let reply = raw::send(&server.url(), &network, get("x")).await.unwrap();
    assert_eq!(reply.status, 200);
    // In TLS 1.3 the client has finished before the server refuses: nobody can know what came of
    // the request, so that it counts as lost.
    assert_lost(raw::send(&server.url(), &server.network(), get("x")).await);
}

#[test]
fn files_that_hold_something_else_are_named_and_not_shown() {
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    let ca = authority().pem();
    let ca_file = file("ca.pem", &ca);
    let strange = KeyPair::generate().unwrap().serialize_pem();
    let broken = "-----BEGIN CERTIFICATE-----\nc2VjcmV0\n-----END CERTIFICATE-----\n";
    let authorities = |path| (Some(path), None);
    let client = |path| (Some(ca_file.clone()), Some(path));
    for (authorities, client_certificate) in [
        authorities(directory.path().join("none.pem")),
        authorities(file("empty.pem", "")),
        authorities(file("text.pem", "secret c2VjcmV0")),
        authorities(file("broken.pem", broken)),
        client(directory.path().join("none.pem")),
        client(file("key.pem", &strange)),
        client(file("certificate.pem", &ca)),
        client(file("mismatch.pem", &format!("{ca}{strange}"))),
    ] {
        let named = client_certificate.clone().or(authorities.clone()).unwrap();
        let network = Network {
            authorities,
            client_certificate,
            ..Network::default()
        };
        let url = RemoteUrl::parse("https://localhost").unwrap();
        let error = Http::new(&url, &network, |_| None).unwrap_err();
        assert!(
            matches!(
                error,
                TransportError::Pem { .. } | TransportError::Unreadable { .. }
            ),
            "{error}"
        );
        let said = format!("{error} {error:?}");
        assert!(said.contains(named.to_str().unwrap()), "{said}");
        assert!(
            !said.contains("secret") && !said.contains("c2VjcmV0"),
            "{said}"
        );
    }
}
