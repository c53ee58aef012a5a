//! From files to what rustls needs.

use std::fmt::Display;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

use rustls::crypto::{CryptoProvider, aws_lc_rs};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, CertificateRevocationListDer, PrivateKeyDer, UnixTime};
use rustls::server::danger::ClientCertVerifier;
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use rustls::{Error, RootCertStore, ServerConfig, SupportedProtocolVersion, version};

use super::choice::{Choice, Choosable};
use super::client;
use crate::settings::{ClientCertificates, TlsClients, TlsFiles, TlsSettings};

/// Certificates, keys and lists made of the files.
#[derive(Debug)]
pub(super) struct Made {
    choice: Arc<Choice>,
    /// For handshakes that ask for no certificate.
    plain: Arc<ServerConfig>,
    /// `None` without authorities of clients.
    clients: Option<Clients>,
}

/// Authorities and lists for handshakes that ask clients for certificates.
#[derive(Debug)]
struct Clients {
    by_default: ClientCertificates,
    ask: Arc<ServerConfig>,
    require: Arc<ServerConfig>,
    verifier: Arc<dyn ClientCertVerifier>,
}

impl Made {
    /// The choice of a certificate.
    pub(super) fn choice(&self) -> Arc<Choice> {
        Arc::clone(&self.choice)
    }

    /// The configuration for a handshake.
    pub(super) fn config(
        &self,
        asked: Option<ClientCertificates>,
    ) -> Result<Arc<ServerConfig>, Error> {
        let by_default = self.clients.as_ref().map(|it| it.by_default);
        let asked = asked.or(by_default).unwrap_or(ClientCertificates::None);
        let config = match (asked, &self.clients) {
            (ClientCertificates::None, _) => &self.plain,
            (ClientCertificates::Ask, Some(clients)) => &clients.ask,
            (ClientCertificates::Require, Some(clients)) => &clients.require,
            // The listener asks since the start, and the settings read again have no authority.
            (_, None) => {
                let why = "tls.client_ca is gone from the settings";
                return Err(Error::General(why.to_owned()));
            }
        };
        Ok(Arc::clone(config))
    }

    /// Checks a client's certificate chain.
    pub(super) fn check(&self, chain: &[CertificateDer<'static>]) -> Result<(), String> {
        let (Some(clients), Some((end, between))) = (&self.clients, chain.split_first()) else {
            return Err("tls.client_ca is gone from the settings".to_owned());
        };
        let verifier = &clients.verifier;
        let checked = verifier.verify_client_cert(end, between, UnixTime::now());
        checked.map(drop).map_err(|error| client::in_words(&error))
    }
}

/// Reads all files.
pub(super) fn made(settings: &TlsSettings) -> Result<Made, String> {
    let provider = Arc::new(provider(&settings.suites)?);
    let versions: Vec<&SupportedProtocolVersion> = [
        (settings.speaks_1_2, &version::TLS12),
        (settings.speaks_1_3, &version::TLS13),
    ]
    .into_iter()
    .filter_map(|(speaks, version)| speaks.then_some(version))
    .collect();
    let main = certificate(&settings.main, &provider)?;
    let further = settings.further.iter().map(|it| certificate(it, &provider));
    let choice = Arc::new(Choice::new(main, further.collect::<Result<_, _>>()?));
    let config = |verifier: Option<Arc<dyn ClientCertVerifier>>| {
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&versions)
            .map_err(|error| format!("tls.versions and tls.suites: {error}"))?;
        let Some(verifier) = verifier else {
            let builder = builder.with_no_client_auth();
            return Ok(Arc::new(builder.with_cert_resolver(choice.clone())));
        };
        let builder = builder.with_client_cert_verifier(verifier);
        let mut config = builder.with_cert_resolver(choice.clone());
        // A resumed session would bring its certificate along unverified.
        config.session_storage = Arc::new(NoServerSessionStorage {});
        config.send_tls13_tickets = 0;
        Ok::<_, String>(Arc::new(config))
    };
    let clients = settings.clients.as_ref().map(|it| {
        let roots = Arc::new(authorities(it)?);
        let lists = revocation_lists(it)?;
        let verifier = |must_have: bool| {
            let roots = Arc::clone(&roots);
            let mut builder =
                WebPkiClientVerifier::builder_with_provider(roots, Arc::clone(&provider))
                    .with_crls(lists.iter().cloned());
            if !it.accept_expired_crl {
                builder = builder.enforce_revocation_expiration();
            }
            if !must_have {
                builder = builder.allow_unauthenticated();
            }
            let built = builder.build();
            built.map_err(|error| format!("tls.client_crl: {error}"))
        };
        let required = verifier(true)?;
        Ok::<_, String>(Clients {
            by_default: it.certificates,
            ask: config(Some(verifier(false)?))?,
            require: config(Some(Arc::clone(&required)))?,
            verifier: required,
        })
    });
    let (plain, clients) = (config(None)?, clients.transpose()?);
    Ok(Made {
        choice,
        plain,
        clients,
    })
}

/// The cryptography, with these cipher suites.
fn provider(names: &[String]) -> Result<CryptoProvider, String> {
    let mut provider = aws_lc_rs::default_provider();
    if names.is_empty() {
        return Ok(provider);
    }
    let known: Vec<String> = provider.cipher_suites.iter().map(iana).collect();
    if let Some(name) = names.iter().find(|it| !known.contains(it)) {
        let known = known.join(", ");
        return Err(format!(
            "tls.suites: expected some of {known}, got \"{name}\""
        ));
    }
    provider
        .cipher_suites
        .retain(|it| names.contains(&iana(it)));
    Ok(provider)
}

/// The name that IANA has for a cipher suite.
fn iana(suite: &rustls::SupportedCipherSuite) -> String {
    let name = format!("{:?}", suite.suite());
    name.replacen("TLS13_", "TLS_", 1)
}

fn wrong(path: &Path, expected: &str, got: &dyn Display) -> String {
    format!("{}: expected {expected}, got: {got}", path.display())
}

fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(path)
        .and_then(|them| them.collect::<Result<Vec<_>, _>>())
        .map_err(|it| wrong(path, "PEM certificates", &it))?;
    match read.is_empty() {
        true => Err(wrong(path, "a PEM certificate", &"none")),
        false => Ok(read),
    }
}

fn certificate(files: &TlsFiles, provider: &CryptoProvider) -> Result<Choosable, String> {
    let chain = certificates(&files.certificate)?;
    refuse_open(&files.key)?;
    let key = PrivateKeyDer::from_pem_file(&files.key)
        .map_err(|it| wrong(&files.key, "a PEM private key", &it))?;
    let key = CertifiedKey::from_der(chain, key, provider)
        .map_err(|it| wrong(&files.certificate, "a certificate that fits the key", &it))?;
    let Some(path) = &files.ocsp else {
        return Ok(Choosable::new(key));
    };
    let staple = std::fs::read(path).map_err(|it| wrong(path, "a response of OCSP", &it))?;
    Choosable::new(key)
        .with_staple(staple)
        .map_err(|why| wrong(path, "a response of OCSP (DER) for the certificate", &why))
}

fn authorities(clients: &TlsClients) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&clients.ca)? {
        let added = roots.add(certificate);
        added.map_err(|it| wrong(&clients.ca, "certificates of authorities", &it))?;
    }
    Ok(roots)
}

fn revocation_lists(
    clients: &TlsClients,
) -> Result<Vec<CertificateRevocationListDer<'static>>, String> {
    let mut lists = Vec::new();
    for path in &clients.crl {
        let bytes = std::fs::read(path).map_err(|it| wrong(path, "a revocation list", &it))?;
        if bytes.first() == Some(&0x30) {
            lists.push(CertificateRevocationListDer::from(bytes));
            continue;
        }
        let read: Result<Vec<_>, _> =
            CertificateRevocationListDer::pem_slice_iter(&bytes).collect();
        match read {
            Ok(read) if !read.is_empty() => lists.extend(read),
            Ok(_) => return Err(wrong(path, "a revocation list, PEM or DER", &"none")),
            Err(error) => return Err(wrong(path, "revocation lists, PEM or DER", &error)),
        }
    }
    Ok(lists)
}

/// Refuses a private key that other users can read or write. A key of root's may be readable by its
/// group, as on systems that share keys between services (`root:ssl-cert`, mode 0640).
fn refuse_open(key: &Path) -> Result<(), String> {
    let shown = key.display();
    let found = std::fs::metadata(key).map_err(|error| format!("{shown}: {error}"))?;
    let forbidden = match found.uid() {
        0 => 0o037,
        _ => 0o077,
    };
    if !found.is_file() || found.mode() & forbidden == 0 {
        return Ok(());
    }
    Err(format!(
        "{shown}: expected a private key for its owner alone, got mode {:04o}: chmod 600 {shown}",
        found.mode() & 0o7777
    ))
}
