//! Step T4 of the ladder: the form of a query on `documents` (http-binding §6.1).

use std::borrow::Cow;

use http::Method;

use crate::protocol::routes;

/// Largest `limit` that is well-formed.
const LIMIT_MAX: u64 = i64::MAX.unsigned_abs();

/// The four parameters that count; any other is ignored, however malformed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct QueryForm {
    pub(super) uri: Option<String>,
    pub(super) prefix: Option<String>,
    pub(super) cursor: Option<String>,
    pub(super) limit: Option<u64>,
}

impl QueryForm {
    /// Reads the raw query of a request with this method; the error says what is wrong.
    pub(super) fn read(method: &Method, raw: &str) -> Result<Self, Cow<'static, str>> {
        let mut form = Self::default();
        let mut limit = None;
        for part in raw.split('&') {
            let (name, value) = part.split_once('=').unwrap_or((part, ""));
            let slot = match &*routes::percent_decode(name.as_bytes()) {
                b"uri" => &mut form.uri,
                b"prefix" => &mut form.prefix,
                b"cursor" => &mut form.cursor,
                b"limit" => &mut limit,
                _ => continue,
            };
            let value = routes::percent_decode(value.as_bytes()).into_owned();
            let value = String::from_utf8(value)
                .map_err(|_| format!("the value of {name} is not UTF-8"))?;
            if slot.replace(value).is_some() {
                return Err(format!("{name} is given twice").into());
            }
        }
        if form.uri.is_none() && *method != Method::GET {
            return Err("uri is missing".into());
        }
        let others = [&form.prefix, &form.cursor, &limit];
        if form.uri.is_some() && others.into_iter().any(Option::is_some) {
            return Err("uri excludes prefix, cursor and limit".into());
        }
        form.limit = limit.as_deref().map(read_limit).transpose()?;
        Ok(form)
    }
}

fn read_limit(text: &str) -> Result<u64, Cow<'static, str>> {
    let is_number = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let value = is_number.then(|| text.parse().ok()).flatten();
    value
        .filter(|&limit| limit <= LIMIT_MAX)
        .ok_or_else(|| "limit is not a decimal number of at most 2^63 - 1".into())
}

#[cfg(test)]
mod tests {
    use http::Method;

    use super::QueryForm;

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn only_four_names_count() {
        let form = QueryForm::read(&Method::GET, "x=1&x=2&%zz=%ff&%75ri=a%3Ab+c&y").unwrap();
        let uri = some("a:b+c");
        assert_eq!(
            form,
            QueryForm {
                uri,
                ..QueryForm::default()
            }
        );
        let form = QueryForm::read(&Method::GET, "prefix=a%20b%&limit=007&cursor=").unwrap();
        let expected = QueryForm {
            uri: None,
            prefix: some("a b%"),
            cursor: some(""),
            limit: Some(7),
        };
        assert_eq!(form, expected);
        assert_eq!(QueryForm::read(&Method::GET, ""), Ok(QueryForm::default()));
        let largest = QueryForm::read(&Method::GET, "limit=9223372036854775807").unwrap();
        assert_eq!(largest.limit, Some(9_223_372_036_854_775_807));
    }

    #[test]
    fn violations_of_the_form_are_refused() {
        for (method, query) in [
            (Method::GET, "uri=a:b&uri=a:b"),
            (Method::GET, "uri=a:b&%75ri=a:b"),
            (Method::GET, "prefix=&prefix="),
            (Method::GET, "cursor=a&cursor=a"),
            (Method::GET, "limit=1&limit=1"),
            (Method::GET, "uri=%ff"),
            (Method::GET, "prefix=%c3"),
            (Method::GET, "uri=a:b&limit=1"),
            (Method::GET, "uri=a:b&prefix="),
            (Method::GET, "uri=a:b&cursor="),
            (Method::PUT, "uri=a:b&limit=1"),
            (Method::GET, "limit=abc"),
            (Method::GET, "limit="),
            (Method::GET, "limit"),
            (Method::GET, "limit=+1"),
            (Method::GET, "limit=-1"),
            (Method::GET, "limit=9223372036854775808"),
            (Method::GET, "limit=%D9%A1"),
            (Method::HEAD, ""),
            (Method::PUT, "prefix=a"),
            (Method::DELETE, "URI=a:b"),
        ] {
            assert!(QueryForm::read(&method, query).is_err(), "{method} {query}");
        }
    }
}
