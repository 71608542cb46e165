//! Many writers at once: nobody's write is lost or overwritten unseen.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::json;
use tokio::task::JoinSet;

use super::content;
use super::remote::{IF_ABSENT, Remote};

#[tokio::test(flavor = "multi_thread")]
async fn of_writers_with_the_same_base_exactly_one_succeeds() {
    let remote = Arc::new(Remote::roomy());
    let mut first = HashMap::new();
    for uri in ["x:a", "x:b", "x:c"] {
        let (body, hash) = content::inline(&[&[uri]]);
        remote.create(uri, &body).await;
        first.insert(uri, hash);
    }
    let mut writers = JoinSet::new();
    for writer in 0..12 {
        for uri in ["x:a", "x:b", "x:c"] {
            let remote = Arc::clone(&remote);
            writers.spawn(async move {
                let mut steps = Vec::new();
                for attempt in 0..8 {
                    let base = remote.head(uri).await.unwrap();
                    let text = format!("{writer} {attempt}");
                    let (body, hash) = content::inline(&[&[&text, uri], &["kept"]]);
                    let tag = format!("\"{base}\"");
                    let reply = remote.put(uri, ("if-match", &tag), &body).await;
                    match reply.verdict() {
                        (200, "") => steps.push((uri, base, hash)),
                        (412, "DPE_PRECONDITION_FAILED") => {}
                        other => panic!("{other:?}: {}", reply.text),
                    }
                }
                steps
            });
        }
    }
    let mut next = HashMap::new();
    while let Some(steps) = writers.join_next().await {
        for (uri, base, hash) in steps.unwrap() {
            let taken = next.insert((uri, base), hash);
            assert_eq!(
                taken, None,
                "two writers replaced the same version of {uri}"
            );
        }
    }
    // The successful writes of a document are one chain from its first version to its last.
    for (uri, mut version) in first {
        while let Some(newer) = next.remove(&(uri, version.clone())) {
            version = newer;
        }
        assert_eq!(remote.head(uri).await, Some(version));
    }
    assert!(next.is_empty(), "{next:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn of_creators_of_one_document_exactly_one_creates() {
    let remote = Arc::new(Remote::roomy());
    let mut creators = JoinSet::new();
    for creator in 0..30 {
        let remote = Arc::clone(&remote);
        creators.spawn(async move {
            // Ten contents, three creators each: the losers see others' content or their own.
            let (body, _) = content::inline(&[&[&(creator % 10).to_string()]]);
            let reply = remote.put("x:a", IF_ABSENT, &body).await;
            let status = reply.json()["status"].clone();
            (reply.status, status, creator % 10)
        });
    }
    let replies = creators.join_all().await;
    let created: Vec<_> = replies.iter().filter(|reply| reply.0 == 201).collect();
    let &[(_, _, winner)] = created.as_slice() else {
        panic!("{created:?} created");
    };
    for (status, text, content) in &replies {
        match *status {
            201 => {}
            200 => assert_eq!((text, content), (&json!("unchanged"), winner)),
            412 => assert_ne!(content, winner),
            other => panic!("{other}"),
        }
    }
}
