//! A queue with turns by client address: a client that sends very much delays only itself.
//!
//! Invariant: a lane is in `turns` exactly once while it has waiting items, else not at all.

use std::collections::{HashMap, VecDeque};
use std::net::IpAddr;

use crate::network::party;

/// A group of clients that shares turns: an IPv4 address, an IPv6 network of 64 bits, whose
/// addresses one client may all have, or a user of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lane {
    /// An address, or a network.
    Address(IpAddr),
    /// A user by number; `None` if it is unknown.
    User(Option<u32>),
}

impl Lane {
    /// Returns the lane of a client at an address; `None` for a Unix socket, at whose other end is
    /// a user of this machine.
    pub fn of(address: Option<IpAddr>, user: Option<u32>) -> Lane {
        match address {
            None => Lane::User(user),
            Some(address) => Lane::Address(party(address)),
        }
    }
}

/// A bounded queue with a lane for each client.
#[derive(Debug)]
pub struct Queue<T> {
    lanes: HashMap<Lane, VecDeque<T>>,
    turns: VecDeque<Lane>,
    waiting: usize,
    max: usize,
}

impl<T> Queue<T> {
    /// A queue of at most `max` items.
    pub fn new(max: usize) -> Queue<T> {
        Queue {
            lanes: HashMap::new(),
            turns: VecDeque::new(),
            waiting: 0,
            max,
        }
    }

    /// Adds an item. If the queue is full, the last item of the longest lane gives up its place.
    /// Returns the item without a place, if any.
    pub fn push(&mut self, lane: Lane, item: T) -> Option<T> {
        let mut displaced = None;
        if self.waiting >= self.max {
            let own = self.lanes.get(&lane).map_or(0, VecDeque::len);
            let longest = self.lanes.iter().max_by_key(|(_, it)| it.len());
            match longest.map(|(lane, it)| (*lane, it.len())) {
                Some((longest, length)) if length > own + 1 => {
                    let last = self.lanes.get_mut(&longest).and_then(VecDeque::pop_back);
                    self.waiting -= 1;
                    displaced = last;
                }
                _ => return Some(item),
            }
        }
        self.go_on(lane, item);
        displaced
    }

    /// Returns an unfinished item after its turn; it keeps its place even in a full queue.
    pub fn go_on(&mut self, lane: Lane, item: T) {
        let items = self.lanes.entry(lane).or_default();
        if items.is_empty() {
            self.turns.push_back(lane);
        }
        items.push_back(item);
        self.waiting += 1;
    }

    /// The next item, from the lane whose turn it is; `None` if the queue is empty.
    pub fn pop(&mut self) -> Option<T> {
        let lane = self.turns.pop_front()?;
        let items = self.lanes.get_mut(&lane)?;
        let item = items.pop_front();
        match items.is_empty() {
            true => drop(self.lanes.remove(&lane)),
            false => self.turns.push_back(lane),
        }
        self.waiting -= 1;
        item
    }

    /// Removes all items of a lane, or of every lane, for which `leaves` is true.
    pub fn take(&mut self, lane: Option<Lane>, leaves: impl Fn(&T) -> bool) -> Vec<T> {
        let mut taken = Vec::new();
        let lanes = self.lanes.iter_mut();
        for (_, items) in lanes.filter(|(it, _)| lane.is_none_or(|lane| **it == lane)) {
            for item in std::mem::take(items) {
                match leaves(&item) {
                    true => taken.push(item),
                    false => items.push_back(item),
                }
            }
        }
        self.lanes.retain(|_, items| !items.is_empty());
        let lanes = &self.lanes;
        self.turns.retain(|it| lanes.contains_key(it));
        self.waiting -= taken.len();
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lane(number: u8) -> Lane {
        Lane::Address(IpAddr::from([192, 0, 2, number]))
    }

    fn rest(queue: &mut Queue<u32>) -> Vec<u32> {
        std::iter::from_fn(|| queue.pop()).collect()
    }

    #[test]
    fn addresses_have_turns() {
        let mut queue = Queue::new(100);
        for item in [10, 11, 12, 13] {
            assert_eq!(queue.push(lane(1), item), None);
        }
        assert_eq!(queue.pop(), Some(10));
        queue.push(lane(2), 20);
        queue.push(lane(3), 30);
        queue.push(lane(2), 21);
        assert_eq!(rest(&mut queue), [11, 20, 30, 12, 21, 13]);
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn a_full_queue_has_room_for_those_who_have_least() {
        let mut queue = Queue::new(4);
        for item in [10, 11, 12, 13] {
            assert_eq!(queue.push(lane(1), item), None);
        }
        assert_eq!(queue.push(lane(1), 14), Some(14));
        assert_eq!(queue.push(lane(2), 20), Some(13));
        assert_eq!(queue.push(lane(2), 21), Some(12));
        assert_eq!(queue.push(lane(2), 22), Some(22), "two and two are fair");
        assert!(
            queue
                .push(lane(3), 30)
                .is_some_and(|it| [11, 21].contains(&it))
        );
        assert_eq!(rest(&mut queue)[..3], [10, 20, 30]);
    }

    #[test]
    fn what_leaves_makes_room() {
        let mut queue = Queue::new(3);
        for (number, item) in [(1, 10), (1, 11), (2, 20)] {
            queue.push(lane(number), item);
        }
        assert_eq!(queue.take(Some(lane(1)), |it| *it != 11), [10]);
        assert_eq!(queue.take(Some(lane(3)), |_| true), [0; 0]);
        assert_eq!(queue.take(None, |it| *it == 20), [20]);
        queue.push(lane(2), 21);
        assert_eq!(rest(&mut queue), [11, 21]);
    }

    #[test]
    fn a_network_is_one_client() {
        let of = |text: &str| Lane::of(text.parse().ok(), None);
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_ne!(of("192.0.2.1"), of("192.0.2.2"));
        assert_eq!(Lane::of(None, None), Lane::User(None));
    }
}
