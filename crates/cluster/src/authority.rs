//! The certificate authority of a cluster, and the certificates of its nodes.
//!
//! Invariants:
//! - every node holds the authority's key, so whoever presents a certificate of this authority is a
//!   node of the cluster, or was one;
//! - a node's certificate serves as server's and as client's, towards nodes and towards etcd.

use crate::address::Address;
use crate::ids::ClusterId;
use crate::trouble::Trouble;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, date_time_ymd,
};
use replica::commit_log::NodeId;
use rustls::RootCertStore;
use rustls::client::danger::ServerCertVerifier;
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use sha2::{Digest, Sha256};
use std::sync::Arc;
use std::time::Duration;

const DAY: Duration = Duration::from_secs(24 * 3600);
/// How long the authority is valid: 20 years.
const AUTHORITY_VALID: Duration = Duration::from_secs(20 * 365 * DAY.as_secs());
/// How long a node's certificate is valid: 2 years.
const NODE_VALID: Duration = Duration::from_secs(2 * 365 * DAY.as_secs());
/// A certificate is renewed when less than this is left of it: a third.
const RENEW_BEFORE: Duration = Duration::from_secs(NODE_VALID.as_secs() / 3);
/// How long before they are made certificates are valid, for nodes whose clocks are behind.
const BACKDATED: Duration = DAY;

/// A name that all nodes' certificates have: who expects it expects any node of the cluster.
pub const ANY_NODE: &str = "pando-node";

/// The authority's certificate, with what verifies other certificates against it.
#[derive(Debug, Clone)]
pub struct Root {
    /// The certificate.
    pub certificate: CertificateDer<'static>,
    verifier: Arc<WebPkiServerVerifier>,
}

/// The authority of a cluster, able to issue certificates.
#[derive(Debug)]
pub struct Authority {
    pem: String,
    root: Root,
    issuer: Issuer<'static, KeyPair>,
}

/// A certificate and its key, both as PEM.
#[derive(Clone)]
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// The private key.
    pub key: String,
}

impl Authority {
    /// Makes the authority of a new cluster. `now` is the time since 1970.
    ///
    /// # Errors
    /// The key or the certificate cannot be made.
    pub fn found(cluster: ClusterId, now: Duration) -> Result<Authority, Trouble> {
        let key = new_key()?;
        let mut of = parameters(cluster);
        limit(&mut of, now, AUTHORITY_VALID);
        let made = of.self_signed(&key);
        let pem = made
            .map_err(|error| Trouble::internal("making the authority's certificate", error))?
            .pem();
        Authority::load(cluster, &pem, &key.serialize_pem())
    }

    /// Reads the authority of a cluster: its certificate and its key, both as PEM.
    ///
    /// # Errors
    /// One of them is not what was expected, as the text says.
    pub fn load(cluster: ClusterId, pem: &str, key: &str) -> Result<Authority, Trouble> {
        let root = Root::load(pem)?;
        let key = KeyPair::from_pem(key)
            .map_err(|error| Trouble::Refused(format!("expected a private key as PEM: {error}")))?;
        Ok(Authority {
            pem: pem.to_owned(),
            root,
            issuer: Issuer::new(parameters(cluster), key),
        })
    }

    /// The authority's certificate as PEM.
    pub fn pem(&self) -> &str {
        &self.pem
    }

    /// The authority's key as PEM.
    pub fn key_pem(&self) -> String {
        self.issuer.key().serialize_pem()
    }

    /// The authority's certificate.
    pub fn root(&self) -> &Root {
        &self.root
    }

    /// Issues a certificate for a node. `key` is the node's key as PEM, or `None` for a new one;
    /// `now` is the time since 1970.
    ///
    /// # Errors
    /// The key cannot be read, the host cannot stand in a certificate, or the authority's key does
    /// not belong to its certificate.
    pub fn issue(
        &self,
        node: NodeId,
        address: &Address,
        key: Option<&str>,
        now: Duration,
    ) -> Result<Issued, Trouble> {
        let key = match key {
            None => new_key()?,
            Some(pem) => KeyPair::from_pem(pem).map_err(|error| {
                Trouble::Refused(format!("expected the node's private key as PEM: {error}"))
            })?,
        };
        let mut names = vec![node_name(node), ANY_NODE.to_owned()];
        for name in [&*address.host, "localhost", "127.0.0.1", "::1"] {
            if !names.iter().any(|it| it == name) {
                names.push(name.to_owned());
            }
        }
        let failed = |error| Trouble::internal("making the node's certificate", error);
        let mut of = CertificateParams::new(names).map_err(failed)?;
        of.distinguished_name = common_name(node_name(node));
        of.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        of.extended_key_usages = vec![
            ExtendedKeyUsagePurpose::ServerAuth,
            ExtendedKeyUsagePurpose::ClientAuth,
        ];
        of.use_authority_key_identifier_extension = true;
        limit(&mut of, now, NODE_VALID);
        let certificate = of.signed_by(&key, &self.issuer).map_err(failed)?;
        if !self.root.is_issuer_of(certificate.der(), ANY_NODE, now) {
            return Err(Trouble::Refused(
                "the authority's key does not belong to its certificate, or the certificate is \
                 not valid now"
                    .to_owned(),
            ));
        }
        Ok(Issued {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        })
    }

    /// Returns whether a node's certificate, as PEM, should be issued anew: it is of another
    /// authority or for another address, or less than a third of its time is left. `now` is the
    /// time since 1970.
    pub fn is_due(
        &self,
        certificate: &str,
        node: NodeId,
        address: &Address,
        now: Duration,
    ) -> bool {
        let Ok(certificate) = CertificateDer::from_pem_slice(certificate.as_bytes()) else {
            return true;
        };
        let names = [&*node_name(node), &*address.host];
        let later = now + RENEW_BEFORE;
        let serves = |name: &&str| self.root.is_issuer_of(&certificate, name, later);
        !names.iter().all(serves)
    }
}

impl Root {
    /// Reads an authority's certificate from PEM.
    ///
    /// # Errors
    /// It is no certificate of an authority.
    pub fn load(pem: &str) -> Result<Root, Trouble> {
        let certificate = CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|error| {
            Trouble::Refused(format!(
                "expected an authority's certificate as PEM: {error}"
            ))
        })?;
        Root::new(certificate)
    }

    /// An authority's certificate.
    ///
    /// # Errors
    /// It is no certificate of an authority.
    pub fn new(certificate: CertificateDer<'static>) -> Result<Root, Trouble> {
        let wrong = |error: &dyn std::fmt::Display| {
            Trouble::Refused(format!("expected the certificate of an authority: {error}"))
        };
        let mut roots = RootCertStore::empty();
        let added = roots.add(certificate.clone());
        added.map_err(|error| wrong(&error))?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
        Ok(Root {
            certificate,
            verifier: verifier.build().map_err(|error| wrong(&error))?,
        })
    }

    /// SHA-256 of the certificate. Tokens carry it.
    pub fn fingerprint(&self) -> [u8; 32] {
        fingerprint(&self.certificate)
    }

    /// The verifier of servers' certificates against this authority.
    pub fn verifier(&self) -> Arc<WebPkiServerVerifier> {
        Arc::clone(&self.verifier)
    }

    /// The certificate in the form in which clients' certificates are verified against it.
    ///
    /// # Errors
    /// It is no certificate of an authority.
    pub fn store(&self) -> Result<RootCertStore, Trouble> {
        let mut roots = RootCertStore::empty();
        let added = roots.add(self.certificate.clone());
        added.map_err(|error| Trouble::internal("trusting the authority", error))?;
        Ok(roots)
    }

    /// Whether a certificate is this authority's, names `name`, and is valid at a time.
    fn is_issuer_of(&self, certificate: &CertificateDer<'_>, name: &str, at: Duration) -> bool {
        let Ok(name) = ServerName::try_from(name) else {
            return false;
        };
        let at = UnixTime::since_unix_epoch(at);
        let verified = self
            .verifier
            .verify_server_cert(certificate, &[], &name, &[], at);
        verified.is_ok()
    }
}

/// SHA-256 of a certificate.
pub fn fingerprint(certificate: &CertificateDer<'_>) -> [u8; 32] {
    Sha256::digest(certificate).into()
}

/// A name that the certificate of this node alone has.
pub fn node_name(node: NodeId) -> String {
    format!("node-{node}")
}

/// Whether a certificate, which was verified before, is that of a node.
pub fn is_of(certificate: &CertificateDer<'_>, node: NodeId) -> bool {
    let Ok(name) = ServerName::try_from(node_name(node)) else {
        return false;
    };
    let parsed = ParsedCertificate::try_from(certificate);
    parsed.is_ok_and(|it| verify_server_name(&it, &name).is_ok())
}

/// Content of the authority's certificate, as far as it is needed to issue others.
fn parameters(cluster: ClusterId) -> CertificateParams {
    let mut of = CertificateParams::default();
    of.distinguished_name = common_name(format!("pando cluster {cluster}"));
    // No authorities below this one.
    of.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    of.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    of
}

fn common_name(name: String) -> DistinguishedName {
    let mut of = DistinguishedName::new();
    of.push(DnType::CommonName, name);
    of
}

fn new_key() -> Result<KeyPair, Trouble> {
    KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)
        .map_err(|error| Trouble::internal("making a key", error))
}

/// Limits the time in which a certificate made `now` is valid.
fn limit(of: &mut CertificateParams, now: Duration, valid: Duration) {
    let begin = date_time_ymd(1970, 1, 1);
    of.not_before = begin + Duration::from_secs(now.saturating_sub(BACKDATED).as_secs());
    of.not_after = begin + Duration::from_secs((now + valid).as_secs());
}

#[cfg(test)]
mod tests;
