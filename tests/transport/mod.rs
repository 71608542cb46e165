//! The transport against real sockets: what arrives, and what is known when nothing comes back.

mod credentials;
mod long_replies;
mod lost;
mod proxies;
mod proxy_rules;
mod raw;
mod slow;
mod tls;
mod wire;
