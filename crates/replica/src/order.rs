//! The order of a node alone: the places of records in it.
//!
//! The nodes of a cluster have one order instead, that of a
//! [`CommitLog`](crate::commit_log::CommitLog).

use state::stop::Failure;
use state::write::{Record, Unit};

/// Gives records their place.
pub(crate) trait Order: Send {
    /// Gives the units their place in the order. When it returns, that place is final.
    ///
    /// # Errors
    /// No unit has a place in the order.
    fn append<'w>(&mut self, units: Vec<Unit<'w>>, time_us: u64) -> Result<Record<'w>, Failure>;

    /// Removes the last record, which was not executed because its transaction failed: its place is
    /// free again.
    fn forget(&mut self, position: u64);
}

/// The order of a single node: the order of arrival.
#[derive(Debug)]
pub(crate) struct LocalOrder {
    position: u64,
    time_us: u64,
}

impl LocalOrder {
    /// Continues after the last position and time found in the store.
    pub fn new(position: u64, time_us: u64) -> LocalOrder {
        LocalOrder { position, time_us }
    }

    /// Position of the last record.
    pub fn position(&self) -> u64 {
        self.position
    }
}

impl Order for LocalOrder {
    fn append<'w>(&mut self, units: Vec<Unit<'w>>, time_us: u64) -> Result<Record<'w>, Failure> {
        self.position += 1;
        self.time_us = time_us.max(self.time_us + 1);
        Ok(Record {
            position: self.position,
            time_us: self.time_us,
            units,
        })
    }

    fn forget(&mut self, position: u64) {
        debug_assert_eq!(
            position, self.position,
            "only the last record can be forgotten"
        );
        self.position = position - 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_dense_and_time_never_goes_back() {
        let mut log = LocalOrder::new(4, 1_000);
        let first = log.append(Vec::new(), 500).expect("local");
        assert_eq!((first.position, first.time_us), (5, 1_001));
        log.forget(5);
        let again = log.append(Vec::new(), 9_000).expect("local");
        assert_eq!((again.position, again.time_us), (5, 9_000));
    }
}
