//! How much of a long search is done before other connections get their turn.

use state::view::SLICE_US;
use std::time::{Duration, Instant};

/// A slice ends when it has put this many bytes into the output …
const BYTES: usize = 256 * 1024;
/// … or looked at this many entries or changes …
pub(crate) const TURNS: u32 = 2_048;
/// … or taken this long.
pub(crate) const TIME: Duration = Duration::from_micros(SLICE_US);
/// Entries between two looks at the clock. Most take less than a microsecond, and none takes long:
/// one that would is evaluated in slices of its own.
const TURNS_PER_LOOK: u32 = 8;

/// What may still be done.
pub(crate) struct Slice {
    turns: u32,
    end: usize,
    /// When the clock was looked at first.
    began: Option<Instant>,
}

impl Slice {
    /// A whole slice, which writes to the end of `out`.
    pub fn new(out: &[u8]) -> Slice {
        Slice {
            turns: TURNS,
            end: out.len() + BYTES,
            began: None,
        }
    }

    /// One more entry is looked at.
    #[inline]
    pub fn turn(&mut self) {
        self.turns = self.turns.saturating_sub(1);
        if self.turns.is_multiple_of(TURNS_PER_LOOK) {
            self.look();
        }
    }

    /// Ends the slice if its time is over, which begins with the first look.
    #[cold]
    fn look(&mut self) {
        let now = Instant::now();
        let began = *self.began.get_or_insert(now);
        if now - began >= TIME {
            self.end();
        }
    }

    /// The same, if the slice has room for it; false when it has not.
    pub fn step(&mut self, out: &[u8]) -> bool {
        let goes_on = !self.is_over() && !self.is_full(out);
        if goes_on {
            self.turn();
        }
        goes_on
    }

    /// Enough was done otherwise.
    pub fn end(&mut self) {
        self.turns = 0;
    }

    /// Enough entries were looked at.
    pub fn is_over(&self) -> bool {
        self.turns == 0
    }

    /// Enough has been said.
    pub fn is_full(&self, out: &[u8]) -> bool {
        out.len() >= self.end
    }
}
