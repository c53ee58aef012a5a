//! TLS between nodes: both sides show certificates of the cluster's authority. A node that joins
//! has none yet, and knows the authority by its fingerprint.

use crate::authority::{ANY_NODE, Root, fingerprint};
use crate::identity::{Identity, NODE_FILE, NODE_KEY_FILE};
use crate::trouble::Trouble;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::version::TLS13;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, ServerConfig, SignatureScheme,
};
use std::path::Path;
use std::sync::Arc;

/// The name that clients expect: that of any node of the cluster.
pub fn server_name() -> ServerName<'static> {
    ServerName::try_from(ANY_NODE).expect("the constant is a name")
}

/// Settings of a node's server. Clients may show a certificate of the cluster's authority.
pub fn server(identity: &Identity) -> Result<ServerConfig, Trouble> {
    let own = Own::read(identity)?;
    let clients = WebPkiClientVerifier::builder_with_provider(
        Arc::new(own.root.store()?),
        Arc::new(provider()),
    );
    let clients = clients.allow_unauthenticated().build();
    let clients = clients.map_err(|error| own.wrong(&error))?;
    let config = ServerConfig::builder_with_provider(Arc::new(provider()));
    let config = config
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| own.wrong(&error))?;
    let config = config.with_client_cert_verifier(clients);
    let chain = own.chain();
    config
        .with_single_cert(chain, own.key.clone_key())
        .map_err(|error| own.wrong(&error))
}

/// Settings of a node's client.
pub fn client(identity: &Identity) -> Result<ClientConfig, Trouble> {
    let own = Own::read(identity)?;
    let config = ClientConfig::builder_with_provider(Arc::new(provider()));
    let config = config
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| own.wrong(&error))?;
    let config = config.with_webpki_verifier(own.root.verifier());
    let chain = own.chain();
    config
        .with_client_auth_cert(chain, own.key.clone_key())
        .map_err(|error| own.wrong(&error))
}

/// Settings of a client that knows the authority by the SHA-256 of its certificate alone.
pub fn pinned(fingerprint: [u8; 32]) -> Result<ClientConfig, Trouble> {
    let config = ClientConfig::builder_with_provider(Arc::new(provider()));
    let config = config
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| Trouble::internal("setting TLS up", error))?;
    let provider = provider();
    let verifier = Arc::new(Pinned {
        fingerprint,
        provider,
    });
    let config = config
        .dangerous()
        .with_custom_certificate_verifier(verifier);
    Ok(config.with_no_client_auth())
}

/// Text of the error for a server whose authority has another fingerprint.
pub const OTHER_AUTHORITY: &str = "the node there is not of the cluster that the token is for; \
    compare the address with the one that `pando cluster token` printed";

fn provider() -> CryptoProvider {
    rustls::crypto::aws_lc_rs::default_provider()
}

/// A node's certificate and key, and the authority.
struct Own<'i> {
    identity: &'i Identity,
    root: Root,
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
}

impl<'i> Own<'i> {
    fn read(identity: &'i Identity) -> Result<Own<'i>, Trouble> {
        let wrong = |path: &Path, what: &str, error: rustls::pki_types::pem::Error| {
            Trouble::Refused(format!(
                "{}: expected {what} as PEM: {error}",
                path.display()
            ))
        };
        let path = identity.folder.join(NODE_FILE);
        let certificate = CertificateDer::from_pem_file(&path);
        let certificate = certificate.map_err(|it| wrong(&path, "the node's certificate", it))?;
        let path = identity.folder.join(NODE_KEY_FILE);
        let key = PrivateKeyDer::from_pem_file(&path);
        let key = key.map_err(|it| wrong(&path, "the node's private key", it))?;
        Ok(Own {
            root: identity.root()?,
            identity,
            certificate,
            key,
        })
    }

    /// The node's certificate, then the authority's: a node that joins looks for it there.
    fn chain(&self) -> Vec<CertificateDer<'static>> {
        vec![self.certificate.clone(), self.root.certificate.clone()]
    }

    fn wrong(&self, error: &dyn std::fmt::Display) -> Trouble {
        Trouble::Refused(format!(
            "{}: the certificates there cannot be used: {error}",
            self.identity.folder.display()
        ))
    }
}

/// Accepts servers of the authority that has this fingerprint.
#[derive(Debug)]
struct Pinned {
    fingerprint: [u8; 32],
    provider: CryptoProvider,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let authority = intermediates
            .iter()
            .find(|it| fingerprint(it) == self.fingerprint)
            .ok_or(Error::InvalidCertificate(CertificateError::UnknownIssuer))?;
        let root = Root::new(authority.clone().into_owned())
            .map_err(|_| Error::InvalidCertificate(CertificateError::BadEncoding))?;
        let verifier = root.verifier();
        verifier.verify_server_cert(end_entity, &[], server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}
