//! Makes entries of the node equal to those of the old server. Applying an entry twice changes
//! nothing.
//!
//! Entries are found by `entryUUID`, so a rename is applied as a rename, with the entries below.
//! During a refresh the old server sends entries in an order of its own: an entry that cannot be
//! applied yet (its superior is missing, or it has subordinates) waits until others have been
//! applied.
//!
//! Ordinary changes of different entries are sent without waiting, and become durable together. A
//! refused change is tried again alone, with all means to resolve the conflict.

use super::edits::edits;
use super::entry::{Entry, Uuid, uuid_text};
use super::here::{Edit, Here, Write, split};
use super::rejects::Rejects;
use super::selection::{Attributes, Selection};
use super::trouble::Trouble;
use crate::report::note;
use protocol::{ChangeOperation, LdapResult, MessageId, ResultCode};
use schema::Name;
use std::collections::{HashMap, HashSet};

/// Maximum number of changes sent without a result.
const SENT_MAX: usize = 256;
/// Times that must not be in the future.
const TIMES: [&str; 2] = ["createTimestamp", "modifyTimestamp"];

/// Numbers of entries applied.
#[derive(Debug, Default, Clone, Copy)]
pub struct Counts {
    /// Entries added.
    pub added: u64,
    /// Entries changed, renamed or not.
    pub changed: u64,
    /// Entries deleted.
    pub deleted: u64,
    /// Entries that were equal already.
    pub same: u64,
}

/// Applies entries to the node.
pub struct Applier {
    /// The node.
    pub here: Here,
    selection: Selection,
    bases: Vec<String>,
    /// Writer of entries that the node refuses.
    pub rejects: Rejects,
    sent: Vec<Sent>,
    waiting: Vec<(Uuid, Entry)>,
    leaving: Vec<Uuid>,
    /// Numbers of entries applied.
    pub counts: Counts,
    /// Entries at their final place, during a refresh; `None` otherwise.
    placed: Option<HashSet<Uuid>>,
    /// Whether an unknown definition stops the migration, to read the schema again, instead of
    /// rejecting the entry.
    pub asks_for_schema: bool,
}

/// A change without a result yet.
struct Sent {
    id: MessageId,
    uuid: Uuid,
    what: What,
}

/// The purpose of a change.
enum What {
    Add(Entry),
    Change(Entry),
    Remove,
}

/// Result of applying an entry.
enum Done {
    Yes,
    /// Another entry must be applied first; the node's message.
    Later(String),
    No(String),
    /// The node lacks one of its attribute types or object classes.
    Unknown(String),
}

impl Applier {
    /// Applies entries below these bases.
    pub fn new(here: Here, selection: Selection, bases: Vec<String>, rejects: Rejects) -> Applier {
        Applier {
            here,
            selection,
            bases,
            rejects,
            sent: Vec::new(),
            waiting: Vec::new(),
            leaving: Vec::new(),
            counts: Counts::default(),
            placed: None,
            asks_for_schema: false,
        }
    }

    /// Begins or ends a refresh, in which the old server sends entries in any order.
    pub fn set_refreshing(&mut self, refreshing: bool) {
        match refreshing {
            true => drop(self.placed.get_or_insert_default()),
            false => self.placed = None,
        }
    }

    fn has_its_place(&mut self, uuid: Uuid) {
        if let Some(placed) = &mut self.placed {
            placed.insert(uuid);
        }
    }

    /// The resolved name under the node's schema; `None` if it cannot be resolved.
    fn name(&self, dn: &str) -> Option<Name> {
        self.selection.schema().resolve_name(dn).ok()
    }

    /// Makes the entry equal to the old server's, now or later.
    pub fn put(&mut self, uuid: Uuid, entry: Entry) -> Result<(), Trouble> {
        self.make_room(&uuid)?;
        let wanted = self.wanted(&uuid, &entry);
        let id = match self.find(&uuid)? {
            None => self.here.send(&Write::Add(&entry.dn, &wanted))?,
            Some(found) if self.name(&found.dn) == self.name(&entry.dn) => {
                let edits = self.edits(&found, &wanted);
                if edits.is_empty() {
                    self.counts.same += 1;
                    self.has_its_place(uuid);
                    return Ok(());
                }
                let id = self.here.send(&Write::Modify(&found.dn, &edits))?;
                self.sent.push(Sent {
                    id,
                    uuid,
                    what: What::Change(entry),
                });
                return Ok(());
            }
            Some(_) => {
                self.flush()?;
                return self.put_now(uuid, entry);
            }
        };
        self.sent.push(Sent {
            id,
            uuid,
            what: What::Add(entry),
        });
        Ok(())
    }

    /// Deletes the entry if it exists, now or later.
    pub fn remove(&mut self, uuid: Uuid) -> Result<(), Trouble> {
        self.make_room(&uuid)?;
        if let Some(found) = self.find(&uuid)? {
            let id = self.here.send(&Write::Delete(&found.dn))?;
            let what = What::Remove;
            self.sent.push(Sent { id, uuid, what });
        }
        Ok(())
    }

    /// Waits for results, so that at most one change of an entry, and a limited number of all
    /// changes, is under way.
    fn make_room(&mut self, uuid: &Uuid) -> Result<(), Trouble> {
        match self.sent.len() >= SENT_MAX || self.sent.iter().any(|it| it.uuid == *uuid) {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Waits until all changes are durable, and applies refused ones again.
    pub fn flush(&mut self) -> Result<(), Trouble> {
        let mut results = HashMap::with_capacity(self.sent.len());
        while results.len() < self.sent.len() {
            let (id, result) = self.here.receive()?;
            results.insert(id, result.code);
        }
        // Waits for all results first, because they must be known before names change.
        let mut refused = Vec::new();
        for it in std::mem::take(&mut self.sent) {
            if results.get(&it.id) != Some(&ResultCode::SUCCESS) {
                refused.push(it);
                continue;
            }
            match it.what {
                What::Add(_) => self.counts.added += 1,
                What::Change(_) => self.counts.changed += 1,
                What::Remove => self.counts.deleted += 1,
            }
            self.has_its_place(it.uuid);
        }
        for Sent { uuid, what, .. } in refused {
            match what {
                What::Add(entry) | What::Change(entry) => self.put_now(uuid, entry)?,
                What::Remove => self.remove_now(uuid)?,
            }
        }
        Ok(())
    }

    fn put_now(&mut self, uuid: Uuid, entry: Entry) -> Result<(), Trouble> {
        match self.bring(&uuid, &entry)? {
            Done::Yes => {
                self.has_its_place(uuid);
                Ok(())
            }
            Done::Later(_) => {
                self.waiting.push((uuid, entry));
                Ok(())
            }
            Done::Unknown(_) if self.asks_for_schema => Err(Trouble::Schema),
            Done::No(reason) | Done::Unknown(reason) => self.reject(&entry, &reason),
        }
    }

    fn remove_now(&mut self, uuid: Uuid) -> Result<(), Trouble> {
        match self.take_away(&uuid)? {
            Done::Yes => Ok(()),
            Done::Later(_) => {
                self.leaving.push(uuid);
                Ok(())
            }
            Done::No(reason) | Done::Unknown(reason) => {
                let dn = format!("entryUUID={}", uuid_text(&uuid));
                let attributes = Vec::new();
                self.reject(&Entry { dn, attributes }, &reason)
            }
        }
    }

    /// Whether no entry waits for another.
    pub fn is_settled(&self) -> bool {
        self.sent.is_empty() && self.waiting.is_empty() && self.leaving.is_empty()
    }

    /// Applies waiting entries that can be applied now. With `finally`, the others are rejected.
    pub fn settle(&mut self, finally: bool) -> Result<(), Trouble> {
        if self.waiting.is_empty() && self.leaving.is_empty() {
            return Ok(());
        }
        loop {
            let before = self.waiting.len() + self.leaving.len();
            if before == 0 {
                return Ok(());
            }
            for (uuid, entry) in std::mem::take(&mut self.waiting) {
                self.put_now(uuid, entry)?;
            }
            for uuid in std::mem::take(&mut self.leaving) {
                self.remove_now(uuid)?;
            }
            if self.waiting.len() + self.leaving.len() == before {
                break;
            }
        }
        if !finally {
            return Ok(());
        }
        for (uuid, entry) in std::mem::take(&mut self.waiting) {
            match self.bring(&uuid, &entry)? {
                Done::Yes => {}
                Done::Later(reason) | Done::No(reason) | Done::Unknown(reason) => {
                    self.reject(&entry, &reason)?
                }
            }
        }
        for uuid in std::mem::take(&mut self.leaving) {
            if let Some(entry) = self.find(&uuid)? {
                let attributes = Vec::new();
                let gone = Entry {
                    dn: entry.dn,
                    attributes,
                };
                self.reject(
                    &gone,
                    "deleted on the old server, but the entry has subordinates on the node",
                )?;
            }
        }
        Ok(())
    }

    /// Deletes all entries below a base that the old server did not mention. `mentioned` is sorted.
    pub fn sweep(&mut self, base: &str, mentioned: &[Uuid]) -> Result<(), Trouble> {
        if mentioned.is_empty() {
            return match self.here.is_empty(base)? {
                true => Ok(()),
                false => Err(Trouble::refused(format!(
                    "{base}: the old server returned no entry; no entry is deleted here"
                ))),
            };
        }
        let inner: Vec<Name> = self.inner_bases(base);
        let mut gone: Vec<(usize, Uuid)> = Vec::new();
        let schema = self.selection.schema().clone();
        // Some servers do not mention subentries.
        self.here.each(base, false, &["entryUUID"], |entry| {
            let missing = entry
                .uuid()
                .filter(|it| mentioned.binary_search(it).is_err());
            if let (Some(uuid), Ok(name)) = (missing, schema.resolve_name(&entry.dn))
                && !inner.iter().any(|it| name.is_within(it))
            {
                gone.push((name.depth(), uuid));
            }
            Ok(())
        })?;
        // Subordinates are deleted before their superiors.
        gone.sort_unstable_by(|one, other| other.cmp(one));
        for (_, uuid) in gone {
            self.remove(uuid)?;
        }
        self.flush()
    }

    /// Bases below this one, which have refreshes of their own.
    fn inner_bases(&self, base: &str) -> Vec<Name> {
        let Some(outer) = self.name(base) else {
            return Vec::new();
        };
        let names = self.bases.iter().filter_map(|it| self.name(it));
        let below = |it: &Name| it.depth() > outer.depth() && it.is_within(&outer);
        names.filter(below).collect()
    }

    fn reject(&mut self, entry: &Entry, reason: &str) -> Result<(), Trouble> {
        note(format_args!("refused: {}: {reason}", entry.dn));
        let put = self.rejects.put(entry, reason);
        put.map_err(|error| {
            let path = self.rejects.path.display();
            Trouble::refused(format!("{path}: {error}"))
        })
    }

    fn find(&mut self, uuid: &Uuid) -> Result<Option<Entry>, Trouble> {
        for base in &self.bases {
            if let Some(found) = self.here.find(base, uuid)? {
                return Ok(Some(found));
            }
        }
        Ok(None)
    }

    fn take_away(&mut self, uuid: &Uuid) -> Result<Done, Trouble> {
        let Some(found) = self.find(uuid)? else {
            return Ok(Done::Yes);
        };
        let result = self.here.write(&Write::Delete(&found.dn))?;
        Ok(match result.code {
            ResultCode::SUCCESS => {
                self.counts.deleted += 1;
                Done::Yes
            }
            ResultCode::NO_SUCH_OBJECT => Done::Yes,
            ResultCode::NOT_ALLOWED_ON_NON_LEAF => Done::Later(said(&result)),
            _ => Done::No(said(&result)),
        })
    }

    /// The attributes that the entry should have on the node.
    fn wanted(&mut self, uuid: &Uuid, entry: &Entry) -> Attributes {
        let mut wanted = self.selection.wanted(entry);
        let text = uuid_text(uuid).into_bytes();
        wanted.insert("entryUUID".into(), vec![text]);
        wanted
    }

    fn bring(&mut self, uuid: &Uuid, entry: &Entry) -> Result<Done, Trouble> {
        let wanted = self.wanted(uuid, entry);
        match self.find(uuid)? {
            None => self.add(&entry.dn, &wanted),
            Some(found) => self.change(found, &entry.dn, &wanted),
        }
    }

    fn add(&mut self, dn: &str, wanted: &Attributes) -> Result<Done, Trouble> {
        let mut result = self.add_tolerant(dn, wanted)?;
        if result.code == ResultCode::ENTRY_ALREADY_EXISTS {
            let Some(other) = self.here.read(dn)? else {
                return Ok(Done::Later(said(&result)));
            };
            let is_base = self.bases.iter().any(|it| self.name(it) == self.name(dn));
            if is_base {
                // The entry exists already, whatever created it.
                return self.adjust(&other, wanted);
            }
            self.set_aside(&other)?;
            result = self.add_tolerant(dn, wanted)?;
        }
        Ok(self.done(&result, |counts| counts.added += 1))
    }

    /// Adds the entry; if it is refused because the old server's clock is ahead, without its times.
    fn add_tolerant(&mut self, dn: &str, wanted: &Attributes) -> Result<LdapResult, Trouble> {
        let result = self.here.write(&Write::Add(dn, wanted))?;
        if result.code != ResultCode::CONSTRAINT_VIOLATION {
            return Ok(result);
        }
        let mut without = wanted.clone();
        without.retain(|name, _| !TIMES.contains(&&**name));
        self.here.write(&Write::Add(dn, &without))
    }

    fn change(&mut self, found: Entry, dn: &str, wanted: &Attributes) -> Result<Done, Trouble> {
        if self.name(&found.dn) == self.name(dn) {
            return self.adjust(&found, wanted);
        }
        self.keep_places_below(&found)?;
        let mut result = self.here.write(&Write::Rename(&found.dn, dn))?;
        if result.code == ResultCode::ENTRY_ALREADY_EXISTS
            && let Some(other) = self.here.read(dn)?
        {
            self.set_aside(&other)?;
            result = self.here.write(&Write::Rename(&found.dn, dn))?;
        }
        if result.code != ResultCode::SUCCESS {
            return Ok(self.done(&result, |_| {}));
        }
        let Some(renamed) = self.here.read(dn)? else {
            return Ok(Done::Later(
                "another client has renamed the entry".to_owned(),
            ));
        };
        self.adjust(&renamed, wanted)
    }

    /// Frees the name of an entry that was renamed or deleted on the old server, which will report
    /// it later.
    fn set_aside(&mut self, other: &Entry) -> Result<(), Trouble> {
        self.keep_places_below(other)?;
        let (rdn, superior) = split(&other.dn);
        let attribute = rdn.split('=').next().unwrap_or("cn").trim();
        let mark = other
            .uuid()
            .map_or_else(|| "aside".to_owned(), |it| uuid_text(&it));
        let aside = format!("{attribute}={mark},{superior}");
        let result = self.here.write(&Write::Rename(&other.dn, &aside))?;
        if result.code != ResultCode::SUCCESS {
            // The node does not allow such a value. The old server sends the entry again, if it
            // still exists.
            self.here.write(&Write::Delete(&other.dn))?;
        }
        Ok(())
    }

    /// Handles entries below a name whose entry leaves it. Entries already placed below that name
    /// belong to the next entry of that name, and are restored then; the other entries move with
    /// the entry.
    fn keep_places_below(&mut self, leaving: &Entry) -> Result<(), Trouble> {
        let Some(placed) = &mut self.placed else {
            return Ok(());
        };
        let own = leaving.uuid();
        let waiting = &mut self.waiting;
        self.here.each(&leaving.dn, false, &["*", "+"], |entry| {
            let uuid = entry.uuid().filter(|it| Some(*it) != own);
            if let Some(uuid) = uuid.filter(|it| placed.remove(it)) {
                waiting.push((uuid, entry));
            }
            Ok(())
        })
    }

    /// Gives an entry the attributes it should have.
    fn adjust(&mut self, found: &Entry, wanted: &Attributes) -> Result<Done, Trouble> {
        let mut edits = self.edits(found, wanted);
        if edits.is_empty() {
            self.counts.same += 1;
            return Ok(Done::Yes);
        }
        let mut result = self.here.write(&Write::Modify(&found.dn, &edits))?;
        if result.code == ResultCode::CONSTRAINT_VIOLATION {
            edits.retain(|(_, name, _)| !TIMES.contains(&&**name));
            result = self.here.write(&Write::Modify(&found.dn, &edits))?;
        }
        Ok(self.done(&result, |counts| counts.changed += 1))
    }

    /// The changes that make the entry equal; empty if it is equal already.
    fn edits(&mut self, found: &Entry, wanted: &Attributes) -> Vec<Edit> {
        let has = self.selection.writable(found);
        let mut edits = edits(&has, wanted);
        if edits.is_empty() {
            return edits;
        }
        // A change would otherwise set these to the present time and the administrator.
        for name in ["modifyTimestamp", "modifiersName"] {
            let given = edits.iter().any(|(_, it, _)| &**it == name);
            if let (false, Some(values)) = (given, wanted.get(name)) {
                edits.push((ChangeOperation::Replace, name.into(), values.clone()));
            }
        }
        edits
    }

    fn done(&mut self, result: &LdapResult, count: impl FnOnce(&mut Counts)) -> Done {
        match result.code {
            ResultCode::SUCCESS => {
                count(&mut self.counts);
                Done::Yes
            }
            ResultCode::NO_SUCH_OBJECT
            | ResultCode::ENTRY_ALREADY_EXISTS
            | ResultCode::UNWILLING_TO_PERFORM => Done::Later(said(result)),
            ResultCode::UNDEFINED_ATTRIBUTE_TYPE => Done::Unknown(said(result)),
            ResultCode::INVALID_ATTRIBUTE_SYNTAX if is_unknown_class(result) => {
                Done::Unknown(said(result))
            }
            _ => Done::No(said(result)),
        }
    }
}

/// Whether a refusal is for an unknown object class, for which RFC 4511 has no result code of its
/// own.
fn is_unknown_class(result: &LdapResult) -> bool {
    result.diagnostic.contains("unknown object class")
}

/// A refusal as a sentence.
fn said(result: &LdapResult) -> String {
    match result.diagnostic.as_str() {
        "" => result.code.name().to_owned(),
        text => format!("{text} ({})", result.code.name()),
    }
}
