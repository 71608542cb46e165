//! The credential: asked for anew at every attempt, and never seen.

use dpe::config::{Credential, Network, Secret};
use dpe::sync::ports::{LocalFault, Transport};

use super::raw::{self, NO_CONTENT, get, network, recorder};

fn having(credential: Credential) -> Network {
    Network {
        credential: Some(credential),
        ..network()
    }
}

fn secret(text: &str) -> Secret {
    Secret::new(text.to_owned())
}

#[tokio::test]
async fn a_value_of_the_environment_is_sent_whole() {
    let (address, mut arrived) = recorder(NO_CONTENT).await;
    let network = having(Credential::Value(secret("Bearer a b=c")));
    let transport = raw::http(&format!("http://{address}"), &network);
    transport.send(get("x")).await.unwrap();
    let seen = arrived.recv().await.unwrap();
    assert_eq!(seen.header("authorization"), Some("Bearer a b=c"));
    let shown = format!("{network:?} {transport:?}");
    assert!(!shown.contains("b=c"), "{shown}");
}

#[tokio::test]
async fn a_file_is_read_for_every_attempt_and_its_last_line_break_dropped() {
    let (address, mut arrived) = recorder(NO_CONTENT).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    let network = having(Credential::File(file.path().to_owned()));
    let transport = raw::http(&format!("http://{address}"), &network);
    for (content, value) in [
        ("Bearer 1", "Bearer 1"),
        ("Bearer 2\n", "Bearer 2"),
        ("Bearer 3\r\n", "Bearer 3"),
    ] {
        std::fs::write(file.path(), content).unwrap();
        transport.send(get("x")).await.unwrap();
        let seen = arrived.recv().await.unwrap();
        assert_eq!(seen.header("authorization"), Some(value));
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_command_is_run_for_every_attempt() {
    let (address, mut arrived) = recorder(NO_CONTENT).await;
    let directory = tempfile::tempdir().unwrap();
    let counter = directory.path().join("count");
    let command = format!(
        "echo x >> '{0}'; printf 'Bearer %s\\n' $(wc -l < '{0}')",
        counter.display()
    );
    let network = having(Credential::Command(secret(&command)));
    let transport = raw::http(&format!("http://{address}"), &network);
    for value in ["Bearer 1", "Bearer 2", "Bearer 3"] {
        transport.send(get("x")).await.unwrap();
        let seen = arrived.recv().await.unwrap();
        assert_eq!(seen.header("authorization"), Some(value));
    }
}

#[cfg(unix)]
#[tokio::test]
async fn a_credential_that_cannot_be_had_is_a_local_failure_and_nothing_is_sent() {
    let (address, mut arrived) = recorder(NO_CONTENT).await;
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        Credential::File(path)
    };
    let command = |text: &str| Credential::Command(secret(text));
    for (credential, fault) in [
        (
            Credential::File(directory.path().join("none")),
            LocalFault::Credential,
        ),
        (file("empty", b""), LocalFault::Credential),
        (file("line", b"\n"), LocalFault::Credential),
        (file("nul", b"hidden\0"), LocalFault::Credential),
        (file("bytes", b"hidden\xff"), LocalFault::Credential),
        (file("two", b"hidden\nhidden\n"), LocalFault::Request),
        (command("printf hidden; exit 3"), LocalFault::Credential),
        (command("true"), LocalFault::Credential),
        (Credential::Value(secret(" hidden")), LocalFault::Request),
    ] {
        let network = having(credential);
        let url = format!("http://{address}");
        let failure = raw::send(&url, &network, get("x")).await.unwrap_err();
        assert_eq!(
            (failure.definitely_not_sent, failure.local),
            (true, Some(fault))
        );
        assert!(!failure.message.contains("hidden"), "{failure}");
    }
    assert!(arrived.try_recv().is_err());
}

#[tokio::test]
async fn an_error_reply_arrives_as_it_is_and_its_texts_are_hidden_on_request() {
    let page = "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 56\r\n\r\n\
                <p>could not forward: authorization=Bearer pages</p>....";
    let (address, _arrived) = recorder(page).await;
    let network = having(Credential::Value(secret("Bearer pages")));
    let transport = raw::http(&format!("http://{address}"), &network);
    let reply = transport.send(get("x")).await.unwrap();
    let body = std::str::from_utf8(&reply.body).unwrap();
    assert!(body.contains("authorization=Bearer pages</p>"), "{body}");
    let hidden = transport.hide(body);
    assert!(hidden.contains("authorization=[REDACTED]</p>"), "{hidden}");
}
