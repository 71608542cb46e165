//! Delete and move: http-binding §15.2, §15.3, §16.

use dpe::model::{Contract, Contracts, FileUri, Hash};
use dpe::protocol::delivery::{Delete, Move, WriteFailed};
use dpe::protocol::{ErrorCode, Fate, Request};
use serde_json::json;

use super::drive::{coded, drive, lines, lost, reply, uri};

const BASE: &str = "dpe1:5044788699fbc5362d08cae535a0c6ba274b6d6c9a8d7e8179366163b22f05ee";
const OTHER: &str = "dpe1:0000000000000000000000000000000000000000000000000000000000000000";

fn base() -> Hash {
    Hash::parse(BASE, Contracts::SUPPORTED).unwrap()
}

fn delete(answers: &[Fate]) -> (Result<(), WriteFailed>, Vec<Request>) {
    let mut answers = answers.iter().cloned();
    let machine = Delete::of(&uri(), base(), Contract::Dpe1);
    drive(machine, |_| answers.next().expect("no more requests"))
}

fn rename(answers: &[Fate]) -> (Result<Hash, WriteFailed>, Vec<Request>) {
    let mut answers = answers.iter().cloned();
    let to = FileUri::parse("t://other").unwrap();
    let machine = Move::of(&uri(), &to, base(), Contract::Dpe1);
    drive(machine, |_| answers.next().expect("no more requests"))
}

fn not_found() -> Fate {
    coded(412, "DPE_NOT_FOUND")
}

fn bare(status: u16) -> Fate {
    reply(status, &[], "<html>")
}

fn head(hash: &str) -> Fate {
    reply(200, &[("dpe-doc-hash", hash)], "")
}

fn absent() -> Fate {
    reply(404, &[("dpe-error-code", "DPE_NOT_FOUND")], "")
}

fn moved() -> Fate {
    reply(200, &[], &json!({"doc_hash": BASE}).to_string())
}

#[test]
fn not_found_is_success_of_a_delete_only_after_a_lost_reply() {
    let deleted = reply(204, &[], "");
    for answers in [
        vec![deleted.clone()],
        vec![lost(), deleted.clone()],
        vec![lost(), not_found()],
        vec![bare(502), not_found()],
        vec![lost(), lost(), not_found()],
        vec![Fate::NotSent("refused".into()), deleted],
    ] {
        let (end, sent) = delete(&answers);
        assert!(end.is_ok(), "{answers:?}");
        assert_eq!(sent.len(), answers.len());
    }
    // A connection that was refused is no sending.
    for answers in [
        vec![not_found()],
        vec![Fate::NotSent("refused".into()), not_found()],
    ] {
        let failed = delete(&answers).0.unwrap_err();
        assert_eq!(failed.error.code(), Some(ErrorCode::NotFound));
        assert!(!failed.outcome_unknown);
    }
}

#[test]
fn bare_404_is_no_proof_that_a_document_is_gone() {
    for answers in [vec![bare(404)], vec![lost(), bare(404)]] {
        let failed = delete(&answers).0.unwrap_err();
        assert_eq!(failed.error.code(), None);
        assert!(failed.outcome_unknown);
    }
}

#[test]
fn bare_412_of_a_delete_is_settled_by_head() {
    assert!(delete(&[bare(412), absent()]).0.is_ok());
    let failed = delete(&[bare(412), head(OTHER)]).0.unwrap_err();
    assert_eq!(failed.error.code(), Some(ErrorCode::PreconditionFailed));
    assert!(!failed.outcome_unknown);
    assert!(
        delete(&[bare(412), head(BASE), bare(412), absent()])
            .0
            .is_ok()
    );
    assert!(
        delete(&[bare(412), head(BASE), reply(204, &[], "")])
            .0
            .is_ok()
    );
    let (end, sent) = delete(&[bare(412), head(BASE), bare(412), head(BASE)]);
    let failed = end.unwrap_err();
    assert_eq!(failed.error.code(), None);
    assert!(failed.outcome_unknown);
    let (write, look) = ("DELETE documents", "HEAD documents");
    assert_eq!(lines(&sent), [write, look, write, look]);
    let failed = delete(&[bare(412), bare(404)]).0.unwrap_err();
    assert!(failed.outcome_unknown, "a bare 404 of a head says nothing");
}

#[test]
fn move_relies_on_its_reached_goal() {
    for answers in [
        vec![moved()],
        vec![lost(), moved()],
        vec![bare(504), lost(), moved()],
    ] {
        let (end, sent) = rename(&answers);
        assert_eq!(end.unwrap(), base());
        assert!(sent.iter().all(|request| *request == sent[0]));
    }
    for (answers, code, unknown) in [
        (
            vec![coded(404, "DPE_NOT_FOUND")],
            Some(ErrorCode::NotFound),
            false,
        ),
        (
            vec![coded(409, "DPE_ALREADY_EXISTS")],
            Some(ErrorCode::AlreadyExists),
            false,
        ),
        (
            vec![lost(), coded(404, "DPE_NOT_FOUND")],
            Some(ErrorCode::NotFound),
            true,
        ),
        (vec![bare(412)], None, true),
        (vec![lost(), lost(), lost()], None, true),
        (
            vec![reply(200, &[], &json!({"doc_hash": OTHER}).to_string())],
            None,
            true,
        ),
    ] {
        let failed = rename(&answers).0.unwrap_err();
        assert_eq!(failed.error.code(), code, "{answers:?}");
        assert_eq!(failed.outcome_unknown, unknown, "{answers:?}");
    }
}
