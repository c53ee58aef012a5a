//! The result of a handshake, for people and for programs.

use super::names::{hosts, moment, plain, readable};
use super::probe::{Found, Place};
use policy::mapping::certificate::{CertificateNames, CertificateStatus};
use serde_json::{Value, json};
use std::fmt::Write;

/// The stapled response of OCSP in words.
fn staple(found: &Found) -> String {
    if found.staple.is_empty() {
        return "none".to_owned();
    }
    let statuses = CertificateStatus::read_all(&found.staple).unwrap_or_default();
    let names = found
        .chain
        .first()
        .and_then(|it| CertificateNames::read(it));
    let own = names.and_then(|it| statuses.into_iter().find(|of| of.serial == it.serial));
    match own {
        None => "of another certificate, or damaged".to_owned(),
        Some(it) if it.is_good => "good".to_owned(),
        Some(_) => "revoked or unknown".to_owned(),
    }
}

/// The certificate that the server asks of the client, in words.
fn asked(found: &Found) -> &'static str {
    match (found.asks, found.has_shown) {
        (false, _) => "not asked for",
        (true, false) => "asked for, none shown",
        (true, true) => "asked for and shown",
    }
}

/// The result as lines.
pub fn text(place: &Place, found: &Found, troubles: &[String]) -> String {
    let mut out = String::new();
    if let Some(address) = found.address {
        let how = match place.starts_tls {
            true => "StartTLS",
            false => "TLS at once",
        };
        let _ = writeln!(out, "connection          {address}, {how}");
    }
    if let Some((version, suite)) = &found.agreed {
        let _ = writeln!(out, "version and suite   {version}, {suite}");
    }
    for (at, der) in found.chain.iter().enumerate() {
        let Some(names) = CertificateNames::read(der) else {
            let _ = writeln!(out, "certificate {at}       unreadable");
            continue;
        };
        let _ = writeln!(
            out,
            "certificate {at}       {}",
            plain(&readable(&names.subject))
        );
        let _ = writeln!(
            out,
            "  issuer            {}",
            plain(&readable(&names.issuer))
        );
        if at == 0 {
            let _ = writeln!(out, "  names             {}", plain(&hosts(&names)));
        }
        let (from, until) = (moment(&names.valid_from), moment(&names.valid_until));
        let _ = writeln!(out, "  valid             from {from} to {until}");
    }
    if !found.chain.is_empty() {
        let _ = writeln!(out, "stapled OCSP        {}", staple(found));
        let _ = writeln!(out, "client certificate  {}", asked(found));
    }
    if troubles.is_empty() {
        let _ = writeln!(out, "result              trusted, as {}", place.host);
    }
    for trouble in troubles {
        let _ = writeln!(out, "result              {}", plain(trouble));
    }
    out
}

/// The result as one object.
pub fn json(place: &Place, found: &Found, troubles: &[String]) -> Value {
    let certificate = |der: &Vec<u8>| {
        CertificateNames::read(der).map(|it| {
            json!({
                "subject": readable(&it.subject),
                "issuer": readable(&it.issuer),
                "names": it.dns,
                "valid_from": moment(&it.valid_from),
                "valid_until": moment(&it.valid_until),
            })
        })
    };
    let chain: Vec<_> = found.chain.iter().map(certificate).collect();
    json!({
        "host": place.host,
        "port": place.port,
        "starttls": place.starts_tls,
        "address": found.address.map(|it| it.to_string()),
        "version": found.agreed.as_ref().map(|it| &it.0),
        "suite": found.agreed.as_ref().map(|it| &it.1),
        "certificates": chain,
        "stapled_ocsp": staple(found),
        "client_certificate_asked": found.asks,
        "client_certificate_shown": found.has_shown,
        "trusted": troubles.is_empty(),
        "troubles": troubles,
    })
}
