//! Records of a cluster's log that are executed in one transaction.

use super::follow::{Fate, Following, Settled};
use crate::changes::Outcome;
use crate::commit_log::{DIGEST_EVERY, LogEvent, LogRecord};
use crate::equality;
use crate::payload::{self, Head};
use arc_swap::ArcSwap;
use policy::rehash::Rehashed;
use state::apply::{Applied, Occasion, apply};
use state::catalog::{self, Catalog};
use state::concerned::Concerned;
use state::lanes::Verdict;
use state::record::{self, DecodedWrites, Logged, LoggedContent, LoggedHead};
use state::stop::Failure;
use state::trail::Audited;
use state::write::Record;
use std::sync::Arc;
use store::{Batch, EntryId, Journal, Store};

/// A transaction and the records executed in it.
pub(super) struct Group<'g> {
    journal: &'g mut Journal,
    /// The catalog under which the transaction began.
    before: &'g Arc<Catalog>,
    /// The catalog after a record that changed it. No other record follows in this transaction.
    after: Option<Catalog>,
    batch: Batch<'g>,
    following: Following,
    keeps_changes: bool,
    done: Done,
}

/// What a transaction did.
#[derive(Default)]
pub(super) struct Done {
    /// Number of events.
    pub events: usize,
    /// Number of changes; 0 if the transaction only notes a place in the log.
    pub changed: u32,
    /// Number of entries of detached subtrees that were removed.
    pub reclaimed: u32,
    /// Bytes of the records.
    pub bytes: u64,
    /// The version of the store before the commit.
    pub version: u64,
    /// Accounts whose connections are to be judged again.
    pub concerned: Concerned,
    /// Passwords that were stored in another form.
    pub rehashed: Vec<Rehashed>,
    /// Whether work was left to later writes.
    pub left_work: bool,
    /// Dynamic entries that were written, with their ends in seconds since 1970.
    pub ending: Vec<(u64, EntryId)>,
    /// Records for the kept changes; empty if none are kept.
    pub kept: Vec<Kept>,
    /// Lines of the audit, one item for each record that has some.
    pub audited: Vec<Audited>,
    /// The ends of this process's bundles.
    pub settled: Vec<Settled>,
    writes: usize,
}

/// A record for the kept changes.
pub(super) struct Kept {
    pub position: u64,
    pub content: Vec<u8>,
    pub outcome: Outcome,
}

/// What to do with a record.
enum Task {
    /// Execute writes.
    Execute(Content),
    /// Store a part of writes.
    Store(u32, Vec<u8>),
    /// Nothing, for this reason.
    Nothing(Reason),
}

/// The writes of a record.
struct Content {
    writes: DecodedWrites,
    /// The writes as encoded.
    encoded: Vec<u8>,
}

enum Reason {
    /// The configuration changed after the writes were resolved.
    Outdated,
    /// Parts of the writes are missing.
    Incomplete,
}

impl<'g> Group<'g> {
    /// Begins a transaction.
    pub fn begin(
        store: &'g Store,
        before: &'g Arc<Catalog>,
        journal: &'g mut Journal,
        following: &Following,
    ) -> Result<Group<'g>, Failure> {
        let batch = store.begin(&before.indexes)?;
        let done = Done {
            version: batch.snapshot().version(),
            ..Done::default()
        };
        Ok(Group {
            journal,
            before,
            after: None,
            batch,
            following: following.clone(),
            keeps_changes: false,
            done,
        })
    }

    /// Sets whether records are collected for the kept changes.
    pub fn keeps_changes(&mut self, keeps: bool) {
        self.keeps_changes = keeps;
    }

    /// Number of writes so far.
    pub fn writes(&self) -> usize {
        self.done.writes
    }

    /// Number of events handled so far.
    pub fn events(&self) -> usize {
        self.done.events
    }

    /// Whether the next record needs another transaction.
    pub fn is_closed(&self) -> bool {
        self.after.is_some()
    }

    /// Place of the last record in this node's own log.
    pub fn relayed(&self) -> u64 {
        self.following.relayed
    }

    /// Handles an event.
    pub fn take(&mut self, event: &LogEvent) -> Result<(), Failure> {
        match event {
            LogEvent::Reached(place) => self.following.lanes.place = *place,
            LogEvent::Refused { number, reason } => {
                self.settle(Some(*number), Fate::Refused(reason.clone()));
            }
            LogEvent::Record(record) => self.take_record(record)?,
        }
        self.done.events += 1;
        Ok(())
    }

    fn take_record(&mut self, record: &LogRecord) -> Result<(), Failure> {
        match self.following.lanes.verdict(&record.origin) {
            Verdict::Next => {}
            Verdict::Skip => {
                self.following.lanes.place = record.place;
                return Ok(());
            }
            Verdict::Gap(expected) => {
                let error = format!("record {expected} of its lane is missing before it");
                return Err(unusable(record, &error));
            }
        }
        let (head, chunk) = payload::decode(&record.payload).map_err(|it| unusable(record, &it))?;
        match self.task(record, &head, chunk)? {
            Task::Execute(content) => self.execute(record, &head, &content)?,
            Task::Store(index, bytes) => {
                let partial = &mut self.following.partial;
                partial.put(&mut self.batch, &record.origin, index, &bytes)?;
                let content = LoggedContent::Part {
                    index,
                    bytes: &bytes,
                };
                let head = self.logged_head(record, self.following.time_us)?;
                self.relay(&head, content)?;
            }
            Task::Nothing(reason) => {
                let head = self.logged_head(record, self.following.time_us)?;
                self.relay(&head, LoggedContent::Nothing)?;
                let fate = match reason {
                    Reason::Outdated => Fate::Outdated,
                    Reason::Incomplete => {
                        Fate::Refused("a part of it is not in the log: send it again".to_owned())
                    }
                };
                self.settle(record.own, fate);
            }
        }
        self.following.lanes.note(&record.origin, record.place);
        Ok(())
    }

    fn task(&mut self, record: &LogRecord, head: &Head, chunk: &[u8]) -> Result<Task, Failure> {
        if !head.is_last() {
            return Ok(Task::Store(head.part, chunk.to_vec()));
        }
        let origin = &record.origin;
        let partial = &mut self.following.partial;
        let whole = match head.parts {
            1 => {
                partial.drop_all(&mut self.batch, origin)?;
                None
            }
            count => match partial.take(&mut self.batch, origin, count - 1)? {
                Some(mut earlier) => {
                    earlier.extend_from_slice(chunk);
                    Some(earlier)
                }
                None => return Ok(Task::Nothing(Reason::Incomplete)),
            },
        };
        if head.configuration != self.following.lanes.configuration {
            return Ok(Task::Nothing(Reason::Outdated));
        }
        let encoded = payload::decompress(whole.as_deref().unwrap_or(chunk));
        let encoded = encoded.map_err(|it| unusable(record, &it))?;
        let writes = record::decode_writes(&encoded, &self.before.schema);
        let writes = writes.map_err(|it| unusable(record, &it))?;
        writes.require_known_level()?;
        Ok(Task::Execute(Content { writes, encoded }))
    }

    fn execute(
        &mut self,
        logged: &LogRecord,
        head: &Head,
        content: &Content,
    ) -> Result<(), Failure> {
        let Content { writes, encoded } = content;
        let time_us = head.time_us.max(self.following.time_us + 1);
        let logged_head = self.logged_head(logged, time_us)?;
        let record = Record {
            position: logged_head.position,
            time_us,
            units: writes.units(),
        };
        let config = &self.before.config;
        let configures = writes.all.iter().any(|it| it.configures(config));
        // A change of the configuration is refused after it was made, and then rolled back.
        let savepoint = configures.then(|| self.batch.save()).transpose()?;
        let applied = apply(&mut self.batch, self.before, &record, Occasion::Again)?;
        self.done.writes += writes.all.len();
        match savepoint {
            Some(savepoint) if applied.changed == 0 => self.batch.roll_back(savepoint)?,
            Some(savepoint) => self.batch.release(savepoint)?,
            None => {}
        }
        if applied.changed == 0 {
            self.relay(&logged_head, LoggedContent::Nothing)?;
            let position = logged_head.position - 1;
            let results = applied.results;
            self.settle(logged.own, Fate::Executed { results, position });
            return Ok(());
        }
        let content = self.relay(&logged_head, LoggedContent::Writes(encoded))?;
        if self.keeps_changes {
            self.done.kept.push(Kept {
                position: record.position,
                outcome: Outcome::of(&record, &applied, content.len()),
                content,
            });
        }
        self.note(logged, &record, applied)
    }

    /// Notes what an executed record changed.
    fn note(
        &mut self,
        logged: &LogRecord,
        record: &Record<'_>,
        applied: Applied,
    ) -> Result<(), Failure> {
        let Record {
            position, time_us, ..
        } = *record;
        self.following.position = position;
        self.following.time_us = time_us;
        if applied.configuration {
            self.following.lanes.configuration = position;
        }
        self.following.lanes.note(&logged.origin, logged.place);
        if position.is_multiple_of(DIGEST_EVERY) {
            let digest = equality::digest(&self.batch.snapshot(), &self.following.lanes)?;
            self.following.digest = (position, digest);
        }
        let done = &mut self.done;
        done.changed += applied.changed;
        done.reclaimed += applied.reclaimed;
        done.concerned.join(&applied.concerned);
        done.rehashed.extend(applied.rehashed);
        done.left_work |= applied.left_work;
        done.ending.extend(applied.ending);
        done.audited.extend(applied.audited);
        self.after = applied.catalog;
        let results = applied.results;
        self.settle(logged.own, Fate::Executed { results, position });
        Ok(())
    }

    fn logged_head(&self, record: &LogRecord, time_us: u64) -> Result<LoggedHead, Failure> {
        let snapshot = self.batch.snapshot();
        Ok(LoggedHead {
            position: snapshot.position()? + 1,
            time_us,
            digest: snapshot.digest()?,
            logged: Logged {
                place: record.place,
                origin: record.origin,
            },
        })
    }

    /// Adds a record to this node's own log, unless an earlier attempt did. Returns the record.
    fn relay(&mut self, head: &LoggedHead, content: LoggedContent<'_>) -> Result<Vec<u8>, Failure> {
        let mut encoded = Vec::new();
        record::encode_logged(head, content, &mut encoded);
        let place = head.logged.place;
        if place > self.following.relayed {
            self.journal.relay(&encoded)?;
            self.following.relayed = place;
            self.done.bytes += encoded.len() as u64;
        }
        Ok(encoded)
    }

    fn settle(&mut self, own: Option<u64>, fate: Fate) {
        let settled = own.map(|number| Settled { number, fate });
        self.done.settled.extend(settled);
    }

    /// Passwords that were stored in another form so far.
    pub fn rehashed(&self) -> &[Rehashed] {
        &self.done.rehashed
    }

    /// Commits the transaction, after publishing the catalog that it needs.
    pub fn commit(mut self, catalog: &ArcSwap<Catalog>) -> Result<(Done, Following), Failure> {
        self.following.lanes.store(&mut self.batch)?;
        // Before the commit, so that no reader meets an attribute number its catalog cannot name.
        if let Some(next) = self.after {
            catalog::publish(catalog, next);
        }
        self.batch.commit()?;
        Ok((self.done, self.following))
    }
}

fn unusable(record: &LogRecord, error: &str) -> Failure {
    let place = record.place;
    Failure::Store(store::Error::CorruptLog {
        detail: format!(
            "the record at place {place} of the cluster's log cannot be executed: {error}"
        ),
    })
}
