//! Operational attributes for imported entries that have none.

use super::plan::Plan;
use state::time::{change_sequence_number, uuid_text};

/// Length of a change sequence number up to its counter.
const COUNTER_AT: usize = 23;

/// Stamps made by one worker.
#[derive(Debug)]
pub(super) struct Stamps {
    csn: String,
    counter: u32,
}

impl Stamps {
    pub fn new() -> Stamps {
        Stamps {
            csn: String::new(),
            counter: 0,
        }
    }

    /// Begins another piece, whose number gives its entries a microsecond of their own.
    pub fn begin(&mut self, plan: &Plan<'_>, piece: u64) {
        self.csn = change_sequence_number(plan.time_us + piece, 0, 0);
        self.counter = 0;
    }

    /// Moves to the next entry of the piece.
    pub fn next(&mut self) {
        const DIGITS: &[u8; 16] = b"0123456789abcdef";
        let mut digits = [0; 6];
        for (at, digit) in digits.iter_mut().enumerate() {
            *digit = DIGITS[(self.counter >> (20 - 4 * at)) as usize & 15];
        }
        self.counter += 1;
        let text = std::str::from_utf8(&digits).expect("hexadecimal digits are ASCII");
        self.csn.replace_range(COUNTER_AT..COUNTER_AT + 6, text);
    }

    /// Change sequence number of the current entry.
    pub fn csn(&self) -> &str {
        &self.csn
    }

    /// A new entryUUID.
    pub fn uuid(&self, plan: &Plan<'_>) -> String {
        uuid_text(&plan.options.clock.uuid())
    }
}
