//! A handshake that is carried to its end whatever the server's certificate is, so that all that is
//! wrong comes to light at once.

use crate::reach::{CONNECT_PATIENCE, start_tls};
use protocol::{DerefAliases, Filter, Request, Scope, SearchRequest, write_request};
use rustls::client::ResolvesClientCert;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, Error, ProtocolVersion, SignatureScheme,
    SupportedCipherSuite,
};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most octets that are read of the server's answer to the first request.
const ANSWER_BYTES: usize = 4_096;

/// The server.
pub struct Place {
    /// Name or address, without brackets.
    pub host: String,
    /// Number of the port.
    pub port: u16,
    /// Whether TLS begins with StartTLS (RFC 4511 §4.14).
    pub starts_tls: bool,
}

/// The client's side of the handshake: a certificate and a judge of the server's.
pub struct Shown {
    /// The client's certificate; `None` to show none.
    pub own: Option<Arc<CertifiedKey>>,
    /// Decides whether the server is trusted.
    pub verifier: Arc<dyn ServerCertVerifier>,
}

/// Facts that the handshake brought to light.
#[derive(Debug, Default)]
pub struct Found {
    /// Address of the server; `None` if there was no connection.
    pub address: Option<SocketAddr>,
    /// Version and cipher suite, if they were agreed.
    pub agreed: Option<(String, String)>,
    /// The server's certificates, its own first.
    pub chain: Vec<Vec<u8>>,
    /// The stapled response of OCSP; empty for none.
    pub staple: Vec<u8>,
    /// Why the server's certificate is not trusted.
    pub distrust: Option<Error>,
    /// Whether the server's signature is not that of its certificate.
    pub is_forged: bool,
    /// Whether the server asked for a certificate of the client.
    pub asks: bool,
    /// Whether the client has shown a certificate.
    pub has_shown: bool,
    /// Where it went wrong.
    pub failure: Option<Failure>,
}

/// The step at which there was no way on.
#[derive(Debug)]
pub enum Failure {
    /// The host has no address, or nothing listens there.
    Connect(io::Error),
    /// The server refused StartTLS, or did not understand it.
    StartTls(io::Error),
    /// The handshake, or the first request after it.
    Handshake(io::Error),
}

/// Carries out a handshake, and a request behind it: under TLS 1.3 a server refuses the client's
/// certificate after the client's last message.
pub fn probe(place: &Place, shown: Shown) -> Found {
    let seen = Arc::new(Witness {
        verifier: shown.verifier,
        own: shown.own,
        found: Mutex::default(),
    });
    let (mut address, mut agreed) = (None, None);
    let failure = run(place, &seen, &mut address, &mut agreed).err();
    let mut found = std::mem::take(&mut *seen.found());
    (found.address, found.agreed, found.failure) = (address, agreed, failure);
    found
}

fn run(
    place: &Place,
    seen: &Arc<Witness>,
    address: &mut Option<SocketAddr>,
    agreed: &mut Option<(String, String)>,
) -> Result<(), Failure> {
    let mut stream = connect(place).map_err(Failure::Connect)?;
    *address = stream.peer_addr().ok();
    let limited = stream
        .set_read_timeout(Some(CONNECT_PATIENCE))
        .and_then(|()| stream.set_write_timeout(Some(CONNECT_PATIENCE)));
    limited.map_err(Failure::Connect)?;
    if place.starts_tls {
        start_tls(&mut stream).map_err(Failure::StartTls)?;
    }
    let mut session = session(place, seen).map_err(Failure::Connect)?;
    let done = handshake(&mut session, &mut stream);
    let version = session.protocol_version();
    let suite = session.negotiated_cipher_suite();
    if let (Some(version), Some(suite)) = (version, suite) {
        *agreed = Some((in_words(version), iana(suite)));
    }
    done.map_err(Failure::Handshake)
}

fn in_words(version: ProtocolVersion) -> String {
    match version {
        ProtocolVersion::TLSv1_2 => "TLS 1.2".to_owned(),
        ProtocolVersion::TLSv1_3 => "TLS 1.3".to_owned(),
        other => format!("{other:?}"),
    }
}

/// The name that IANA has for a cipher suite.
fn iana(suite: SupportedCipherSuite) -> String {
    format!("{:?}", suite.suite()).replacen("TLS13_", "TLS_", 1)
}

fn connect(place: &Place) -> io::Result<TcpStream> {
    let mut last = io::Error::other("it has no address");
    for address in (place.host.as_str(), place.port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, CONNECT_PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn session(place: &Place, seen: &Arc<Witness>) -> io::Result<ClientConnection> {
    let config = ClientConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let verifier: Arc<dyn ServerCertVerifier> = Arc::clone(seen) as _;
    let mut config = config
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_client_cert_resolver(Arc::clone(seen) as _);
    // A resumed session would show nothing of the server.
    config.resumption = rustls::client::Resumption::disabled();
    let name = ServerName::try_from(place.host.clone()).map_err(io::Error::other)?;
    ClientConnection::new(Arc::new(config), name).map_err(io::Error::other)
}

fn handshake(session: &mut ClientConnection, stream: &mut TcpStream) -> io::Result<()> {
    while session.is_handshaking() {
        session.complete_io(stream)?;
    }
    let mut request = Vec::new();
    let root = Request::Search(SearchRequest {
        base: "",
        scope: Scope::BaseObject,
        deref_aliases: DerefAliases::Never,
        size_limit: 0,
        time_limit_s: 0,
        types_only: false,
        filter: Filter::Present("objectClass"),
        attributes: vec!["1.1"],
    });
    write_request(&mut request, 1, &root, &[]);
    let mut tls = rustls::Stream::new(session, stream);
    tls.write_all(&request)?;
    match tls.read(&mut [0; ANSWER_BYTES])? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

/// Notes what the server shows, and goes on.
#[derive(Debug)]
struct Witness {
    verifier: Arc<dyn ServerCertVerifier>,
    own: Option<Arc<CertifiedKey>>,
    found: Mutex<Found>,
}

impl Witness {
    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note_signature(&self, result: Result<HandshakeSignatureValid, Error>) -> Checked {
        self.found().is_forged |= result.is_err();
        result
    }
}

type Checked = Result<HandshakeSignatureValid, Error>;

impl ServerCertVerifier for Witness {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.verifier.verify_server_cert(
            end_entity,
            intermediates,
            server_name,
            ocsp_response,
            now,
        );
        let mut found = self.found();
        let chain = std::iter::once(end_entity).chain(intermediates);
        found.chain = chain.map(|it| it.to_vec()).collect();
        found.staple = ocsp_response.to_vec();
        found.distrust = verified.err();
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Checked {
        let verifier = &self.verifier;
        self.note_signature(verifier.verify_tls12_signature(message, certificate, signature))
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Checked {
        let verifier = &self.verifier;
        self.note_signature(verifier.verify_tls13_signature(message, certificate, signature))
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

impl ResolvesClientCert for Witness {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        let mut found = self.found();
        found.asks = true;
        found.has_shown = self.own.is_some();
        self.own.clone()
    }

    fn has_certs(&self) -> bool {
        true
    }
}
