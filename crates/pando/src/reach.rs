//! Connections to other servers: in the clear, with TLS from the start, or with StartTLS.

use crate::report::Problem;
use crate::trust;
use ::conformance::Transport;
use protocol::url::{LdapUrl, UrlScheme};
use protocol::{
    ExtendedRequest, Request, Response, ResponseMessage, ResultCode, frame, oid, write_request,
};
use rustls::pki_types::ServerName;
use rustls::{CertificateError, ClientConfig, ClientConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Maximum time for connecting and beginning TLS.
pub const CONNECT_PATIENCE: Duration = Duration::from_secs(10);
/// Maximum length of the response to StartTLS.
const ANSWER_BYTES_MAX: usize = 64 << 10;

/// A server, and how to connect to it.
pub struct Target {
    url: LdapUrl,
    tls: Option<Arc<ClientConfig>>,
    start_tls: bool,
}

impl Target {
    /// Parses a URL. `option` is the URL's option, for messages.
    pub fn new(
        option: &str,
        url: &str,
        start_tls: bool,
        ca: Option<&Path>,
    ) -> Result<Target, Problem> {
        let url = LdapUrl::parse(url)
            .map_err(|error| Problem::usage(format_args!("{option} {url}: {error}")))?;
        let encrypted = match url.scheme {
            UrlScheme::Ldap => start_tls,
            UrlScheme::Ldaps if start_tls => {
                let text = "--starttls: expected ldap://; ldaps:// has TLS already";
                return Err(Problem::usage(text));
            }
            UrlScheme::Ldaps => true,
            UrlScheme::Ldapi => {
                let text = format_args!("{option}: expected ldap:// or ldaps://");
                return Err(Problem::usage(text));
            }
        };
        Ok(Target {
            tls: encrypted.then(|| trust::config(ca)).transpose()?,
            url,
            start_tls,
        })
    }

    /// The host as it was typed.
    pub fn host(&self) -> &str {
        match self.url.host.as_str() {
            "" => "localhost",
            host => host,
        }
    }

    /// Opens a connection, with TLS if requested.
    pub fn connect(&self) -> io::Result<Box<dyn Transport>> {
        let host = self.host();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let mut last = io::Error::other(format!("{host} has no address"));
        for address in (bare, self.url.port_or_default()).to_socket_addrs()? {
            match TcpStream::connect_timeout(&address, CONNECT_PATIENCE) {
                Ok(stream) => {
                    stream.set_nodelay(true)?;
                    // Keepalive detects, after a time, a server that disappeared without closing
                    // the connection.
                    rustix::net::sockopt::set_socket_keepalive(&stream, true)?;
                    return self.encrypted(bare, stream);
                }
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    fn encrypted(&self, host: &str, mut stream: TcpStream) -> io::Result<Box<dyn Transport>> {
        let Some(config) = &self.tls else {
            return Ok(Box::new(stream));
        };
        if self.start_tls {
            stream.limit(CONNECT_PATIENCE)?;
            start_tls(&mut stream)?;
        }
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let session = ClientConnection::new(Arc::clone(config), name).map_err(io::Error::other)?;
        Ok(Box::new(Tls(StreamOwned::new(session, stream))))
    }
}

/// StartTLS (RFC 4511 §4.14) as the first operation.
pub fn start_tls(stream: &mut TcpStream) -> io::Result<()> {
    let request = Request::Extended(ExtendedRequest {
        name: oid::START_TLS,
        value: None,
    });
    let mut bytes = Vec::new();
    write_request(&mut bytes, 1, &request, &[]);
    stream.write_all(&bytes)?;
    let mut answer = Vec::new();
    // Octet by octet, because bytes behind the response belong to TLS.
    while frame(&answer, ANSWER_BYTES_MAX)
        .map_err(io::Error::other)?
        .is_none()
    {
        let mut octet = [0];
        stream.read_exact(&mut octet)?;
        answer.push(octet[0]);
    }
    match ResponseMessage::decode(&answer).map(|it| it.response) {
        Ok(Response::Extended { result, .. }) if result.code == ResultCode::SUCCESS => Ok(()),
        Ok(Response::Extended { result, .. }) => Err(io::Error::other(format!(
            "StartTLS: {} {}",
            result.code.name(),
            result.diagnostic
        ))),
        _ => Err(io::Error::other(
            "StartTLS: expected its response, got something else",
        )),
    }
}

/// TLS over a socket.
struct Tls(StreamOwned<ClientConnection, TcpStream>);

impl Read for Tls {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer).map_err(distrusted)
    }
}

impl Write for Tls {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(distrusted)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush().map_err(distrusted)
    }
}

/// Adds advice to the error for an untrusted certificate. The handshake is part of the first read
/// and write.
fn distrusted(error: io::Error) -> io::Error {
    let tls = error.get_ref().and_then(|it| it.downcast_ref());
    match tls {
        Some(rustls::Error::InvalidCertificate(
            CertificateError::UnknownIssuer | CertificateError::Other(_),
        )) => io::Error::new(
            error.kind(),
            "the server's certificate is not trusted; name it, or that of its authority, with --ca",
        ),
        _ => error,
    }
}

impl Transport for Tls {
    fn limit(&mut self, patience: Duration) -> io::Result<()> {
        self.0.sock.limit(patience)
    }
}
