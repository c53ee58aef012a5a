//! Accepts connections and assigns each to the serving thread with the fewest. Also handles tasks
//! of the whole server: stopping, reloading settings, and changed certificates.
//!
//! It is one thread that waits in poll(2), so that an accepted socket is registered with a single
//! event queue, that of its serving thread.

use std::io::{self, Read};
use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use arc_swap::ArcSwap;
use directory::Peer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::admission::{Admission, Ticket};
use crate::inbox::{Accepted, Handle, Security};
use crate::listener::Listener;
use crate::refused::Refused;
use crate::settings::{Listen, Network};
use crate::tls::Certificate;

/// Maximum number of connections accepted before other listeners have their turn.
const ACCEPTED_AT_ONCE: usize = 64;
/// Interval between checks of the certificate files.
const CERTIFICATE_CHECK: Duration = Duration::from_secs(5);
/// Pause of the listeners when no more files can be opened.
const REST: Duration = Duration::from_millis(100);

/// State of the acceptor.
pub struct Acceptor {
    /// The listening sockets.
    pub listeners: Vec<Listener>,
    /// Networks whose hosts may send PROXY headers, at listeners for proxies.
    pub proxies: Arc<ArcSwap<Vec<Network>>>,
    /// Counters and limits of connections.
    pub admission: Arc<Admission>,
    /// The serving threads.
    pub threads: Arc<Vec<Handle>>,
    /// The certificate, read again when its files change.
    pub certificate: Option<Arc<Certificate>>,
    /// A byte, or end of file, stops the server.
    pub stop: UnixStream,
    /// A byte makes the server read its settings again.
    pub hangup: UnixStream,
    /// Reads the settings again.
    pub reload: Box<dyn Fn() + Send>,
}

impl Acceptor {
    /// Accepts connections until the server is stopped, then closes the listeners.
    pub fn run(self) {
        let mut certificate_checked = Instant::now();
        let mut resting = false;
        loop {
            let timeouts = [
                resting.then_some(REST),
                self.certificate.as_ref().map(|_| CERTIFICATE_CHECK),
                self.admission.refusals().tell(Instant::now()),
            ];
            let timeout = timeouts.into_iter().flatten().min();
            let ready = match self.wait(timeout, resting) {
                Ok(None) => return,
                Ok(Some(ready)) => ready,
                Err(error) => {
                    tracing::error!(%error, "cannot wait for connections");
                    return;
                }
            };
            resting = false;
            for at in ready {
                resting |= !self.accept(at);
            }
            if let Some(certificate) = &self.certificate
                && certificate_checked.elapsed() >= CERTIFICATE_CHECK
            {
                certificate_checked = Instant::now();
                look_at(certificate);
            }
        }
    }

    /// Waits for connections. Returns the listeners that have some; `None` when the server is
    /// stopped.
    fn wait(&self, timeout: Option<Duration>, resting: bool) -> io::Result<Option<Vec<usize>>> {
        let mut waited = vec![
            PollFd::new(&self.stop, PollFlags::IN),
            PollFd::new(&self.hangup, PollFlags::IN),
        ];
        if !resting {
            let socket = |it| PollFd::new(Listener::socket(it), PollFlags::IN);
            waited.extend(self.listeners.iter().map(socket));
        }
        let timeout = timeout.map(|it| Timespec::try_from(it).expect("seconds fit"));
        match poll(&mut waited, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let mut ready = waited.iter().map(|it| !it.revents().is_empty());
        if ready.next() == Some(true) {
            return Ok(None);
        }
        let hung_up = ready.next() == Some(true);
        let ready = ready.enumerate().filter(|(_, it)| *it);
        let ready = ready.map(|(at, _)| at).collect();
        // Several signals received together count as one.
        if hung_up && matches!((&self.hangup).read(&mut [0; 64]), Ok(1..)) {
            (self.reload)();
        }
        Ok(Some(ready))
    }

    /// Accepts the waiting connections of one listener; false if the system cannot open another
    /// file.
    fn accept(&self, at: usize) -> bool {
        for _ in 0..ACCEPTED_AT_ONCE {
            match self.listeners[at].accept() {
                Ok((socket, peer)) => self.place(at, socket, peer),
                Err(Errno::AGAIN) => return true,
                Err(Errno::INTR | Errno::CONNABORTED | Errno::PROTO) => {}
                Err(error) => {
                    self.admission.refusals().system(&error);
                    return false;
                }
            }
        }
        true
    }

    fn place(&self, at: usize, socket: OwnedFd, peer: Peer) {
        let listen = &self.listeners[at].listen;
        let tls = matches!(listen, Listen::Tcp { tls: true, .. });
        let unix = matches!(listen, Listen::Unix(_));
        let least = self
            .threads
            .iter()
            .min_by_key(|it| it.load.load(Ordering::Relaxed));
        let Some(thread) = least else { return };
        match self.admit(at, &peer) {
            Ok(mut ticket) => {
                ticket.count_on(&thread.load);
                thread.inbox.socket(Accepted {
                    socket,
                    unix,
                    security: Security {
                        at_once: tls,
                        client_certificates: listen.client_certificates(),
                    },
                    proxied: listen.is_proxied(),
                    peer,
                    ticket,
                });
            }
            Err(refused) => {
                self.admission.refusals().limit(&refused, peer.address);
                // Before the TLS handshake no notice can be sent.
                if !tls {
                    refused.tell(&socket);
                }
            }
        }
    }

    /// Counts a connection. A connection from a proxy is counted by its client's address later,
    /// when that is known.
    fn admit(&self, at: usize, peer: &Peer) -> Result<Ticket, Refused> {
        if !self.listeners[at].listen.is_proxied() {
            return self.admission.admit(at, peer.address);
        }
        let is_proxy = |it: IpAddr| self.proxies.load().iter().any(|proxy| proxy.contains(it));
        match peer.address {
            Some(address) if is_proxy(address) => self.admission.admit(at, None),
            _ => Err(self.admission.no_proxy()),
        }
    }
}

fn look_at(certificate: &Certificate) {
    match certificate.reload_if_changed() {
        Ok(false) => {}
        Ok(true) => tracing::info!("certificate read again"),
        Err(error) => tracing::warn!(%error, "changed certificate refused; the old one stays"),
    }
}
