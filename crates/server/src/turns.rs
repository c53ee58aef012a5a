//! Order of turns on a serving thread.
//!
//! Work that takes longer than a slice waits here for each further slice: parked searches,
//! following searches with news, connections with more requests than fit into their turn. After
//! each turn, sockets are polled and short requests are answered. Turns go round by purse, not by
//! connection, so that ten connections of one identity get no more of the thread than one.

use std::collections::{HashMap, VecDeque};

/// Items that wait for a turn.
pub struct Turns<T> {
    /// Purses with waiting items, each once.
    order: VecDeque<u64>,
    waiting: HashMap<u64, VecDeque<T>>,
}

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Turns {
            order: VecDeque::new(),
            waiting: HashMap::new(),
        }
    }
}

impl<T> Turns<T> {
    /// Adds an item behind all others of its purse.
    pub fn push(&mut self, purse: u64, it: T) {
        let own = self.waiting.entry(purse).or_default();
        if own.is_empty() {
            self.order.push_back(purse);
        }
        own.push_back(it);
    }

    /// Takes the item whose turn is next; `None` if none waits.
    pub fn pop(&mut self) -> Option<T> {
        let purse = self.order.pop_front()?;
        let own = self.waiting.get_mut(&purse)?;
        let next = own.pop_front();
        if own.is_empty() {
            self.waiting.remove(&purse);
        } else {
            self.order.push_back(purse);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_go_round_by_purse() {
        let mut turns = Turns::default();
        for it in ["a1", "a2", "a3"] {
            turns.push(1, it);
        }
        turns.push(2, "b1");
        assert_eq!(turns.pop(), Some("a1"));
        turns.push(1, "a1 again");
        turns.push(3, "c1");
        let rest: Vec<&str> = std::iter::from_fn(|| turns.pop()).collect();
        assert_eq!(rest, ["b1", "a2", "c1", "a3", "a1 again"]);
        assert!(turns.order.is_empty() && turns.waiting.is_empty());
    }
}
