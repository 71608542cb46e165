//! What is kept of sources, as people and programs read it.

use std::io;
use std::path::Path;

use miette::Diagnostic;

use crate::json::Writer;
use crate::ops::state::{Content, Inventory, Kept, StateError};
use crate::sync::printable::printable;

use super::{Voice, text};

/// Lists what is kept: results on stdout, what is wrong with it on stderr.
///
/// # Errors
///
/// When stdout cannot be written.
pub fn inventory(voice: Voice, inventory: &Inventory, state_dir: &Path) -> io::Result<()> {
    for kept in &inventory.instances {
        let line = if voice.json {
            as_json(kept)
        } else {
            as_text(kept)
        };
        if !voice.result(&line)? {
            return Ok(());
        }
    }
    if inventory.instances.is_empty() {
        voice.say(&format!("nothing is kept in {}", state_dir.display()));
    }
    let broken = inventory.instances.iter().filter_map(broken);
    for error in broken.chain(inventory.registry.as_ref().err()) {
        voice.explain(error);
    }
    Ok(())
}

/// Says what was set aside, and where it is.
///
/// # Errors
///
/// When stdout cannot be written.
pub fn set_aside(voice: Voice, what: &str, id: Option<&str>, aside: &Path) -> io::Result<()> {
    if voice.json {
        let mut json = Writer::new();
        json.begin_object();
        json.name("type").string("set_aside");
        match id {
            Some(id) => json.name("id").string(id),
            None => json.name("id").null(),
        };
        json.name("path").string(&aside.to_string_lossy());
        json.end_object();
        voice.result(&json.into_string())?;
    }
    voice.say(&format!(
        "set aside {} in {}",
        printable(what),
        printable(&aside.to_string_lossy())
    ));
    Ok(())
}

fn broken(kept: &Kept) -> Option<&StateError> {
    kept.content.as_ref()?.as_ref().err()
}

fn as_text(kept: &Kept) -> String {
    let what = match &kept.registration {
        Some(one) => format!(
            "{} as {} on {}",
            printable(&one.origin),
            one.uri_prefix,
            printable(&one.remote_url)
        ),
        None => "of no source that is registered".to_owned(),
    };
    let content = match &kept.content {
        None => "no state".to_owned(),
        Some(Err(error)) => printable(&error.to_string()).to_string(),
        Some(Ok(Content {
            documents,
            held_since,
        })) => {
            let what = if *documents == 1 {
                "document"
            } else {
                "documents"
            };
            let size = text::bytes(kept.bytes);
            match held_since {
                None => format!("{documents} {what}, {size}"),
                Some(since) => format!("{documents} {what}, {size}, not complete since {since}"),
            }
        }
    };
    format!("{}\n    {what}\n    {content}", kept.id)
}

fn as_json(kept: &Kept) -> String {
    let mut json = Writer::new();
    json.begin_object();
    json.name("type").string("state");
    json.name("id").string(&kept.id);
    for (name, value) in [
        ("origin", kept.registration.as_ref().map(|one| &one.origin)),
        (
            "uri_prefix",
            kept.registration.as_ref().map(|one| &one.uri_prefix),
        ),
        (
            "remote_url",
            kept.registration.as_ref().map(|one| &one.remote_url),
        ),
    ] {
        optional(&mut json, name, value.map(String::as_str));
    }
    json.name("bytes").integer(kept.bytes);
    let content = kept
        .content
        .as_ref()
        .and_then(|content| content.as_ref().ok());
    match content {
        Some(content) => json.name("documents").integer(content.documents),
        None => json.name("documents").null(),
    };
    let since = content.and_then(|content| content.held_since.as_deref());
    optional(&mut json, "held_since", since);
    let code = broken(kept).and_then(Diagnostic::code);
    optional(
        &mut json,
        "error",
        code.map(|code| code.to_string()).as_deref(),
    );
    json.end_object();
    json.into_string()
}

fn optional(json: &mut Writer, name: &str, value: Option<&str>) {
    match value {
        Some(value) => json.name(name).string(value),
        None => json.name(name).null(),
    };
}
