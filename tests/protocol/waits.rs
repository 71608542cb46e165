//! How long a request waits before it goes out again: http-binding §19, §22.

use std::time::Duration;

use dpe::protocol::exchange::Exchange;
use dpe::protocol::wire::capabilities;
use dpe::protocol::{Fate, Operation, Response};
use http::HeaderValue;

use super::drive::{coded, lost};

fn exchange() -> Exchange {
    let mut exchange = Exchange::new(Operation::Capabilities, capabilities::Request.into_http());
    assert_eq!(exchange.poll().unwrap().after, Duration::ZERO);
    exchange
}

/// Hands in the end of a sending, and returns the wait before the next sending.
fn wait_after(exchange: &mut Exchange, fate: Fate) -> Option<Duration> {
    let now = "2026-11-30T00:00:00Z".parse().unwrap();
    let decode = |response: &Response| capabilities::decode(response);
    let ended = exchange.handle(fate, false, now, decode);
    let again = exchange.poll().map(|outgoing| outgoing.after);
    assert_eq!(ended.is_none(), again.is_some());
    again
}

fn busy(status: u16, code: &str, retry_after: Option<&str>) -> Fate {
    let Fate::Answered(mut response) = coded(status, code) else {
        unreachable!()
    };
    if let Some(value) = retry_after {
        let value = HeaderValue::from_str(value).unwrap();
        response.headers.insert("retry-after", value);
    }
    Fate::Answered(response)
}

#[test]
fn busy_remote_is_given_the_time_it_asks_for_up_to_five_minutes() {
    for (status, code) in [(429, "DPE_RATE_LIMITED"), (503, "DPE_UNAVAILABLE")] {
        for (retry_after, seconds) in [
            (Some("7"), Some(7)),
            (Some("0"), Some(0)),
            (Some("300"), Some(300)),
            (Some("301"), None),
            (Some("99999999999999999999"), None),
            (Some("Mon, 30 Nov 2026 00:00:42 GMT"), Some(42)),
            (Some("Sun, 29 Nov 2026 23:59:00 GMT"), Some(0)),
            (Some("Mon, 30 Nov 2026 00:05:01 GMT"), None),
            (Some("soon"), Some(1)),
            (None, Some(1)),
        ] {
            let fate = busy(status, code, retry_after);
            let wait = wait_after(&mut exchange(), fate);
            let expected = seconds.map(Duration::from_secs);
            assert_eq!(wait, expected, "{status} {retry_after:?}");
        }
    }
}

#[test]
fn request_that_met_a_network_failure_gives_a_server_the_time_to_restart() {
    for fate in [lost(), Fate::NotSent("refused".into())] {
        let mut exchange = exchange();
        let mut wait = || wait_after(&mut exchange, fate.clone());
        assert_eq!(wait(), Some(Duration::from_millis(250)));
        assert_eq!(wait(), Some(Duration::from_secs(1)));
        assert_eq!(wait(), None);
    }
}
