//! Tokens with keys that are made here.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use jsonwebtoken::jwk::Jwk;
use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
use protocol::ber::{Reader, SEQUENCE};
use rcgen::{KeyPair, PKCS_ECDSA_P256_SHA256, PKCS_ED25519, PKCS_RSA_SHA256};
use serde_json::{Value, json};

use super::*;

const ISSUER: &str = "https://issuer.example";
const NOW_S: u64 = 1_800_000_000;

/// A key of an issuer.
struct Signer {
    id: &'static str,
    algorithm: Algorithm,
    key: EncodingKey,
    /// The public key, as its algorithm encodes it.
    public: Vec<u8>,
}

impl Signer {
    fn new(id: &'static str, algorithm: Algorithm) -> Signer {
        let (of, key): (_, fn(&[u8]) -> EncodingKey) = match algorithm {
            Algorithm::ES256 => (&PKCS_ECDSA_P256_SHA256, EncodingKey::from_ec_der),
            Algorithm::EdDSA => (&PKCS_ED25519, EncodingKey::from_ed_der),
            _ => (&PKCS_RSA_SHA256, |der| {
                EncodingKey::from_rsa_der(&pkcs1(der))
            }),
        };
        let pair = KeyPair::generate_for(of).unwrap();
        Signer {
            id,
            algorithm,
            key: key(&pair.serialize_der()),
            public: pair.public_key_raw().to_vec(),
        }
    }

    fn public(&self) -> Value {
        if self.algorithm == Algorithm::EdDSA {
            let x = base64(&self.public);
            return json!({ "kty": "OKP", "crv": "Ed25519", "kid": self.id, "x": x });
        }
        let mut jwk = Jwk::from_encoding_key(&self.key, self.algorithm).unwrap();
        jwk.common.key_id = Some(self.id.to_owned());
        serde_json::to_value(jwk).unwrap()
    }

    fn header(&self) -> Header {
        Header {
            kid: Some(self.id.to_owned()),
            ..Header::new(self.algorithm)
        }
    }

    fn sign(&self, claims: &Value) -> String {
        encode(&self.header(), claims, &self.key).unwrap()
    }
}

/// The RSA key inside a PKCS #8 key.
fn pkcs1(pkcs8: &[u8]) -> Vec<u8> {
    let mut reader = Reader::new(pkcs8);
    let mut inside = Reader::new(reader.expect(SEQUENCE).unwrap());
    inside.expect(0x02).unwrap();
    inside.expect(SEQUENCE).unwrap();
    inside.expect(0x04).unwrap().to_vec()
}

fn terms() -> Terms {
    Terms {
        issuer: ISSUER.to_owned(),
        audience: vec!["ldap".to_owned(), "ldaps".to_owned()],
        algorithms: ["RS256", "ES256", "EdDSA"]
            .map(|it| it.parse().unwrap())
            .to_vec(),
        clock_skew_s: 60,
        scopes: Vec::new(),
        openid_configuration: None,
    }
}

fn set(keys: &[&Signer]) -> Arc<KeySet> {
    let keys: Vec<Value> = keys.iter().map(|it| it.public()).collect();
    let text = json!({ "keys": keys }).to_string();
    Arc::new(KeySet::read(text.as_bytes()).unwrap())
}

/// An issuer without keys.
pub(crate) fn issuer() -> Arc<Issuer> {
    Arc::new(Issuer::new(terms(), Box::new(|| ())))
}

fn issuers(terms: Terms, keys: &[&Signer]) -> Issuers {
    let issuer = Issuer::new(terms, Box::new(|| ()));
    issuer.set_keys(set(keys));
    Issuers(vec![Arc::new(issuer)])
}

fn claims() -> Value {
    json!({
        "iss": ISSUER,
        "aud": "ldap",
        "sub": "ada",
        "exp": NOW_S + 300,
        "nbf": NOW_S - 1,
        "iat": NOW_S - 1,
    })
}

fn with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    match value {
        Value::Null => claims.as_object_mut().unwrap().remove(name),
        value => claims
            .as_object_mut()
            .unwrap()
            .insert(name.to_owned(), value),
    };
    claims
}

fn why(issuers: &Issuers, token: &str) -> String {
    match issuers.verify(token, NOW_S) {
        Ok(_) => String::new(),
        Err(failure) => failure.to_string(),
    }
}

#[test]
fn signatures_of_each_algorithm_are_verified() {
    for algorithm in [Algorithm::RS256, Algorithm::ES256, Algorithm::EdDSA] {
        let signer = Signer::new("one", algorithm);
        let issuers = issuers(terms(), &[&signer]);
        let token = signer.sign(&claims());
        let proved = issuers.verify(&token, NOW_S).unwrap();
        assert_eq!(proved.end_s, NOW_S + 360, "{algorithm:?}");
        let sub = ("sub".into(), "ada".into());
        assert!(proved.identity.parts.contains(&sub));
        // One changed letter of the claims, and of the signature.
        let dot = token.rfind('.').unwrap();
        for at in [dot - 5, dot + 5] {
            let mut changed = token.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(!why(&issuers, &changed).is_empty(), "{changed}");
        }
        // Another key with the same identifier.
        let other = Signer::new("one", algorithm);
        assert!(why(&issuers, &other.sign(&claims())).contains("Signature"));
    }
}

#[test]
fn claims_are_checked() {
    let signer = Signer::new("one", Algorithm::ES256);
    let issuers = issuers(terms(), &[&signer]);
    for (name, value, expected) in [
        ("aud", json!(["other", "ldaps"]), ""),
        ("aud", json!("other"), "aud: "),
        ("aud", json!(["other"]), "aud: "),
        ("aud", json!(7), "aud: "),
        ("aud", Value::Null, "aud: "),
        ("exp", json!(NOW_S - 59), ""),
        ("exp", json!(NOW_S - 60), "exp: the token expired"),
        ("exp", json!((NOW_S - 1) as f64 + 0.5), ""),
        ("exp", Value::Null, "exp: expected a time"),
        ("exp", json!("soon"), "exp: expected seconds"),
        ("exp", json!(-1), "exp: expected seconds"),
        ("nbf", json!(NOW_S + 60), ""),
        ("nbf", json!(NOW_S + 61), "nbf: "),
        ("iat", json!(NOW_S + 61), "iat: "),
        ("iat", json!("x"), "iat: "),
        ("nbf", Value::Null, ""),
        (
            "iss",
            json!("https://other.example"),
            "is not a configured one",
        ),
        ("iss", json!([ISSUER]), "is not a configured one"),
        ("iss", Value::Null, "is not a configured one"),
    ] {
        let told = why(&issuers, &signer.sign(&with(name, value.clone())));
        assert_eq!(
            told.is_empty(),
            expected.is_empty(),
            "{name} {value}: {told}"
        );
        assert!(told.contains(expected), "{name} {value}: {told}");
    }
}

#[test]
fn scopes_are_all_needed() {
    let signer = Signer::new("one", Algorithm::ES256);
    let scopes = vec!["ldap".to_owned(), "mail".to_owned()];
    let issuers = issuers(Terms { scopes, ..terms() }, &[&signer]);
    for (name, value, is_enough) in [
        ("scope", json!("mail x ldap"), true),
        ("scp", json!(["ldap", "mail"]), true),
        ("scope", json!("ldap"), false),
        ("scope", json!("ldapmail"), false),
        ("other", json!("ldap mail"), false),
    ] {
        let verified = issuers.verify(&signer.sign(&with(name, value)), NOW_S);
        assert_eq!(verified.is_ok(), is_enough, "{verified:?}");
        if let Err(failure) = verified {
            let told: Value = serde_json::from_slice(&failure.answer()).unwrap();
            assert_eq!(
                told,
                json!({ "status": "insufficient_scope", "scope": "ldap mail" })
            );
        }
    }
}

#[test]
fn no_other_algorithm_than_that_of_the_key_is_used() {
    let signer = Signer::new("one", Algorithm::ES256);
    let issuers = issuers(terms(), &[&signer]);
    let [_, payload, signature] = parts(&signer.sign(&claims()));
    // The public key as the secret of an HMAC, and no signature at all.
    let secret = signer.public()["x"].as_str().unwrap().to_owned();
    let header = Header {
        kid: Some("one".to_owned()),
        ..Header::new(Algorithm::HS256)
    };
    let forged = encode(
        &header,
        &claims(),
        &EncodingKey::from_secret(secret.as_bytes()),
    )
    .unwrap();
    assert!(why(&issuers, &forged).contains("HS256"));
    for (header, signature) in [
        (json!({ "alg": "none", "kid": "one" }), ""),
        (json!({ "alg": "none", "kid": "one" }), &*signature),
        (json!({ "alg": "EdDSA", "kid": "one" }), &*signature),
        (json!({ "alg": "RS256", "kid": "one" }), &*signature),
        (json!({ "alg": "ES384", "kid": "one" }), &*signature),
        (
            json!({ "alg": "ES256", "kid": "one", "crit": ["b64"] }),
            &*signature,
        ),
    ] {
        let token = format!(
            "{}.{payload}.{signature}",
            base64(header.to_string().as_bytes())
        );
        assert!(!why(&issuers, &token).is_empty(), "{header}");
    }
}

/// Splits a token into header, claims and signature.
fn parts(token: &str) -> [String; 3] {
    let parts: Vec<String> = token.split('.').map(str::to_owned).collect();
    parts.try_into().unwrap()
}

/// Base64 as in tokens: for URLs, without padding.
fn base64(bytes: &[u8]) -> String {
    let mut text = Vec::new();
    protocol::base64::encode_into(&mut text, bytes);
    let text = String::from_utf8(text).unwrap();
    text.replace('+', "-").replace('/', "_").replace('=', "")
}

#[test]
fn keys_are_found_by_their_identifier() {
    let (one, two) = (
        Signer::new("one", Algorithm::ES256),
        Signer::new("two", Algorithm::ES256),
    );
    let woken = Arc::new(AtomicUsize::new(0));
    let wake = {
        let woken = Arc::clone(&woken);
        move || {
            woken.fetch_add(1, Ordering::Relaxed);
        }
    };
    let issuer = Arc::new(Issuer::new(terms(), Box::new(wake)));
    let issuers = Issuers(vec![Arc::clone(&issuer)]);
    // Before any key is known.
    assert!(why(&issuers, &one.sign(&claims())).contains("\"one\" is not known"));
    assert_eq!(woken.load(Ordering::Relaxed), 1);
    issuer.set_keys(set(&[&one]));
    assert_eq!(why(&issuers, &one.sign(&claims())), "");
    assert!(why(&issuers, &two.sign(&claims())).contains("\"two\" is not known"));
    assert_eq!(woken.load(Ordering::Relaxed), 2);
    issuer.set_keys(set(&[&one, &two]));
    assert_eq!(why(&issuers, &two.sign(&claims())), "");
    // Without an identifier, the only key for the algorithm counts.
    let unnamed = encode(&Header::new(Algorithm::ES256), &claims(), &one.key).unwrap();
    assert!(why(&issuers, &unnamed).contains("no key"));
    issuer.set_keys(set(&[&one]));
    assert_eq!(why(&issuers, &unnamed), "");
    assert_eq!(woken.load(Ordering::Relaxed), 2, "no key was missed since");
}

#[test]
fn issuers_have_keys_of_their_own() {
    let (own, other) = (
        Signer::new("one", Algorithm::ES256),
        Signer::new("one", Algorithm::ES256),
    );
    let mut issuers = issuers(terms(), &[&own]);
    let name = "https://other.example";
    let second = Terms {
        issuer: name.to_owned(),
        ..terms()
    };
    let second = Issuer::new(second, Box::new(|| ()));
    second.set_keys(set(&[&other]));
    issuers.0.push(Arc::new(second));
    assert_eq!(why(&issuers, &own.sign(&claims())), "");
    assert_eq!(why(&issuers, &other.sign(&with("iss", json!(name)))), "");
    // The one cannot speak for the other.
    assert!(!why(&issuers, &other.sign(&claims())).is_empty());
    assert!(!why(&issuers, &own.sign(&with("iss", json!(name)))).is_empty());
}

#[test]
fn keys_that_are_not_for_signatures_are_left_out() {
    let signer = Signer::new("one", Algorithm::ES256);
    let read = |key: &Value| KeySet::read(json!({ "keys": [key] }).to_string().as_bytes());
    for (name, value, is_used) in [
        ("use", json!("sig"), true),
        ("use", json!("enc"), false),
        ("key_ops", json!(["verify"]), true),
        ("key_ops", json!(["encrypt"]), false),
        ("alg", json!("ES384"), false),
        ("alg", json!("ECDH-ES"), false),
        ("alg", Value::Null, true),
        ("crv", json!("secp256k1"), false),
        ("x", json!("!"), false),
    ] {
        let mut key = signer.public();
        let fields = key.as_object_mut().unwrap();
        match &value {
            Value::Null => fields.remove(name),
            value => fields.insert(name.to_owned(), value.clone()),
        };
        assert_eq!(read(&key).is_ok(), is_used, "{name}: {value}");
    }
    let secret = json!({ "kty": "oct", "kid": "one", "alg": "HS256", "k": "c2VjcmV0" });
    assert!(read(&secret).is_err(), "a secret is no public key");
    for text in ["", "{}", "[]", "{\"keys\":[]}", "{\"keys\":7}"] {
        assert!(KeySet::read(text.as_bytes()).is_err(), "{text}");
    }
    let mixed = json!({ "keys": [secret, signer.public(), { "kty": "new" }, 7] }).to_string();
    assert_eq!(KeySet::read(mixed.as_bytes()).unwrap().len(), 1);
}

#[test]
fn junk_is_no_token() {
    let signer = Signer::new("one", Algorithm::ES256);
    let issuers = issuers(terms(), &[&signer]);
    for junk in [
        "a",
        "a.b",
        "a.b.c",
        "..",
        "e30.e30.",
        "e30.W10.AQID",
        "a.b.c.d.e",
    ] {
        assert!(why(&issuers, junk).contains("JSON Web Token"), "{junk}");
    }
    let long = signer.sign(&with("x", json!("x".repeat(TOKEN_OCTETS_MAX))));
    assert!(why(&issuers, &long).contains("octets"));
    assert_eq!(why(&issuers, ""), Fault::Missing.to_string());
}

#[test]
fn claims_become_parts_of_an_identity() {
    let signer = Signer::new("one", Algorithm::ES256);
    let issuers = issuers(terms(), &[&signer]);
    let mut given = with("groups", json!(["a", "b", 7, { "c": 1 }]));
    given["email_verified"] = json!(true);
    given["nested"] = json!({ "roles": ["root"] });
    let proved = issuers.verify(&signer.sign(&given), NOW_S).unwrap();
    let of = |name: &str| -> Vec<String> {
        let parts = proved.identity.parts.iter();
        parts
            .filter(|(it, _)| it == name)
            .map(|(_, it)| it.to_string())
            .collect()
    };
    assert_eq!(of("groups"), ["a", "b", "7"]);
    assert_eq!(of("email_verified"), ["true"]);
    assert_eq!(of("nested"), [] as [&str; 0]);
}
