//! The inbox of a serving thread: sockets, completions and requests from other threads.
//!
//! Adding an item costs a lock held for a vector append, and one wake of the thread for all items
//! added since it last looked.

use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use directory::{Completion, Mailbox, Peer};
use tokio::sync::Notify;

use crate::admission::Ticket;
use crate::connection_settings::ConnectionSettings;
use crate::settings::ClientCertificates;

/// An accepted socket.
#[derive(Debug)]
pub struct Accepted {
    /// The socket, non-blocking.
    pub socket: OwnedFd,
    /// Whether it is a Unix domain socket rather than TCP.
    pub unix: bool,
    /// How TLS begins.
    pub security: Security,
    /// Whether a PROXY header comes first.
    pub proxied: bool,
    /// The other end.
    pub peer: Peer,
    /// Its share of the connection counters.
    pub ticket: Ticket,
}

/// TLS on the connections of a listener.
#[derive(Debug, Clone, Copy)]
pub struct Security {
    /// Whether it begins with the first byte.
    pub at_once: bool,
    /// The certificate that handshakes ask of clients; `None`: as the settings say.
    pub client_certificates: Option<ClientCertificates>,
}

/// Items in the inbox.
#[derive(Debug, Default)]
pub struct Contents {
    pub sockets: Vec<Accepted>,
    pub completions: Vec<Completion>,
    pub stop: bool,
    /// New state for all connections, after a reload.
    pub shared: Option<Arc<ConnectionSettings>>,
    /// Whether the thread is only to be woken.
    pub called: bool,
    /// Whether accounts have changed, so that sessions are in doubt.
    pub doubt: bool,
}

impl Contents {
    fn is_empty(&self) -> bool {
        self.sockets.is_empty()
            && self.completions.is_empty()
            && self.shared.is_none()
            && !self.stop
            && !self.called
            && !self.doubt
    }
}

/// The inbox of one serving thread.
#[derive(Debug, Default)]
pub struct Inbox {
    contents: Mutex<Contents>,
    wake: Notify,
}

impl Inbox {
    /// Adds completions.
    pub fn completions(&self, completions: Vec<Completion>) {
        if completions.is_empty() {
            return;
        }
        self.leave(|contents| {
            if contents.completions.is_empty() {
                contents.completions = completions;
            } else {
                contents.completions.extend(completions);
            }
        });
    }

    /// Adds a new socket.
    pub fn socket(&self, accepted: Accepted) {
        self.leave(|contents| contents.sockets.push(accepted));
    }

    /// Tells the thread to stop.
    pub fn stop(&self) {
        self.leave(|contents| contents.stop = true);
    }

    /// Replaces the state for all connections.
    pub fn share(&self, shared: Arc<ConnectionSettings>) {
        self.leave(|contents| contents.shared = Some(shared));
    }

    /// Wakes the thread if it waits.
    pub fn call(&self) {
        self.leave(|contents| contents.called = true);
    }

    fn leave(&self, put: impl FnOnce(&mut Contents)) {
        let mut contents = self.lock();
        // The thread that filled the empty inbox has woken it, and it has not looked yet.
        let wake = contents.is_empty();
        put(&mut contents);
        drop(contents);
        if wake {
            self.wake.notify_one();
        }
    }

    /// Waits until the inbox has items, and takes them all.
    pub async fn take(&self) -> Contents {
        loop {
            let contents = std::mem::take(&mut *self.lock());
            if !contents.is_empty() {
                return contents;
            }
            self.wake.notified().await;
        }
    }

    /// A vector is valid between any two operations, so a panic of another thread does not matter.
    fn lock(&self) -> MutexGuard<'_, Contents> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A serving thread as other threads see it.
#[derive(Debug)]
pub struct Handle {
    /// Where other threads leave sockets, finished work and the word to stop.
    pub inbox: Arc<Inbox>,
    /// The number of connections on the thread.
    pub load: Arc<AtomicUsize>,
}

impl Mailbox for Inbox {
    fn deliver(&self, completions: Vec<Completion>) {
        self.completions(completions);
    }

    fn wake(&self) {
        self.call();
    }

    fn doubt(&self) {
        self.leave(|contents| contents.doubt = true);
    }
}
