//! Every operation through a proxy at which something goes wrong, with the program itself on one
//! side and a server process on the other.

use std::time::{Duration, Instant};

use http::Method;

use super::proxy::{Fault, Foreign, Seen};
use super::wire::{URI, Wire, count, hash_of, to};

fn puts(seen: &[Seen]) -> usize {
    count(seen, &Method::PUT, "/documents?")
}

/// An answer that a gateway gives while the server is not to be reached, or after it.
fn gateway_faults() -> Vec<(&'static str, Fault)> {
    vec![
        ("reset before", Fault::ResetBefore),
        ("reply swallowed", Fault::SwallowReply),
        ("reply cut", Fault::CutReply),
        ("502 instead", Fault::Answer(Foreign::html(502))),
        ("502 afterwards", Fault::AnswerAfter(Foreign::html(502))),
        ("504 afterwards", Fault::AnswerAfter(Foreign::html(504))),
        ("slow", Fault::Delay(Duration::from_millis(200))),
        (
            "busy",
            Fault::Answer(Foreign::busy(429, "DPE_RATE_LIMITED", "0".into())),
        ),
        (
            "away",
            Fault::Answer(Foreign::busy(503, "DPE_UNAVAILABLE", "1".into())),
        ),
        (
            "away until a date that is over",
            Fault::Answer(Foreign::busy(
                503,
                "DPE_UNAVAILABLE",
                "Fri, 09 Oct 2020 08:00:30 GMT".into(),
            )),
        ),
    ]
}

/// What is safe to send again arrives after one more request, whatever became of the first.
async fn assert_sent_again(wire: &Wire, method: Method, path: &'static str, arguments: &[&str]) {
    for (what, fault) in gateway_faults() {
        // An answer to HEAD has no body that could break off.
        if what == "reply cut" && method == Method::HEAD {
            continue;
        }
        wire.proxy.once(to(method.clone(), path), fault);
        wire.proxy.seen();
        let run = wire.run(arguments).await;
        let sent = count(&wire.proxy.seen(), &method, path);
        assert_eq!(run.code, Some(0), "{arguments:?}, {what}: {run:?}");
        let expected = if what == "slow" { 1 } else { 2 };
        assert_eq!(sent, expected, "{arguments:?}, {what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_are_sent_again_whatever_became_of_them() {
    let wire = Wire::new(&[]).await;
    wire.holds("one").await;
    assert_sent_again(&wire, Method::GET, "/capabilities", &["ls"]).await;
    assert_sent_again(&wire, Method::GET, "/documents?prefix=", &["ls"]).await;
    assert_sent_again(&wire, Method::GET, "/documents?uri=", &["show", URI]).await;
    let rename = ["mv", "-n", URI, "fault://b"];
    assert_sent_again(&wire, Method::HEAD, "/documents?uri=", &rename).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commit_under_a_condition_is_sent_again_word_for_word() {
    let wire = Wire::new(&[]).await;
    for (number, (what, fault)) in gateway_faults().into_iter().enumerate() {
        wire.proxy.once(to(Method::PUT, "/documents?"), fault);
        let text = format!("version {number}");
        let committed = wire.commit(&text, &[]).await.succeeded();
        let seen = wire.proxy.seen();
        let sent: Vec<_> = seen
            .iter()
            .filter(|seen| seen.method == Method::PUT)
            .collect();
        let expected = if what == "slow" { 1 } else { 2 };
        assert_eq!(sent.len(), expected, "{what}");
        assert!(sent.iter().all(|seen| *seen == sent[0]), "{what}: {sent:?}");
        wire.assert_holds(&text).await;
        assert_eq!(committed["doc_hash"], hash_of(&wire.path(&text)), "{what}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn force_is_never_sent_again_and_looked_up_instead() {
    let wire = Wire::new(&[]).await;
    wire.holds("old").await;
    for (what, fault, done) in [
        ("reply swallowed", Fault::SwallowReply, true),
        (
            "502 afterwards",
            Fault::AnswerAfter(Foreign::html(502)),
            true,
        ),
        ("reset before", Fault::ResetBefore, false),
        ("502 instead", Fault::Answer(Foreign::html(502)), false),
        ("bare 412", Fault::Answer(Foreign::bare(412)), false),
    ] {
        wire.holds("old").await;
        wire.proxy.once(to(Method::PUT, "/documents?"), fault);
        wire.proxy.seen();
        let run = wire.commit("new", &["--force"]).await;
        assert_eq!(puts(&wire.proxy.seen()), 1, "{what}");
        assert_eq!(run.code, Some(if done { 0 } else { 2 }), "{what}: {run:?}");
        wire.assert_holds(if done { "new" } else { "old" }).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bare_412_is_settled_by_looking() {
    let wire = Wire::new(&[]).await;
    // The commit has arrived.
    let afterwards = || Fault::AnswerAfter(Foreign::bare(412));
    wire.proxy
        .once(to(Method::PUT, "/documents?"), afterwards());
    let run = wire.commit("one", &["--if-absent"]).await;
    assert_eq!(run.code, Some(0), "{run:?}");
    wire.proxy
        .once(to(Method::PUT, "/documents?"), afterwards());
    assert_eq!(wire.commit("two", &[]).await.code, Some(0));
    wire.assert_holds("two").await;
    // It has not, and somebody else is there.
    wire.proxy.seen();
    let instead = || Fault::Answer(Foreign::bare(412));
    wire.proxy.once(to(Method::PUT, "/documents?"), instead());
    let run = wire.commit("three", &["--if-absent"]).await;
    assert_eq!(
        (run.code, puts(&wire.proxy.seen())),
        (Some(1), 1),
        "{run:?}"
    );
    wire.assert_holds("two").await;
    // A delete that has arrived, and one that has not.
    wire.proxy
        .once(to(Method::DELETE, "/documents?"), afterwards());
    assert_eq!(wire.run(&["rm", URI]).await.code, Some(0));
    wire.assert_absent(URI).await;
    wire.holds("one").await;
    wire.proxy
        .once(to(Method::DELETE, "/documents?"), instead());
    assert_eq!(wire.run(&["rm", URI]).await.code, Some(0));
    wire.assert_absent(URI).await;
    // Nobody is there: sent once more.
    wire.proxy.seen();
    wire.proxy.once(to(Method::PUT, "/documents?"), instead());
    let run = wire.commit("four", &["--if-absent"]).await;
    assert_eq!(
        (run.code, puts(&wire.proxy.seen())),
        (Some(0), 2),
        "{run:?}"
    );
    // Whoever insists is an unexpected answer, and nothing is guessed.
    wire.proxy.choose(|seen| {
        let put = seen.is(&Method::PUT, "/documents?");
        put.then(|| Fault::Answer(Foreign::bare(412)))
    });
    let run = wire
        .run(&["commit", "fault://new", "four", "--if-absent"])
        .await;
    assert_eq!(
        (run.code, puts(&wire.proxy.seen())),
        (Some(2), 2),
        "{run:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn delete_whose_reply_was_lost_is_done() {
    let wire = Wire::new(&[]).await;
    for (what, fault) in gateway_faults() {
        // An answer of 204 has no body that could break off.
        if what == "reply cut" {
            continue;
        }
        wire.holds("one").await;
        wire.proxy.seen();
        wire.proxy.once(to(Method::DELETE, "/documents?"), fault);
        let run = wire.run(&["rm", URI]).await;
        assert_eq!(run.code, Some(0), "{what}: {run:?}");
        let expected = if what == "slow" { 1 } else { 2 };
        let sent = count(&wire.proxy.seen(), &Method::DELETE, "/documents?");
        assert_eq!(sent, expected, "{what}");
        wire.assert_absent(URI).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn move_whose_reply_was_lost_is_done() {
    let wire = Wire::new(&[]).await;
    wire.holds("one").await;
    let (mut from, mut to_uri) = (URI, "fault://b");
    for (what, fault) in gateway_faults() {
        wire.proxy.seen();
        wire.proxy.once(to(Method::POST, "/move"), fault);
        let run = wire.run(&["mv", from, to_uri]).await;
        assert_eq!(run.code, Some(0), "{what}: {run:?}");
        let expected = if what == "slow" { 1 } else { 2 };
        assert_eq!(
            count(&wire.proxy.seen(), &Method::POST, "/move"),
            expected,
            "{what}"
        );
        wire.assert_absent(from).await;
        std::mem::swap(&mut from, &mut to_uri);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_else_between_head_and_write_is_not_overwritten() {
    let wire = Wire::new(&[]).await;
    wire.holds("one").await;
    for (method, path, arguments) in [
        (
            Method::PUT,
            "/documents?",
            ["commit", URI, "mine"].as_slice(),
        ),
        (Method::DELETE, "/documents?", &["rm", URI]),
        (Method::POST, "/move", &["mv", URI, "fault://b"]),
    ] {
        wire.holds("one").await;
        wire.document("mine");
        wire.proxy.once(
            to(method, path),
            Fault::Meanwhile(wire.somebody_else_commits(URI, "theirs")),
        );
        let run = wire.run(arguments).await;
        assert_eq!(run.code, Some(1), "{arguments:?}: {run:?}");
        wire.assert_holds("theirs").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn remote_that_asks_for_more_patience_than_is_had_is_left_for_later() {
    let wire = Wire::new(&[]).await;
    wire.holds("one").await;
    for retry_after in ["301", "86400", "99999999999999999999999"] {
        let header = retry_after.to_owned();
        wire.proxy.choose(move |seen| {
            let put = seen.is(&Method::PUT, "/documents?");
            put.then(|| Fault::Answer(Foreign::busy(503, "DPE_UNAVAILABLE", header.clone())))
        });
        wire.proxy.seen();
        let begun = Instant::now();
        let run = wire.commit("two", &[]).await;
        assert_eq!(
            (run.code, puts(&wire.proxy.seen())),
            (Some(2), 1),
            "{run:?}"
        );
        assert!(begun.elapsed() < Duration::from_secs(10));
    }
    wire.assert_holds("one").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn error_page_of_somebody_else_is_named_by_its_status_and_not_believed() {
    let wire = Wire::new(&[]).await;
    wire.holds("one").await;
    for status in [400, 401, 403, 404, 409, 413, 429, 500, 503] {
        let page = Foreign::html(status);
        wire.proxy
            .once(to(Method::PUT, "/documents?"), Fault::Answer(page));
        wire.proxy.seen();
        let run = wire.commit("two", &[]).await;
        assert_eq!(puts(&wire.proxy.seen()), 1, "{status}");
        let expected = if status == 401 { 3 } else { 2 };
        assert_eq!(run.code, Some(expected), "{status}: {run:?}");
        let said = format!("{}{}", run.stdout, run.stderr);
        assert!(said.contains(&status.to_string()), "{status}: {run:?}");
        assert!(!said.contains("Nobody is here"), "{status}: {run:?}");
    }
    // An error page where a document is looked for does not say that there is none.
    let page = Fault::Answer(Foreign::html(404));
    wire.proxy.once(to(Method::HEAD, "/documents?"), page);
    let run = wire.run(&["rm", URI]).await;
    assert_eq!(run.code, Some(2), "{run:?}");
    wire.assert_holds("one").await;
}

/// A reply that looks like one of the remote.
fn json(body: &'static str) -> Foreign {
    Foreign {
        status: 200,
        headers: vec![("content-type", "application/json".to_owned())],
        body,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn list_of_what_was_not_asked_for_deletes_nothing() {
    let wire = Wire::new(&[]).await;
    wire.holds("one").await;
    let lie = r#"{"documents":[{"file_uri":"fault://a","doc_hash":"dpe1:5044788699fbc5362d08cae535a0c6ba274b6d6c9a8d7e8179366163b22f05ee"}],"next_cursor":null}"#;
    let listed = to(Method::GET, "/documents?prefix=");
    wire.proxy.once(listed, Fault::Answer(json(lie)));
    let run = wire.run(&["rm", "-r", "-y", "other://"]).await;
    assert_eq!(run.code, Some(2), "{run:?}");
    wire.assert_holds("one").await;
    let run = wire.run(&["rm", "-r", "-y", ""]).await;
    assert_eq!(run.code, Some(64), "{run:?}");
    wire.assert_holds("one").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn list_that_goes_in_a_circle_ends() {
    let wire = Wire::new(&[]).await;
    wire.proxy.choose(|seen| {
        let page = r#"{"documents":[],"next_cursor":"again"}"#;
        seen.is(&Method::GET, "/documents?prefix=")
            .then(|| Fault::Answer(json(page)))
    });
    let run = wire.run(&["ls"]).await;
    assert_eq!(run.code, Some(2), "{run:?}");
    let lists = count(&wire.proxy.seen(), &Method::GET, "/documents?prefix=");
    assert_eq!(lists, 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn round_that_ends_at_a_document_names_it() {
    let wire = Wire::new(&[]).await;
    std::fs::create_dir(wire.path("docs")).unwrap();
    for name in ["a.md", "b.md", "c.md"] {
        std::fs::write(wire.path("docs").join(name), name).unwrap();
    }
    let page = Fault::Answer(Foreign::html(413));
    wire.proxy.once(|seen| seen.target.ends_with("b.md"), page);
    let run = wire.run(&["push", "docs"]).await;
    assert_eq!(run.code, Some(2), "{run:?}");
    assert!(run.stderr.contains("dpe://docs/b.md"), "{run:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn refusal_for_good_wants_somebody_to_change_something() {
    let wire = Wire::new(&["--grant", "Bearer somebody", "*"]).await;
    let run = wire.commit("one", &["--if-absent"]).await;
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.stderr.contains("DPE_FORBIDDEN"), "{run:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn outcome_that_is_not_known_is_told_from_a_write_that_did_not_happen() {
    let wire = Wire::new(&[]).await;
    wire.holds("one").await;
    for (method, path, command) in [
        (
            Method::PUT,
            "/documents?",
            ["commit", URI, "two"].as_slice(),
        ),
        (Method::POST, "/move", &["mv", URI, "fault://b"]),
        (Method::DELETE, "/documents?", &["rm", URI]),
    ] {
        wire.holds("one").await;
        wire.document("two");
        for (fault, code) in [
            (
                Fault::AnswerAfter(Foreign::html(500)),
                "dpe::runner::outcome_unknown",
            ),
            (
                Fault::Answer(Foreign::busy(503, "DPE_UNAVAILABLE", "86400".into())),
                "dpe::runner::remote",
            ),
        ] {
            wire.proxy.once(to(method.clone(), path), fault);
            let run = wire.run(command).await;
            assert_eq!(run.code, Some(2), "{command:?}: {run:?}");
            assert_eq!(run.json()["error"]["code"], code, "{command:?}");
            wire.run(&["mv", "fault://b", URI]).await;
            wire.holds("one").await;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn push_of_a_caller_who_may_read_nothing_any_more_is_no_success() {
    let grants = ["--read-grant", "Bearer somebody", "*"];
    let place = Wire::new(&[]).await;
    std::fs::create_dir(place.path("docs")).unwrap();
    std::fs::write(place.path("docs/a.md"), "a").unwrap();
    assert_eq!(place.run(&["push", "docs"]).await.code, Some(0));
    let denied = place.restarted(&grants).await;
    let run = denied.run(&["push", "docs"]).await;
    assert_eq!(run.code, Some(3), "{run:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_others_say_can_move_no_cursor() {
    let wire = Wire::new(&[]).await;
    wire.holds("one").await;
    let forged = Foreign {
        status: 400,
        headers: vec![("content-type", "application/problem+json".to_owned())],
        body: r#"{"code":"DPE_VALIDATION","detail":"\u001b[2Jgone\nall is well\u0007"}"#,
    };
    for (method, path, command) in [
        (
            Method::PUT,
            "/documents?",
            ["commit", URI, "two"].as_slice(),
        ),
        (Method::GET, "/documents?prefix=", &["ls"]),
    ] {
        wire.document("two");
        wire.proxy
            .once(to(method, path), Fault::Answer(forged.clone()));
        let run = wire.run(command).await;
        let says = run.stderr.contains(r"\u{1b}[2Jgone\nall is well\u{7}");
        assert!(says && !run.stderr.contains('\u{1b}'), "{run:?}");
    }
}
