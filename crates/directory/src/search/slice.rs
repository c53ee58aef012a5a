//! Amount of work of a long search before other connections have their turn.

use state::view::SLICE_US;
use std::time::{Duration, Instant};

/// A slice ends when it has put this many bytes into the output …
const BYTES: usize = 256 * 1024;
/// … or looked at this many entries or changes …
pub(crate) const TURNS: u32 = 2_048;
/// … or taken this long. A short request may wait so long behind each slice; a slice itself costs
/// some microseconds.
pub(crate) const TIME: Duration = Duration::from_micros(SLICE_US);
/// Entries between two looks at the clock. Most entries take less than a microsecond; one that
/// would take long is evaluated in slices of its own.
const TURNS_PER_LOOK: u32 = 8;

/// The work left in a slice.
pub(crate) struct Slice {
    turns: u32,
    end: usize,
    /// Time of the first look at the clock; `None` before it.
    began: Option<Instant>,
}

impl Slice {
    /// A new slice, whose output is counted from the end of `out`.
    pub fn new(out: &[u8]) -> Slice {
        Slice {
            turns: TURNS,
            end: out.len() + BYTES,
            began: None,
        }
    }

    /// Counts one more entry as looked at.
    #[inline]
    pub fn turn(&mut self) {
        self.turns = self.turns.saturating_sub(1);
        if self.turns.is_multiple_of(TURNS_PER_LOOK) {
            self.look();
        }
    }

    /// Ends the slice if its time is over. The time begins with the first look.
    #[cold]
    fn look(&mut self) {
        let now = Instant::now();
        let began = *self.began.get_or_insert(now);
        if now - began >= TIME {
            self.end();
        }
    }

    /// Like `turn`, if the slice is not over; returns false if it is.
    pub fn step(&mut self, out: &[u8]) -> bool {
        let goes_on = !self.is_over() && !self.is_full(out);
        if goes_on {
            self.turn();
        }
        goes_on
    }

    /// Ends the slice, because other work has used it up.
    pub fn end(&mut self) {
        self.turns = 0;
    }

    /// Whether enough entries were looked at, or the time is over.
    pub fn is_over(&self) -> bool {
        self.turns == 0
    }

    /// Whether the slice is over, or the output holds enough bytes.
    pub fn is_full(&self, out: &[u8]) -> bool {
        out.len() >= self.end
    }
}
