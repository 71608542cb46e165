//! Connectors, for people and for programs.

use crate::json::Writer;
use crate::ops::connector::check::Checked;
use crate::ops::connector::list::Listed;
use crate::sync::printable::printable;

/// Returns a verdict as a line of a table.
pub fn checked_to_text(checked: &Checked) -> String {
    format!(
        "{:<18} {:<8} {:<9} {}",
        checked.rule.name,
        checked.verdict.as_str(),
        checked.rule.section,
        printable(&checked.detail)
    )
}

/// Returns a verdict as one line of JSON.
pub fn checked_to_json(checked: &Checked) -> String {
    let mut json = Writer::new();
    json.begin_object();
    json.name("type").string("check");
    json.name("check").string(checked.rule.name);
    json.name("section").string(checked.rule.section);
    json.name("verdict").string(checked.verdict.as_str());
    json.name("detail").string(&checked.detail);
    json.end_object();
    json.into_string()
}

/// Returns a connector as a line of a table.
pub fn listed_to_text(listed: &Listed) -> String {
    let place = match &listed.manifest_path {
        None => "bundled".to_owned(),
        Some(path) => path.display().to_string(),
    };
    let place = printable(&place);
    match &listed.manifest {
        Ok(manifest) => format!(
            "{:<12} {:<18} {place}  {}",
            printable(&manifest.name),
            printable(&manifest.version),
            printable(manifest.description.as_deref().unwrap_or_default())
        )
        .trim_end()
        .to_owned(),
        Err(why) => format!("{:<12} {:<18} {place}  {}", "-", "invalid", printable(why)),
    }
}

/// Returns a connector as one line of JSON.
pub fn listed_to_json(listed: &Listed) -> String {
    let mut json = Writer::new();
    json.begin_object();
    json.name("type").string("connector");
    json.name("bundled").boolean(listed.manifest_path.is_none());
    if let Some(path) = &listed.manifest_path {
        json.name("manifest").string(&path.to_string_lossy());
    }
    match &listed.manifest {
        Ok(manifest) => {
            json.name("name").string(&manifest.name);
            json.name("version").string(&manifest.version);
            if let Some(description) = &manifest.description {
                json.name("description").string(description);
            }
        }
        Err(why) => {
            json.name("error").string(why);
        }
    }
    json.end_object();
    json.into_string()
}
