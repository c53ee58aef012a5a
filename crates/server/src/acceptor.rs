//! Accepts connections, hands each to the serving thread that has the fewest, and looks after what
//! concerns the whole server: the word to stop, and certificates that change.
//!
//! One thread that waits in poll(2): accepted sockets are registered with one event queue only,
//! that of the thread that serves them.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use directory::Peer;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::admission::{Admission, Refused};
use crate::inbox::Accepted;
use crate::listener::Listener;
use crate::settings::Listen;
use crate::thread::Handle;
use crate::tls::Certificate;

/// Connections accepted before other listeners have their turn.
const ACCEPTED_AT_ONCE: usize = 64;
/// How often certificate files are looked at.
const CERTIFICATE_CHECK: Duration = Duration::from_secs(5);
/// How long listeners rest when no file can be opened.
const REST: Duration = Duration::from_millis(100);

/// What the acceptor works with.
pub struct Acceptor<C> {
    /// Where to accept.
    pub listeners: Vec<Listener>,
    /// The counts of connections.
    pub admission: Arc<Admission>,
    /// The threads that serve.
    pub threads: Arc<Vec<Handle<C>>>,
    /// The certificate to read again when it changes.
    pub certificate: Option<Arc<Certificate>>,
    /// A byte here, or its end, is the word to stop.
    pub stop: UnixStream,
}

impl<C> Acceptor<C> {
    /// Accepts until the word to stop comes; then nothing listens any more.
    pub fn run(self) {
        let mut certificate_checked = Instant::now();
        let mut resting = false;
        loop {
            let timeout = match (&self.certificate, resting) {
                (_, true) => Some(REST),
                (Some(_), false) => Some(CERTIFICATE_CHECK),
                (None, false) => None,
            };
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

    /// The listeners that have connections; `None` for the word to stop.
    fn wait(&self, timeout: Option<Duration>, resting: bool) -> io::Result<Option<Vec<usize>>> {
        let mut waited = vec![PollFd::new(&self.stop, PollFlags::IN)];
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
        Ok(Some(
            ready
                .enumerate()
                .filter(|(_, it)| *it)
                .map(|(at, _)| at)
                .collect(),
        ))
    }

    /// Accepts what waits on one listener; false when the system cannot open another file.
    fn accept(&self, at: usize) -> bool {
        let listener = &self.listeners[at];
        for _ in 0..ACCEPTED_AT_ONCE {
            match listener.accept() {
                Ok((socket, peer)) => self.place(at, socket, peer),
                Err(Errno::AGAIN) => return true,
                Err(Errno::INTR | Errno::CONNABORTED | Errno::PROTO) => {}
                Err(error) => {
                    tracing::warn!(listen = %listener.listen, %error, "cannot accept connections");
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
        match self.admission.admit(at, peer.address) {
            Ok(mut ticket) => {
                ticket.count_on(&thread.load);
                thread.inbox.socket(Accepted {
                    socket,
                    unix,
                    tls,
                    peer,
                    ticket,
                });
            }
            Err(refused) => {
                tracing::debug!(?refused, address = ?peer.address, "connection refused");
                if !tls {
                    say_why(socket, refused);
                }
            }
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

/// A word to the client that is not admitted. A fresh socket always takes so little.
fn say_why(socket: OwnedFd, refused: Refused) {
    let why = match refused {
        Refused::Total => "too many connections",
        Refused::Address => "too many connections from this address",
    };
    let result = protocol::LdapResult::new(protocol::ResultCode::UNAVAILABLE, why);
    let mut notice = Vec::new();
    protocol::write_notice_of_disconnection(&mut notice, &result);
    // The client may be gone already; nothing is owed to it.
    let _ = rustix::io::write(socket.as_fd(), &notice);
}
