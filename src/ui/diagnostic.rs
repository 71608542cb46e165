//! Errors drawn for people and written for programs.

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme};

use crate::json::Writer;

/// Returns an error with its causes, its code and what to do next.
pub(super) fn to_text(error: &dyn Diagnostic, terminal: bool) -> String {
    let is = |name, value: &str| std::env::var_os(name).is_some_and(|given| given == value);
    let plain = !is("NO_COLOR", "") && std::env::var_os("NO_COLOR").is_some() || is("TERM", "dumb");
    let theme = match (terminal, plain) {
        (true, false) => GraphicalTheme::unicode(),
        (true, true) => GraphicalTheme::unicode_nocolor(),
        (false, _) => GraphicalTheme::none(),
    };
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_links(false)
        .with_width(if terminal { 100 } else { 10_000 });
    let mut text = String::new();
    match handler.render_report(&mut text, error) {
        Ok(()) => text,
        Err(_) => error.to_string(),
    }
}

/// Returns an error as one JSON object with `code`, `message`, `causes` and `help`.
pub(super) fn to_json(error: &dyn Diagnostic) -> String {
    let mut json = Writer::new();
    json.begin_object();
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
    json.end_object();
    json.end_object();
    json.into_string()
}

#[cfg(test)]
mod tests {
    use miette::Diagnostic;

    use super::{to_json, to_text};

    #[derive(Debug, thiserror::Error, Diagnostic)]
    #[error("the store is gone")]
    #[diagnostic(code(dpe::test::gone), help("bring it back"))]
    struct Gone(#[source] std::io::Error);

    fn gone() -> Gone {
        Gone(std::io::Error::other("disk \"a\" is missing"))
    }

    #[test]
    fn people_read_the_error_its_cause_and_the_way_out() {
        let text = to_text(&gone(), false);
        for part in [
            "the store is gone",
            "disk \"a\" is missing",
            "bring it back",
        ] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains('\u{1b}'), "no colour in a pipe: {text:?}");
    }

    #[test]
    fn programs_read_the_same_as_one_object() {
        assert_eq!(
            to_json(&gone()),
            r#"{"error":{"code":"dpe::test::gone","message":"the store is gone","causes":["disk \"a\" is missing"],"help":"bring it back"}}"#
        );
    }
}
