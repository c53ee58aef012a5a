//! Listening sockets, and the peers of accepted connections.

use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use directory::Peer;
use rustix::io::Errno;
use rustix::net::{SocketFlags, acceptfrom_with, sockopt};
use socket2::{Domain, SockAddr, Socket, TcpKeepalive, Type};

use crate::settings::Listen;

/// Backlog; the kernel lowers it to its own limit.
const BACKLOG: i32 = 4096;

/// A socket that listens.
#[derive(Debug)]
pub struct Listener {
    socket: OwnedFd,
    /// Its address, with the port chosen by the system.
    pub listen: Listen,
    /// The socket file to remove at the end.
    file: Option<PathBuf>,
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            let _ = std::fs::remove_file(file);
        }
    }
}

impl Listener {
    /// Begins to listen.
    ///
    /// # Errors
    /// The address is in use, forbidden, or not one of this machine.
    pub fn bind(listen: &Listen) -> io::Result<Listener> {
        match listen {
            Listen::Tcp {
                address,
                tls,
                proxied,
                client_certificates,
            } => {
                let socket = bind_tcp(*address)?;
                let address = socket.local_addr()?.as_socket().unwrap_or(*address);
                let listen = Listen::Tcp {
                    address,
                    tls: *tls,
                    proxied: *proxied,
                    client_certificates: *client_certificates,
                };
                Ok(Listener {
                    socket: socket.into(),
                    listen,
                    file: None,
                })
            }
            Listen::Unix(path) => {
                let socket = bind_unix(path)?;
                let file = Some(path.clone());
                Ok(Listener {
                    socket: socket.into(),
                    listen: listen.clone(),
                    file,
                })
            }
        }
    }

    /// The socket, for polling.
    pub fn socket(&self) -> &OwnedFd {
        &self.socket
    }

    /// Accepts one connection; `AGAIN` when none waits.
    pub fn accept(&self) -> Result<(OwnedFd, Peer), Errno> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (socket, address) = acceptfrom_with(&self.socket, flags)?;
        let peer = match &self.listen {
            Listen::Unix(_) => Peer {
                address: None,
                secure: true,
                unix_uid: sockopt::socket_peercred(&socket)
                    .ok()
                    .map(|it| it.uid.as_raw()),
                local: true,
                ..Peer::default()
            },
            Listen::Tcp { .. } => {
                let address = address.and_then(|it| SocketAddr::try_from(it).ok());
                let address = address.map(|it| it.ip().to_canonical());
                let local = address.is_some_and(|it| is_local(it, &socket));
                Peer {
                    address,
                    local,
                    ..Peer::default()
                }
            }
        };
        Ok((socket, peer))
    }
}

/// Whether the client is on this machine: its address is a loopback address, or equal to the
/// address it connects to.
fn is_local(client: IpAddr, socket: &OwnedFd) -> bool {
    let own = || {
        let address = rustix::net::getsockname(socket).ok()?;
        Some(SocketAddr::try_from(address).ok()?.ip().to_canonical())
    };
    client.is_loopback() || own() == Some(client)
}

fn bind_tcp(address: SocketAddr) -> io::Result<Socket> {
    let bind = |address: SocketAddr| {
        let socket = Socket::new(
            Domain::for_address(address),
            Type::STREAM.nonblocking(),
            None,
        )?;
        socket.set_reuse_address(true)?;
        if address.is_ipv6() && address.ip().is_unspecified() {
            socket.set_only_v6(false)?;
        }
        // Accepted sockets inherit these options, which saves system calls.
        socket.set_tcp_nodelay(true)?;
        socket.set_tcp_keepalive(
            &TcpKeepalive::new()
                .with_time(Duration::from_secs(300))
                .with_interval(Duration::from_secs(30)),
        )?;
        socket.bind(&SockAddr::from(address))?;
        socket.listen(BACKLOG)?;
        Ok(socket)
    };
    match bind(address) {
        // Without IPv6, the unspecified address means IPv4.
        Err(error) if address.is_ipv6() && address.ip().is_unspecified() => {
            let v4 = SocketAddr::new(Ipv4Addr::UNSPECIFIED.into(), address.port());
            bind(v4).map_err(|_| error)
        }
        bound => bound,
    }
}

fn bind_unix(path: &Path) -> io::Result<Socket> {
    let address = SockAddr::unix(path)?;
    let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None)?;
    if let Err(error) = socket.bind(&address) {
        // A file without a listener was left by a killed process.
        let probe = Socket::new(Domain::UNIX, Type::STREAM, None)?;
        let dead = error.kind() == io::ErrorKind::AddrInUse
            && probe
                .connect(&address)
                .is_err_and(|it| it.kind() == io::ErrorKind::ConnectionRefused);
        if !dead {
            return Err(error);
        }
        std::fs::remove_file(path)?;
        socket.bind(&address)?;
    }
    // Rights are decided by the connecting user, not by permission to open the file.
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o777))?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}
