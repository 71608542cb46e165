//! How long a session lives: http-binding §8.1. Lifetimes are 3600 seconds here, and the clock is
//! moved by the side channel.

use serde_json::json;

use super::super::content::{self, HELLO, P0};
use super::super::remote::{IF_ABSENT, Remote, Reply};
use super::{
    HOOKS, advance, chunk, from_session, hooked, json_bytes, negotiate, open, path, roomy,
    session_of, stage, stage_json,
};

const EXPIRED: (u16, &str) = (410, "DPE_SESSION_EXPIRED");

fn expires(reply: &Reply) -> String {
    reply.header("dpe-session-expires").unwrap().to_owned()
}

async fn query(remote: &Remote, session: &str) -> Reply {
    remote
        .call("HEAD", &path(session, "blobs", HELLO), &[])
        .await
}

#[tokio::test]
async fn idle_session_is_over_after_its_lifetime() {
    let remote = hooked(roomy());
    let session = open(&remote, "x:d").await;
    advance(&remote, 3500).await;
    assert_eq!(query(&remote, &session).await.status, 200);
    advance(&remote, 101).await;
    assert_eq!(query(&remote, &session).await.verdict(), EXPIRED);
    assert_eq!(
        stage(&remote, &session, "blobs", HELLO, b"hello")
            .await
            .verdict(),
        EXPIRED
    );
    let reply = chunk(&remote, &session, "blobs", HELLO, "0-0/5", b"h").await;
    assert_eq!(reply.verdict(), EXPIRED);
    let reply = remote
        .put("x:d", IF_ABSENT, &from_session(&content::empty(), &session))
        .await;
    assert_eq!(reply.verdict(), EXPIRED);
}

#[tokio::test]
async fn every_successful_upload_renews_and_nothing_else_does() {
    let remote = hooked(roomy());
    let session = open(&remote, "x:d").await;
    let first = expires(&query(&remote, &session).await);
    // Not the query itself, and not what fails.
    advance(&remote, 10).await;
    assert_eq!(expires(&query(&remote, &session).await), first);
    assert_eq!(
        stage(&remote, &session, "blobs", HELLO, b"hellp")
            .await
            .status,
        400
    );
    assert_eq!(
        chunk(&remote, &session, "blobs", HELLO, "1-1/5", b"e")
            .await
            .status,
        400
    );
    let reply = remote
        .put(
            "x:d",
            IF_ABSENT,
            &from_session(&content::document(), &session),
        )
        .await;
    assert_eq!(reply.verdict(), (400, "DPE_MISSING_CONTENT"));
    assert_eq!(expires(&query(&remote, &session).await), first);
    let mut last = first;
    for (status, reply) in [
        (
            202,
            chunk(&remote, &session, "blobs", HELLO, "0-1/5", b"he").await,
        ),
        (201, {
            advance(&remote, 10).await;
            chunk(&remote, &session, "blobs", HELLO, "2-4/5", b"llo").await
        }),
        (200, {
            advance(&remote, 10).await;
            chunk(&remote, &session, "blobs", HELLO, "x", b"").await
        }),
        (200, {
            advance(&remote, 10).await;
            stage(&remote, &session, "blobs", HELLO, b"hello").await
        }),
        (201, {
            advance(&remote, 10).await;
            stage_json(&remote, &session, "pages", P0, &content::p0()).await
        }),
        (201, {
            advance(&remote, 10).await;
            stage_json(&remote, &session, "objects", content::E1, &content::e1()).await
        }),
    ] {
        assert_eq!(reply.status, status, "{}", reply.text);
        assert!(expires(&reply) > last);
        last = expires(&reply);
        assert!(last <= expires(&query(&remote, &session).await));
    }
}

#[tokio::test]
async fn steady_upload_outlives_any_lifetime() {
    let remote = hooked(roomy());
    let session = open(&remote, "x:d").await;
    for (at, byte) in b"hello".iter().enumerate() {
        advance(&remote, 3000).await;
        let range = format!("{at}-{at}/5");
        let reply = chunk(&remote, &session, "blobs", HELLO, &range, &[*byte]).await;
        assert_eq!(
            reply.status,
            if at < 4 { 202 } else { 201 },
            "{}",
            reply.text
        );
    }
}

#[tokio::test]
async fn new_session_begins_empty() {
    let remote = hooked(roomy());
    let reply = negotiate(&remote, "x:d", &content::document(), &[&content::p0()]).await;
    let session = session_of(&reply);
    let body = json_bytes(&json!({"session_id": session}));
    let expire = format!("{HOOKS}/expire-session");
    for expired in [true, false] {
        let reply = remote.send("POST", &expire, &[], body.clone()).await;
        assert_eq!(reply.json(), json!({"expired": expired}));
    }
    assert_eq!(query(&remote, &session).await.verdict(), EXPIRED);
    let reply = negotiate(&remote, "x:d", &content::document(), &[]).await;
    assert_eq!(reply["missing_pages"][0], P0);
}
