//! The identity that a certificate proves.

use std::fmt::Write;

use sha2::{Digest, Sha256};

pub use schema::{CertificateNames, CertificateStatus};

use super::{Kind, Outside};

impl Outside<'static> {
    /// The identity of a certificate's holder, from the certificate in DER; without parts if its
    /// names cannot be read, so that no rule matches it.
    pub fn of_certificate(der: &[u8]) -> Outside<'static> {
        let none = Outside::of(Kind::Certificate);
        let Some(names) = CertificateNames::read(der) else {
            return none;
        };
        let mut identity = none.with("fingerprint", fingerprint(der));
        // Patterns for a DN are asked about certificates that have one.
        for (part, dn) in [("subject", names.subject), ("issuer", names.issuer)] {
            if !dn.is_empty() {
                identity = identity.with(part, dn);
            }
        }
        for (part, values) in [
            ("mail", names.mail),
            ("dns", names.dns),
            ("uri", names.uri),
            ("upn", names.upn),
        ] {
            let with = |it: Outside<'static>, value| it.with(part, value);
            identity = values.into_iter().fold(identity, with);
        }
        identity
    }
}

/// SHA-256 of a certificate, in hexadecimal digits.
fn fingerprint(der: &[u8]) -> String {
    let mut text = String::with_capacity(64);
    for octet in Sha256::digest(der) {
        let _ = write!(text, "{octet:02x}");
    }
    text
}
