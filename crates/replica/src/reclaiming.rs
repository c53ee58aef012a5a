//! Progress of work that deletes and renames left to later writes.

use std::time::Instant;

/// Numbers of entries of deleted subtrees that one record removes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sizes {
    /// Entries while no other write waits. A write that arrives meanwhile waits for the removal,
    /// some 50 ms.
    pub idle_entries: u32,
    /// Entries while other writes wait: the sync takes as long as the removal.
    pub busy_entries: u32,
}

impl Sizes {
    /// Sizes with which tests get several records from few entries.
    pub const SMALL: Sizes = Sizes {
        idle_entries: 4,
        busy_entries: 4,
    };
}

impl Default for Sizes {
    fn default() -> Sizes {
        Sizes {
            idle_entries: 512,
            busy_entries: 64,
        }
    }
}

/// Progress of the work.
#[derive(Debug)]
pub(crate) struct Reclaiming {
    sizes: Sizes,
    /// Whether work is left.
    left: bool,
    /// Whether the last attempt failed; the next one follows another write.
    stalled: bool,
    /// Whether the failure was logged.
    complained: bool,
    /// Whether other writes were executed since the last slice.
    busy: bool,
    /// Time when the work began; `None` if none is under way.
    since: Option<Instant>,
    entries: u64,
}

impl Reclaiming {
    pub fn new(sizes: Sizes) -> Reclaiming {
        Reclaiming {
            sizes,
            left: false,
            stalled: false,
            complained: false,
            busy: false,
            since: None,
            entries: 0,
        }
    }

    /// Whether the writer should continue the work when no write waits.
    pub fn is_due(&self) -> bool {
        self.left && !self.stalled
    }

    /// Begins a slice; returns the maximum number of entries that it removes.
    pub fn begin_slice(&mut self, others_wait: bool) -> u32 {
        let busy = std::mem::replace(&mut self.busy, others_wait) || others_wait;
        match busy {
            true => self.sizes.busy_entries,
            false => self.sizes.idle_entries,
        }
    }

    /// Notes a slice that succeeded and left work.
    pub fn went_on(&mut self) {
        self.complained = false;
    }

    /// Notes that a slice failed; returns whether it is the first since one succeeded.
    pub fn stall(&mut self) -> bool {
        self.stalled = true;
        !std::mem::replace(&mut self.complained, true)
    }

    /// Allows another attempt after a successful write.
    pub fn try_again(&mut self) {
        self.stalled = false;
    }

    /// Updates the progress after a commit.
    pub fn note(&mut self, left_work: bool, reclaimed: u32) {
        if left_work {
            self.begin();
        }
        self.entries += u64::from(reclaimed);
    }

    /// Notes that work is left.
    pub fn begin(&mut self) {
        self.left = true;
        self.since.get_or_insert_with(Instant::now);
    }

    /// Notes and logs that no work is left.
    pub fn end(&mut self) {
        let seconds = self.since.map_or(0.0, |it| it.elapsed().as_secs_f64());
        match self.entries {
            0 => tracing::info!(seconds, "what former writes left is done"),
            entries => {
                tracing::info!(
                    entries,
                    seconds,
                    "the entries of deleted subtrees are removed"
                );
            }
        }
        *self = Reclaiming::new(self.sizes);
    }
}
