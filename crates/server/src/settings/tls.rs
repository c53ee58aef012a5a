//! The settings of TLS, checked: certificates, and what is asked of clients.

use std::path::{Path, PathBuf};

use super::error::{Place, SettingsError};
use super::listen::ClientCertificates;
use super::table::Settings;

/// Certificates of the server, and what is asked of its clients.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsSettings {
    /// The certificate of clients that ask for no name, or for one that no certificate has.
    pub main: TlsFiles,
    /// Certificates for other names.
    pub further: Vec<TlsFiles>,
    /// Whether TLS 1.2 is spoken.
    pub speaks_1_2: bool,
    /// Whether TLS 1.3 is spoken.
    pub speaks_1_3: bool,
    /// Names of the cipher suites; empty for all.
    pub suites: Vec<String>,
    /// How clients are authenticated; `None` without authorities for them.
    pub clients: Option<TlsClients>,
}

/// A certificate chain and its private key, both PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFiles {
    /// The certificate, then those that lead to its authority.
    pub certificate: PathBuf,
    /// The private key: PKCS #8, PKCS #1 or SEC 1.
    pub key: PathBuf,
    /// Response of OCSP (RFC 6960) for the certificate, DER; `None` to staple none.
    pub ocsp: Option<PathBuf>,
}

/// How clients are authenticated by certificates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsClients {
    /// The authorities, PEM.
    pub ca: PathBuf,
    /// The certificate that handshakes ask for, where the listener does not say.
    pub certificates: ClientCertificates,
    /// Revocation lists; empty if none is checked.
    pub crl: Vec<PathBuf>,
    /// Whether a list that has expired is used.
    pub accept_expired_crl: bool,
}

impl TlsFiles {
    /// A certificate and its key, without a response of OCSP.
    pub fn of(certificate: PathBuf, key: PathBuf) -> TlsFiles {
        TlsFiles {
            certificate,
            key,
            ocsp: None,
        }
    }
}

impl From<TlsFiles> for TlsSettings {
    fn from(main: TlsFiles) -> TlsSettings {
        TlsSettings {
            main,
            further: Vec::new(),
            speaks_1_2: true,
            speaks_1_3: true,
            suites: Vec::new(),
            clients: None,
        }
    }
}

impl TlsSettings {
    /// All files of the settings.
    pub fn files(&self) -> Vec<&Path> {
        let of_server = std::iter::once(&self.main)
            .chain(&self.further)
            .flat_map(|it| {
                let ocsp = it.ocsp.iter().map(PathBuf::as_path);
                [&*it.certificate, &*it.key].into_iter().chain(ocsp)
            });
        let of_clients = self.clients.iter().flat_map(|it| {
            let crl = it.crl.iter().map(PathBuf::as_path);
            std::iter::once(&*it.ca).chain(crl)
        });
        of_server.chain(of_clients).collect()
    }
}

/// Files given as flags, which win over those of the settings.
pub(super) struct TlsFlags<'f> {
    pub certificate: Option<&'f Path>,
    pub key: Option<&'f Path>,
}

/// The settings of TLS; `None` if there is no certificate.
pub(super) fn of(
    place: &Place<'_>,
    folder: &Path,
    settings: &Settings,
    flags: &TlsFlags<'_>,
) -> Result<Option<TlsSettings>, SettingsError> {
    let given = &settings.tls;
    let wrong = |name: &str, message: &str| place.error(place.span(name), name, message);
    // Paths in the file are relative to the node's folder, those of flags to where one stands.
    let path = |flag: Option<&Path>, given: &Option<PathBuf>| {
        let flag = flag.map(Path::to_owned);
        flag.or(given.as_ref().map(|it| folder.join(it)))
    };
    let clients = clients(place, folder, settings)?;
    let certificate = path(flags.certificate, &given.certificate);
    let (certificate, key) = match (certificate, path(flags.key, &given.key)) {
        (Some(certificate), Some(key)) => (certificate, key),
        (None, None) => return without_certificate(place, settings).map(|()| None),
        (Some(_), None) => {
            let message = "expected a key beside tls.certificate, got none";
            return Err(place.error(place.span("tls.certificate"), "tls.key", message));
        }
        (None, Some(_)) => {
            let message = "expected a certificate beside tls.key, got none";
            return Err(place.error(place.span("tls.key"), "tls.certificate", message));
        }
    };
    let further = given.further.iter().map(|it| TlsFiles {
        certificate: folder.join(&it.certificate),
        key: folder.join(&it.key),
        ocsp: it.ocsp.as_ref().map(|it| folder.join(it)),
    });
    let mut read = TlsSettings {
        further: further.collect(),
        speaks_1_2: false,
        speaks_1_3: false,
        suites: given.suites.clone(),
        clients,
        ..TlsSettings::from(TlsFiles {
            certificate,
            key,
            ocsp: given.ocsp.as_ref().map(|it| folder.join(it)),
        })
    };
    for version in &given.versions {
        match version.as_str() {
            "1.2" => read.speaks_1_2 = true,
            "1.3" => read.speaks_1_3 = true,
            _ => {
                let message = format!("expected \"1.2\" or \"1.3\", got \"{version}\"");
                return Err(wrong("tls.versions", &message));
            }
        }
    }
    match given.versions.is_empty() {
        true => Err(wrong("tls.versions", "expected a version, got none")),
        false => Ok(Some(read)),
    }
}

/// Refuses settings that have no effect without a certificate, and would be thought to have one.
fn without_certificate(place: &Place<'_>, settings: &Settings) -> Result<(), SettingsError> {
    let given = &settings.tls;
    for (name, is_given) in [
        ("tls.further", !given.further.is_empty()),
        ("tls.ocsp", given.ocsp.is_some()),
        ("tls.client_ca", given.client_ca.is_some()),
    ] {
        if is_given {
            let message = "expected tls.certificate and tls.key beside it, got none";
            return Err(place.error(place.span(name), name, message));
        }
    }
    Ok(())
}

fn clients(
    place: &Place<'_>,
    folder: &Path,
    settings: &Settings,
) -> Result<Option<TlsClients>, SettingsError> {
    let given = &settings.tls;
    let Some(ca) = &given.client_ca else {
        let needs = match given.client_certificates {
            ClientCertificates::None if given.client_crl.is_empty() => return Ok(None),
            ClientCertificates::None => "tls.client_crl",
            _ => "tls.client_certificates",
        };
        let message = "expected tls.client_ca beside it, got none";
        return Err(place.error(place.span(needs), needs, message));
    };
    Ok(Some(TlsClients {
        ca: folder.join(ca),
        certificates: given.client_certificates,
        crl: given.client_crl.iter().map(|it| folder.join(it)).collect(),
        accept_expired_crl: given.accept_expired_crl,
    }))
}
