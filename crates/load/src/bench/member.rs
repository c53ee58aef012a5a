//! A virtual client: its connections, and the slots of its requests in flight.

use std::collections::VecDeque;
use std::io;

use super::JobKind;
use super::connect::Stream;
use super::job::Jobs;

pub(crate) struct Slot {
    /// Message id of the request in flight; 0 for none.
    pub id: i32,
    /// Index of the kind in `Jobs::kinds`.
    pub kind: usize,
    /// Whether the request in flight is the bind of an auth.
    pub binding: bool,
    pub start_ns: i64,
    /// Whether the operation started in the measured part.
    pub measured: bool,
    pub entries: u64,
    /// Whether an entry had another name than expected.
    pub wrong_entry: bool,
    /// Name of the entry; after the search of an auth, the name to bind as.
    pub dn: Vec<u8>,
}

pub(crate) struct Member {
    pub main: Option<Link>,
    pub binder: Option<Link>,
    pub slots: Vec<Slot>,
    /// Slots whose bind waits for the one in flight.
    pub waiting: VecDeque<usize>,
    /// Counter that distinguishes requests of one slot.
    generation: i32,
    /// Whether the member has unsent octets and is in `Client::dirty`.
    pub dirty: bool,
}

pub(crate) struct Link {
    pub stream: Stream,
    /// Position of the server that it is connected to.
    pub target: usize,
    /// Number of octets of the buffer that are sent.
    pub out: Vec<u8>,
    pub sent: usize,
    /// The beginning of an incomplete answer.
    pub partial: Vec<u8>,
    /// Whether the socket is full; epoll reports when it accepts more.
    pub blocked: bool,
    /// Whether a bind is in flight.
    pub busy: bool,
    /// Number of requests left in the bundle announced last.
    pub bundle_left: u32,
}

impl Link {
    /// Wraps a connection to the server at this position.
    pub fn new(stream: Stream, target: usize) -> Link {
        let (out, partial) = (Vec::new(), Vec::new());
        Link {
            stream,
            target,
            out,
            sent: 0,
            partial,
            blocked: false,
            busy: false,
            bundle_left: 0,
        }
    }

    /// Sends all buffered octets; `false` when the socket is full before the end.
    pub fn send(&mut self) -> io::Result<bool> {
        while self.sent < self.out.len() {
            match self.stream.write(&self.out[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.out.clear();
        self.sent = 0;
        Ok(true)
    }
}

impl Member {
    pub fn new(main: Option<Link>, binder: Option<Link>, slots: usize) -> Member {
        let slot = |_| Slot {
            id: 0,
            kind: 0,
            binding: false,
            start_ns: 0,
            measured: false,
            entries: 0,
            wrong_entry: false,
            dn: Vec::new(),
        };
        Member {
            main,
            binder,
            slots: (0..slots.next_power_of_two()).map(slot).collect(),
            waiting: VecDeque::new(),
            generation: 0,
            dirty: false,
        }
    }

    /// Returns one of the two connections, unless it was lost.
    pub fn link(&mut self, binder: bool) -> Option<&mut Link> {
        if binder {
            self.binder.as_mut()
        } else {
            self.main.as_mut()
        }
    }

    /// Returns a message id for the next request of a slot; never 0.
    pub fn next_id(&mut self, slot: usize) -> i32 {
        let slots = self.slots.len() as i32;
        let generations = i32::MAX / slots - 1;
        self.generation = if self.generation >= generations {
            1
        } else {
            self.generation + 1
        };
        self.generation * slots + slot as i32
    }

    /// Drops one of the two connections. Returns the number of operations lost with it, and calls
    /// `lost` with the kind of each that had been sent.
    pub fn lose(&mut self, binder: bool, jobs: &Jobs, mut lost: impl FnMut(usize)) -> u64 {
        if binder {
            self.binder = None;
        } else {
            self.main = None;
        }
        let mut count = 0;
        for slot in self.slots.iter_mut().filter(|slot| slot.id != 0) {
            let on_binder = slot.binding || jobs.kinds[slot.kind] == JobKind::Bind;
            if on_binder == binder {
                slot.id = 0;
                count += 1;
                lost(slot.kind);
            }
        }
        if binder {
            let waiting = std::mem::take(&mut self.waiting);
            // Binds that were never sent have no message id.
            let unsent = |slot: &&usize| !self.slots[**slot].binding;
            count += waiting.iter().filter(unsent).count() as u64;
        }
        count
    }

    /// Puts a connection in the place of a lost one.
    pub fn replace(&mut self, binder: bool, link: Link) {
        let place = if binder {
            &mut self.binder
        } else {
            &mut self.main
        };
        *place = Some(link);
    }

    /// Returns the slots without a request, except those whose bind waits for its turn.
    pub fn idle_slots(&self, depth: usize) -> Vec<usize> {
        let idle = |slot: &usize| self.slots[*slot].id == 0 && !self.waiting.contains(slot);
        (0..depth).filter(idle).collect()
    }

    /// Returns whether both connections are lost or were never opened.
    pub fn is_gone(&self) -> bool {
        self.main.is_none() && self.binder.is_none()
    }
}
