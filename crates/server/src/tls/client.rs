//! Certificates of clients, and why they are not accepted.

use std::sync::Arc;

use directory::ClientCertificate;
use policy::mapping::Outside;
use rustls::pki_types::CertificateDer;
use rustls::{CertificateError, Error};

use super::Certificate;

/// The certificate of a chain that a client has shown, its own first.
pub(super) fn shown(chain: &[CertificateDer<'_>], of: Arc<Certificate>) -> ClientCertificate {
    let own = chain.first().map_or(&[][..], |it| it.as_ref());
    let identity = Outside::of_certificate(own);
    let chain: Vec<_> = chain.iter().map(|it| it.clone().into_owned()).collect();
    let check = Box::new(move || of.check(&chain));
    ClientCertificate { identity, check }
}

/// Why a client's certificate was not accepted.
pub(super) fn in_words(error: &Error) -> String {
    let Error::InvalidCertificate(why) = error else {
        return match error {
            Error::NoCertificatesPresented => "expected a certificate, got none".to_owned(),
            other => other.to_string(),
        };
    };
    let known = match why {
        CertificateError::Revoked => "it was revoked",
        CertificateError::UnknownRevocationStatus => {
            "no revocation list of its authority is in tls.client_crl"
        }
        CertificateError::ExpiredRevocationList
        | CertificateError::ExpiredRevocationListContext { .. } => {
            "the revocation list of its authority has expired"
        }
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => "it has expired",
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet"
        }
        CertificateError::UnknownIssuer => "its authority is none of tls.client_ca",
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "its extended key usage is not for clients"
        }
        CertificateError::BadSignature => "its signature is wrong",
        _ => return why.to_string(),
    };
    known.to_owned()
}
