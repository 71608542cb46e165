//! One document, for people and for programs.

use std::fmt::Write as _;

use crate::json::{Text, Value, Writer};
use crate::model::{FileUri, Hash};
use crate::ops::show::Shown;

use crate::sync::printable::printable;

/// Returns the document as one line of JSON: `file_uri`, `doc_hash`, `document`, `pages`, and
/// `elements` by content_hash where they are known.
pub fn to_json(uri: &FileUri, shown: &Shown) -> String {
    let mut json = Writer::new();
    json.begin_object();
    json.name("file_uri").string(uri.as_str());
    json.name("doc_hash")
        .string(&shown.skeleton.doc_hash.to_string());
    json.name("document").raw(&shown.skeleton.document);
    json.name("pages").begin_array();
    for page in &shown.skeleton.pages {
        json.raw(&page.page);
    }
    json.end_array();
    let mut elements: Vec<_> = shown.elements.iter().collect();
    elements.sort_by_key(|(hash, _)| **hash);
    json.name("elements").begin_object();
    for (hash, text) in elements {
        json.name(&hash.to_string()).raw(text);
    }
    json.end_object();
    json.end_object();
    json.into_string()
}

/// Returns the document as text: what it is, then its pages with their elements.
pub fn to_text(uri: &FileUri, shown: &Shown) -> String {
    let mut text = String::new();
    line(&mut text, format_args!("{uri}"));
    line(
        &mut text,
        format_args!("doc_hash   {}", shown.skeleton.doc_hash),
    );
    members(
        &mut text,
        &shown.skeleton.document,
        &[("file_type", ""), ("title", ""), ("doc_metadata", "")],
    );
    for (number, page) in shown.skeleton.pages.iter().enumerate() {
        line(
            &mut text,
            format_args!("\npage {} of {}", number + 1, shown.skeleton.pages.len()),
        );
        members(
            &mut text,
            &page.page,
            &[("title", "  "), ("page_metadata", "  ")],
        );
        for hash in &page.elements {
            element(
                &mut text,
                *hash,
                shown.elements.get(hash).map(|text| &**text),
            );
        }
    }
    text.truncate(text.trim_end().len());
    text
}

fn element(out: &mut String, hash: Hash, object: Option<&str>) {
    let parsed = object.map(|object| Text::parse(object.as_bytes()));
    let Some(Ok(object)) = parsed else {
        return line(out, format_args!("  {hash}"));
    };
    let object = object.root();
    let of = |name| {
        object
            .member(name)
            .and_then(Value::as_str)
            .unwrap_or_default()
    };
    line(out, format_args!("  {}", printable(&of("category"))));
    for text in of("text").lines() {
        line(out, format_args!("    {}", printable(text)));
    }
    if let Some(metadata) = object
        .member("metadata")
        .filter(|value| value.raw() != "{}")
    {
        line(
            out,
            format_args!("    metadata {}", printable(metadata.raw())),
        );
    }
}

/// Writes the members that are there: strings as they read, the rest as JSON.
fn members(out: &mut String, object: &str, names: &[(&str, &str)]) {
    let Ok(object) = Text::parse(object.as_bytes()) else {
        return;
    };
    for (name, indent) in names {
        let Some(value) = object.root().member(name) else {
            continue;
        };
        let shown = match value.as_str() {
            Some(text) => text.into_owned(),
            None => value.raw().to_owned(),
        };
        if shown != "{}" && shown != "null" {
            line(
                out,
                format_args!("{indent}{name:<10} {}", printable(&shown)),
            );
        }
    }
}

fn line(out: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = writeln!(out, "{text}");
}
