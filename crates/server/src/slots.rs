//! The connections of one serving thread by number, with their deadlines.
//!
//! Deadlines are counted in ticks of half a second and stored in one array, so that checking ten
//! thousand takes microseconds and setting one is a store.

use std::rc::Rc;

/// Ticks in a second.
pub const TICKS_PER_S: u64 = 2;

struct Slot<T> {
    /// Number of times the slot was filled; distinguishes completions of an earlier connection.
    generation: u32,
    connection: Option<Rc<T>>,
}

/// Connections by number.
pub struct Slots<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
    /// Deadlines in ticks by slot; 0 for none.
    deadlines: Vec<u64>,
    /// Number of deadlines that are not 0.
    timed: usize,
}

impl<T> Default for Slots<T> {
    fn default() -> Self {
        Slots {
            slots: Vec::new(),
            free: Vec::new(),
            deadlines: Vec::new(),
            timed: 0,
        }
    }
}

fn index(id: u64) -> usize {
    (id & u64::from(u32::MAX)) as usize
}

impl<T> Slots<T> {
    /// The number for the next [`Slots::fill`].
    pub fn next_id(&mut self) -> u64 {
        if self.free.is_empty() {
            self.free.push(self.slots.len() as u32);
            self.slots.push(Slot {
                generation: 0,
                connection: None,
            });
            self.deadlines.push(0);
        }
        let slot = *self.free.last().expect("one has just been pushed");
        let generation = self.slots[slot as usize].generation.wrapping_add(1);
        u64::from(generation) << 32 | u64::from(slot)
    }

    /// Stores a connection under the number from [`Slots::next_id`].
    pub fn fill(&mut self, id: u64, connection: Rc<T>) {
        let free = self.free.pop();
        assert_eq!(
            free.map(|it| it as usize),
            Some(index(id)),
            "next_id comes before fill"
        );
        let slot = &mut self.slots[index(id)];
        (slot.generation, slot.connection) = ((id >> 32) as u32, Some(connection));
    }

    /// The connection with this number; `None` if it was removed.
    pub fn find(&self, id: u64) -> Option<&Rc<T>> {
        let slot = self.slots.get(index(id))?;
        if slot.generation != (id >> 32) as u32 {
            return None;
        }
        slot.connection.as_ref()
    }

    /// Removes a connection.
    pub fn remove(&mut self, id: u64) {
        if self.find(id).is_some() {
            self.set_deadline(id, 0);
            self.slots[index(id)].connection = None;
            self.free.push(index(id) as u32);
        }
    }

    /// Sets the connection's deadline in ticks; 0 for none.
    pub fn set_deadline(&mut self, id: u64, tick: u64) {
        let deadline = &mut self.deadlines[index(id)];
        self.timed += usize::from(tick != 0);
        self.timed -= usize::from(*deadline != 0);
        *deadline = tick;
    }

    /// Whether any connection has a deadline.
    pub fn is_timed(&self) -> bool {
        self.timed > 0
    }

    /// The connections whose deadline has passed; their deadlines are cleared.
    pub fn expired(&mut self, now: u64) -> Vec<Rc<T>> {
        let mut expired = Vec::new();
        for (slot, deadline) in self.slots.iter().zip(&mut self.deadlines) {
            if *deadline != 0 && *deadline <= now {
                *deadline = 0;
                self.timed -= 1;
                expired.extend(slot.connection.clone());
            }
        }
        expired
    }

    /// All connections.
    pub fn all(&self) -> Vec<Rc<T>> {
        self.slots
            .iter()
            .filter_map(|it| it.connection.clone())
            .collect()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_not_used_again_for_another_connection() {
        let mut slots = Slots::default();
        let first = slots.next_id();
        slots.fill(first, Rc::new("first"));
        assert_eq!(slots.find(first).map(|it| **it), Some("first"));
        slots.remove(first);
        slots.remove(first);
        assert!(slots.find(first).is_none() && slots.is_empty());
        let second = slots.next_id();
        slots.fill(second, Rc::new("second"));
        assert_ne!(first, second);
        assert!(slots.find(first).is_none());
        assert_eq!(slots.find(second).map(|it| **it), Some("second"));
        assert!(slots.find(77).is_none());
        assert_eq!(slots.all().len(), 1);
    }

    #[test]
    fn deadlines_come_once() {
        let mut slots = Slots::default();
        let ids: Vec<u64> = (0..4)
            .map(|it| {
                let id = slots.next_id();
                slots.fill(id, Rc::new(it));
                id
            })
            .collect();
        slots.set_deadline(ids[1], 5);
        slots.set_deadline(ids[2], 6);
        slots.set_deadline(ids[3], 5);
        slots.set_deadline(ids[3], 0);
        assert!(slots.is_timed());
        assert!(slots.expired(4).is_empty());
        let expired: Vec<i32> = slots.expired(5).iter().map(|it| **it).collect();
        assert_eq!(expired, [1]);
        assert!(slots.expired(5).is_empty());
        slots.remove(ids[2]);
        assert!(!slots.is_timed());
    }
}
