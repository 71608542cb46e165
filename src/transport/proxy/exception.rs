//! `NO_PROXY`: which hosts are reached directly (HTTP binding §20 no. 3).

use std::net::IpAddr;

use super::trim;

/// Returns whether an entry of `list` matches `host`, the host of a remote URL.
pub(super) fn matches(list: &str, host: &str) -> bool {
    let address = address(host);
    list.split(',').map(trim).any(|entry| {
        let entry = entry.to_ascii_lowercase();
        entry == "*" || address.map_or_else(|| is_in_domain(host, &entry), |ip| is_at(ip, &entry))
    })
}

/// Whether the entry is the address, or a network with it.
fn is_at(ip: IpAddr, entry: &str) -> bool {
    match entry.split_once('/') {
        None => address(entry) == Some(ip),
        Some((network, length)) => {
            let length = prefix_length(length);
            address(network)
                .zip(length)
                .is_some_and(|(network, length)| is_in_network(ip, network, length))
        }
    }
}

/// Whether the entry names the host, or a domain above it. An entry with a port names nothing,
/// since no host has a colon.
fn is_in_domain(host: &str, entry: &str) -> bool {
    let domain = entry.strip_prefix('.').unwrap_or(entry);
    let Some(before) = host.strip_suffix(domain) else {
        return false;
    };
    !domain.is_empty() && (before.is_empty() || before.ends_with('.'))
}

/// Reads an address, IPv6 with or without brackets; one with a zone is none.
fn address(text: &str) -> Option<IpAddr> {
    match text.strip_prefix('[') {
        Some(rest) => rest.strip_suffix(']')?.parse().ok().map(IpAddr::V6),
        None => text.parse().ok(),
    }
}

fn prefix_length(text: &str) -> Option<u32> {
    let is_decimal = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| is_decimal)
}

fn is_in_network(ip: IpAddr, network: IpAddr, length: u32) -> bool {
    let shared = match (ip, network) {
        (IpAddr::V4(ip), IpAddr::V4(network)) if length <= 32 => {
            (ip.to_bits() ^ network.to_bits()).leading_zeros()
        }
        (IpAddr::V6(ip), IpAddr::V6(network)) if length <= 128 => {
            (ip.to_bits() ^ network.to_bits()).leading_zeros()
        }
        _ => return false,
    };
    shared >= length
}
