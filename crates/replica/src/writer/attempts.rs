//! Results of password checks on their way into the order, as small writes whose result no client
//! waits for.
//!
//! Attempts on one entry that are added while the writer is busy become one write. A thread that
//! applies a password policy merges the attempts that its snapshot may lack, and adds its own
//! attempt before another thread applies the policy.
//!
//! Invariant: all attempts have different times, in ascending order.

use policy::{Attempt, AttemptKind};
use schema::Name;
use state::catalog::CONFIG_NAME;
use state::grant::Grant;
use state::write::{Change, Write};
use std::collections::HashMap;
use store::EntryId;

/// Maximum number of entries with waiting attempts. Only a blocked writer reaches it, and binds
/// must not fill the memory.
const ENTRIES_MAX: usize = 100_000;
/// Maximum number of waiting attempts on one entry.
const ATTEMPTS_MAX: usize = 256;

/// Attempts that are not in the store yet.
#[derive(Debug, Default)]
pub struct Attempts {
    collected: HashMap<EntryId, Noted>,
    /// Attempts that the writer has taken.
    ordered: HashMap<EntryId, Vec<Attempt>>,
    /// Attempts that are stored, for snapshots older than this version.
    settled: (u64, HashMap<EntryId, Vec<Attempt>>),
    /// The last time given.
    last_us: u64,
}

#[derive(Debug)]
struct Noted {
    name: Name,
    spelled: String,
    attempts: Vec<Attempt>,
}

impl Attempts {
    /// Whether no attempt waits for the writer.
    pub fn is_empty(&self) -> bool {
        self.collected.is_empty()
    }

    /// Whether attempts wait for the writer, and those that it has taken are executed: a storm of
    /// attempts becomes one write for each entry at a time.
    pub fn wait(&self) -> bool {
        !self.collected.is_empty() && self.ordered.is_empty()
    }

    /// A time that no attempt has: now, or a little later.
    pub fn time_us(&self, now_us: u64) -> u64 {
        now_us.max(self.last_us + 1)
    }

    /// Adds an attempt with such a time.
    pub fn add(&mut self, id: EntryId, name: &Name, spelled: &str, attempt: Attempt) {
        self.last_us = self.time_us(attempt.time_us);
        if self.collected.len() >= ENTRIES_MAX && !self.collected.contains_key(&id) {
            return;
        }
        let noted = self.collected.entry(id).or_insert_with(|| Noted {
            name: name.clone(),
            spelled: spelled.to_owned(),
            attempts: Vec::new(),
        });
        // A success clears all earlier failures, so only the last one is kept.
        if attempt.kind == AttemptKind::Succeeded {
            noted.attempts.retain(|it| it.kind == AttemptKind::Grace);
        }
        if noted.attempts.len() == ATTEMPTS_MAX {
            noted.attempts.remove(0);
        }
        noted.attempts.push(attempt);
    }

    /// The attempts on an entry that a snapshot of this version may lack.
    pub fn of(&self, id: EntryId, version: u64) -> Vec<Attempt> {
        let (settled_version, settled) = &self.settled;
        let settled = settled.get(&id).filter(|_| version < *settled_version);
        let ordered = settled.into_iter().chain(self.ordered.get(&id)).flatten();
        let collected = self.collected.get(&id).map(|it| &it.attempts);
        let collected = collected.into_iter().flatten();
        ordered.chain(collected).copied().collect()
    }

    /// Takes the waiting attempts as writes, in the order of entry ids: equal attempts make equal
    /// records.
    pub fn order(&mut self) -> impl Iterator<Item = Write> + use<> {
        let mut taken: Vec<(EntryId, Noted)> = self.collected.drain().collect();
        taken.sort_unstable_by_key(|it| it.0);
        for (id, noted) in &taken {
            self.ordered.insert(*id, noted.attempts.clone());
        }
        taken.into_iter().map(|(_, noted)| write_of(noted))
    }

    /// Whether the writer has taken attempts.
    pub fn are_ordered(&self) -> bool {
        !self.ordered.is_empty()
    }

    /// Marks the taken attempts as executed: snapshots from this version on have them.
    pub fn settle(&mut self, version: u64) {
        self.settled = (version, std::mem::take(&mut self.ordered));
    }
}

fn write_of(noted: Noted) -> Write {
    let grant = Grant::of_server(CONFIG_NAME.to_owned(), noted.name);
    Write::of_server(grant, noted.spelled, Change::Attempts(noted.attempts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use schema::Schema;

    fn attempt(kind: AttemptKind, time_us: u64) -> Attempt {
        Attempt { kind, time_us }
    }

    #[test]
    fn attempts_are_collected_and_seen_until_they_are_settled() {
        let schema = Schema::standard();
        let name = schema.resolve_name("uid=ada,dc=example").unwrap();
        let mut notes = Attempts::default();
        let id = EntryId(7);
        let add = |notes: &mut Attempts, kind, time_us| {
            let attempt = attempt(kind, notes.time_us(time_us));
            notes.add(id, &name, "uid=ada,dc=example", attempt);
        };
        let kinds = |notes: &Attempts, version| -> Vec<AttemptKind> {
            notes.of(id, version).iter().map(|it| it.kind).collect()
        };
        use AttemptKind::{Failed, Grace, Succeeded};
        add(&mut notes, Failed, 5);
        add(&mut notes, Failed, 5);
        let times: Vec<u64> = notes.of(id, 1).iter().map(|it| it.time_us).collect();
        assert_eq!(times, [5, 6]);
        assert_eq!(notes.order().count(), 1);
        assert!(notes.is_empty() && notes.are_ordered());
        add(&mut notes, Grace, 7);
        add(&mut notes, Failed, 8);
        add(&mut notes, Succeeded, 9);
        assert_eq!(kinds(&notes, 1), [Failed, Failed, Grace, Succeeded]);
        notes.settle(2);
        assert_eq!(kinds(&notes, 1), [Failed, Failed, Grace, Succeeded]);
        assert_eq!(kinds(&notes, 2), [Grace, Succeeded]);
    }
}
