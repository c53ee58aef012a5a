//! Reasons why a handshake fails, in plain words: which side refuses, and why.

use super::names::{hosts, moment, readable};
use super::probe::{Failure, Found, Place};
use policy::mapping::certificate::CertificateNames;
use rustls::{AlertDescription, CertificateError, Error};
use std::io;

/// All that is wrong; empty if the handshake is as it should be.
pub fn troubles(place: &Place, found: &Found) -> Vec<String> {
    let distrust = found.distrust.as_ref().map(|it| distrust(place, found, it));
    let failure = found.failure.as_ref().map(|it| failure(place, found, it));
    distrust.into_iter().chain(failure).collect()
}

/// Why this side does not trust the server.
fn distrust(place: &Place, found: &Found, error: &Error) -> String {
    let first = found.chain.first();
    let names = first
        .and_then(|it| CertificateNames::read(it))
        .unwrap_or_default();
    let why = match error {
        Error::InvalidCertificate(why) => why,
        other => return format!("this side refuses the server's certificate: {other}"),
    };
    let why = match why {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!(
                "a certificate has expired; the server's own is valid until {}",
                moment(&names.valid_until)
            )
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            format!(
                "a certificate is not valid yet; the server's own is from {} on",
                moment(&names.valid_from)
            )
        }
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            format!(
                "it is not for {}; its names are: {}",
                place.host,
                hosts(&names)
            )
        }
        CertificateError::UnknownIssuer if found.chain.len() == 1 => format!(
            "its authority \"{}\" is unknown here; name a file that has it with --ca, or let the \
             server send the certificates that lead to a known one",
            readable(&names.issuer)
        ),
        CertificateError::UnknownIssuer => format!(
            "its authority \"{}\" leads to none that is known here; name one with --ca",
            readable(&names.issuer)
        ),
        CertificateError::BadSignature => "a signature in it is wrong".to_owned(),
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            "its extended key usage is not for servers".to_owned()
        }
        CertificateError::Other(_) => {
            "it is that of an authority, or damaged; name it with --ca if it is the server's own"
                .to_owned()
        }
        other => other.to_string(),
    };
    format!("this side refuses the server's certificate: {why}")
}

fn failure(place: &Place, found: &Found, failure: &Failure) -> String {
    match failure {
        Failure::Connect(error) => {
            format!(
                "no connection to {} port {}: {error}",
                place.host, place.port
            )
        }
        Failure::StartTls(error) => start_tls(error),
        Failure::Handshake(_) if found.is_forged => {
            "this side refuses: the server's signature is not made by the key of its certificate: \
             its key file belongs to another certificate"
                .to_owned()
        }
        Failure::Handshake(error) => {
            let tls = error.get_ref().and_then(|it| it.downcast_ref::<Error>());
            match tls {
                Some(tls) => broken(place, found, tls),
                None => silent(place, found, error),
            }
        }
    }
}

fn start_tls(error: &io::Error) -> String {
    match is_timeout(error) {
        true => "the server does not answer StartTLS; does TLS begin at once here? then it is \
                 ldaps://"
            .to_owned(),
        false => format!(
            "the server refuses StartTLS ({error}); it may have no certificate, or TLS begins at \
             once here: then it is ldaps://"
        ),
    }
}

fn is_timeout(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

/// The connection ended without a word of TLS.
fn silent(place: &Place, found: &Found, error: &io::Error) -> String {
    if is_timeout(error) {
        return match found.chain.is_empty() {
            true => "the handshake timed out: the server sends nothing; it may not speak TLS here"
                .to_owned(),
            false => "the handshake timed out after the server's certificate".to_owned(),
        };
    }
    if !found.chain.is_empty() {
        let asked = match (found.asks, found.has_shown) {
            (true, false) => "; it asks for a certificate, which --cert and --key show",
            (true, true) => "; it may not accept the certificate of --cert",
            (false, _) => "",
        };
        return format!("the server closes the connection after the handshake{asked}");
    }
    let advice = match place.starts_tls {
        true => "",
        false => "; if the port speaks LDAP without TLS, it is ldap:// (StartTLS)",
    };
    format!("the server closes the connection during the handshake without a reason{advice}")
}

/// The handshake failed by the rules of TLS.
fn broken(place: &Place, found: &Found, error: &Error) -> String {
    match error {
        Error::AlertReceived(alert) => alerted(place, found, *alert),
        Error::InvalidMessage(_) => match place.starts_tls {
            true => format!("the server answers with what is no TLS ({error})"),
            false => "the server answers with what is no TLS: the port speaks LDAP without it; \
                      use ldap:// (StartTLS), or the server's port for ldaps://"
                .to_owned(),
        },
        Error::PeerIncompatible(why) => format!(
            "no version or cipher suite in common: this side speaks TLS 1.2 and 1.3 ({why:?})"
        ),
        other => format!("this side ends the handshake: {other}"),
    }
}

fn alerted(place: &Place, found: &Found, alert: AlertDescription) -> String {
    let own = match found.has_shown {
        true => "the certificate of --cert",
        false => "this client",
    };
    let why = match alert {
        AlertDescription::HandshakeFailure | AlertDescription::InsufficientSecurity => {
            "no version or cipher suite in common, or it has no certificate that fits".to_owned()
        }
        AlertDescription::ProtocolVersion => {
            "no version in common: this side speaks TLS 1.2 and 1.3".to_owned()
        }
        AlertDescription::CertificateRequired => {
            "it requires a certificate of the client, which --cert and --key show".to_owned()
        }
        AlertDescription::UnknownCA => format!("it does not know the authority of {own}"),
        AlertDescription::CertificateExpired => {
            format!("{own} has expired, or the revocation list of its authority has")
        }
        AlertDescription::CertificateRevoked => format!("{own} was revoked"),
        AlertDescription::BadCertificate
        | AlertDescription::CertificateUnknown
        | AlertDescription::UnsupportedCertificate
        | AlertDescription::AccessDenied => {
            format!("it does not accept {own} ({alert:?}); its log may say why")
        }
        AlertDescription::UnrecognisedName => {
            format!("it has no certificate for the name {}", place.host)
        }
        other => format!("{other:?}"),
    };
    format!("the server refuses: {why}")
}
