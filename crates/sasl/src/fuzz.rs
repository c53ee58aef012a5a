//! Fuzz bodies: no bytes cause a panic. Each fuzz target is one call.

use std::sync::Arc;

use crate::token::{Issuer, Issuers, KeySet, SignatureAlgorithm, Terms};

/// The time in which fuzzed tokens are judged, in seconds since 1970.
const NOW_S: u64 = 1_800_000_000;

/// Reads a token from the first line and its issuer's keys from the rest; what a client is told
/// about a token that is not accepted is short.
pub fn token(bytes: &[u8]) {
    let mut parts = bytes.splitn(2, |it| *it == b'\n');
    let token = parts.next().unwrap_or_default();
    let keys = parts.next().unwrap_or_default();
    let algorithms = ["RS256", "ES256", "ES384", "EdDSA"];
    let algorithms = algorithms.iter().map(|it| it.parse::<SignatureAlgorithm>());
    let terms = Terms {
        issuer: "https://issuer.example".to_owned(),
        audience: vec!["ldap".to_owned()],
        algorithms: algorithms.flatten().collect(),
        clock_skew_s: 60,
        scopes: Vec::new(),
        openid_configuration: None,
    };
    let issuer = Issuer::new(terms, Box::new(|| ()));
    if let Ok(keys) = KeySet::read(keys) {
        assert!(!keys.is_empty());
        issuer.set_keys(Arc::new(keys));
    }
    let issuers = Issuers(vec![Arc::new(issuer)]);
    match issuers.verify(&String::from_utf8_lossy(token), NOW_S) {
        Ok(proved) => assert!(proved.end_s > NOW_S),
        Err(failure) => {
            let told = failure.answer();
            assert!(told.len() < 100, "{}", told.escape_ascii());
        }
    }
}

#[cfg(test)]
#[path = "../../../fuzz/damaged.rs"]
mod damaged;

#[cfg(test)]
mod tests {
    #[test]
    fn the_corpus_of_tokens() {
        super::damaged::run("token", super::token);
    }
}
