//! State of a compaction, shared by its thread, the writer and the monitor.

use super::online::Ready;
use protocol::ResultCode;
use state::stop::{Failure, Refusal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::Retired;

/// Time between two checks whether the writer must still wait, in case a signal is lost.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Stage of a compaction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Stage {
    /// Requested; the writer has not begun it yet.
    Begins,
    /// Copying: `done` of `total` bytes.
    Copies,
    /// Comparing the tables of the copy with the snapshot.
    Compares,
    /// Executing records written meanwhile: `done` of `total` bytes of the log.
    CatchesUp,
    /// Waiting for searches that still read the old file.
    GivesBack,
    /// Ended successfully.
    Done,
    /// Cancelled.
    Cancelled,
    /// Failed, for this reason.
    Failed(String),
}

impl Stage {
    /// The stage in words, for people and for programs that wait for the end.
    pub fn text(&self) -> String {
        match self {
            Stage::Begins => "beginning".to_owned(),
            Stage::Copies => "copying".to_owned(),
            Stage::Compares => "comparing".to_owned(),
            Stage::CatchesUp => "catching up".to_owned(),
            Stage::GivesBack => "giving the old file back".to_owned(),
            Stage::Done => "done".to_owned(),
            Stage::Cancelled => "cancelled".to_owned(),
            Stage::Failed(why) => format!("failed: {why}"),
        }
    }
}

/// State of the current compaction, or result of the last one.
#[derive(Debug, Clone)]
pub struct Shown {
    /// The present stage.
    pub stage: Stage,
    /// Bytes of `total` done in this stage.
    pub done: u64,
    /// Bytes of this stage; 0 for a stage without a measure.
    pub total: u64,
    /// Size of the database file in bytes before compaction.
    pub before: u64,
    /// Size of the copy in bytes; 0 until it is in use.
    pub after: u64,
    /// Time in microseconds for which the writer executed no writes.
    pub pause_us: u64,
}

/// Result of offering a copy to the writer.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// The copy is in use.
    Replaced(Retired),
    /// The copy lacks data that take long to make, such as an index.
    Again(Box<Ready>),
    Failed(Failure),
}

/// State of all compactions of a directory, which run one after the other.
#[derive(Debug, Default)]
pub(crate) struct Compaction {
    under_way: AtomicBool,
    cancelled: AtomicBool,
    talk: Mutex<Talk>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct Talk {
    /// Whether a compaction is requested and not begun.
    wanted: bool,
    shown: Option<Shown>,
    /// Offset up to which log records may be executed.
    end: u64,
    /// Bytes of records committed since the beginning, and bytes executed on the copy.
    appended: u64,
    executed: u64,
    /// Maximum bytes that the copy may lack before the writer waits; `None` if the writer does not
    /// wait.
    behind_max: Option<u64>,
    ready: Option<Box<Ready>>,
    verdict: Option<Verdict>,
}

impl Compaction {
    /// Requests a compaction; `before` is the size of the file in bytes. The caller wakes the
    /// writer.
    pub fn ask(&self, before: u64) -> Result<(), Refusal> {
        let mut talk = self.talk();
        if self.under_way.swap(true, Ordering::SeqCst) {
            let text = "the database is being compacted already";
            return Err(Refusal::new(ResultCode::UNWILLING_TO_PERFORM, text));
        }
        self.cancelled.store(false, Ordering::SeqCst);
        *talk = Talk {
            wanted: true,
            shown: Some(Shown {
                stage: Stage::Begins,
                done: 0,
                total: 0,
                before,
                after: 0,
                pause_us: 0,
            }),
            ..Talk::default()
        };
        Ok(())
    }

    /// Whether a compaction is requested or under way.
    #[inline]
    pub fn is_under_way(&self) -> bool {
        self.under_way.load(Ordering::SeqCst)
    }

    /// Cancels the compaction as soon as possible; returns `false` if there is none.
    pub fn cancel(&self) -> bool {
        self.cancelled.store(true, Ordering::SeqCst);
        let _talk = self.talk();
        self.moved.notify_all();
        self.is_under_way()
    }

    /// # Errors
    /// [`Failure::Cancelled`]
    pub fn go_on(&self) -> Result<(), Failure> {
        match self.cancelled.load(Ordering::SeqCst) {
            true => Err(Failure::Cancelled),
            false => Ok(()),
        }
    }

    /// State of the last compaction; `None` if there was none.
    pub fn shown(&self) -> Option<Shown> {
        self.talk().shown.clone()
    }

    /// Changes the state that the monitor shows.
    pub fn show(&self, change: impl FnOnce(&mut Shown)) {
        if let Some(shown) = &mut self.talk().shown {
            change(shown);
        }
    }

    /// Records the end of the compaction; the thread holds no resource any more.
    pub fn ended(&self, stage: Stage) {
        let mut talk = self.talk();
        if let Some(shown) = &mut talk.shown {
            shown.stage = stage;
        }
        let shown = talk.shown.take();
        *talk = Talk {
            shown,
            ..Talk::default()
        };
        self.under_way.store(false, Ordering::SeqCst);
        self.moved.notify_all();
    }

    /// Waits at most `patience` until no compaction is under way.
    pub fn await_end(&self, patience: Duration) {
        let until = Instant::now() + patience;
        let mut talk = self.talk();
        while self.is_under_way() {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return;
            }
            let waited = self.moved.wait_timeout(talk, left);
            talk = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Writer: takes the request to begin a compaction.
    pub fn take_wanted(&self) -> bool {
        std::mem::take(&mut self.talk().wanted)
    }

    /// Writer: records that a record of `bytes` was committed and the log may be executed up to
    /// `end`.
    #[inline]
    pub fn appended(&self, bytes: u64, end: u64) {
        if self.is_under_way() {
            let mut talk = self.talk();
            talk.appended += bytes;
            talk.end = end;
        }
    }

    /// Writer: waits while the copy lacks too much.
    #[inline]
    pub fn keep_pace(&self) {
        if self.is_under_way() {
            self.wait_for_copy();
        }
    }

    #[cold]
    fn wait_for_copy(&self) {
        let mut talk = self.talk();
        while let Some(max) = talk.behind_max
            && talk.behind() > max
            && self.go_on().is_ok()
        {
            let waited = self.moved.wait_timeout(talk, LOOK_AGAIN);
            talk = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Thread: the offset up to which the log may be executed.
    pub fn end(&self) -> u64 {
        self.talk().end
    }

    /// Thread: records that a record of `bytes` was executed.
    pub fn executed(&self, bytes: u64) {
        let mut talk = self.talk();
        talk.executed += bytes;
        if let Some(shown) = &mut talk.shown {
            shown.done += bytes;
        }
        if talk.behind_max.is_some() {
            self.moved.notify_all();
        }
    }

    /// Thread: number of bytes that the copy lacks.
    pub fn behind(&self) -> u64 {
        let mut talk = self.talk();
        let appended = talk.appended;
        if let Some(shown) = &mut talk.shown {
            shown.total = appended;
        }
        talk.behind()
    }

    /// Thread: makes the writer wait while the copy lacks more than `behind_max` bytes.
    pub fn hold_writer(&self, behind_max: u64) {
        self.talk().behind_max = Some(behind_max);
    }

    /// Thread: offers the copy and calls `call` to wake the writer. Returns the writer's verdict.
    ///
    /// # Errors
    /// [`Failure::Cancelled`] before the writer has taken the copy.
    pub fn offer(&self, ready: Box<Ready>, call: impl FnOnce()) -> Result<Verdict, Failure> {
        self.talk().ready = Some(ready);
        call();
        let mut talk = self.talk();
        loop {
            if let Some(verdict) = talk.verdict.take() {
                return Ok(verdict);
            }
            if talk.ready.is_some() && self.go_on().is_err() {
                talk.ready = None;
                return Err(Failure::Cancelled);
            }
            let waited = self.moved.wait_timeout(talk, LOOK_AGAIN);
            talk = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Writer: takes an offered copy; `None` if there is none.
    pub fn take_ready(&self) -> Option<Box<Ready>> {
        if !self.is_under_way() {
            return None;
        }
        self.talk().ready.take()
    }

    /// Writer: returns the verdict.
    pub fn decide(&self, verdict: Verdict) {
        self.talk().verdict = Some(verdict);
        self.moved.notify_all();
    }

    fn talk(&self) -> MutexGuard<'_, Talk> {
        self.talk.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Talk {
    fn behind(&self) -> u64 {
        self.appended.saturating_sub(self.executed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_at_a_time_and_another_after_it() {
        let compaction = Compaction::default();
        assert!(!compaction.cancel());
        assert!(compaction.ask(100).is_ok());
        let refused = compaction.ask(100).expect_err("one is under way");
        assert_eq!(refused.code, ResultCode::UNWILLING_TO_PERFORM);
        assert!(compaction.take_wanted() && !compaction.take_wanted());
        assert!(compaction.cancel() && compaction.go_on().is_err());
        compaction.ended(Stage::Cancelled);
        compaction.await_end(Duration::from_secs(60));
        let shown = compaction.shown().expect("there was one");
        assert_eq!(
            (shown.stage.text().as_str(), shown.before),
            ("cancelled", 100)
        );
        assert!(compaction.ask(200).is_ok() && compaction.go_on().is_ok());
    }

    #[test]
    fn the_writer_waits_for_a_copy_that_is_far_behind() {
        let compaction = Compaction::default();
        compaction.ask(0).expect("none is under way");
        compaction.appended(1_000, 7);
        compaction.keep_pace();
        assert_eq!((compaction.end(), compaction.behind()), (7, 1_000));
        compaction.hold_writer(300);
        std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                compaction.keep_pace();
                compaction.behind()
            });
            compaction.executed(600);
            compaction.executed(300);
            assert!(writer.join().expect("no panic") <= 300);
        });
    }
}
