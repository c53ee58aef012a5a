//! The keys of an issuer: a JWK set (RFC 7517 §5), of which the public keys for signatures are
//! used.

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};

/// Maximum length of a key set in octets.
pub const KEY_SET_OCTETS_MAX: usize = 1 << 20;
/// Maximum number of keys in a set.
const KEYS_MAX: usize = 1_000;

/// Algorithms of signatures that an RSA key may be for.
const RSA: &[Algorithm] = &[
    Algorithm::RS256,
    Algorithm::RS384,
    Algorithm::RS512,
    Algorithm::PS256,
    Algorithm::PS384,
    Algorithm::PS512,
];

/// The keys that an issuer has published.
#[derive(Debug, Default)]
pub struct KeySet {
    keys: Vec<Key>,
}

#[derive(Debug)]
struct Key {
    id: Option<String>,
    /// The algorithms that the key may be used with.
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

/// The search for the key of a token.
pub(super) enum Sought<'k> {
    /// The keys with which the signature may have been made.
    Found(Vec<&'k DecodingKey>),
    /// No key has the identifier that the token names.
    Unknown,
    /// Keys have the identifier, none of them for the algorithm, or the token names none and
    /// several keys are for the algorithm.
    Unfit,
}

impl KeySet {
    /// Reads a set. Keys that are not for signatures of a known algorithm are left out, and so are
    /// secrets: whoever publishes a secret lets everybody sign.
    ///
    /// # Errors
    /// The text is too long, is no JWK set, or has no key that can be used.
    pub fn read(text: &[u8]) -> Result<KeySet, String> {
        if text.len() > KEY_SET_OCTETS_MAX {
            return Err(format!("expected at most {KEY_SET_OCTETS_MAX} octets"));
        }
        let read: Result<serde_json::Value, _> = serde_json::from_slice(text);
        let read = read.map_err(|error| format!("expected a JWK set (RFC 7517 §5): {error}"))?;
        let Some(keys) = read.get("keys").and_then(serde_json::Value::as_array) else {
            return Err("expected a JWK set (RFC 7517 §5), got no list \"keys\"".to_owned());
        };
        if keys.len() > KEYS_MAX {
            let count = keys.len();
            return Err(format!("expected at most {KEYS_MAX} keys, got {count}"));
        }
        let keys: Vec<Key> = keys.iter().filter_map(key).collect();
        match keys.is_empty() {
            true => Err("expected a public key for signatures in the JWK set, got none".to_owned()),
            false => Ok(KeySet { keys }),
        }
    }

    /// Number of keys.
    pub fn len(&self) -> usize {
        self.keys.len()
    }

    /// Whether there is no key.
    pub fn is_empty(&self) -> bool {
        self.keys.is_empty()
    }

    /// Finds the keys for a token with this identifier of a key and this algorithm.
    pub(super) fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Sought<'_> {
        let named = self
            .keys
            .iter()
            .filter(|it| id.is_none() || it.id.as_deref() == id);
        let mut is_known = false;
        let fit = named.inspect(|_| is_known = true);
        let fit: Vec<&DecodingKey> = fit
            .filter(|it| it.algorithms.contains(&algorithm))
            .map(|it| &it.key)
            .collect();
        match (fit.len(), id) {
            (0, Some(_)) if !is_known => Sought::Unknown,
            (0, _) => Sought::Unfit,
            (2.., None) => Sought::Unfit,
            _ => Sought::Found(fit),
        }
    }
}

/// Reads one key; `None` if it cannot be used.
fn key(value: &serde_json::Value) -> Option<Key> {
    let jwk: Jwk = serde_json::from_value(value.clone()).ok()?;
    let common = &jwk.common;
    let signs = (common.public_key_use.as_ref()).is_none_or(|it| *it == PublicKeyUse::Signature);
    let operations = common.key_operations.as_ref();
    if !signs || operations.is_some_and(|it| !it.contains(&KeyOperations::Verify)) {
        return None;
    }
    let of_type: &[Algorithm] = match &jwk.algorithm {
        AlgorithmParameters::RSA(_) => RSA,
        AlgorithmParameters::EllipticCurve(it) => match it.curve {
            EllipticCurve::P256 => &[Algorithm::ES256],
            EllipticCurve::P384 => &[Algorithm::ES384],
            _ => return None,
        },
        AlgorithmParameters::OctetKeyPair(it) if it.curve == EllipticCurve::Ed25519 => {
            &[Algorithm::EdDSA]
        }
        _ => return None,
    };
    let algorithms: Vec<Algorithm> = match common.key_algorithm {
        None => of_type.to_vec(),
        Some(only) => {
            let only = Algorithm::try_from(only).ok()?;
            of_type.iter().copied().filter(|it| *it == only).collect()
        }
    };
    if algorithms.is_empty() {
        return None;
    }
    Some(Key {
        id: common.key_id.clone(),
        algorithms,
        key: DecodingKey::from_jwk(&jwk).ok()?,
    })
}
