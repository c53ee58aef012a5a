//! An issuer of tokens: JSON Web Tokens signed with keys that are made here.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256};
use serde_json::{Value, json};

/// The name of the issuer.
pub const ISSUER: &str = "https://id.example.com";

/// A key of the issuer, for signatures by ES256.
pub struct IssuerKey {
    id: String,
    key: EncodingKey,
}

impl IssuerKey {
    /// Makes a key with this identifier.
    pub fn new(id: &str) -> Self {
        let pair = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256).expect("a key");
        IssuerKey {
            id: id.to_owned(),
            key: EncodingKey::from_ec_der(&pair.serialize_der()),
        }
    }

    /// Signs claims.
    pub fn sign(&self, claims: &Value) -> String {
        let header = Header {
            kid: Some(self.id.clone()),
            ..Header::new(Algorithm::ES256)
        };
        jsonwebtoken::encode(&header, claims, &self.key).expect("a token")
    }

    /// Signs a token for a user of the directory, which is valid for some seconds.
    pub fn token(&self, user: &str, seconds: u64) -> String {
        self.sign(&claims(user, seconds))
    }
}

/// The claims of a token for a user of the directory, which is valid for some seconds.
pub fn claims(user: &str, seconds: u64) -> Value {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now_s = now.expect("a clock after 1970").as_secs();
    json!({
        "iss": ISSUER,
        "aud": "ldap",
        "sub": user,
        "iat": now_s,
        "exp": now_s + seconds,
    })
}

/// Writes the public keys as a JWK set, in place of what the file had.
pub fn publish(keys: &[&IssuerKey], file: &Path) {
    let public = |it: &&IssuerKey| {
        let mut jwk = Jwk::from_encoding_key(&it.key, Algorithm::ES256).expect("a public key");
        jwk.common.key_id = Some(it.id.clone());
        jwk
    };
    let keys: Vec<Jwk> = keys.iter().map(public).collect();
    std::fs::write(file, json!({ "keys": keys }).to_string()).expect("our own folder");
}
