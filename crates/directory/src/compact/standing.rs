//! What the thread that compacts a served database, the writer and those who watch tell each other.

use super::online::Ready;
use protocol::ResultCode;
use state::stop::{Failure, Refusal};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use store::Retired;

/// Between two looks whether the writer must still wait, should a call be lost.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// What a compaction is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage {
    /// The writer has not taken note of it yet.
    Begins,
    /// `done` bytes of `total` are copied.
    Copies,
    /// All tables of the copy are compared with each other.
    Compares,
    /// What was written meanwhile is executed on the copy: `done` bytes of `total` in the log.
    CatchesUp,
    /// Searches that began before still read the old file.
    GivesBack,
    /// Ended well.
    Done,
    /// Somebody wanted it no more.
    Cancelled,
    /// Ended for this reason.
    Failed(String),
}

impl Stage {
    /// For people, and for programs that wait for the end.
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

/// How the compaction stands that is under way, or how the last one ended.
#[derive(Debug, Clone)]
pub(crate) struct Shown {
    pub stage: Stage,
    /// Bytes of `total` that the stage has behind it.
    pub done: u64,
    pub total: u64,
    /// Bytes of the file before and, at the end, afterwards.
    pub before: u64,
    pub after: u64,
    /// How long the writer stood still for the replacement.
    pub pause_us: u64,
}

/// What the writer made of a copy that was ready.
#[derive(Debug)]
pub(crate) enum Verdict {
    /// It is in use.
    Replaced(Retired),
    /// It lacks something that takes long: an index, for example.
    Again(Box<Ready>),
    Failed(Failure),
}

/// Of all compactions of a directory, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Compaction {
    under_way: AtomicBool,
    cancelled: AtomicBool,
    talk: Mutex<Talk>,
    moved: Condvar,
}

#[derive(Debug, Default)]
struct Talk {
    /// Asked for, and the writer has not begun it.
    wanted: bool,
    shown: Option<Shown>,
    /// Up to where the log may be executed.
    end: u64,
    /// Bytes of records committed since the beginning, and executed on the copy.
    appended: u64,
    executed: u64,
    /// The writer waits while the copy is behind by more bytes; `None`: it does not.
    behind_max: Option<u64>,
    ready: Option<Box<Ready>>,
    verdict: Option<Verdict>,
}

impl Compaction {
    /// Asks for one; `before` are the bytes of the file. The writer has to be called.
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

    /// Whether one was asked for or is under way.
    #[inline]
    pub fn is_under_way(&self) -> bool {
        self.under_way.load(Ordering::SeqCst)
    }

    /// Gives it up as soon as that is possible; `false` if there is none.
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

    /// How it stands; `None` if there never was one.
    pub fn shown(&self) -> Option<Shown> {
        self.talk().shown.clone()
    }

    /// Tells those who watch.
    pub fn show(&self, change: impl FnOnce(&mut Shown)) {
        if let Some(shown) = &mut self.talk().shown {
            change(shown);
        }
    }

    /// It has ended, and its thread holds nothing any more.
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

    /// Waits until none is under way, but not for ever.
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

    /// The writer: whether one is to be begun.
    pub fn take_wanted(&self) -> bool {
        std::mem::take(&mut self.talk().wanted)
    }

    /// The writer: a record of so many bytes was committed, the log may be executed up to `end`.
    #[inline]
    pub fn appended(&self, bytes: u64, end: u64) {
        if self.is_under_way() {
            let mut talk = self.talk();
            talk.appended += bytes;
            talk.end = end;
        }
    }

    /// The writer: waits while the copy is too far behind.
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

    /// The thread: up to where the log may be executed.
    pub fn end(&self) -> u64 {
        self.talk().end
    }

    /// The thread: a record of so many bytes was executed.
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

    /// The thread: how many bytes the copy is behind.
    pub fn behind(&self) -> u64 {
        let mut talk = self.talk();
        let appended = talk.appended;
        if let Some(shown) = &mut talk.shown {
            shown.total = appended;
        }
        talk.behind()
    }

    /// The thread: the writer is to wait while the copy is behind by more.
    pub fn hold_writer(&self, behind_max: u64) {
        self.talk().behind_max = Some(behind_max);
    }

    /// The thread: the copy is ready. Returns what the writer, which `call` calls, makes of it.
    ///
    /// # Errors
    /// [`Failure::Cancelled`] before the writer has begun with it.
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

    /// The writer: a copy that is ready.
    pub fn take_ready(&self) -> Option<Box<Ready>> {
        if !self.is_under_way() {
            return None;
        }
        self.talk().ready.take()
    }

    /// The writer: what came of it.
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
