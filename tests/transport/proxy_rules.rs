//! The rules of choosing a proxy, row by row (HTTP binding §20).

use std::ffi::OsString;

use dpe::transport::proxy::{Proxy, ProxyError, ProxyRule, decide};

fn decided(variables: &[(&str, &str)], remote: &str) -> Result<Option<Proxy>, ProxyError> {
    decide(
        |name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| OsString::from(value))
        },
        remote,
    )
}

fn url(variables: &[(&str, &str)], remote: &str) -> Option<String> {
    decided(variables, remote).unwrap().map(|proxy| proxy.url)
}

const HTTP: &str = "http://docs.example.com/r";
const HTTPS: &str = "https://docs.example.com/r";

#[test]
fn a_cgi_program_uses_no_proxy() {
    for method in ["GET", ""] {
        let variables = [("HTTP_PROXY", "http://p:1"), ("REQUEST_METHOD", method)];
        assert_eq!(url(&variables, HTTP), None);
    }
}

#[test]
fn the_variable_of_the_scheme_comes_before_all_proxy_and_uppercase_before_lowercase() {
    let all = [
        ("http_proxy", "hl:1"),
        ("HTTP_PROXY", "hu:1"),
        ("https_proxy", "sl:1"),
        ("HTTPS_PROXY", "su:1"),
        ("all_proxy", "al:1"),
        ("ALL_PROXY", "au:1"),
    ];
    let without = |names: &[&str]| -> Vec<(&str, &str)> {
        all.into_iter()
            .filter(|(name, _)| !names.contains(name))
            .collect()
    };
    let proxy = |host: &str| Some(format!("http://{host}:1"));
    assert_eq!(url(&all, HTTP), proxy("hu"));
    assert_eq!(url(&all, HTTPS), proxy("su"));
    assert_eq!(url(&without(&["HTTP_PROXY"]), HTTP), proxy("hl"));
    assert_eq!(url(&without(&["HTTPS_PROXY"]), HTTPS), proxy("sl"));
    let general = without(&["HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"]);
    assert_eq!(url(&general, HTTP), proxy("au"));
    assert_eq!(url(&general, HTTPS), proxy("au"));
    assert_eq!(url(&[("all_proxy", "al:1")], HTTPS), proxy("al"));
    assert_eq!(url(&[("HTTPS_PROXY", "su:1")], HTTP), None);
    assert_eq!(url(&[], HTTP), None);
}

#[test]
fn values_are_trimmed_and_blank_ones_are_not_set() {
    let variables = [
        ("HTTP_PROXY", " \t\n\r\x0b\x0c"),
        ("http_proxy", ""),
        ("ALL_PROXY", "\x0c p:1 \n"),
    ];
    assert_eq!(url(&variables, HTTP).as_deref(), Some("http://p:1"));
}

#[test]
fn entries_of_no_proxy_match_as_the_table_says() {
    for (entries, remote, matches) in [
        ("*", "http://h", true),
        ("x, * ", "http://10.0.0.1", true),
        ("", "http://h", false),
        (" , ,", "http://h", false),
        // Addresses.
        ("10.0.0.1", "http://10.0.0.1:8080/r", true),
        ("10.0.0.2", "http://10.0.0.1", false),
        ("::1", "http://[::1]:8080", true),
        ("[::1]", "http://[::1]", true),
        ("0:0:0:0:0:0:0:1", "http://[::1]", true),
        ("::FFFF", "http://[::ffff]", true),
        ("fe80::1%eth0", "http://[fe80::1]", false),
        ("::ffff:10.0.0.1", "http://10.0.0.1", false),
        ("10.0.0.1:8080", "http://10.0.0.1:8080", false),
        ("[::1]:8080", "http://[::1]:8080", false),
        // Networks.
        ("10.0.0.0/8", "http://10.200.3.4", true),
        ("10.0.0.0/8", "http://11.0.0.1", false),
        ("10.1.2.3/8", "http://10.9.9.9", true),
        ("10.0.0.0/008", "http://10.200.3.4", true),
        ("10.0.0.0/33", "http://10.0.0.0", false),
        ("10.0.0.0/", "http://10.0.0.0", false),
        ("10.0.0.0/+8", "http://10.0.0.0", false),
        ("10.0.0.1/32", "http://10.0.0.1", true),
        ("10.0.0.1/32", "http://10.0.0.0", false),
        ("0.0.0.0/0", "http://10.0.0.1", true),
        ("0.0.0.0/0", "http://[::1]", false),
        ("fd00::/8", "http://[fdff::1]", true),
        ("fd00::/8", "http://[fe00::1]", false),
        ("::/0", "http://[fe00::1]", true),
        ("::/129", "http://[::]", false),
        // Domains.
        ("example.com", "http://example.com", true),
        ("example.com", "http://docs.example.com:8080/r", true),
        ("EXAMPLE.com", "http://docs.example.com", true),
        (".example.com", "http://example.com", true),
        (".example.com", "http://a.b.example.com", true),
        ("..example.com", "http://docs.example.com", false),
        ("example.com", "http://notexample.com", false),
        ("docs.example.com", "http://example.com", false),
        ("*.example.com", "http://docs.example.com", false),
        ("example.com:80", "http://example.com", false),
        ("example.com:8080", "http://example.com:8080", false),
        (".", "http://example.com", false),
        ("0.0.1", "http://10.0.0.1", false),
        ("a,b\t, example.com\n", "http://example.com", true),
    ] {
        let variables = [("HTTP_PROXY", "p:1"), ("NO_PROXY", entries)];
        let direct = decided(&variables, remote).unwrap().is_none();
        assert_eq!(direct, matches, "{entries:?} {remote}");
    }
}

#[test]
fn the_lowercase_spelling_of_no_proxy_counts_when_the_other_is_not_set() {
    let proxy = ("HTTP_PROXY", "p:1");
    assert_eq!(url(&[proxy, ("no_proxy", "*")], HTTP), None);
    assert_eq!(
        url(&[proxy, ("NO_PROXY", " "), ("no_proxy", "*")], HTTP),
        None
    );
    let both = [proxy, ("NO_PROXY", "other"), ("no_proxy", "*")];
    assert!(url(&both, HTTP).is_some());
}

#[test]
fn a_value_is_not_even_judged_when_no_proxy_matches() {
    let variables = [("HTTP_PROXY", "socks5://\u{fc}"), ("NO_PROXY", "*")];
    assert_eq!(url(&variables, HTTP), None);
}

#[test]
fn values_that_name_a_proxy() {
    for (value, expected) in [
        ("proxy", "http://proxy"),
        ("proxy:3128", "http://proxy:3128"),
        ("proxy:03128", "http://proxy:3128"),
        (
            "http://proxy.example.com:3128/",
            "http://proxy.example.com:3128",
        ),
        ("HTTPS://Proxy-1.Example.com", "https://Proxy-1.Example.com"),
        ("http://10.0.0.1:80", "http://10.0.0.1:80"),
        ("http://[::1]:3128", "http://[::1]:3128"),
        ("http://[fd00:0::1]", "http://[fd00:0::1]"),
        ("user:pass@proxy:1", "http://proxy:1"),
        ("http://a!$&'()*+,;=-._~%3a:%40@proxy", "http://proxy"),
        ("http://1a", "http://1a"),
        ("proxy:65535", "http://proxy:65535"),
    ] {
        let variables = [("HTTP_PROXY", value)];
        assert_eq!(url(&variables, HTTP).as_deref(), Some(expected), "{value}");
    }
}

#[test]
fn values_that_name_none_are_refused_by_their_rule_and_not_repeated() {
    let long = format!("http://secret{}", "a".repeat(4096));
    for (rule, values) in [
        (
            ProxyRule::Characters,
            &[
                &*long,
                "http://secret\u{fc}",
                "http://sec ret",
                "http://secret%",
                "http://secret%4g@p",
                "http://s\"@p",
                "\\\\secret",
            ][..],
        ),
        (
            ProxyRule::Scheme,
            &[
                "://secret",
                "1http://secret",
                "secret:x@p/://",
                "se_cret://p",
            ],
        ),
        (
            ProxyRule::Unsupported,
            &[
                "socks5://secret:1",
                "ftp://secret",
                "secret+x.y-z://p",
                "file:///secret",
            ],
        ),
        (
            ProxyRule::Path,
            &[
                "http://secret/x",
                "http://secret//",
                "http://secret?x",
                "http://secret/?",
                "http://secret#x",
                "secret/x",
            ],
        ),
        (
            ProxyRule::UserInfo,
            &["http://u@secret@p", "http://[secret@p"],
        ),
        (
            ProxyRule::Host,
            &[
                "http://",
                "http:///",
                "http://u@",
                "http://:3128",
                "http://secret..p",
                "http://secret.",
                "http://se_cret",
                "http://secret%41",
                "http://xn--secret",
                "http://a.XN--secret",
                "http://1.2.3",
                "http://1.2.3.256",
                "http://01.2.3.4",
                "http://0x7f",
                "http://p.0xsecret",
                "http://[::1",
                "http://[secret]",
                "http://[fe80::1%25eth0]",
                "http://[::1]secret",
                "http://12345",
            ],
        ),
        (
            ProxyRule::Port,
            &[
                "http://secret:",
                "http://secret:x",
                "http://secret:65536",
                "http://secret:000080",
                "http://secret:-1",
                "http://secret:1:2",
            ],
        ),
    ] {
        for value in values {
            let error = decided(&[("https_proxy", value)], HTTPS).unwrap_err();
            assert_eq!(
                error,
                ProxyError {
                    variable: "https_proxy",
                    rule
                },
                "{value}"
            );
            let said = format!("{error} {error:?}");
            assert!(
                said.contains("https_proxy") && !said.contains("secret"),
                "{said}"
            );
        }
    }
}

/// No. 5 of §20; the Base64 texts are those of RFC 4648 for the pairs named there.
#[test]
fn user_information_becomes_basic_credentials() {
    for (user_info, expected) in [
        ("u%40x:p%3Aw@", Some("Basic dUB4OnA6dw==")),
        ("user@", Some("Basic dXNlcjo=")),
        (":pass@", Some("Basic OnBhc3M=")),
        (":@", Some("Basic Og==")),
        ("a:b:c@", Some("Basic YTpiOmM=")),
        ("@", None),
        ("", None),
    ] {
        let value = format!("http://{user_info}proxy:1");
        let proxy = decided(&[("HTTP_PROXY", &value)], HTTP).unwrap().unwrap();
        let authorization = proxy.authorization.as_ref().map(|secret| secret.expose());
        assert_eq!(authorization, expected, "{user_info}");
        let shown = format!("{proxy:?}");
        assert!(!shown.contains("Basic"), "{shown}");
    }
}

#[cfg(unix)]
#[test]
fn a_value_that_is_no_text_is_refused() {
    use std::os::unix::ffi::OsStringExt;

    let variable =
        |name: &str| (name == "HTTP_PROXY").then(|| OsString::from_vec(b"http://p\xff:1".to_vec()));
    let error = decide(variable, HTTP).unwrap_err();
    assert_eq!(error.rule, ProxyRule::Characters);
}
