//! Bindings to a TLS channel (RFC 5056): octets that both ends of one channel know. Who stands
//! between client and server has two channels, so that the octets differ.

use std::borrow::Cow;
use std::sync::Arc;

use protocol::DecodeError;
use protocol::ber::{Reader, SEQUENCE};
use sha2::{Digest, Sha256, Sha384, Sha512};

/// Label for the exporter of TLS (RFC 9266 §2), which is used with no context.
pub const EXPORTER_LABEL: &[u8] = b"EXPORTER-Channel-Binding";
/// Octets that the exporter gives (RFC 9266 §2).
pub const EXPORTER_OCTETS: usize = 32;

/// Identifier octet of an OBJECT IDENTIFIER.
const OBJECT_IDENTIFIER: u8 = 0x06;

/// Bindings to the channel of one connection.
///
/// `tls-unique` is not among them: under TLS 1.3 it does not exist, and under TLS 1.2 it is safe
/// with an extension only that a server cannot demand of all its clients (RFC 7627).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelBindings {
    /// `tls-exporter` (RFC 9266); `None` before TLS 1.3, where it is not safe without the extended
    /// master secret.
    pub exporter: Option<[u8; EXPORTER_OCTETS]>,
    /// `tls-server-end-point` (RFC 5929 §4); `None` if it is not defined for the certificate.
    pub end_point: Option<Arc<[u8]>>,
}

impl ChannelBindings {
    /// Returns the octets of a type of binding (RFC 5056 §7.1); `None` if the connection has none
    /// of it. `ldap` is no registered type: programs of OpenLDAP's library say so, and put the type
    /// before the octets, as in GSSAPI (RFC 5929 §4).
    pub fn of_type(&self, name: &str) -> Option<Cow<'_, [u8]>> {
        let end_point = self.end_point.as_deref();
        match name {
            "tls-exporter" => self.exporter.as_ref().map(|it| Cow::Borrowed(&it[..])),
            "tls-server-end-point" => end_point.map(Cow::Borrowed),
            "ldap" => end_point.map(|it| Cow::Owned([b"tls-server-end-point:", it].concat())),
            _ => None,
        }
    }

    /// Returns whether the connection has no binding of any type.
    pub fn is_empty(&self) -> bool {
        self.exporter.is_none() && self.end_point.is_none()
    }
}

/// Returns the binding `tls-server-end-point` of a certificate in DER: its digest under the hash
/// function of its signature, SHA-256 instead of MD5 and SHA-1 (RFC 5929 §4.1). `None` for
/// signatures that use no hash function, or several, and for damaged certificates.
pub fn end_point(certificate: &[u8]) -> Option<Arc<[u8]>> {
    let digest = signature_hash(certificate).ok().flatten()?;
    Some(match digest {
        Hash::Sha256 => Sha256::digest(certificate).as_slice().into(),
        Hash::Sha384 => Sha384::digest(certificate).as_slice().into(),
        Hash::Sha512 => Sha512::digest(certificate).as_slice().into(),
    })
}

/// A hash function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Hash {
    Sha256,
    Sha384,
    Sha512,
}

/// Contents of the OBJECT IDENTIFIERs of signature algorithms, each with its hash function:
/// RFC 8017 appendix A.2.4, RFC 5758 §3.2, RFC 3279 §2.2.
const SIGNATURES: &[(&[u8], Hash)] = &[
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x04", Hash::Sha256),
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x05", Hash::Sha256),
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0b", Hash::Sha256),
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0c", Hash::Sha384),
    (b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0d", Hash::Sha512),
    (b"\x2a\x86\x48\xce\x3d\x04\x01", Hash::Sha256),
    (b"\x2a\x86\x48\xce\x3d\x04\x03\x02", Hash::Sha256),
    (b"\x2a\x86\x48\xce\x3d\x04\x03\x03", Hash::Sha384),
    (b"\x2a\x86\x48\xce\x3d\x04\x03\x04", Hash::Sha512),
];

/// RSASSA-PSS, whose parameters name the hash function (RFC 8017 appendix A.2.3).
const PSS: &[u8] = b"\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0a";
/// Tag of the hash function in these parameters.
const PSS_HASH: u8 = 0xA0;
/// Contents of the OBJECT IDENTIFIERs of hash functions (RFC 8017 appendix B.1).
const HASHES: &[(&[u8], Hash)] = &[
    (b"\x60\x86\x48\x01\x65\x03\x04\x02\x01", Hash::Sha256),
    (b"\x60\x86\x48\x01\x65\x03\x04\x02\x02", Hash::Sha384),
    (b"\x60\x86\x48\x01\x65\x03\x04\x02\x03", Hash::Sha512),
];

/// The hash function of a certificate's signature (RFC 5280 §4.1); `None` if it is unknown.
fn signature_hash(certificate: &[u8]) -> Result<Option<Hash>, DecodeError> {
    let mut whole = Reader::new(certificate);
    let mut parts = whole.nested(SEQUENCE)?;
    whole.finish()?;
    parts.expect(SEQUENCE)?;
    let mut algorithm = parts.nested(SEQUENCE)?;
    let name = algorithm.expect(OBJECT_IDENTIFIER)?;
    if name != PSS {
        return Ok(found(SIGNATURES, name));
    }
    let mut parameters = algorithm.nested(SEQUENCE)?;
    // Without a hash function, SHA-1 is meant.
    if parameters.peek_tag() != Some(PSS_HASH) {
        return Ok(Some(Hash::Sha256));
    }
    let mut tagged = parameters.nested(PSS_HASH)?;
    let mut hash = tagged.nested(SEQUENCE)?;
    Ok(found(HASHES, hash.expect(OBJECT_IDENTIFIER)?))
}

fn found(table: &[(&[u8], Hash)], name: &[u8]) -> Option<Hash> {
    let row = table.iter().find(|(it, _)| *it == name);
    row.map(|(_, hash)| *hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A self-signed certificate in DER.
    fn certificate(algorithm: &'static rcgen::SignatureAlgorithm) -> Vec<u8> {
        let key = rcgen::KeyPair::generate_for(algorithm).expect("a key");
        let names = vec!["ldap.example.com".to_owned()];
        let made = rcgen::CertificateParams::new(names).expect("names");
        made.self_signed(&key).expect("signed").der().to_vec()
    }

    #[test]
    fn the_hash_of_the_signature_is_that_of_the_binding() {
        let p256 = certificate(&rcgen::PKCS_ECDSA_P256_SHA256);
        assert_eq!(end_point(&p256).as_deref(), Some(&*Sha256::digest(&p256)));
        let p384 = certificate(&rcgen::PKCS_ECDSA_P384_SHA384);
        assert_eq!(end_point(&p384).as_deref(), Some(&*Sha384::digest(&p384)));
        // Ed25519 signs the certificate itself, so the binding is not defined.
        assert_eq!(end_point(&certificate(&rcgen::PKCS_ED25519)), None);
    }

    #[test]
    fn damaged_certificates_have_no_binding() {
        let whole = certificate(&rcgen::PKCS_ECDSA_P256_SHA256);
        for length in 0..whole.len() {
            assert_eq!(end_point(&whole[..length]), None, "{length} octets");
        }
        let longer = [&whole[..], b"\0"].concat();
        assert_eq!(end_point(&longer), None);
    }

    #[test]
    fn pss_names_its_hash_in_its_parameters() {
        // Certificate ::= SEQUENCE { tbs SEQUENCE {}, AlgorithmIdentifier, BIT STRING }
        let of = |parameters: &[u8]| {
            let mut out = Vec::new();
            protocol::ber::put_nested(&mut out, SEQUENCE, |out| {
                protocol::ber::put_octets(out, SEQUENCE, &[]);
                protocol::ber::put_nested(out, SEQUENCE, |out| {
                    protocol::ber::put_octets(out, OBJECT_IDENTIFIER, PSS);
                    protocol::ber::put_octets(out, SEQUENCE, parameters);
                });
                protocol::ber::put_octets(out, 0x03, &[0]);
            });
            signature_hash(&out)
        };
        assert_eq!(of(&[]), Ok(Some(Hash::Sha256)));
        let sha384 = b"\xa0\x0d\x30\x0b\x06\x09\x60\x86\x48\x01\x65\x03\x04\x02\x02";
        assert_eq!(of(sha384), Ok(Some(Hash::Sha384)));
        assert_eq!(of(b"\xa0\x04\x30\x02\x06\x00"), Ok(None));
    }

    #[test]
    fn a_type_that_the_connection_has_not_is_none() {
        let bindings = ChannelBindings {
            exporter: Some([7; EXPORTER_OCTETS]),
            end_point: None,
        };
        assert_eq!(
            bindings.of_type("tls-exporter").as_deref(),
            Some(&[7; 32][..])
        );
        assert_eq!(bindings.of_type("tls-server-end-point"), None);
        assert_eq!(bindings.of_type("tls-unique"), None);
        assert_eq!(bindings.of_type("ldap"), None);
        assert!(!bindings.is_empty());
        let bindings = ChannelBindings {
            end_point: Some(b"digest"[..].into()),
            ..bindings
        };
        let prefixed = bindings.of_type("ldap");
        assert_eq!(
            prefixed.as_deref(),
            Some(&b"tls-server-end-point:digest"[..])
        );
    }
}
