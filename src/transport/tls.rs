//! Whom to trust, and how to be known: TLS by rustls with the cryptography of `ring`.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::Verifier;

use crate::config::Network;

use super::error::TransportError;

const AUTHORITIES: &str = "--cacert";
const CLIENT_CERTIFICATE: &str = "--client-cert";

/// Returns the configuration for all connections: HTTP/2 if the server has it, else HTTP/1.1.
///
/// # Errors
///
/// A file that cannot be read or holds something else; no authorities at all.
pub(super) fn config(network: &Network) -> Result<ClientConfig, TransportError> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| client(&error))?;
    let verifier = verifier(network.authorities.as_deref(), provider)?;
    // "Dangerous" is any verifier of one's own; this one is the platform's.
    let builder = builder
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier));
    let mut config = match &network.client_certificate {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let (chain, key) = identity(path)?;
            let mismatch = |_| TransportError::Pem {
                flag: CLIENT_CERTIFICATE,
                path: path.clone(),
                expected: "a certificate and the private key that belongs to it",
            };
            builder
                .with_client_auth_cert(chain, key)
                .map_err(mismatch)?
        }
    };
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

/// Returns a configuration for a remote without TLS, which must not need any authorities.
pub(super) fn unused() -> Result<ClientConfig, TransportError> {
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    Ok(builder
        .with_safe_default_protocol_versions()
        .map_err(|error| client(&error))?
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth())
}

fn verifier(
    authorities: Option<&Path>,
    provider: Arc<CryptoProvider>,
) -> Result<Verifier, TransportError> {
    let added = authorities.map(certificates).transpose()?;
    let verifier = match added {
        None => Verifier::new(provider),
        Some(added) => Verifier::new_with_extra_roots(added, provider),
    };
    verifier.map_err(|error| TransportError::Roots {
        reason: error.to_string(),
    })
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, TransportError> {
    let pem = read(AUTHORITIES, path)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let found = found.ok().filter(|found| !found.is_empty());
    let mut store = RootCertStore::empty();
    let are_usable = |found: &Vec<CertificateDer<'static>>| {
        let mut found = found.iter();
        found.all(|certificate| store.add(certificate.clone()).is_ok())
    };
    found.filter(are_usable).ok_or_else(|| TransportError::Pem {
        flag: AUTHORITIES,
        path: path.to_owned(),
        expected: "certificates",
    })
}

type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn identity(path: &Path) -> Result<Identity, TransportError> {
    let pem = read(CLIENT_CERTIFICATE, path)?;
    let expects = |expected| TransportError::Pem {
        flag: CLIENT_CERTIFICATE,
        path: path.to_owned(),
        expected,
    };
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let chain = chain.ok().filter(|chain| !chain.is_empty());
    let chain = chain.ok_or_else(|| expects("a certificate"))?;
    let key = PrivateKeyDer::from_pem_slice(&pem);
    let key = key.map_err(|_| expects("an unencrypted private key"))?;
    Ok((chain, key))
}

fn read(flag: &'static str, path: &Path) -> Result<Vec<u8>, TransportError> {
    std::fs::read(path).map_err(|source| TransportError::Unreadable {
        flag,
        path: PathBuf::from(path),
        source,
    })
}

fn client(error: &rustls::Error) -> TransportError {
    TransportError::Client {
        reason: error.to_string(),
    }
}
