//! Snapshots: reading one state of the directory.

mod missing;
mod walk;

pub(crate) use walk::Sight;

use std::cell::RefCell;
use std::collections::HashSet;

use schema::{AttributeNumber, DictionaryRow, Name};
use xxhash_rust::xxh3::Xxh3;

use crate::containers::{Container, Containers};
use crate::entry::EntryView;
use crate::entry_store::EntryTree;
use crate::error::Error;
use crate::id::EntryId;
use crate::index::posting;
use crate::index_set::IndexState;
use crate::lmdb::{Row, Statistics, Transaction};
use crate::state::{INDEX_PREFIX, STATE_KEY, State, decode_index, value_key};
use crate::tables::{NameKey, Tables, count_of_value, id_key, id_of_name};
use walk::{Children, Entries};

/// A snapshot of the directory. It is cheap to copy; its rows are borrowed from the map.
#[derive(Debug, Clone, Copy)]
pub struct Snapshot<'a> {
    pub(crate) transaction: &'a Transaction,
    pub(crate) tables: &'a Tables,
    containers: &'a RefCell<Containers>,
    pub(crate) pending: Option<&'a Pending>,
    version: u64,
}

/// Changes of a batch that are not written to the tables yet.
#[derive(Debug)]
pub(crate) struct Pending {
    pub state: State,
    pub postings: posting::Pending,
}

/// The result of looking up a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// The entry of the name; [`EntryId::ROOT`] for the empty name.
    Found(EntryId),
    /// No entry has the name.
    Missing {
        /// The nearest superior that exists; [`EntryId::ROOT`] if there is none.
        matched: EntryId,
        /// Number of RDNs of the name, from the top, that make up the superior's name.
        depth: usize,
    },
}

/// The entries in the scope of a search (RFC 4511 §4.5.1.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Region {
    /// Id of the base entry.
    pub base: EntryId,
    /// Scope of the region.
    pub scope: RegionScope,
}

/// The scope of a region relative to its base.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegionScope {
    /// The base only.
    Base,
    /// The children of the base.
    OneLevel,
    /// The base and all its subordinates.
    Subtree,
    /// All subordinates of the base.
    Subordinates,
}

/// Number of levels of the tree at most. A database with more is damaged: it has a cycle.
const DEPTH_MAX: usize = 100_000;

impl<'a> Snapshot<'a> {
    pub(crate) fn new(
        transaction: &'a Transaction,
        tables: &'a Tables,
        containers: &'a RefCell<Containers>,
        pending: Option<&'a Pending>,
        version: u64,
    ) -> Snapshot<'a> {
        Snapshot {
            transaction,
            tables,
            containers,
            pending,
            version,
        }
    }

    /// Id of the snapshot: equal ids mean equal states.
    #[inline]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns an entry, unless it is missing or detached.
    ///
    /// # Errors
    /// Errors of LMDB; [`Error::Corrupt`] for a row that cannot be read.
    #[inline]
    pub fn entry(&self, id: EntryId) -> Result<Option<EntryView<'a>>, Error> {
        let stored = self.stored_entry(id)?;
        if self.validate()? {
            return self.unless_detached(stored);
        }
        Ok(stored)
    }

    /// Returns an entry, detached or not; `None` if it is missing.
    ///
    /// # Errors
    /// The errors of [`Snapshot::entry`].
    #[inline]
    pub fn stored_entry(&self, id: EntryId) -> Result<Option<EntryView<'a>>, Error> {
        self.entries()
            .get(self.transaction, id)?
            .map(EntryView::new)
            .transpose()
    }

    /// Returns the child of an entry with this normalised RDN. Naming contexts stand below
    /// [`EntryId::ROOT`] under their whole normalised name.
    ///
    /// # Errors
    /// Errors of LMDB.
    #[inline]
    pub fn child(&self, parent: EntryId, rdn: &[u8]) -> Result<Option<EntryId>, Error> {
        let key = NameKey::new(parent, rdn);
        let value = self.transaction.get(self.tables.name, key.bytes())?;
        value
            .map(|value| id_of_name(key.bytes(), value))
            .transpose()
    }

    /// Looks up a name. With its superior in the container cache this is one search of one tree.
    ///
    /// # Errors
    /// Errors of LMDB.
    #[inline]
    pub fn find(&self, name: &Name) -> Result<Lookup, Error> {
        let depth = name.depth();
        if depth > 0 {
            self.validate()?;
            // The base of a search is most often a cached container: then no tree is searched at
            // all.
            if let Some(id) = self.containers.borrow().by_name(name.bytes()) {
                return Ok(Lookup::Found(id));
            }
        }
        if depth > 1 {
            let superior = self
                .containers
                .borrow()
                .by_name(name.prefix_bytes(depth - 1));
            if let Some(superior) = superior
                && let Some(id) = self.child(superior, name.rdn(depth - 1))?
            {
                return Ok(Lookup::Found(id));
            }
        }
        self.walk_down(name)
    }

    fn walk_down(&self, name: &Name) -> Result<Lookup, Error> {
        let depth = name.depth();
        let mut at = EntryId::ROOT;
        let mut matched = (EntryId::ROOT, 0);
        for level in 1..=depth {
            let below = match at {
                EntryId::ROOT => None,
                at => self.child(at, name.rdn(level - 1))?,
            };
            if below.is_some() {
                // The entry has a child, so it may be cached.
                self.validate()?;
                let superior = name.prefix_bytes(level - 1);
                self.containers.borrow_mut().remember_name(superior, at);
            }
            // A naming context may stand below a name without an entry.
            at = match below {
                Some(below) => below,
                None => self
                    .child(EntryId::ROOT, name.prefix_bytes(level))?
                    .unwrap_or(EntryId::ROOT),
            };
            if !at.is_root() {
                matched = (at, level);
            }
        }
        if matched.1 == depth {
            if !matched.0.is_root() && self.child_count(matched.0)? > 0 {
                self.validate()?;
                let mut containers = self.containers.borrow_mut();
                containers.remember_name(name.bytes(), matched.0);
            }
            return Ok(Lookup::Found(matched.0));
        }
        match matched {
            (EntryId::ROOT, _) => {
                for level in 1..=depth {
                    self.require_no_name(EntryId::ROOT, name.prefix_bytes(level))?;
                }
            }
            (superior, level) => self.require_no_name(superior, name.rdn(level))?,
        }
        Ok(Lookup::Missing {
            matched: matched.0,
            depth: matched.1,
        })
    }

    /// Iterates over the children of an entry, in the order of their normalised RDNs.
    ///
    /// # Errors
    /// Each item: an error of LMDB.
    pub fn children(
        &self,
        parent: EntryId,
    ) -> impl Iterator<Item = Result<EntryId, Error>> + use<'a> {
        Children::new(*self, parent)
    }

    /// Number of children of an entry; for [`EntryId::ROOT`] the number of naming contexts.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn child_count(&self, parent: EntryId) -> Result<u64, Error> {
        let value = self.transaction.get(self.tables.count, &id_key(parent))?;
        value.map_or(Ok(0), count_of_value)
    }

    /// Iterates over the entries with ids greater than `after`, by id.
    ///
    /// # Errors
    /// Each item: an error of LMDB; [`Error::Corrupt`] for a row that cannot be read.
    pub fn entries_after(
        &self,
        id: EntryId,
    ) -> impl Iterator<Item = Result<(EntryId, EntryView<'a>), Error>> + use<'a> {
        self.entries_range(EntryId(id.0.saturating_add(1)), EntryId(u64::MAX))
    }

    /// Iterates over the entries with ids from `from` to `to`, both included, by id.
    ///
    /// # Errors
    /// The errors of [`Snapshot::entries_after`].
    pub fn entries_range(
        &self,
        from: EntryId,
        to: EntryId,
    ) -> impl Iterator<Item = Result<(EntryId, EntryView<'a>), Error>> + use<'a> {
        self.scan(from, to, Sight::Visible)
    }

    /// Iterates over the entries with ids from `from` on by id, detached ones included.
    pub(crate) fn stored_entries_from(
        &self,
        from: EntryId,
    ) -> impl Iterator<Item = Result<(EntryId, EntryView<'a>), Error>> + use<'a> {
        self.scan(from, EntryId(u64::MAX), Sight::Stored)
    }

    /// Reads every entry, those of deleted subtrees included, while `wanted` returns true: calls
    /// `damaged` for each damaged entry, and returns the number of damaged entries that the state
    /// counts.
    ///
    /// # Errors
    /// Errors of LMDB; [`Error::Cancelled`].
    pub fn read_all(
        &self,
        wanted: &dyn Fn() -> bool,
        damaged: &mut dyn FnMut(EntryId),
    ) -> Result<(u64, u64), Error> {
        const WANTED_EVERY: u64 = 1_024;
        let mut met = 0;
        for row in self.stored_entries_from(EntryId(1)) {
            match row {
                Ok(_) => {}
                Err(Error::DamagedEntry { id }) => damaged(id),
                Err(error) => return Err(error),
            }
            met += 1;
            if met % WANTED_EVERY == 0 && !wanted() {
                return Err(Error::Cancelled);
            }
        }
        Ok((met, self.state()?.entries))
    }

    /// Iterates over the entries with ids from `from` to `to`, both included, that `sight` selects.
    pub(crate) fn scan(
        &self,
        from: EntryId,
        to: EntryId,
        sight: Sight,
    ) -> impl Iterator<Item = Result<(EntryId, EntryView<'a>), Error>> + use<'a> {
        Entries::new(*self, from, to, sight)
    }

    /// Number of stored entries, detached ones included.
    ///
    /// # Errors
    /// Errors of LMDB; [`Error::Corrupt`] for a state row that cannot be read.
    pub fn entry_count(&self) -> Result<u64, Error> {
        Ok(self.state()?.entries)
    }

    /// The greatest id ever given.
    ///
    /// # Errors
    /// The errors of [`Snapshot::entry_count`].
    pub fn last_id(&self) -> Result<EntryId, Error> {
        Ok(EntryId(self.state()?.next_id.saturating_sub(1)))
    }

    /// Log position of the last change.
    ///
    /// # Errors
    /// The errors of [`Snapshot::entry_count`].
    pub fn position(&self) -> Result<u64, Error> {
        Ok(self.state()?.position)
    }

    /// Digest of all entries: equal for equal states.
    ///
    /// # Errors
    /// The errors of [`Snapshot::entry_count`].
    pub fn digest(&self) -> Result<u128, Error> {
        Ok(self.state()?.digest)
    }

    /// Number of changes that invalidate cached containers: renames and moves of entries with
    /// children, and losses of a last child.
    ///
    /// # Errors
    /// The errors of [`Snapshot::entry_count`].
    pub fn rename_counter(&self) -> Result<u64, Error> {
        Ok(self.state()?.rename_counter)
    }

    /// Returns a small named value of the crates above.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn meta(&self, key: &[u8]) -> Result<Option<&'a [u8]>, Error> {
        self.transaction.get(self.tables.meta, &value_key(key))
    }

    /// Returns name and value of the first small value whose name begins with `prefix`.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn first_meta(&self, prefix: &[u8]) -> Result<Option<Row<'a>>, Error> {
        let (prefix, none) = (value_key(prefix), value_key(&[]));
        let mut cursor = self.transaction.cursor(self.tables.meta)?;
        let row = cursor.seek(&prefix)?;
        let row = row.filter(|(key, _)| key.starts_with(&prefix));
        Ok(row.and_then(|(key, value)| Some((key.strip_prefix(none.as_slice())?, value))))
    }

    /// Returns name and value of every small value whose name begins with `prefix`, in the order of
    /// names.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn metas(&self, prefix: &[u8]) -> Result<Vec<Row<'a>>, Error> {
        let (prefix, none) = (value_key(prefix), value_key(&[]));
        let mut cursor = self.transaction.cursor(self.tables.meta)?;
        let mut rows = Vec::new();
        let mut row = cursor.seek(&prefix)?;
        while let Some((key, value)) = row.filter(|(key, _)| key.starts_with(&prefix)) {
            rows.extend(key.strip_prefix(none.as_slice()).map(|key| (key, value)));
            row = cursor.next()?;
        }
        Ok(rows)
    }

    /// Returns the attribute dictionary.
    ///
    /// # Errors
    /// Errors of LMDB; [`Error::Corrupt`] for a row that cannot be read.
    pub fn dictionary(&self) -> Result<Vec<DictionaryRow>, Error> {
        let damaged = || Error::corrupt("dictionary", "a row cannot be read");
        let mut cursor = self.transaction.cursor(self.tables.dictionary)?;
        let mut rows = Vec::new();
        while let Some((key, value)) = cursor.next()? {
            let number = u16::from_be_bytes(key.try_into().map_err(|_| damaged())?);
            let text = std::str::from_utf8(value)
                .map_err(|_| damaged())?
                .to_owned();
            rows.push(DictionaryRow {
                number: AttributeNumber(number),
                text,
            });
        }
        Ok(rows)
    }

    /// Returns the stored state of each index.
    ///
    /// # Errors
    /// Errors of LMDB; [`Error::Corrupt`] for a row that cannot be read.
    pub fn index_states(&self) -> Result<Vec<IndexState>, Error> {
        let mut cursor = self.transaction.cursor(self.tables.meta)?;
        let mut states = Vec::new();
        let mut row = cursor.seek(INDEX_PREFIX)?;
        while let Some((key, value)) = row.filter(|(key, _)| key.starts_with(INDEX_PREFIX)) {
            states.push(decode_index(key, value)?);
            row = cursor.next()?;
        }
        Ok(states)
    }

    /// Returns the figures of each table, by name.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn table_statistics(&self) -> Result<Vec<(&'static str, Statistics)>, Error> {
        let sizes = self.tables.all().into_iter();
        sizes
            .map(|(name, table)| Ok((name, self.transaction.statistics(table)?)))
            .collect()
    }

    /// Returns a hash of all rows of each table, by name: equal for equal tables. Reads the whole
    /// database.
    ///
    /// # Errors
    /// Errors of LMDB.
    pub fn table_hashes(&self) -> Result<Vec<(&'static str, u128)>, Error> {
        let hash = |table| -> Result<u128, Error> {
            let mut hash = Xxh3::new();
            let mut cursor = self.transaction.cursor(table)?;
            while let Some((key, value)) = cursor.next()? {
                for part in [key, value] {
                    hash.update(&(part.len() as u64).to_le_bytes());
                    hash.update(part);
                }
            }
            Ok(hash.digest128())
        };
        let tables = self.tables.all().into_iter();
        tables.map(|(name, it)| Ok((name, hash(it)?))).collect()
    }

    /// Appends the DN of an entry as spelled, from its RDN and those of its superiors.
    ///
    /// # Errors
    /// Errors of LMDB; [`Error::Corrupt`] when a superior is missing.
    #[inline]
    pub fn write_name(&self, view: &EntryView<'_>, out: &mut Vec<u8>) -> Result<(), Error> {
        out.extend_from_slice(view.rdn_bytes());
        let parent = view.parent();
        if !parent.is_entry() {
            return Ok(());
        }
        self.validate()?;
        if let Some(container) = self.containers.borrow().by_id(parent) {
            out.push(b',');
            out.extend_from_slice(&container.name);
            return Ok(());
        }
        self.learn(parent)?;
        let containers = self.containers.borrow();
        let container = containers.by_id(parent).ok_or_else(|| missing(parent))?;
        out.push(b',');
        out.extend_from_slice(&container.name);
        Ok(())
    }

    /// Returns whether an entry lies in a region.
    ///
    /// # Errors
    /// The errors of [`Snapshot::write_name`].
    #[inline]
    pub fn is_within(
        &self,
        id: EntryId,
        view: &EntryView<'_>,
        region: &Region,
    ) -> Result<bool, Error> {
        match region.scope {
            RegionScope::Base => Ok(id == region.base),
            RegionScope::OneLevel => Ok(view.parent() == region.base),
            RegionScope::Subtree if id == region.base => Ok(true),
            RegionScope::Subtree => self.is_at_or_below(view.parent(), region.base),
            RegionScope::Subordinates if id == region.base => Ok(false),
            RegionScope::Subordinates => self.is_at_or_below(view.parent(), region.base),
        }
    }

    /// Returns whether an entry that has children is `base` or lies below it.
    ///
    /// # Errors
    /// The errors of [`Snapshot::write_name`]; [`Error::Corrupt`] when there is no such entry.
    pub fn is_at_or_below(&self, mut id: EntryId, base: EntryId) -> Result<bool, Error> {
        if id == base || base.is_root() {
            return Ok(true);
        }
        self.validate()?;
        for _ in 0..DEPTH_MAX {
            if !id.is_entry() {
                return Ok(false);
            }
            id = self.superior(id)?;
            if id == base {
                return Ok(true);
            }
        }
        Err(circle())
    }

    /// Returns whether one of `bases` is an entry that has children, or a superior of it. The root
    /// is a superior of all entries.
    ///
    /// # Errors
    /// The errors of [`Snapshot::is_at_or_below`].
    pub fn is_at_or_below_any(
        &self,
        mut id: EntryId,
        bases: &HashSet<EntryId>,
    ) -> Result<bool, Error> {
        self.validate()?;
        for _ in 0..DEPTH_MAX {
            if bases.contains(&id) {
                return Ok(true);
            }
            if !id.is_entry() {
                return Ok(false);
            }
            id = self.superior(id)?;
        }
        Err(circle())
    }

    /// Returns the parent of an entry that has children.
    #[inline]
    fn superior(&self, id: EntryId) -> Result<EntryId, Error> {
        let known = self.containers.borrow().by_id(id).map(|it| it.parent);
        match known {
            Some(parent) => Ok(parent),
            None => self.learn(id),
        }
    }

    /// Caches an entry that has children, and returns its parent.
    #[cold]
    fn learn(&self, id: EntryId) -> Result<EntryId, Error> {
        let stored = |id| self.stored_entry(id)?.ok_or_else(|| missing(id));
        let mut chain = vec![(id, stored(id)?)];
        let mut name = Vec::new();
        loop {
            let (_, last) = chain[chain.len() - 1];
            let parent = last.parent();
            if let Some(known) = self.containers.borrow().by_id(parent) {
                name.extend_from_slice(&known.name);
                break;
            }
            if !parent.is_entry() {
                break;
            }
            if chain.len() > DEPTH_MAX {
                return Err(circle());
            }
            chain.push((parent, stored(parent)?));
        }
        let parent = chain[0].1.parent();
        for (id, view) in chain.into_iter().rev() {
            let mut own = view.rdn_bytes().to_vec();
            if !name.is_empty() {
                own.push(b',');
                own.extend_from_slice(&name);
            }
            let container = Container {
                parent: view.parent(),
                name: own.as_slice().into(),
            };
            self.containers.borrow_mut().remember(id, container);
            name = own;
        }
        Ok(parent)
    }

    /// Makes the container cache valid for this state. Returns whether some entries are detached.
    #[inline]
    pub(crate) fn validate(&self) -> Result<bool, Error> {
        let containers = self.containers.borrow();
        if self.pending.is_none() && containers.is_current(self.version) {
            return Ok(containers.hides_some());
        }
        drop(containers);
        self.validate_anew()
    }

    fn validate_anew(&self) -> Result<bool, Error> {
        let counter = self.state()?.rename_counter;
        let mut containers = self.containers.borrow_mut();
        if !containers.is_of(counter) {
            containers.renew(counter, self.child_count(EntryId::DETACHED)? > 0);
        }
        containers.hold_for(self.version);
        Ok(containers.hides_some())
    }

    pub(crate) fn state(&self) -> Result<State, Error> {
        match self.pending {
            Some(pending) => Ok(pending.state),
            None => {
                let row = self.transaction.get(self.tables.meta, STATE_KEY)?;
                State::decode(row.ok_or_else(|| Error::corrupt("meta", "no state row"))?)
            }
        }
    }

    pub(crate) fn entries(&self) -> EntryTree {
        EntryTree(self.tables.entry)
    }
}

#[cold]
fn circle() -> Error {
    Error::corrupt("entry", "the superiors of an entry form a circle")
}

#[cold]
fn missing(id: EntryId) -> Error {
    Error::corrupt("entry", format!("the superior {id} is missing"))
}
