//! `pando tls check`: a handshake with any LDAP server, and what it tells.

mod names;
mod print;
mod probe;
mod words;

use crate::cli::{Report, TlsAction, TlsCheck};
use crate::report::{Problem, say};
use crate::trust;
use probe::{Place, Shown};
use protocol::url::{LdapUrl, UrlScheme};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use std::path::Path;
use std::sync::Arc;

/// Runs the action.
pub fn tls(action: &TlsAction) -> Result<(), Problem> {
    match action {
        TlsAction::Check(it) => check(it),
    }
}

/// Carries out a handshake and prints what was agreed, or why there was none.
fn check(it: &TlsCheck) -> Result<(), Problem> {
    let url = LdapUrl::parse(&it.url)
        .map_err(|error| Problem::usage(format_args!("{}: {error}", it.url)))?;
    if url.scheme == UrlScheme::Ldapi {
        return Err(Problem::usage("expected ldaps:// or ldap://, got ldapi://"));
    }
    let host = match url.host.trim_start_matches('[').trim_end_matches(']') {
        "" => "localhost",
        host => host,
    };
    let own = match (&it.cert, &it.key) {
        (Some(certificate), Some(key)) => Some(own(certificate, key)?),
        _ => None,
    };
    let place = Place {
        host: host.to_owned(),
        port: url.port_or_default(),
        starts_tls: url.scheme == UrlScheme::Ldap,
    };
    let shown = Shown {
        own,
        verifier: trust::verifier(it.ca.as_deref())?,
    };
    let found = probe::probe(&place, shown);
    let troubles = words::troubles(&place, &found);
    match it.format {
        Report::Text => say(print::text(&place, &found, &troubles).trim_end())?,
        Report::Json => {
            let value = print::json(&place, &found, &troubles);
            let text = serde_json::to_string_pretty(&value);
            say(text.map_err(Problem::failed)?)?;
        }
    }
    match troubles.is_empty() {
        true => Ok(()),
        false => Err(Problem::Reported),
    }
}

/// The client's own certificate with its key.
fn own(certificate: &Path, key: &Path) -> Result<Arc<CertifiedKey>, Problem> {
    let chain = CertificateDer::pem_file_iter(certificate)
        .and_then(|them| them.collect::<Result<Vec<_>, _>>())
        .map_err(|error| Problem::file(certificate, error))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| Problem::file(key, error))?;
    CertifiedKey::from_der(chain, private, &aws_lc_rs::default_provider())
        .map(Arc::new)
        .map_err(|error| {
            let shown = certificate.display();
            Problem::failed(format_args!(
                "{}: expected the key of {shown}, got: {error}",
                key.display()
            ))
        })
}
