//! Errors drawn for people and written for programs.

use std::io::{self, IsTerminal};

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, ThemeCharacters, ThemeStyles};
use rustix::termios::tcgetwinsize;

use crate::json::Writer;

use super::Color;

/// Columns of a terminal beyond which text is hard to read.
const WIDEST: usize = 100;

/// Returns an error with its causes, its code and what to do next, as stderr can show it.
pub(super) fn to_text(error: &dyn Diagnostic, color: Color) -> String {
    let stderr = io::stderr();
    let terminal = stderr.is_terminal();
    let columns = tcgetwinsize(&stderr).map(|size| usize::from(size.ws_col));
    let columns = columns.ok().filter(|columns| *columns > 20);
    let theme = GraphicalTheme {
        characters: if terminal && is_unicode(|name| std::env::var(name).ok()) {
            ThemeCharacters::unicode()
        } else {
            ThemeCharacters::ascii()
        },
        styles: if color.is_on(terminal) {
            ThemeStyles::ansi()
        } else {
            ThemeStyles::none()
        },
    };
    // What is piped into a file or another program is not cut into lines.
    let width = if terminal {
        columns.map_or(WIDEST, |columns| columns.min(WIDEST))
    } else {
        10_000
    };
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_links(false)
        .with_width(width);
    let mut text = String::new();
    match handler.render_report(&mut text, error) {
        Ok(()) => text,
        Err(_) => error.to_string(),
    }
}

/// Returns whether a terminal of this locale shows more than ASCII (POSIX, 8.2).
pub(super) fn is_unicode(variable: impl Fn(&str) -> Option<String>) -> bool {
    let given = ["LC_ALL", "LC_CTYPE", "LANG"].into_iter();
    let mut given = given.filter_map(|name| variable(name).filter(|value| !value.is_empty()));
    let locale = given.next().unwrap_or_default().to_ascii_uppercase();
    locale.ends_with("UTF-8") || locale.ends_with("UTF8")
}

/// Returns an error as one JSON object of type `error`, with `code`, `message`, `causes` and `help`.
pub(super) fn to_json(error: &dyn Diagnostic) -> String {
    let mut json = Writer::new();
    json.begin_object();
    json.name("type").string("error");
    json.name("error").begin_object();
    match error.code() {
        Some(code) => json.name("code").string(&code.to_string()),
        None => json.name("code").null(),
    };
    json.name("message").string(&error.to_string());
    json.name("causes").begin_array();
    let mut cause = error.source();
    while let Some(current) = cause {
        json.string(&current.to_string());
        cause = current.source();
    }
    json.end_array();
    match error.help() {
        Some(help) => json.name("help").string(&help.to_string()),
        None => json.name("help").null(),
    };
    if let Some(related) = error.related() {
        json.name("related").begin_array();
        for error in related {
            json.begin_object();
            json.name("message").string(&error.to_string());
            if let Some(help) = error.help() {
                json.name("help").string(&help.to_string());
            }
            json.end_object();
        }
        json.end_array();
    }
    json.end_object();
    json.end_object();
    json.into_string()
}

#[cfg(test)]
mod tests {
    use miette::Diagnostic;

    use super::{Color, is_unicode, to_json, to_text};

    #[derive(Debug, thiserror::Error, Diagnostic)]
    #[error("the store is gone")]
    #[diagnostic(code(dpe::test::gone), help("bring it back"))]
    struct Gone(#[source] std::io::Error);

    fn gone() -> Gone {
        Gone(std::io::Error::other("disk \"a\" is missing"))
    }

    #[test]
    fn people_read_the_error_its_cause_and_the_way_out() {
        let text = to_text(&gone(), Color::Never);
        for part in [
            "the store is gone",
            "disk \"a\" is missing",
            "bring it back",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains('\u{1b}'), "no colour: {text:?}");
        let text = to_text(&gone(), Color::Always);
        assert!(text.contains('\u{1b}'), "colour: {text:?}");
    }

    #[test]
    fn the_first_variable_of_the_locale_that_is_set_decides() {
        let cases: [(&[(&str, &str)], bool); 5] = [
            (&[("LANG", "de_DE.UTF-8")], true),
            (&[("LANG", "C.utf8"), ("LC_ALL", "")], true),
            (&[("LANG", "de_DE.UTF-8"), ("LC_ALL", "C")], false),
            (&[("LC_CTYPE", "en_US.UTF-8"), ("LANG", "C")], true),
            (&[], false),
        ];
        for (variables, expected) in cases {
            let variable = |name: &str| {
                let mut found = variables.iter().filter(|(given, _)| *given == name);
                found.next().map(|(_, value)| (*value).to_owned())
            };
            assert_eq!(is_unicode(variable), expected, "{variables:?}");
        }
    }

    #[test]
    fn programs_read_the_same_as_one_object() {
        assert_eq!(
            to_json(&gone()),
            r#"{"type":"error","error":{"code":"dpe::test::gone","message":"the store is gone","causes":["disk \"a\" is missing"],"help":"bring it back"}}"#
        );
    }
}
