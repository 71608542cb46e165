//! Makes a configuration that breaks the schema of a manifest.

use crate::host::config_violation;
use crate::json::{Text, Value, Writer};

use super::Subject;
use super::bench::{Found, Why};

/// A configuration and what is wrong with it.
pub(super) struct BadConfig {
    pub(super) text: String,
    pub(super) why: String,
}

/// Values of all kinds; one of them is mostly wrong.
const VALUES: [&str; 6] = ["null", "[]", "{}", "-1", "true", "\"\""];

/// Returns the good configuration with one member spoilt, so that it breaks the schema: first by
/// leaving something out, which no plugin can overlook.
pub(super) fn bad_config(subject: &Subject) -> Found<BadConfig> {
    let manifest = subject.manifest();
    let manifest = manifest.ok_or_else(|| Why::unknown("no manifest and no --bad-config"))?;
    let schema = Text::parse(manifest.config_schema.get().as_bytes());
    let good = Text::parse(subject.config.get().as_bytes());
    let (Ok(schema), Ok(good)) = (schema, good) else {
        return Err(Why::unknown("the schema or the configuration is no JSON"));
    };
    let mut names: Vec<String> = Vec::new();
    let declared = schema.root().member("properties").and_then(Value::members);
    for (name, _) in good
        .root()
        .members()
        .into_iter()
        .flatten()
        .chain(declared.into_iter().flatten())
    {
        names.push(name.into_owned());
    }
    let left_out = names.iter().map(|name| (name, None));
    let replaced = VALUES
        .iter()
        .flat_map(|value| names.iter().map(move |name| (name, Some(*value))));
    for (name, value) in left_out.chain(replaced) {
        let text = spoilt(good.root(), name, value);
        let candidate = Text::parse(text.as_bytes()).expect("the writer writes JSON");
        if let Some(violation) = config_violation(manifest, candidate.root()) {
            let why = violation.to_string();
            return Ok(BadConfig { text, why });
        }
    }
    Err(Why::unknown(
        "no configuration is known that the schema forbids; give one with --bad-config",
    ))
}

/// Returns the configuration without the member, or with this one in its place.
fn spoilt(good: Value<'_>, spoilt: &str, value: Option<&str>) -> String {
    let mut json = Writer::new();
    json.begin_object();
    for (name, kept) in good.members().into_iter().flatten() {
        if name != spoilt {
            json.name(&name).raw(kept.raw());
        }
    }
    if let Some(value) = value {
        json.name(spoilt).raw(value);
    }
    json.end_object();
    json.into_string()
}
