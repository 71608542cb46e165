//! Judges what takes more than one file, or a manifest: remotes that sources name, and the
//! configurations of bundled connectors.

use crate::config::{ConfigFile, ConnectorEntry, FileError, Mistake, SourceEntry, nearest};
use crate::host::{bundled, config_violation};
use crate::json::Text;

/// Members of configurations that are set by what is asked of a source, not by whoever describes it.
const OURS: [&str; 2] = ["only", "say_skipped"];

/// Judges the files of a call together.
///
/// # Errors
///
/// All mistakes of the first file that has some.
pub(super) fn judge(files: &[ConfigFile]) -> Result<(), FileError> {
    let mut remotes: Vec<&str> = Vec::new();
    for file in files {
        remotes.extend(file.remotes.keys().map(String::as_str));
    }
    for file in files {
        let mut mistakes = Vec::new();
        for (name, source) in &file.sources {
            mistakes.extend(unknown_remote(file, source, &remotes));
            mistakes.extend(bad_config(name, source));
        }
        if let Some(entry) = file.defaults.get("remote")
            && !remotes.contains(&&*entry.value)
        {
            mistakes.push(no_such_remote(&entry.value, entry.span.clone(), &remotes));
        }
        if !mistakes.is_empty() {
            return Err(file.error(mistakes));
        }
    }
    Ok(())
}

fn unknown_remote(file: &ConfigFile, source: &SourceEntry, remotes: &[&str]) -> Option<Mistake> {
    let name = source.remote.as_deref()?;
    if remotes.contains(&name) {
        return None;
    }
    // The place of the value is found again, so that the name itself is shown.
    let table = &file.text[source.span.start..];
    let quoted = [format!("\"{name}\""), format!("'{name}'")];
    let found = quoted.iter().find_map(|quoted| {
        let start = source.span.start + table.find(quoted.as_str())?;
        Some(start..start + quoted.len())
    });
    let span = found.unwrap_or_else(|| source.span.clone());
    Some(no_such_remote(name, span, remotes))
}

fn no_such_remote(name: &str, span: std::ops::Range<usize>, remotes: &[&str]) -> Mistake {
    let way_out = match (nearest(name, remotes), remotes) {
        (Some(near), _) => format!("do you mean `{near}`?"),
        (None, []) => format!("add [remote.{name}] with a `url` or a `store`"),
        (None, known) => format!(
            "the remotes here are {}; `dpe remote add {name} URL` adds one",
            known.join(", ")
        ),
    };
    Mistake {
        code: "dpe::config::unknown_remote",
        what: format!("there is no remote `{name}`"),
        way_out,
        span,
    }
}

/// Returns what the manifest of a bundled connector finds wrong with a configuration.
fn bad_config(name: &str, source: &SourceEntry) -> Vec<Mistake> {
    let ConnectorEntry::Bundled(connector) = &source.connector else {
        return Vec::new();
    };
    let Some(bundled) = bundled(connector) else {
        return Vec::new();
    };
    let schema = bundled.manifest.config_schema.get();
    let unknown = unknown_members(source, schema);
    if !unknown.is_empty() {
        return unknown;
    }
    let config = Text::parse(source.config.as_bytes()).expect("the writer writes JSON");
    let Some(violation) = config_violation(&bundled.manifest, config.root()) else {
        return Vec::new();
    };
    let place = &violation.place;
    let span = source.config_spans.get(place);
    let span = span.or_else(|| source.config_spans.get(""));
    let what = match (&*place.replace('/', "."), violation.keyword) {
        ("", "required") => format!(
            "the configuration of `{name}` lacks {}",
            violation.constraint
        ),
        (place, keyword) => format!(
            "`config{place}` of `{name}` breaks `{keyword}`: {}",
            violation.constraint
        ),
    };
    vec![Mistake {
        code: "dpe::config::connector",
        what,
        way_out: format!("`dpe connector manifest {connector}` says what the connector takes"),
        span: span.unwrap_or(&source.span).clone(),
    }]
}

/// Returns the members of a configuration that the schema does not have.
fn unknown_members(source: &SourceEntry, schema: &str) -> Vec<Mistake> {
    let schema = Text::parse(schema.as_bytes()).expect("a manifest that was read is JSON");
    let config = Text::parse(source.config.as_bytes()).expect("the writer writes JSON");
    let mut mistakes = Vec::new();
    let mut open = vec![(config.root(), schema.root(), String::new())];
    while let Some((value, schema, pointer)) = open.pop() {
        let (Some(members), Some(declared)) = (value.members(), schema.member("properties")) else {
            continue;
        };
        let names: Vec<String> = declared
            .members()
            .into_iter()
            .flatten()
            .map(|(name, _)| name.into_owned())
            .filter(|name| !OURS.contains(&&**name))
            .collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        for (name, member) in members {
            let place = format!("{pointer}/{name}");
            match declared.member(&name).filter(|_| names.contains(&&*name)) {
                Some(schema) => open.push((member, schema, place)),
                None => mistakes.push(unknown_member(source, &name, &place, &names)),
            }
        }
    }
    mistakes
}

fn unknown_member(source: &SourceEntry, name: &str, place: &str, names: &[&str]) -> Mistake {
    let near = nearest(name, names).map(|near| format!("do you mean `{near}`? "));
    let span = source.config_spans.get(place).unwrap_or(&source.span);
    Mistake {
        code: "dpe::config::unknown_key",
        what: format!("the connector knows no `{name}`"),
        way_out: format!("{}It knows {}", near.unwrap_or_default(), names.join(", ")),
        span: span.clone(),
    }
}
