//! Slices: how much work a view does before it lets other requests go on, and the limits on work
//! that cannot be divided.

use super::served::Served;
use crate::progress::Progress;
use crate::stop::Stop;
use protocol::ResultCode;
use std::cell::Cell;

/// Maximum looks of all walks in one slice. One look takes about a microsecond, a slice two
/// milliseconds.
const LOOKS: u32 = 2_048;
/// Looks that finding the holders of one name costs.
pub(super) const LOOKS_PER_NAME: u32 = 4;
/// Maximum number of entries that one walk may visit; their ids take 100 MB at most.
pub(super) const MET_MAX: u64 = 32 << 20;
/// Maximum looks of one undivided walk for a client: less than a tenth of a second.
const UNDIVIDED_MAX: u64 = 65_536;
/// Maximum looks of one undivided walk without a client: during execution, import and check. It
/// must never be lowered: a log may hold writes that were executed under it.
const UNSERVED_MAX: u64 = 4 << 20;
/// How long one slice takes, in microseconds: so long may a short request wait behind each of them,
/// and a slice costs some microseconds by itself.
pub const SLICE_US: u64 = 150;

/// The work of one operation in its current slice.
#[derive(Default)]
pub(super) struct Pace<'a> {
    /// Time and memory; `None` where no client waits.
    pub served: Option<&'a dyn Served>,
    /// Looks taken in this slice.
    looks: Cell<u32>,
    /// Whether walks may continue in another slice.
    divided: Cell<bool>,
    /// Time of the first look at the clock in this slice; `None` before it.
    began_us: Cell<Option<u64>>,
}

impl Pace<'_> {
    /// Allows or forbids walks to continue in another slice.
    #[inline]
    pub fn divide(&self, divided: bool) {
        self.divided.set(divided);
    }

    /// Whether walks may continue in another slice.
    pub fn is_divided(&self) -> bool {
        self.divided.get()
    }

    /// Whether walks have used up this slice.
    #[inline]
    pub fn is_tired(&self) -> bool {
        self.looks.get() >= LOOKS
    }

    /// Runs work in one piece, whether or not walks may continue in another slice.
    #[inline]
    pub fn whole<T>(&self, work: impl FnOnce() -> Result<Progress<T>, Stop>) -> Result<T, Stop> {
        let divided = self.divided.replace(false);
        let done = work();
        self.divided.set(divided);
        match done? {
            Progress::Done(result) => Ok(result),
            Progress::Yield => unreachable!("only work that is divided yields"),
        }
    }

    /// Takes `looks` from the slice. Yields if none are left and walks are divided.
    pub fn look(&self, looks: u32) -> Progress<()> {
        let taken = self.looks.get();
        if taken >= LOOKS && self.divided.get() {
            return Progress::Yield;
        }
        self.looks.set(taken.saturating_add(looks));
        Progress::Done(())
    }

    /// Takes one look without stopping, for short work.
    #[inline]
    pub fn note_look(&self) {
        let taken = self.looks.get();
        self.looks.set(taken.saturating_add(1));
    }

    /// Whether this slice's time is used up; the time begins with the first call. Ends the slice
    /// for walks too.
    pub fn is_late(&self) -> bool {
        let Some(served) = self.served else {
            return false;
        };
        let now_us = served.steady_us();
        let began_us = self.began_us.get().unwrap_or(now_us);
        self.began_us.set(Some(began_us));
        let late = now_us.saturating_sub(began_us) >= SLICE_US;
        if late {
            self.looks.set(LOOKS);
        }
        late
    }

    /// Maximum looks of one walk.
    pub fn looks_max(&self) -> u64 {
        match self.divided.get() {
            true => MET_MAX,
            false => self.undivided_max(),
        }
    }

    fn undivided_max(&self) -> u64 {
        match self.served {
            Some(_) => UNDIVIDED_MAX,
            None => UNSERVED_MAX,
        }
    }

    /// Refuses an undivided walk that has taken too many looks.
    pub fn require_short(&self, looked: u64) -> Result<(), Stop> {
        match self.divided.get() {
            true => Ok(()),
            false => self.require_whole(looked),
        }
    }

    /// Refuses a walk in one piece that has taken too many looks.
    pub fn require_whole(&self, looked: u64) -> Result<(), Stop> {
        let most = self.undivided_max();
        if looked <= most {
            return Ok(());
        }
        Stop::refuse(
            ResultCode::ADMIN_LIMIT_EXCEEDED,
            format!(
                "what is asked about groups leads to more than {most} entries: only a search that \
                 is not followed goes through so many, in slices"
            ),
        )
    }

    /// Refuses, for clients, the evaluation of a filter that takes more than `most` units of work.
    pub fn require_light(&self, units: u32, most: u32) -> Result<(), Stop> {
        if units <= most || self.served.is_none() {
            return Ok(());
        }
        Stop::refuse(
            ResultCode::ADMIN_LIMIT_EXCEEDED,
            "the filter tests too many values of one entry to be evaluated at once: ask for less, \
             or search with it, which goes on in slices",
        )
    }
}
