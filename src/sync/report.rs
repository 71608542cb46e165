//! The report of one round (connector contract §26).

use jiff::Timestamp;

use crate::json::Writer;

use super::failure::{Failure, Level, Subject};
use super::ports::PluginIdentity;

/// At most so many failures are listed; the rest is counted.
pub const FAILURES_MAX: usize = 1000;

/// How a round ended (§23).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Everything landed.
    Succeeded,
    /// The source was enumerated, and at least one item failed.
    Partial,
    /// The round is void.
    Failed,
}

impl Outcome {
    /// Returns the name used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Succeeded => "succeeded",
            Self::Partial => "partial",
            Self::Failed => "failed",
        }
    }
}

/// How many documents ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// New on the remote.
    pub created: u64,
    /// Changed on the remote.
    pub updated: u64,
    /// The remote had them already.
    pub unchanged: u64,
    /// Gone from the remote.
    pub deleted: u64,
    /// Renamed on the remote.
    pub moved: u64,
    /// Item failures.
    pub failed: u64,
}

impl Counts {
    /// Returns the counts with their names, in the order of the report.
    pub fn named(&self) -> [(&'static str, u64); 6] {
        [
            ("created", self.created),
            ("updated", self.updated),
            ("unchanged", self.unchanged),
            ("deleted", self.deleted),
            ("moved", self.moved),
            ("failed", self.failed),
        ]
    }

    /// Writes the counts as an object.
    pub fn write(&self, json: &mut Writer) {
        json.begin_object();
        for (name, count) in self.named() {
            json.name(name).integer(count);
        }
        json.end_object();
    }
}

/// The report of one round.
#[derive(Clone, Debug)]
pub struct Report {
    /// Id of the instance, if it is known.
    pub instance_id: Option<String>,
    /// URI prefix of the instance, if it is known.
    pub uri_prefix: Option<String>,
    /// URL of the remote, or the location of an embedded one, if it is known.
    pub remote_url: Option<String>,
    /// The plugin, after it was initialised.
    pub plugin: Option<PluginIdentity>,
    /// RFC 3339 UTC, whole seconds.
    pub started_at: String,
    /// RFC 3339 UTC, whole seconds.
    pub ended_at: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Whether the enumeration started from the given cursor; unknown if it never ended.
    pub incremental: Option<bool>,
    /// Whether the new cursor is on disk.
    pub cursor_persisted: bool,
    /// Start of the first round since the last successful one.
    pub cursor_held_since: Option<String>,
    /// What became of the documents.
    pub counts: Counts,
    /// What went wrong, in order of occurrence. Of many item failures only the first are kept.
    pub failures: Vec<Failure>,
    /// How many item failures are not kept.
    pub failures_omitted: u64,
}

impl Report {
    /// Returns the report of a round that has just begun; as it stands, it has failed.
    pub fn begun(
        id: Option<&str>,
        uri_prefix: Option<&str>,
        remote_url: Option<&str>,
        now: Timestamp,
    ) -> Self {
        Self {
            instance_id: id.map(str::to_owned),
            uri_prefix: uri_prefix.map(str::to_owned),
            remote_url: remote_url.map(str::to_owned),
            plugin: None,
            started_at: rfc3339(now),
            ended_at: rfc3339(now),
            outcome: Outcome::Failed,
            incremental: None,
            cursor_persisted: false,
            cursor_held_since: None,
            counts: Counts::default(),
            failures: Vec::new(),
            failures_omitted: 0,
        }
    }

    /// Notes when the round ended.
    pub fn end(&mut self, now: Timestamp) {
        self.ended_at = rfc3339(now);
    }

    /// Returns the report as one line of compact JSON, without the line feed.
    pub fn to_json(&self) -> String {
        let mut json = Writer::new();
        json.begin_object();
        self.write_members(&mut json);
        json.end_object();
        json.into_string()
    }

    /// Writes the members of the report into an object that has been begun.
    pub fn write_members(&self, json: &mut Writer) {
        json.name("report_version").integer(1);
        json.name("instance").begin_object();
        optional(json, "id", self.instance_id.as_deref());
        optional(json, "uri_prefix", self.uri_prefix.as_deref());
        json.end_object();
        optional(json, "remote_url", self.remote_url.as_deref());
        self.write_plugin(json);
        json.name("started_at").string(&self.started_at);
        json.name("ended_at").string(&self.ended_at);
        json.name("outcome").string(self.outcome.as_str());
        match self.incremental {
            Some(incremental) => json.name("incremental").boolean(incremental),
            None => json.name("incremental").null(),
        };
        json.name("cursor_persisted").boolean(self.cursor_persisted);
        optional(json, "cursor_held_since", self.cursor_held_since.as_deref());
        json.name("counts");
        self.counts.write(json);
        self.write_failures(json);
    }

    fn write_plugin(&self, json: &mut Writer) {
        let Some(plugin) = &self.plugin else {
            json.name("plugin").null();
            json.name("protocol_version").null();
            return;
        };
        json.name("plugin").begin_object();
        json.name("name").string(&plugin.name);
        json.name("version").string(&plugin.version);
        json.end_object();
        json.name("protocol_version")
            .string(&plugin.protocol_version);
    }

    fn write_failures(&self, json: &mut Writer) {
        json.name("failures").begin_array();
        for failure in self.failures.iter().take(FAILURES_MAX) {
            write_failure(json, failure);
        }
        json.end_array();
        let unlisted = self.failures.len().saturating_sub(FAILURES_MAX);
        let omitted = unlisted as u64 + self.failures_omitted;
        if omitted > 0 {
            json.name("failures_truncated").integer(omitted);
        }
    }
}

/// Writes one failure object (§25.4).
pub fn write_failure(json: &mut Writer, failure: &Failure) {
    json.begin_object();
    json.name("level").string(failure.level.as_str());
    json.name("source").string(failure.source.as_str());
    json.name("code").string(&failure.code);
    json.name("message").string(&failure.message);
    json.name("retryable").boolean(failure.retryable);
    match &failure.subject {
        _ if failure.level != Level::Item => {}
        Subject::Unknown => {}
        Subject::Document(uri) => {
            json.name("file_uri").string(uri);
        }
        Subject::Move { from_uri, to_uri } => {
            json.name("from_uri").string(from_uri);
            json.name("to_uri").string(to_uri);
        }
    }
    json.end_object();
}

/// RFC 3339 UTC in whole seconds.
fn rfc3339(time: Timestamp) -> String {
    time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn optional(json: &mut Writer, name: &str, text: Option<&str>) {
    match text {
        Some(text) => json.name(name).string(text),
        None => json.name(name).null(),
    };
}

#[cfg(test)]
mod tests {
    use super::{Counts, Outcome, Report};
    use crate::sync::failure::{Failure, FailureSource, Subject};
    use crate::sync::ports::PluginIdentity;

    fn report() -> Report {
        Report {
            instance_id: Some("wiki-eng".into()),
            uri_prefix: Some("wiki://eng/".into()),
            remote_url: Some("https://dpe.example.net/r/eng".into()),
            plugin: Some(PluginIdentity {
                name: "wiki-connector".into(),
                version: "2.3.0".into(),
                protocol_version: "dpe-connector/1".into(),
                supports_cursor: true,
            }),
            started_at: "2026-11-02T10:15:00Z".into(),
            ended_at: "2026-11-02T10:15:09Z".into(),
            outcome: Outcome::Partial,
            incremental: Some(true),
            cursor_persisted: false,
            cursor_held_since: Some("2026-11-02T10:15:00Z".into()),
            counts: Counts {
                created: 1,
                deleted: 1,
                moved: 1,
                failed: 1,
                ..Counts::default()
            },
            failures: vec![
                Failure::item(
                    FailureSource::Plugin,
                    "source_unavailable",
                    "page is locked",
                    Subject::Document("wiki://eng/locked".into()),
                )
                .retryable(true),
            ],
            failures_omitted: 0,
        }
    }

    /// The example of §26, as one line.
    #[test]
    fn the_example_of_the_contract_is_written_member_by_member() {
        let expected = concat!(
            r#"{"report_version":1,"instance":{"id":"wiki-eng","uri_prefix":"wiki://eng/"},"#,
            r#""remote_url":"https://dpe.example.net/r/eng","#,
            r#""plugin":{"name":"wiki-connector","version":"2.3.0"},"#,
            r#""protocol_version":"dpe-connector/1","#,
            r#""started_at":"2026-11-02T10:15:00Z","ended_at":"2026-11-02T10:15:09Z","#,
            r#""outcome":"partial","incremental":true,"cursor_persisted":false,"#,
            r#""cursor_held_since":"2026-11-02T10:15:00Z","#,
            r#""counts":{"created":1,"updated":0,"unchanged":0,"deleted":1,"moved":1,"failed":1},"#,
            r#""failures":[{"level":"item","source":"plugin","code":"source_unavailable","#,
            r#""message":"page is locked","retryable":true,"file_uri":"wiki://eng/locked"}]}"#,
        );
        assert_eq!(report().to_json(), expected);
    }

    #[test]
    fn failures_beyond_a_thousand_are_counted() {
        let mut report = report();
        report.failures = vec![report.failures[0].clone(); 1003];
        let json = report.to_json();
        assert_eq!(json.matches("page is locked").count(), 1000);
        assert!(json.ends_with(r#"],"failures_truncated":3}"#));
        report.failures_omitted = 4;
        assert!(report.to_json().ends_with(r#"],"failures_truncated":7}"#));
        report.failures_omitted = 0;
        report.failures.truncate(1000);
        assert!(!report.to_json().contains("failures_truncated"));
    }
}
