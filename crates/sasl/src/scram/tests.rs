//! Exchanges between a client of these tests and the state machine.

use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

use super::*;
use crate::channel::ChannelBindings;
use protocol::ResultCode;

const SHA256: Variant = Variant {
    prf: Prf::Sha256,
    plus: false,
};
const PLUS: Variant = Variant {
    prf: Prf::Sha256,
    plus: true,
};

fn bindings() -> ChannelBindings {
    ChannelBindings {
        exporter: Some([9; 32]),
        end_point: Some(b"end point"[..].into()),
    }
}

fn tls(bindings: &ChannelBindings) -> Circumstances<'_> {
    Circumstances {
        private: true,
        bindings: Some(bindings),
        scram: [Some(Prf::Sha256), None],
        ..Circumstances::default()
    }
}

fn keys() -> ScramKeys {
    ScramKeys::new(Prf::Sha256, 10, b"salt", b"secret")
}

/// The second message of a client that knows the password. `input` is what it puts under `c=`.
fn second(first: &str, challenge: &[u8], password: &[u8], input: &[u8]) -> Vec<u8> {
    let challenge = std::str::from_utf8(challenge).unwrap();
    let bare = first.splitn(3, ',').nth(2).unwrap();
    let nonce = challenge.split(',').next().unwrap();
    let without_proof = format!("c={},{nonce}", text(input));
    let messages = format!("{bare},{challenge},{without_proof}");
    let mut salted = [0; 32];
    pbkdf2::pbkdf2_hmac::<Sha256>(password, b"salt", 10, &mut salted);
    let mac = |key: &[u8], data: &[u8]| {
        let mut mac = Hmac::<Sha256>::new_from_slice(key).unwrap();
        mac.update(data);
        mac.finalize().into_bytes()
    };
    let client = mac(&salted, b"Client Key");
    let signature = mac(&Sha256::digest(client), messages.as_bytes());
    let proof: Vec<u8> = client.iter().zip(signature).map(|(a, b)| a ^ b).collect();
    format!("{without_proof},p={}", text(&proof)).into_bytes()
}

fn refused(result: Result<impl std::fmt::Debug, Refusal>, says: &str) {
    let refusal = result.unwrap_err();
    assert_eq!(refusal.code, ResultCode::INVALID_CREDENTIALS, "{refusal:?}");
    assert!(refusal.text.contains(says), "{refusal:?}");
}

#[test]
fn a_client_proves_that_it_knows_the_password() {
    let bindings = bindings();
    let exporter = [&b"p=tls-exporter,,"[..], &[9; 32]].concat();
    let libldap = b"p=ldap,,tls-server-end-point:end point";
    for (variant, first, input) in [
        (SHA256, "n,,n=ada,r=fyko", &b"n,,"[..]),
        (SHA256, "n,a=u:grace,n=ada,r=fyko", b"n,a=u:grace,"),
        (PLUS, "p=tls-exporter,,n=ada,r=fyko", &exporter),
        (PLUS, "p=ldap,,n=ada,r=fyko", libldap),
        (SHA256, "p=ldap,,n=ada,r=fyko", libldap),
        (
            PLUS,
            "p=tls-server-end-point,,n=ada,r=fyko",
            b"p=tls-server-end-point,,end point",
        ),
    ] {
        let read = First::read(variant, first.as_bytes(), &tls(&bindings)).unwrap();
        assert_eq!(read.user, "ada");
        let (challenge, exchange) = read.challenge(keys(), &[1; NONCE_OCTETS]);
        assert_eq!(exchange.variant(), variant);
        let right = second(first, &challenge, b"secret", input);
        let judged = exchange.judge(&right).unwrap();
        assert!(judged.proved, "{first}");
        assert!(judged.answer.starts_with(b"v="));
        let wrong = second(first, &challenge, b"guess", input);
        assert!(!exchange.judge(&wrong).unwrap().proved, "{first}");
    }
}

#[test]
fn a_hidden_mechanism_is_noticed() {
    let bindings = bindings();
    let first = b"y,,n=ada,r=fyko";
    let read = First::read(SHA256, first, &tls(&bindings));
    refused(read, "may have hidden it");
    // Where binding to the channel is not offered, the client is right.
    let plaintext = Circumstances {
        bindings: None,
        ..tls(&bindings)
    };
    assert!(First::read(SHA256, first, &plaintext).is_ok());
    let other_digest = Circumstances {
        scram: [Some(Prf::Sha512), None],
        ..tls(&bindings)
    };
    assert!(First::read(SHA256, first, &other_digest).is_ok());
}

#[test]
fn the_mechanism_and_the_binding_fit_each_other() {
    let bindings = bindings();
    let circumstances = tls(&bindings);
    let read = |variant, first: &str| First::read(variant, first.as_bytes(), &circumstances);
    refused(read(SHA256, "p=tls-unique,,n=a,r=b"), "tls-exporter");
    refused(read(PLUS, "n,,n=a,r=b"), "expected p=");
    refused(read(PLUS, "y,,n=a,r=b"), "expected p=");
    refused(read(PLUS, "p=tls-unique,,n=a,r=b"), "tls-exporter");
    let none = Circumstances::default();
    let first = b"p=tls-exporter,,n=a,r=b";
    refused(First::read(PLUS, first, &none), "tls-exporter");
}

#[test]
fn another_channel_is_noticed() {
    let bindings = bindings();
    let first = "p=tls-exporter,,n=ada,r=fyko";
    let read = First::read(PLUS, first.as_bytes(), &tls(&bindings)).unwrap();
    let (challenge, exchange) = read.challenge(keys(), &[1; NONCE_OCTETS]);
    let other = [&b"p=tls-exporter,,"[..], &[8; 32]].concat();
    let last = second(first, &challenge, b"secret", &other);
    refused(exchange.judge(&last), "another TLS channel");
    // Nor can the header be changed between the two messages.
    let read = First::read(SHA256, b"n,,n=ada,r=fyko", &tls(&bindings)).unwrap();
    let (challenge, exchange) = read.challenge(keys(), &[1; NONCE_OCTETS]);
    let last = second("n,,n=ada,r=fyko", &challenge, b"secret", b"y,,");
    refused(exchange.judge(&last), "");
}

#[test]
fn messages_have_limits() {
    let circumstances = Circumstances::default();
    let first = format!("n,,n=ada,r={}", "x".repeat(NONCE_MAX + 1));
    refused(First::read(SHA256, first.as_bytes(), &circumstances), "");
    let first = format!("n,,n={},r=x", "a".repeat(FIRST_MAX));
    refused(First::read(SHA256, first.as_bytes(), &circumstances), "");
    let malformed = First::read(SHA256, b"n,,", &circumstances).unwrap_err();
    assert_eq!(malformed.code, ResultCode::PROTOCOL_ERROR);
}
