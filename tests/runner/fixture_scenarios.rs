//! Scenarios of connector contract §32 that concern the runner and not the wire.

use dpe::sync::ports::BatchEnd;

use super::fixture::{
    Place, Scripted, delete, document, error, failures, last, more, rename, source_failed, summary,
};

#[tokio::test]
async fn empty() {
    let place = Place::new().await;
    let end = BatchEnd::Final {
        cursor: None,
        incremental: false,
    };
    let report = place.round(&mut Scripted::new([Ok((vec![], end))])).await;
    assert_eq!(summary(&report), "succeeded 0 0 0 0 0 0");
    assert_eq!(
        (report.incremental, report.cursor_persisted),
        (Some(false), false)
    );
}

#[tokio::test]
async fn multi_batch() {
    let place = Place::new().await;
    place
        .says(&[document("old", "o"), document("gone", "g")], "c-1", false)
        .await;
    let mut source = Scripted::new([
        more(&[document("a", "x")], "b-2"),
        more(&[delete("gone")], "b-3"),
        last(&[rename("old", "new")], "c-2", true),
    ]);
    let report = place.round(&mut source).await;
    assert_eq!(summary(&report), "succeeded 1 0 0 1 1 0");
    assert!(report.cursor_persisted);
    place.holds(&[("a", "x"), ("new", "o")]).await;
    let cursors: Vec<_> = source
        .asked
        .iter()
        .map(|request| request.cursor.as_deref())
        .collect();
    assert_eq!(cursors, [Some("c-1"), None, None]);
    let nexts: Vec<_> = source
        .asked
        .iter()
        .map(|request| request.next.as_deref())
        .collect();
    assert_eq!(nexts, [None, Some("b-2"), Some("b-3")]);
}

#[tokio::test]
async fn segmented() {
    let place = Place::new().await;
    let page = r#"{"elements":[{"category":"NarrativeText","text":"x"}]}"#;
    let segment = |head: &str, continued: bool| {
        format!(
            r#"{{"kind":"document","file_uri":"t://a",{head}"pages":[{page}],"continued":{continued}}}"#
        )
    };
    let items = [
        segment(r#""document":{"file_type":"txt"},"#, true),
        segment("", true),
        segment("", false),
    ];
    // Segments may even be spread over batches.
    let mut source = Scripted::new([more(&items[..2], "b-2"), last(&items[2..], "c-1", false)]);
    let report = place.round(&mut source).await;
    assert_eq!(summary(&report), "succeeded 1 0 0 0 0 0");
    let skeleton = place
        .client
        .skeleton(&super::fixture::uri("a"))
        .await
        .unwrap()
        .unwrap();
    assert_eq!(skeleton.pages.len(), 3);
}

#[tokio::test]
async fn unclosed_segment() {
    let place = Place::new().await;
    let open = document("a", "x").replace("\"pages\"", "\"continued\":true,\"pages\"");
    let report = place.says(&[open], "c-1", false).await;
    assert_eq!(summary(&report), "partial 0 0 0 0 0 1");
    assert_eq!(
        failures(&report),
        ["item/validation/segment_unclosed/false"]
    );
    place.holds(&[]).await;
    assert_eq!(place.state().cursor().unwrap(), None);
}

#[tokio::test]
async fn error_item() {
    let place = Place::new().await;
    let report = place
        .says(&[error("locked"), document("a", "x")], "c-1", false)
        .await;
    assert_eq!(summary(&report), "partial 1 0 0 0 0 1");
    assert_eq!(failures(&report), ["item/plugin/source_unavailable/true"]);
    assert_eq!(
        report.cursor_held_since.as_deref(),
        Some(&*report.started_at)
    );
    place.holds(&[("a", "x")]).await;
}

#[tokio::test]
async fn out_of_prefix() {
    let place = Place::new().await;
    let outside = document("a", "x").replace("t://a", "u://a");
    let moved = rename("a", "b").replace("t://b", "u://b");
    let report = place.says(&[outside, moved], "c-1", false).await;
    assert_eq!(
        failures(&report),
        [
            "item/prefix/out_of_prefix/false",
            "item/prefix/out_of_prefix/false"
        ]
    );
    assert!(
        report
            .to_json()
            .contains(r#""from_uri":"t://a","to_uri":"u://b""#)
    );
    place.holds(&[]).await;
}

#[tokio::test]
async fn invalid_item() {
    let place = Place::new().await;
    let items = [
        r#"{"kind":"rename"}"#.to_owned(),
        r#"{"kind":"delete","file_uri":"t://a","why":"x"}"#.to_owned(),
        document("a", "x").replace("NarrativeText", "Poem"),
    ];
    let report = place.says(&items, "c-1", false).await;
    assert_eq!(
        failures(&report),
        [
            "item/validation/DPE_VALIDATION/false",
            "item/validation/DPE_VALIDATION/false",
            "item/validation/DPE_CATEGORY_UNKNOWN/false"
        ]
    );
}

#[tokio::test]
async fn of_more_than_a_thousand_failures_the_first_are_listed_and_all_are_counted_and_told() {
    let place = Place::new().await;
    let items: Vec<String> = (0..1200).map(|number| error(&number.to_string())).collect();
    let mut source = Scripted::new([more(&items, "b-2"), Err(source_failed(true))]);
    let report = place.round(&mut source).await;
    assert_eq!(report.counts.failed, 1200);
    assert_eq!(place.heard.failures().len(), 1201);
    let json = report.to_json();
    assert_eq!(json.matches(r#""level":"item""#).count(), 1000);
    assert!(json.ends_with(r#"],"failures_truncated":201}"#));
    // What ended the round is not forgotten for that: the exit code follows from it.
    assert_eq!(
        failures(&report).last().unwrap(),
        "round/plugin/source_failed/true"
    );
}

#[tokio::test]
async fn crash_between_batches_keeps_what_has_landed_and_holds_the_cursor() {
    let place = Place::new().await;
    let mut source = Scripted::new([more(&[document("a", "x")], "b-2"), Err(source_failed(true))]);
    let report = place.round(&mut source).await;
    assert_eq!(summary(&report), "failed 1 0 0 0 0 0");
    assert_eq!(failures(&report), ["round/plugin/source_failed/true"]);
    assert_eq!(report.incremental, None);
    place.holds(&[("a", "x")]).await;
    let held = report.cursor_held_since.clone().unwrap();
    let report = place.says(&[document("a", "x")], "c-1", false).await;
    assert_eq!(summary(&report), "succeeded 0 0 1 0 0 0");
    assert_eq!(report.cursor_held_since, None);
    assert!(!held.is_empty());
}

#[tokio::test]
async fn fallback_full() {
    let place = Place::new().await;
    place.says(&[document("a", "x")], "c-1", false).await;
    let report = place.says(&[document("a", "x")], "c-2", false).await;
    assert_eq!(summary(&report), "succeeded 0 0 1 0 0 0");
    assert_eq!(report.incremental, Some(false));
    assert_eq!(place.state().cursor().unwrap().as_deref(), Some("c-2"));
}

#[tokio::test]
async fn no_cursor() {
    let place = Place::new().await;
    let end = BatchEnd::Final {
        cursor: None,
        incremental: false,
    };
    for _ in 0..2 {
        let said = Ok((vec![document("a", "x")], end.clone()));
        let mut source = Scripted::new([said]).without_cursors();
        let report = place.round(&mut source).await;
        assert_eq!(report.outcome.as_str(), "succeeded");
        assert_eq!(source.asked[0].cursor, None);
        assert!(!report.cursor_persisted);
    }
}

#[tokio::test]
async fn incremental_without_a_cursor_is_a_protocol_error() {
    let place = Place::new().await;
    let report = place.says(&[document("a", "x")], "c-1", true).await;
    assert_eq!(report.outcome.as_str(), "failed");
    assert_eq!(failures(&report), ["protocol/runner/protocol_error/false"]);
    assert_eq!(place.state().cursor().unwrap(), None);
}

#[tokio::test]
async fn later_items_for_one_document_win_and_keep_their_order() {
    let place = Place::new().await;
    let items = [document("a", "x"), delete("a"), document("a", "y")];
    let report = place.says(&items, "c-1", false).await;
    assert_eq!(summary(&report), "succeeded 2 0 0 1 0 0");
    place.holds(&[("a", "y")]).await;
}

#[tokio::test]
async fn a_document_whose_bytes_cannot_be_had_fails_whole_instead_of_losing_them() {
    let place = Place::new().await;
    let image = document("a", "x").replace(
        r#"{"category":"NarrativeText","text":"x"}"#,
        r#"{"category":"Image","blob":{"handle":"gone"}}"#,
    );
    let report = place.says(&[image], "c-1", false).await;
    assert_eq!(failures(&report), ["item/blob/blob_read_failed/false"]);
    place.holds(&[]).await;
}
