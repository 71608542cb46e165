//! The envelope of a response, judged strictly (connector contract §9).

use dpe_connector::ErrorCode;

use crate::json::{NumberClass, Text, Value};

/// A response that keeps the rules.
#[derive(Debug)]
pub(super) struct Response {
    /// Of which request.
    pub(super) id: i64,
    /// What it says.
    pub(super) outcome: Outcome,
}

/// What a response says.
#[derive(Debug)]
pub(super) enum Outcome {
    /// A result; the text is the whole line.
    Result(ResultText),
    /// The plugin's own refusal.
    Error(ErrorResponse),
}

/// The line of a response that has a `result`.
#[derive(Debug)]
pub(super) struct ResultText(Text<'static>);

impl ResultText {
    /// Returns the result.
    pub(super) fn value(&self) -> Value<'_> {
        let result = self.0.root().member("result");
        result.expect("a line without a result is not made a ResultText")
    }
}

/// An error response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ErrorResponse {
    /// The number, which may be none of the contract's; one that is too large is the largest.
    pub(super) code: i64,
    /// For people.
    pub(super) message: String,
    /// Whether `data` says so.
    pub(super) retryable: bool,
}

impl ErrorResponse {
    /// Returns the name used in reports.
    pub(super) fn name(&self) -> &'static str {
        ErrorCode::from_number(self.code).map_or("unknown_error", ErrorCode::name)
    }

    /// Returns whether a report may call it retryable: an unknown code never is.
    pub(super) fn is_retryable(&self) -> bool {
        self.retryable && ErrorCode::from_number(self.code).is_some()
    }
}

/// Reads one line of a plugin; the error names the rule it breaks.
pub(super) fn parse(line: Vec<u8>) -> Result<Response, String> {
    response(text(line)?)
}

/// Reads one line of a plugin as JSON; the error names the rule it breaks, and quotes nothing.
pub(super) fn text(line: Vec<u8>) -> Result<Text<'static>, String> {
    if line.is_empty() {
        return Err("an empty line".into());
    }
    Text::parse_owned(line).map_err(|why| format!("a line that is no JSON: {why}"))
}

/// Reads a response; the error names the rule it breaks.
pub(super) fn response(text: Text<'static>) -> Result<Response, String> {
    let root = text.root();
    if root.members().is_none() {
        return Err("a message that is no object".into());
    }
    if !root
        .member("jsonrpc")
        .is_some_and(|version| version.says("2.0"))
    {
        return Err("a message without \"jsonrpc\":\"2.0\"".into());
    }
    if root.member("method").is_some() {
        return Err("a request or notification; a plugin only answers".into());
    }
    let id = root.member("id").and_then(integer);
    let id = id.ok_or("a response whose id is no integer")?;
    let error = match (root.member("result"), root.member("error")) {
        (Some(_), None) => None,
        (None, Some(error)) => Some(error_response(error)?),
        (Some(_), Some(_)) => return Err("a response with both result and error".into()),
        (None, None) => return Err("a response with neither result nor error".into()),
    };
    let outcome = match error {
        Some(error) => Outcome::Error(error),
        None => Outcome::Result(ResultText(text)),
    };
    Ok(Response { id, outcome })
}

fn error_response(error: Value<'_>) -> Result<ErrorResponse, String> {
    let code = error.member("code").and_then(any_integer);
    let message = error.member("message").and_then(Value::as_str);
    let (Some(code), Some(message)) = (code, message) else {
        return Err("an error without integer code and string message".into());
    };
    let data = error.member("data");
    let retryable = data.and_then(|data| data.member("retryable"));
    Ok(ErrorResponse {
        code,
        message: message.into_owned(),
        retryable: retryable.and_then(Value::as_bool) == Some(true),
    })
}

/// Reads an integer however large it is: it is only compared with a few others.
fn any_integer(value: Value<'_>) -> Option<i64> {
    let number = value.number()?;
    if number.class() == NumberClass::Float {
        return None;
    }
    let literal = number.literal();
    let outermost = if literal.starts_with('-') {
        i64::MIN
    } else {
        i64::MAX
    };
    Some(literal.parse().unwrap_or(outermost))
}

fn integer(value: Value<'_>) -> Option<i64> {
    value.number()?.as_integer()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(line: &str) -> String {
        parse(line.as_bytes().to_vec()).map(drop).unwrap_err()
    }

    #[test]
    fn results_and_errors_are_told_apart() {
        let result = parse(br#"{"jsonrpc":"2.0","id":4,"result":{"a":1},"extra":0}"#.to_vec());
        let Response {
            id: 4,
            outcome: Outcome::Result(text),
        } = result.unwrap()
        else {
            panic!("expected a result");
        };
        assert_eq!(text.value().raw(), r#"{"a":1}"#);
        let line = br#"{"jsonrpc":"2.0","id":5,"error":{"code":-32003,"message":"m","data":{"retryable":true}}}"#;
        let Response {
            id: 5,
            outcome: Outcome::Error(error),
        } = parse(line.to_vec()).unwrap()
        else {
            panic!("expected an error");
        };
        assert_eq!(
            (error.name(), error.is_retryable()),
            ("source_failed", true)
        );
    }

    #[test]
    fn retryable_counts_only_as_true_and_only_for_known_codes() {
        let error = |code: i64, data: &str| {
            let line = format!(
                r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":"","data":{data}}}}}"#
            );
            match parse(line.into_bytes()).unwrap().outcome {
                Outcome::Error(error) => (error.name(), error.is_retryable()),
                Outcome::Result(_) => panic!("expected an error"),
            }
        };
        assert_eq!(error(-32003, "[true]"), ("source_failed", false));
        assert_eq!(
            error(-32003, r#"{"retryable":1}"#),
            ("source_failed", false)
        );
        assert_eq!(error(7, r#"{"retryable":true}"#), ("unknown_error", false));
    }

    #[test]
    fn a_code_may_be_any_integer() {
        for code in [
            "9007199254740992",
            "-9007199254740992",
            "9223372036854775808",
            "-1000000000000000000000",
        ] {
            let line =
                format!(r#"{{"jsonrpc":"2.0","id":1,"error":{{"code":{code},"message":""}}}}"#);
            let Outcome::Error(error) = parse(line.into_bytes()).unwrap().outcome else {
                panic!("expected an error");
            };
            assert_eq!(error.name(), "unknown_error", "{code}");
        }
    }

    #[test]
    fn every_violation_of_the_envelope_is_refused() {
        for line in [
            "",
            " ",
            "no json",
            "\u{feff}{}",
            "[]",
            "1",
            r#"{"id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.1","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","jsonrpc":"2.0","id":1,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{"a":"\ud800"}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"method":"log"}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}"#,
            r#"{"jsonrpc":"2.0","id":1}"#,
            r#"{"jsonrpc":"2.0","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":null,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":"1","result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1.0,"result":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":""}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1e300,"message":""}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":{"code":1.0,"message":""}}"#,
            r#"{"jsonrpc":"2.0","id":1,"error":null}"#,
        ] {
            assert!(!refused(line).is_empty(), "{line}");
        }
    }
}
