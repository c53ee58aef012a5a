//! Responses of OCSP (RFC 6960 §4.2) that a server staples to its certificate.

use protocol::ber::{ENUMERATED, INTEGER, OCTET_STRING, Reader, SEQUENCE};

use crate::syntaxes::time;

/// Content of the object identifier of basic responses (1.3.6.1.5.5.7.48.1.1).
const BASIC: &[u8] = b"\x2b\x06\x01\x05\x05\x07\x30\x01\x01";
const OBJECT_IDENTIFIER: u8 = 0x06;
const GENERALIZED_TIME: u8 = 0x18;
/// `[0] EXPLICIT`: the bytes of a response, the version of its data, its time of the next update.
const EXPLICIT_0: u8 = 0xa0;
/// Content of the responseStatus `successful`.
const SUCCESSFUL: &[u8] = &[0];

/// Status of one certificate.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateStatus {
    /// Content of the certificate's serial number, a two's complement integer.
    pub serial: Vec<u8>,
    /// Whether the certificate is neither revoked nor unknown.
    pub is_good: bool,
    /// Seconds from 1970 to the end of the response's validity; `None` if newer information is
    /// always available, so that it is never out of date.
    pub next_update_s: Option<i64>,
}

impl CertificateStatus {
    /// Reads the statuses in a response in DER; `None` if it is damaged, of another kind, or says
    /// that the responder has failed. Its signature is checked by clients, not here.
    pub fn read_all(der: &[u8]) -> Option<Vec<CertificateStatus>> {
        let mut response = Reader::new(der).nested(SEQUENCE).ok()?;
        if response.expect(ENUMERATED).ok()? != SUCCESSFUL {
            return None;
        }
        let mut bytes = response.nested(EXPLICIT_0).ok()?.nested(SEQUENCE).ok()?;
        if bytes.expect(OBJECT_IDENTIFIER).ok()? != BASIC {
            return None;
        }
        let mut basic = Reader::new(bytes.expect(OCTET_STRING).ok()?)
            .nested(SEQUENCE)
            .ok()?;
        let mut data = basic.nested(SEQUENCE).ok()?;
        data.optional(EXPLICIT_0).ok()?;
        // The responder, in one of two forms.
        data.element().ok()?;
        data.expect(GENERALIZED_TIME).ok()?;
        let mut responses = data.nested(SEQUENCE).ok()?;
        let mut statuses = Vec::new();
        while !responses.is_empty() {
            statuses.push(CertificateStatus::read(
                &mut responses.nested(SEQUENCE).ok()?,
            )?);
        }
        Some(statuses)
    }

    fn read(response: &mut Reader<'_>) -> Option<CertificateStatus> {
        let mut certificate = response.nested(SEQUENCE).ok()?;
        certificate.expect(SEQUENCE).ok()?;
        certificate.expect(OCTET_STRING).ok()?;
        certificate.expect(OCTET_STRING).ok()?;
        let serial = certificate.expect(INTEGER).ok()?.to_vec();
        // `good` is [0] IMPLICIT NULL.
        let is_good = response.element().ok()?.0 == 0x80;
        response.expect(GENERALIZED_TIME).ok()?;
        let next_update_s = match response.optional(EXPLICIT_0).ok()? {
            None => None,
            Some(content) => {
                let time = Reader::new(content).expect(GENERALIZED_TIME).ok()?;
                Some(time::unix_seconds(time)?)
            }
        };
        Some(CertificateStatus {
            serial,
            is_good,
            next_update_s,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn der(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
        let mut out = Vec::new();
        protocol::ber::put_octets(&mut out, tag, &parts.concat());
        out
    }

    fn response(status: &[u8], next: &[u8]) -> Vec<u8> {
        let time = der(GENERALIZED_TIME, &[b"20260102030405Z"]);
        let hash = der(OCTET_STRING, &[&[1; 20]]);
        let serial = der(INTEGER, &[&[7]]);
        let certificate = der(SEQUENCE, &[&der(SEQUENCE, &[]), &hash, &hash, &serial]);
        let one = der(SEQUENCE, &[&certificate, status, &time, next]);
        let responder = der(0xa2, &[&hash]);
        let data = der(SEQUENCE, &[&responder, &time, &der(SEQUENCE, &[&one])]);
        let basic = der(SEQUENCE, &[&data, &der(SEQUENCE, &[])]);
        let kind = der(OBJECT_IDENTIFIER, &[BASIC]);
        let bytes = der(SEQUENCE, &[&kind, &der(OCTET_STRING, &[&basic])]);
        let successful = der(ENUMERATED, &[SUCCESSFUL]);
        der(SEQUENCE, &[&successful, &der(EXPLICIT_0, &[&bytes])])
    }

    #[test]
    fn a_status_tells_its_certificate_and_its_end() {
        let next = der(EXPLICIT_0, &[&der(GENERALIZED_TIME, &[b"20260109030405Z"])]);
        let read = CertificateStatus::read_all(&response(&der(0x80, &[]), &next)).unwrap();
        assert_eq!(
            read,
            [CertificateStatus {
                serial: vec![7],
                is_good: true,
                // date -u -d 2026-01-09T03:04:05Z +%s
                next_update_s: Some(1_767_927_845),
            }]
        );
        let revoked = response(&der(0xa1, &[]), &[]);
        let read = CertificateStatus::read_all(&revoked).unwrap();
        assert_eq!((read[0].is_good, read[0].next_update_s), (false, None));
    }

    #[test]
    fn failures_of_the_responder_have_no_status() {
        let later = der(SEQUENCE, &[&der(ENUMERATED, &[&[3]])]);
        assert_eq!(CertificateStatus::read_all(&later), None);
        assert_eq!(CertificateStatus::read_all(b""), None);
    }
}
