//! What leaves paths out, as `git check-ignore` writes it.

use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::json::Writer;
use crate::ops::check_ignore::Verdict;
use crate::sync::printable::printable;

use super::Voice;

/// How it is written.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// With the rule.
    pub verbose: bool,
    /// Also what is not left out; only with the rule, as a bare name would say that it is.
    pub non_matching: bool,
    /// Fields and lines end with NUL, names are raw.
    pub zero: bool,
}

/// Writes what decides about a path, if that is wanted.
///
/// # Errors
///
/// When stdout cannot be written.
pub fn tell(voice: Voice, form: Form, path: &Path, verdict: &Verdict) -> io::Result<()> {
    if voice.json {
        return voice.result(&as_json(path, verdict)).map(drop);
    }
    let speaks = verdict.leaves_out() || (form.verbose && *verdict != Verdict::Admitted);
    let is_asked_for = form.verbose && form.non_matching;
    if !speaks && !is_asked_for {
        return Ok(());
    }
    let path = path.as_os_str().as_bytes();
    let (source, line, pattern) = decisive(verdict);
    let fields: Vec<&[u8]> = match form.verbose {
        true => vec![&source, line.as_bytes(), &pattern, path],
        false => vec![path],
    };
    if form.zero {
        let mut bytes = Vec::new();
        for field in fields {
            bytes.extend_from_slice(field);
            bytes.push(0);
        }
        return voice.whole_result(&bytes).map(drop);
    }
    let fields: Vec<_> = fields.into_iter().map(String::from_utf8_lossy).collect();
    let line = match &fields[..] {
        [source, line, pattern, path] => format!("{source}:{line}:{pattern}\t{}", printable(path)),
        fields => printable(&fields.concat()).to_string(),
    };
    voice.result(&line).map(drop)
}

/// Returns what stands for the file, the line and the pattern.
fn decisive(verdict: &Verdict) -> (Vec<u8>, String, Vec<u8>) {
    let because = |reason: &str, pattern: &[u8]| {
        let source = reason.as_bytes().to_vec();
        (source, String::new(), pattern.to_vec())
    };
    match verdict {
        Verdict::Rule {
            file,
            line,
            pattern,
            ..
        } => (shown(file), line.to_string(), pattern.clone()),
        Verdict::Admitted => because("", b""),
        Verdict::Hidden => because("<hidden>", b""),
        Verdict::Git => because("<git>", b""),
        Verdict::Link => because("<link>", b""),
        Verdict::Special => because("<special>", b""),
        Verdict::Excluded { glob } => because("<exclude>", glob),
        Verdict::NotIncluded => because("<include>", b""),
    }
}

/// Returns the path of an ignore file: from the working directory, if it lies below.
fn shown(file: &Path) -> Vec<u8> {
    let here = std::env::current_dir().and_then(|here| here.canonicalize());
    let below = here
        .ok()
        .and_then(|here| Some(file.strip_prefix(here).ok()?.to_owned()));
    below
        .as_deref()
        .unwrap_or(file)
        .as_os_str()
        .as_bytes()
        .to_vec()
}

fn as_json(path: &Path, verdict: &Verdict) -> String {
    let (source, line, pattern) = decisive(verdict);
    let mut json = Writer::new();
    json.begin_object();
    json.name("type").string("ignore");
    json.name("path").string(&path.to_string_lossy());
    json.name("ignored").boolean(verdict.leaves_out());
    json.name("source")
        .string(&String::from_utf8_lossy(&source));
    match line.parse::<u64>() {
        Ok(line) => json.name("line").integer(line),
        Err(_) => json.name("line").null(),
    };
    json.name("pattern")
        .string(&String::from_utf8_lossy(&pattern));
    json.end_object();
    json.into_string()
}
