//! A virtual client: its connections, and the slots of its requests in flight.

use std::collections::VecDeque;
use std::io;

use super::JobKind;
use super::connect::Stream;
use super::job::Jobs;

pub(crate) struct Slot {
    /// Message id of the request in flight; 0: none.
    pub id: i32,
    /// Position in `Jobs::kinds`.
    pub kind: usize,
    /// The request in flight is the bind of an auth.
    pub binding: bool,
    pub start_ns: i64,
    /// Started in the measured part.
    pub measured: bool,
    pub entries: u64,
    /// An entry had another name than it should.
    pub wrong_entry: bool,
    /// Name that is worked on; after the search of an auth, the name to bind as.
    pub dn: Vec<u8>,
}

pub(crate) struct Member {
    pub main: Option<Link>,
    pub binder: Option<Link>,
    pub slots: Vec<Slot>,
    /// Slots whose bind waits for the one in flight.
    pub waiting: VecDeque<usize>,
    /// Distinguishes requests that use the same slot.
    generation: i32,
    /// Has unsent octets and stands in `Client::dirty`.
    pub dirty: bool,
}

pub(crate) struct Link {
    pub stream: Stream,
    /// Octets before `sent` are sent.
    pub out: Vec<u8>,
    pub sent: usize,
    /// The begin of an answer whose end has not come yet.
    pub partial: Vec<u8>,
    /// The socket is full; epoll tells when it takes more.
    pub blocked: bool,
    /// A bind is in flight.
    pub busy: bool,
    /// Requests that still belong to the bundle announced last.
    pub bundle_left: u32,
}

impl Link {
    fn new(stream: Stream) -> Link {
        let (out, partial) = (Vec::new(), Vec::new());
        Link {
            stream,
            out,
            sent: 0,
            partial,
            blocked: false,
            busy: false,
            bundle_left: 0,
        }
    }

    /// Sends what there is; false when the socket is full before the end.
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
    pub fn new(main: Option<Stream>, binder: Option<Stream>, slots: usize) -> Member {
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
            main: main.map(Link::new),
            binder: binder.map(Link::new),
            slots: (0..slots.next_power_of_two()).map(slot).collect(),
            waiting: VecDeque::new(),
            generation: 0,
            dirty: false,
        }
    }

    /// One of the two connections, unless it was lost.
    pub fn link(&mut self, binder: bool) -> Option<&mut Link> {
        if binder {
            self.binder.as_mut()
        } else {
            self.main.as_mut()
        }
    }

    /// A message id for the next request of a slot; never 0.
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

    /// Gives one of the two connections up. Returns how many operations are lost with it, and calls
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
            // Binds that were never sent have no message id yet.
            let unsent = |slot: &&usize| !self.slots[**slot].binding;
            count += waiting.iter().filter(unsent).count() as u64;
        }
        count
    }

    /// Whether both connections are lost, or were never there.
    pub fn is_gone(&self) -> bool {
        self.main.is_none() && self.binder.is_none()
    }
}
