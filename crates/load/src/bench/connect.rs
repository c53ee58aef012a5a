//! Connections: addresses, sockets, the bind before the run.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use protocol::url::{LdapUrl, UrlScheme};
use protocol::{LdapResult, Response, ResponseMessage, ResultCode};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use socket2::{Domain, Protocol, Socket, Type};

use super::BenchError;
use super::job::put_bind;

/// Maximum number of connections from one loopback address. By default a machine has some 28,000
/// ports for outgoing connections of an address, and ports of earlier runs are blocked for a
/// minute.
const CONNECTIONS_PER_SOURCE: usize = 4_000;
/// Source addresses tried for a connection when ports have run out.
const SOURCES_TRIED: usize = 8;
/// Number of open files other than connections: event queues, reports, files of the standard
/// library.
const OTHER_FILES: u64 = 16;
/// Timeout of connecting, and of an answer to the first bind.
pub(crate) const ANSWER_TIME_MAX: Duration = Duration::from_secs(60);

/// Address of the server.
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

    /// Opens the connection with this number within `patience`, blocking. Connections to a loopback
    /// address come from several addresses, so that ports do not run out.
    pub fn connect(&self, number: usize, patience: Duration) -> io::Result<Stream> {
        let address = match self {
            Address::Unix(path) => return Ok(Stream::Unix(UnixStream::connect(path)?)),
            Address::Tcp(address) => *address,
        };
        let first = number / CONNECTIONS_PER_SOURCE;
        let mut tried = 0;
        loop {
            match connect_from(address, first + tried, patience) {
                Err(error) if ports_ran_out(&error) && tried < SOURCES_TRIED => tried += 1,
                connected => return connected.map(Stream::Tcp),
            }
        }
    }
}

/// Connects from the loopback address with this number; for number 0 and for servers elsewhere the
/// system chooses the address.
fn connect_from(address: SocketAddr, source: usize, patience: Duration) -> io::Result<TcpStream> {
    let domain = Domain::for_address(address);
    let socket = Socket::new(domain, Type::STREAM, Some(Protocol::TCP))?;
    if source > 0 && matches!(address.ip(), IpAddr::V4(ip) if ip.is_loopback()) {
        let ip = Ipv4Addr::from(u32::from(Ipv4Addr::LOCALHOST) + source as u32);
        socket.bind(&SocketAddr::from((ip, 0)).into())?;
    }
    socket.connect_timeout(&address.into(), patience)?;
    socket.set_tcp_nodelay(true)?;
    Ok(socket.into())
}

fn ports_ran_out(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::AddrNotAvailable | io::ErrorKind::AddrInUse
    )
}

/// Number of files that this process may open, and of connections among them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OpenFiles {
    pub limit: u64,
    pub left: usize,
}

/// Raises the limit of open files as far as allowed; returns it, or `None` without a limit.
pub(crate) fn raise_file_limit() -> Option<OpenFiles> {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    let limit = match setrlimit(Resource::Nofile, raised) {
        Ok(()) => limit.maximum?,
        Err(_) => limit.current?,
    };
    // Where open files cannot be listed, a small number is assumed.
    let open = std::fs::read_dir("/proc/self/fd").map_or(0, |files| files.count() as u64);
    let left = limit.saturating_sub(open + OTHER_FILES);
    Some(OpenFiles {
        limit,
        left: usize::try_from(left).unwrap_or(usize::MAX),
    })
}

/// The reason why a connection could not be bound before the run.
#[derive(Debug)]
pub(crate) enum NotBound {
    /// The server accepts no more connections, for this reason.
    Refused(String),
    /// Any other failure.
    Failed(BenchError),
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

    /// Sets how long a read waits for octets.
    pub fn set_read_timeout(&self, patience: Duration) -> io::Result<()> {
        match self {
            Stream::Tcp(stream) => stream.set_read_timeout(Some(patience)),
            Stream::Unix(stream) => stream.set_read_timeout(Some(patience)),
        }
    }

    /// Binds with message id 1, blocking; waits so long for each part of the answer.
    pub fn bind(&self, dn: &str, password: &str, patience: Duration) -> Result<(), NotBound> {
        self.send_bind(dn, password, patience)
            .map_err(|error| not_bound(dn, &error))?;
        self.bound(dn)
    }

    /// Sends the bind of [`Stream::bind`].
    pub fn send_bind(&self, dn: &str, password: &str, patience: Duration) -> io::Result<()> {
        let mut request = Vec::new();
        let (dn, password) = (dn.as_bytes(), password.as_bytes());
        put_bind(&mut request, 1, dn, password, &mut Vec::new());
        self.set_read_timeout(patience)?;
        self.write_all(&request)
    }

    /// Sends all octets, blocking.
    pub fn write_all(&self, mut octets: &[u8]) -> io::Result<()> {
        while !octets.is_empty() {
            octets = &octets[self.write(octets)?..];
        }
        Ok(())
    }

    /// Waits for the answer to the bind.
    pub fn bound(&self, dn: &str) -> Result<(), NotBound> {
        let failed = |what: &dyn std::fmt::Display| not_bound(dn, what);
        let mut answer = Vec::new();
        let mut buffer = [0; 4096];
        loop {
            let length = protocol::frame(&answer, 1 << 20);
            if let Some(length) = length.map_err(|error| failed(&error))? {
                answer.truncate(length);
                break;
            }
            match self.read(&mut buffer).map_err(|error| failed(&error))? {
                0 => return Err(failed(&"the server closed the connection")),
                count => answer.extend_from_slice(&buffer[..count]),
            }
        }
        match ResponseMessage::decode(&answer).map(|message| message.response) {
            Ok(Response::Bind { result, .. }) if result.code == ResultCode::SUCCESS => Ok(()),
            Ok(Response::Bind { result, .. }) => Err(failed(&said(&result))),
            // The server sent a Notice of Disconnection instead of an answer (RFC 4511 §4.4.1).
            Ok(Response::Extended { result, .. }) => Err(NotBound::Refused(said(&result))),
            other => Err(failed(&format_args!(
                "expected a bind response, found {other:?}"
            ))),
        }
    }
}

fn not_bound(dn: &str, what: &dyn std::fmt::Display) -> NotBound {
    NotBound::Failed(BenchError::new(format!("bind as {dn}: {what}")))
}

fn said(result: &LdapResult) -> String {
    format!("{}: {}", result.code.name(), result.diagnostic)
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Stream::Tcp(stream) => stream.as_fd(),
            Stream::Unix(stream) => stream.as_fd(),
        }
    }
}
