//! What has to be refused before anything begins (connector contract §10).

use dpe_connector::{ErrorCode, ScanParams};
use serde_json::value::RawValue;

use super::bad_config::{BadConfig, bad_config};
use super::bench::{Bench, Found, Why};
use super::session::{ROOMY, Session};
use super::{Subject, rule};

/// A version of the protocol that nobody speaks.
const NO_VERSION: &str = "dpe-connector/0";

/// Tries out the manifest and refusals; each in a process of its own.
pub(super) async fn check(bench: &mut Bench<'_>) {
    let subject = bench.subject;
    bench.take(rule::MANIFEST, manifest(subject));
    bench.take(rule::BEFORE_INITIALIZE, before_initialize(subject).await);
    bench.take(rule::VERSION, version(subject).await);
    bench.take(rule::CONFIG, config(subject).await);
}

fn manifest(subject: &Subject) -> Found<String> {
    match &subject.manifest {
        Some(Ok(manifest)) => Ok(format!("{} {}", manifest.name, manifest.version)),
        Some(Err(why)) => Err(Why::broken(why)),
        None => Err(Why::unknown("no manifest was given")),
    }
}

async fn before_initialize(subject: &Subject) -> Found<String> {
    let mut session = Session::start(subject, ROOMY)?;
    let params = ScanParams::default();
    session
        .refusal_of("scan", params, ErrorCode::InvalidRequest)
        .await
}

async fn version(subject: &Subject) -> Found<String> {
    let mut session = Session::start(subject, ROOMY)?;
    let params = session.greeting(NO_VERSION, subject.config.clone());
    session
        .refusal_of("initialize", params, ErrorCode::VersionUnsupported)
        .await
}

async fn config(subject: &Subject) -> Found<String> {
    let BadConfig { text, why } = match &subject.bad_config {
        Some(text) => BadConfig {
            text: text.get().to_owned(),
            why: "the one that was given".to_owned(),
        },
        None => bad_config(subject)?,
    };
    let mut session = Session::start(subject, ROOMY)?;
    let text = RawValue::from_string(text).expect("it was made of JSON");
    let params = session.greeting(dpe_connector::PROTOCOL_VERSION, text);
    let refused = session
        .refusal_of("initialize", params, ErrorCode::InvalidConfig)
        .await;
    match refused {
        Ok(detail) => Ok(format!("{detail}: {why}")),
        Err(Why::Broken(what)) => Err(Why::Broken(format!("{what}: {why}"))),
        Err(other) => Err(other),
    }
}
