//! Names in a certificate (RFC 5280 §4.1 and §4.2.1.6), as text: those that say whose it is; and
//! the time for which it is valid.

use protocol::ber::{BOOLEAN, INTEGER, OCTET_STRING, Reader, SEQUENCE};

use crate::matching::certificate::{UTC_TIME, VERSION, name_text};
use crate::syntaxes::time;

/// Content of the object identifier of the extension subjectAltName (2.5.29.17).
const SUBJECT_ALT_NAME: &[u8] = b"\x55\x1d\x11";
/// Content of the object identifier of user principal names (1.3.6.1.4.1.311.20.2.3).
const USER_PRINCIPAL_NAME: &[u8] = b"\x2b\x06\x01\x04\x01\x82\x37\x14\x02\x03";
const OBJECT_IDENTIFIER: u8 = 0x06;
const UTF8_STRING: u8 = 0x0c;
/// `[3] EXPLICIT`, around the extensions of a certificate.
const EXTENSIONS: u8 = 0xa3;
/// `[0] EXPLICIT`, around the value of an otherName.
const OTHER_VALUE: u8 = 0xa0;

/// Tags of GeneralNames that are read.
mod general_name {
    pub(super) const OTHER: u8 = 0xa0;
    pub(super) const MAIL: u8 = 0x81;
    pub(super) const DNS: u8 = 0x82;
    pub(super) const URI: u8 = 0x86;
}

/// The names in a certificate.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CertificateNames {
    /// DN of the subject, with types as OIDs; empty if it has none.
    pub subject: String,
    /// DN of the issuer, with types as OIDs.
    pub issuer: String,
    /// Content of the serial number, a two's complement integer.
    pub serial: Vec<u8>,
    /// Begin of the validity, as `YYYYMMDDhhmmss` (UTC).
    pub valid_from: String,
    /// End of the validity, as `YYYYMMDDhhmmss` (UTC).
    pub valid_until: String,
    /// Names of mailboxes (rfc822Name).
    pub mail: Vec<String>,
    /// Names of hosts (dNSName), perhaps with `*` as the first label.
    pub dns: Vec<String>,
    /// URIs (uniformResourceIdentifier).
    pub uri: Vec<String>,
    /// User principal names (otherName 1.3.6.1.4.1.311.20.2.3).
    pub upn: Vec<String>,
}

impl CertificateNames {
    /// Reads the names of a certificate in DER; `None` if it is damaged, or its subject or issuer
    /// has a value that is no text.
    pub fn read(der: &[u8]) -> Option<CertificateNames> {
        let mut signed = Reader::new(der).nested(SEQUENCE).ok()?;
        let mut certificate = signed.nested(SEQUENCE).ok()?;
        certificate.optional(VERSION).ok()?;
        let serial = certificate.expect(INTEGER).ok()?.to_vec();
        certificate.expect(SEQUENCE).ok()?;
        let issuer = name_text(certificate.expect(SEQUENCE).ok()?)?;
        let mut validity = certificate.nested(SEQUENCE).ok()?;
        let (valid_from, valid_until) = (moment(&mut validity)?, moment(&mut validity)?);
        let subject = name_text(certificate.expect(SEQUENCE).ok()?)?;
        let mut names = CertificateNames {
            subject,
            issuer,
            serial,
            valid_from,
            valid_until,
            ..CertificateNames::default()
        };
        while !certificate.is_empty() {
            let (tag, content) = certificate.element().ok()?;
            if tag == EXTENSIONS {
                names.read_extensions(content)?;
            }
        }
        Some(names)
    }

    fn read_extensions(&mut self, content: &[u8]) -> Option<()> {
        let mut extensions = Reader::new(content).nested(SEQUENCE).ok()?;
        while !extensions.is_empty() {
            let mut extension = extensions.nested(SEQUENCE).ok()?;
            let oid = extension.expect(OBJECT_IDENTIFIER).ok()?;
            extension.optional(BOOLEAN).ok()?;
            let value = extension.expect(OCTET_STRING).ok()?;
            if oid == SUBJECT_ALT_NAME {
                self.read_general_names(value)?;
            }
        }
        Some(())
    }

    fn read_general_names(&mut self, value: &[u8]) -> Option<()> {
        let mut names = Reader::new(value).nested(SEQUENCE).ok()?;
        while !names.is_empty() {
            let (tag, content) = names.element().ok()?;
            let of_form = match tag {
                general_name::OTHER => {
                    self.upn.extend(user_principal_name(content));
                    continue;
                }
                general_name::MAIL => &mut self.mail,
                general_name::DNS => &mut self.dns,
                general_name::URI => &mut self.uri,
                _ => continue,
            };
            // IA5String: other characters could be compared as if they were those of another name.
            let text = std::str::from_utf8(content).ok()?;
            of_form.push(text.is_ascii().then(|| text.to_owned())?);
        }
        Some(())
    }
}

/// Takes a Time (RFC 5280 §4.1.2.5).
fn moment(validity: &mut Reader<'_>) -> Option<String> {
    let (tag, content) = validity.element().ok()?;
    let mut normal = Vec::new();
    match tag {
        UTC_TIME => time::put_utc_time(content, &mut normal).ok()?,
        _ => time::put_generalized_time(content, &mut normal).ok()?,
    }
    String::from_utf8(normal).ok()
}

/// Returns the user principal name in the content of an otherName; `None` for one of another type.
fn user_principal_name(content: &[u8]) -> Option<String> {
    let mut other = Reader::new(content);
    let is_one = other.expect(OBJECT_IDENTIFIER).ok()? == USER_PRINCIPAL_NAME;
    let value = other.nested(OTHER_VALUE).ok()?.expect(UTF8_STRING).ok()?;
    let text = std::str::from_utf8(value).ok()?;
    is_one.then(|| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        protocol::ber::put_octets(&mut out, tag, &parts.concat());
        out
    }

    fn name(common: &str) -> Vec<u8> {
        let oid = der(OBJECT_IDENTIFIER, &[b"\x55\x04\x03"]);
        let value = der(UTF8_STRING, &[common.as_bytes()]);
        der(SEQUENCE, &[&der(0x31, &[&der(SEQUENCE, &[&oid, &value])])])
    }

    fn certificate(general_names: &[&[u8]]) -> Vec<u8> {
        let names = der(OCTET_STRING, &[&der(SEQUENCE, general_names)]);
        let oid = der(OBJECT_IDENTIFIER, &[SUBJECT_ALT_NAME]);
        let critical = der(BOOLEAN, &[&[0xff]]);
        let extension = der(SEQUENCE, &[&oid, &critical, &names]);
        let body = [
            der(VERSION, &[&der(INTEGER, &[&[2]])]),
            der(INTEGER, &[&[7]]),
            der(SEQUENCE, &[]),
            name("CA"),
            der(
                SEQUENCE,
                &[
                    &der(0x17, &[b"260102030405Z"]),
                    &der(0x18, &[b"20510102030405Z"]),
                ],
            ),
            name("Ada, Countess"),
            der(SEQUENCE, &[]),
            der(EXTENSIONS, &[&der(SEQUENCE, &[&extension])]),
        ];
        der(SEQUENCE, &[&der(SEQUENCE, &[&body.concat()])])
    }

    #[test]
    fn the_names_of_a_certificate_are_read() {
        let upn = der(OTHER_VALUE, &[&der(UTF8_STRING, &[b"ada@EXAMPLE"])]);
        let oid = der(OBJECT_IDENTIFIER, &[USER_PRINCIPAL_NAME]);
        let bytes = certificate(&[
            &der(general_name::MAIL, &[b"ada@example.com"]),
            &der(general_name::DNS, &[b"*.example.com"]),
            &der(general_name::OTHER, &[&oid, &upn]),
            &der(general_name::URI, &[b"spiffe://example/ada"]),
            &der(0x87, &[&[127, 0, 0, 1]]),
        ]);
        let names = CertificateNames::read(&bytes).unwrap();
        assert_eq!(names.subject, "2.5.4.3=Ada\\, Countess");
        assert_eq!(names.issuer, "2.5.4.3=CA");
        assert_eq!(names.serial, [7]);
        assert_eq!(names.valid_from, "20260102030405");
        assert_eq!(names.valid_until, "20510102030405");
        assert_eq!(names.mail, ["ada@example.com"]);
        assert_eq!(names.dns, ["*.example.com"]);
        assert_eq!(names.uri, ["spiffe://example/ada"]);
        assert_eq!(names.upn, ["ada@EXAMPLE"]);
    }

    #[test]
    fn a_name_that_is_no_text_makes_all_unreadable() {
        for name in [
            b"\xff@example.com".as_slice(),
            "\u{ff41}da@example.com".as_bytes(),
        ] {
            let bytes = certificate(&[&der(general_name::MAIL, &[name])]);
            assert_eq!(CertificateNames::read(&bytes), None);
        }
        assert_eq!(CertificateNames::read(b""), None);
    }
}
