//! Remotes that refuse, and what answers in their place (§19.5, §25.2).

use serde_json::{Value, json};

use super::rig::{Rig, document};
use crate::over_http::proxy::{Fault, FaultProxy, Foreign};

#[test]
fn read_that_is_refused_for_one_of_several_fails_that_item_alone() {
    let grants = ["--grant", "Bearer w", "t://p/a", "t://p/b"];
    let readers = ["--read-grant", "Bearer r", "*"];
    let mut rig = Rig::serving("script", &[&grants[..], &readers].concat());
    rig.environment = vec![("AUTHORIZATION", "Bearer w".to_owned())];
    rig.definition["remote"]["credential"] = json!({"env": "AUTHORIZATION"});
    let items = [
        document("a", "one"),
        document("c", "two"),
        document("b", "three"),
    ];
    rig.says(&json!({"full": [items]}));
    let ended = rig.run();
    assert_eq!(ended.code, Some(1), "{ended:#?}");
    assert_eq!(
        ended.failures(),
        json!([["item", "remote", "DPE_FORBIDDEN", false, "t://p/c"]])
    );
    assert_eq!(ended.report["counts"]["created"], 2);
    let events = ended.events("remote.batch_read_rejected");
    assert_eq!(events.len(), 1, "{ended:#?}");
    let members = ["level", "code", "entries", "denied"].map(|member| events[0][member].clone());
    assert_eq!(json!(members), json!(["warn", "DPE_FORBIDDEN", 3, 1]));
    rig.environment
        .push(("DPE_AUTHORIZATION", "Bearer r".to_owned()));
    rig.holds(&json!({"a": "one", "b": "three"}));
}

#[test]
fn caller_whom_the_remote_does_not_know_has_to_do_something_first() {
    let mut rig = Rig::serving("script", &["--require-auth", "--grant", "Bearer w", "*"]);
    rig.says(&json!({"full": [[document("a", "one")]]}));
    let failure = json!([["instance", "remote", "remote_unauthorized", false]]);
    let ended = rig.run();
    assert_eq!((ended.code, ended.failures()), (Some(3), failure.clone()));
    // The plugin was not even started.
    assert_eq!(ended.report["plugin"], Value::Null);
    assert!(ended.events("plugin.started").is_empty());

    rig.environment = vec![("AUTHORIZATION", "Bearer nobody".to_owned())];
    rig.definition["remote"]["credential"] = json!({"env": "AUTHORIZATION"});
    let ended = rig.run();
    assert_eq!((ended.code, ended.failures()), (Some(3), failure));
    rig.environment = vec![("AUTHORIZATION", "Bearer w".to_owned())];
    assert_eq!(rig.succeeds()["created"], 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn page_of_a_gateway_is_no_remote_and_worth_another_try_only_for_5xx() {
    for (status, retryable) in [
        (404, false),
        (403, false),
        (503, true),
        (500, true),
        (600, false),
        (999, false),
    ] {
        let mut rig = Rig::scripted();
        let proxy = FaultProxy::before(&rig.served.url).await;
        rig.definition["remote"]["url"] = json!(proxy.url);
        rig.says(&json!({"full": [[document("a", "one")]]}));
        proxy.choose(move |_| Some(Fault::Answer(Foreign::html(status))));
        let ended = rig.run();
        assert_eq!(ended.code, Some(2), "{status}: {ended:#?}");
        assert_eq!(
            ended.failures(),
            json!([["round", "remote", "remote_protocol_error", retryable]]),
            "{status}"
        );
        let message = ended.report["failures"][0]["message"].as_str().unwrap();
        assert!(message.contains(&status.to_string()), "{message}");
        assert!(!message.contains("Nobody"), "{message}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn remote_that_is_gone_is_worth_another_try() {
    let mut rig = Rig::scripted();
    rig.says(&json!({"full": [[document("a", "one")]]}));
    let proxy = FaultProxy::before(&rig.served.url).await;
    rig.definition["remote"]["url"] = json!(proxy.url);
    proxy.choose(|_| Some(Fault::ResetBefore));
    let ended = rig.run();
    assert_eq!(ended.code, Some(2), "{ended:#?}");
    assert_eq!(
        ended.failures(),
        json!([["round", "remote", "remote_unavailable", true]])
    );
}
