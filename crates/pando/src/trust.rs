//! Trust in servers over TLS: a certificate must lead to a trusted one, or be the very certificate
//! that the operator named.

use crate::report::Problem;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_name};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// File of trusted certificates on Debian and its derivatives.
const SYSTEM_CERTIFICATES: &str = "/etc/ssl/certs/ca-certificates.crt";

/// Client settings that trust the certificates of a file, or those of the system.
pub fn config(ca: Option<&Path>) -> Result<Arc<ClientConfig>, Problem> {
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(Problem::failed)?;
    let config = config
        .dangerous()
        .with_custom_certificate_verifier(verifier(ca)?);
    Ok(Arc::new(config.with_no_client_auth()))
}

/// Verification that trusts the certificates of a file, or those of the system.
pub fn verifier(ca: Option<&Path>) -> Result<Arc<dyn ServerCertVerifier>, Problem> {
    let path = ca.map_or_else(|| PathBuf::from(SYSTEM_CERTIFICATES), Path::to_path_buf);
    let certificates = CertificateDer::pem_file_iter(&path);
    let certificates = certificates.map_err(|error| Problem::file(&path, error))?;
    let certificates: Vec<CertificateDer<'static>> = certificates.flatten().collect();
    let mut roots = RootCertStore::empty();
    let (taken, _) = roots.add_parsable_certificates(certificates.iter().cloned());
    if taken == 0 {
        return Err(Problem::file(&path, "expected certificates as PEM"));
    }
    let provider = Arc::new(aws_lc_rs::default_provider());
    let usual = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider);
    Ok(Arc::new(Trust {
        usual: usual.build().map_err(Problem::failed)?,
        named: ca.map_or_else(Vec::new, |_| certificates),
    }))
}

/// The usual verification with one exception: a server may present a self-signed certificate, as
/// `openssl req -x509` makes it, if the operator named it. The usual verification takes it for a
/// certificate authority's, which no server should present.
#[derive(Debug)]
struct Trust {
    usual: Arc<WebPkiServerVerifier>,
    named: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Trust {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.usual.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        match verified {
            // Expired and otherwise invalid certificates have errors of their own.
            Err(Error::InvalidCertificate(CertificateError::Other(_)))
                if self.named.iter().any(|it| it == end_entity) =>
            {
                verify_server_name(&ParsedCertificate::try_from(end_entity)?, server_name)?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual
            .verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.usual
            .verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.usual.supported_verify_schemes()
    }
}
