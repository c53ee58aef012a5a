//! What other threads leave for a serving thread: sockets, finished work, the word to stop.
//!
//! Leaving something costs a lock that is held for a vector append, and one wake of the thread
//! for everything that has gathered since it last looked.

use std::os::fd::OwnedFd;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use directory::Peer;
use tokio::sync::Notify;

use crate::admission::Ticket;
use crate::shared::Shared;

/// A socket that was accepted and not yet looked at.
#[derive(Debug)]
pub struct Accepted {
    /// The socket, non-blocking.
    pub socket: OwnedFd,
    /// A Unix domain socket rather than TCP.
    pub unix: bool,
    /// TLS from the first byte.
    pub tls: bool,
    /// A header of a proxy comes first.
    pub proxied: bool,
    /// Who is at the other end.
    pub peer: Peer,
    /// Its place among the connections counted.
    pub ticket: Ticket,
}

/// What has gathered.
#[derive(Debug)]
pub struct Contents<C> {
    pub sockets: Vec<Accepted>,
    pub completions: Vec<C>,
    pub stop: bool,
    /// Settings that hold for connections from now on.
    pub shared: Option<Arc<Shared>>,
    /// The thread is to look up, and may wait again.
    pub called: bool,
}

impl<C> Default for Contents<C> {
    fn default() -> Self {
        Contents {
            sockets: Vec::new(),
            completions: Vec::new(),
            stop: false,
            shared: None,
            called: false,
        }
    }
}

impl<C> Contents<C> {
    fn is_empty(&self) -> bool {
        self.sockets.is_empty()
            && self.completions.is_empty()
            && self.shared.is_none()
            && !self.stop
            && !self.called
    }
}

/// The inbox of one serving thread.
#[derive(Debug)]
pub struct Inbox<C> {
    contents: Mutex<Contents<C>>,
    wake: Notify,
}

impl<C> Default for Inbox<C> {
    fn default() -> Self {
        Inbox {
            contents: Mutex::new(Contents::default()),
            wake: Notify::new(),
        }
    }
}

impl<C> Inbox<C> {
    /// Leaves finished work.
    pub fn completions(&self, completions: Vec<C>) {
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

    /// Leaves a new socket.
    pub fn socket(&self, accepted: Accepted) {
        self.leave(|contents| contents.sockets.push(accepted));
    }

    /// Tells the thread to stop.
    pub fn stop(&self) {
        self.leave(|contents| contents.stop = true);
    }

    /// Leaves the settings that hold for connections from now on.
    pub fn share(&self, shared: Arc<Shared>) {
        self.leave(|contents| contents.shared = Some(shared));
    }

    /// Has the thread look up if it waits.
    pub fn call(&self) {
        self.leave(|contents| contents.called = true);
    }

    fn leave(&self, put: impl FnOnce(&mut Contents<C>)) {
        let mut contents = self.lock();
        // Whoever filled the empty inbox has woken the thread, which has not looked yet.
        let wake = contents.is_empty();
        put(&mut contents);
        drop(contents);
        if wake {
            self.wake.notify_one();
        }
    }

    /// Waits until there is something, and takes all of it.
    pub async fn take(&self) -> Contents<C> {
        loop {
            let contents = std::mem::take(&mut *self.lock());
            if !contents.is_empty() {
                return contents;
            }
            self.wake.notified().await;
        }
    }

    /// A vector is whole between any two operations on it, so a panic elsewhere is no reason to
    /// stop.
    fn lock(&self) -> MutexGuard<'_, Contents<C>> {
        self.contents.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A serving thread as other threads see it.
#[derive(Debug)]
pub struct Handle<C> {
    /// Where other threads leave sockets, finished work and the word to stop.
    pub inbox: Arc<Inbox<C>>,
    /// The number of connections on the thread.
    pub load: Arc<AtomicUsize>,
}

impl directory::Mailbox for Inbox<directory::Completion> {
    fn deliver(&self, completions: Vec<directory::Completion>) {
        self.completions(completions);
    }

    fn wake(&self) {
        self.call();
    }
}
