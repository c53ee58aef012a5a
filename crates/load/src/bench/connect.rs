//! Connections: addresses, sockets, the bind before the run.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use protocol::url::{LdapUrl, UrlScheme};
use protocol::{Response, ResponseMessage, ResultCode};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, Protocol, Socket, Type};

use super::BenchError;
use super::job::put_bind;

/// Connections from one loopback address; a machine has some 28,000 ports for them by default.
const CONNECTIONS_PER_SOURCE: usize = 20_000;
/// How long an answer to connect or bind may take.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);

/// Where the server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

impl Address {
    pub fn parse(url: &str) -> Result<Address, BenchError> {
        let parsed = LdapUrl::parse(url).map_err(|problem| {
            BenchError::new(format!("expected a URL, found {url}: {problem}"))
        })?;
        match parsed.scheme {
            UrlScheme::Ldapi => Ok(Address::Unix(PathBuf::from(parsed.host))),
            UrlScheme::Ldaps => Err(BenchError::new("expected ldap:// or ldapi://: no TLS here")),
            UrlScheme::Ldap => {
                let port = parsed.port_or_default();
                let host = if parsed.host.is_empty() {
                    "127.0.0.1"
                } else {
                    &parsed.host
                };
                let found = (host, port).to_socket_addrs().map(|mut all| all.next());
                match found {
                    Ok(Some(address)) => Ok(Address::Tcp(address)),
                    Ok(None) => Err(BenchError::new(format!("no address for {host}"))),
                    Err(error) => Err(BenchError::new(format!("no address for {host}: {error}"))),
                }
            }
        }
    }

    /// Opens the connection with this number, blocking.
    pub fn connect(&self, number: usize) -> io::Result<Stream> {
        match self {
            Address::Unix(path) => Ok(Stream::Unix(UnixStream::connect(path)?)),
            Address::Tcp(address) => {
                let domain = Domain::for_address(*address);
                let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
                let source = number / CONNECTIONS_PER_SOURCE;
                if source > 0 && matches!(address.ip(), IpAddr::V4(ip) if ip.is_loopback()) {
                    let ip = Ipv4Addr::from(u32::from(Ipv4Addr::LOCALHOST) + source as u32);
                    socket.bind(&SocketAddr::from((ip, 0)).into())?;
                }
                socket.connect_timeout(&(*address).into(), ANSWER_TIME_MAX)?;
                socket.set_tcp_nodelay(true)?;
                Ok(Stream::Tcp(socket.into()))
            }
        }
    }
}

/// Lets this process open as many files as it may.
pub(crate) fn raise_file_limit() {
    let limit = getrlimit(Resource::Nofile);
    // A refusal shows itself when a connection cannot be opened.
    let _ = setrlimit(
        Resource::Nofile,
        Rlimit {
            current: limit.maximum,
            maximum: limit.maximum,
        },
    );
}

#[derive(Debug)]
pub(crate) enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => (&mut &*stream).read(buffer),
            Stream::Unix(stream) => (&mut &*stream).read(buffer),
        }
    }

    pub fn write(&self, octets: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Tcp(stream) => (&mut &*stream).write(octets),
            Stream::Unix(stream) => (&mut &*stream).write(octets),
        }
    }

    pub fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.set_nonblocking(true),
            Stream::Unix(stream) => stream.set_nonblocking(true),
        }
    }

    fn set_read_timeout(&self) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.set_read_timeout(Some(ANSWER_TIME_MAX)),
            Stream::Unix(stream) => stream.set_read_timeout(Some(ANSWER_TIME_MAX)),
        }
    }

    /// Binds, blocking, with message id 1.
    pub fn bind(&self, dn: &str, password: &str) -> Result<(), BenchError> {
        let failed = |what: String| BenchError::new(format!("bind as {dn}: {what}"));
        let mut request = Vec::new();
        put_bind(
            &mut request,
            1,
            dn.as_bytes(),
            password.as_bytes(),
            &mut Vec::new(),
        );
        let io_failed = |error: io::Error| failed(error.to_string());
        self.set_read_timeout().map_err(io_failed)?;
        let mut rest = &request[..];
        while !rest.is_empty() {
            let written = self.write(rest).map_err(io_failed)?;
            rest = &rest[written..];
        }
        let mut answer = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let length = protocol::frame(&answer, 1 << 20);
            if let Some(length) = length.map_err(|error| failed(error.to_string()))? {
                answer.truncate(length);
                break;
            }
            match self.read(&mut buffer).map_err(io_failed)? {
                0 => return Err(failed("the server closed the connection".to_owned())),
                count => answer.extend_from_slice(&buffer[..count]),
            }
        }
        match ResponseMessage::decode(&answer).map(|message| message.response) {
            Ok(Response::Bind { result, .. }) if result.code == ResultCode::SUCCESS => Ok(()),
            Ok(Response::Bind { result, .. }) => Err(failed(format!(
                "{}: {}",
                result.code.name(),
                result.diagnostic
            ))),
            other => Err(failed(format!("expected a bind response, found {other:?}"))),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Unix(stream) => stream.as_fd(),
        }
    }
}
