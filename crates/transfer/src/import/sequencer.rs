//! Decides in the order of the input: ids of entries, their superiors, and conflicts of names and
//! values.

mod checkpoint;
mod rows;

use super::aside::{Aside, Waiting};
use super::holders::{Conflict, GivenNumber, Holders};
use super::import_state::ImportState;
use super::known::Known;
use super::members::MemberFile;
use super::rejects::Rejects;
use super::table::NameTable;
use super::target::Target;
use super::work::{Kind, Prospect, Work};
use schema::Schema;
use state::stop::Failure;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use store::{EntryId, EntryView, Place, Preparer};

/// Number of entries with late superiors that are appended at once.
const LATE_ENTRIES: usize = 256;

/// Name of the file for entries that wait for their superiors during the input.
const ASIDE_FILE: &str = "aside-0";

/// An entry that replaces one already written.
#[derive(Debug)]
pub(super) struct Replacement {
    pub id: EntryId,
    /// The new row, with the superior of the replaced entry.
    pub row: Vec<u8>,
}

/// Counts of the input's entries by result.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Tally {
    pub imported: u64,
    pub created: u64,
    pub rejected: u64,
}

/// A piece whose entries are not appended yet.
#[derive(Clone, Copy)]
struct Unappended<'w> {
    work: &'w Work,
    /// Places of the first entries, as far as they are decided; `None` for entries without one.
    places: &'w [Option<Place>],
}

impl<'w> Unappended<'w> {
    /// The row of an entry and its superior; `None` if the entry is not in the piece.
    fn find(self, id: EntryId) -> Option<(&'w [u8], EntryId)> {
        let is_wanted = |place: &Option<Place>| place.is_some_and(|it| it.id == id);
        let at = self.places.iter().position(is_wanted)?;
        Some((self.work.prepared.entry(at), self.places[at]?.parent))
    }
}

/// Gives prospects their ids and appends them. Its state between pieces is part of checkpoints, see
/// `sequencer/checkpoint.rs`.
pub(super) struct Sequencer<'s, 'o> {
    shared: &'s ImportState<'s>,
    target: Target<'o>,
    rejects: Rejects,
    names: NameTable,
    holders: Holders<'s>,
    /// Entries of the current piece that request numbers.
    numbered: Vec<Waiting>,
    aside: Aside,
    members: MemberFile,
    /// Folder for entries that wait.
    folder: PathBuf,
    /// Whether checkpoints are made, so that files of waiting entries must remain.
    keeps: bool,
    checkpoints: u64,
    last: EntryId,
    /// Entries that an imported entry may replace: id and superior, by the hash of the name.
    replaceable: HashMap<u128, (EntryId, EntryId)>,
    replacements: Vec<Replacement>,
    tally: Tally,
    /// Inputs that could not be read to the end, with the reasons.
    broken: Vec<String>,
    places: Vec<Option<Place>>,
    /// Members that the old database stores as text and that are names of input entries: hashes of
    /// the names, and ids of the texts.
    texts: Vec<(u128, EntryId)>,
}

impl<'s, 'o> Sequencer<'s, 'o> {
    /// A sequencer before the first piece. Files of waiting entries and values are made in
    /// `folder`, and kept there for resuming if `keeps`.
    pub fn new(
        shared: &'s ImportState<'s>,
        target: Target<'o>,
        holders: Holders<'s>,
        folder: &Path,
        keeps: bool,
    ) -> Sequencer<'s, 'o> {
        Sequencer {
            shared,
            rejects: Rejects::new(&shared.plan.options.rejects),
            names: NameTable::new(),
            holders,
            numbered: Vec::new(),
            aside: Aside::new(&folder.join(ASIDE_FILE)),
            folder: folder.to_owned(),
            keeps,
            checkpoints: 0,
            members: MemberFile::new(folder),
            last: match target {
                Target::New(_) => EntryId::ROOT,
                Target::Old(_) => EntryId(shared.plan.last_id),
            },
            replaceable: HashMap::new(),
            replacements: Vec::new(),
            tally: Tally::default(),
            broken: Vec::new(),
            places: Vec::new(),
            texts: Vec::new(),
            target,
        }
    }

    /// Appends a piece's entries; returns the number of entries of the input.
    pub fn append(&mut self, mut work: Work) -> Result<u64, Failure> {
        self.learn(std::mem::take(&mut work.known));
        let mut places = std::mem::take(&mut self.places);
        places.clear();
        for (at, prospect) in work.entries.iter().enumerate() {
            let piece = Unappended {
                work: &work,
                places: &places,
            };
            let place = self.place(piece, at, prospect)?;
            places.push(place);
        }
        self.target.append(&work.prepared, &places)?;
        for (at, block) in &work.links {
            if let Some(place) = places.get(*at).copied().flatten() {
                self.members.add(place.id, block, &self.names)?;
            }
        }
        self.places = places;
        let numbered = std::mem::take(&mut self.numbered);
        self.append_waiting(numbered.into_iter().map(Ok))?;
        for rejected in &work.rejected {
            let place = work.origin.of(rejected.line, rejected.at);
            if work.broken {
                self.broken.push(format!("{place}: {}", rejected.reason));
            }
            self.rejects.put(&place, &rejected.reason, &rejected.text)?;
        }
        let imported = work
            .entries
            .iter()
            .filter(|it| it.kind == Kind::Imported)
            .count();
        Ok((imported + work.rejected.len()) as u64)
    }

    /// Adds names that a worker found in the old database.
    fn learn(&mut self, known: Known) {
        for (name, id) in known.entries {
            if self.names.get(name).is_none() {
                self.names.insert(name, id);
            }
        }
        self.texts.extend(known.texts);
    }

    /// Records an entry of the old database that `pando init` made and an imported one may replace.
    pub fn add_initial(&mut self, name: u128, id: EntryId) {
        self.names.insert(name, id);
        self.replaceable.insert(name, (id, EntryId::ROOT));
    }

    /// Appends entries whose superior was read later, and rejects entries still without a superior.
    pub fn end(&mut self) -> Result<(), Failure> {
        // Each pass finds superiors that the previous one appended.
        for pass in 1.. {
            let left = Aside::new(&self.folder.join(format!("aside-{pass}")));
            let waiting = std::mem::replace(&mut self.aside, left);
            let before = waiting.count();
            self.append_waiting(waiting.read(self.keeps)?)?;
            if self.aside.count() == before {
                break;
            }
        }
        let left = Aside::new(&self.folder.join("aside"));
        for waiting in std::mem::replace(&mut self.aside, left).read(self.keeps)? {
            self.reject(&waiting?, "the entry above it is missing, or was rejected")?;
        }
        self.rejects.finish()
    }

    /// The counts of the input's entries.
    pub fn tally(&self) -> Tally {
        Tally {
            rejected: self.rejects.count(),
            ..self.tally
        }
    }

    /// The counters of ranges of numbers, with their keys.
    pub fn counters(&mut self) -> Vec<(Vec<u8>, u128)> {
        self.holders.count_held(&self.shared.schema.newest());
        let counters = self.holders.counters();
        counters.map(|(key, last)| (key.to_vec(), last)).collect()
    }

    /// The target with all entries and links, the entries to replace when it is finished, and the
    /// inputs that could not be read to the end.
    pub fn into_parts(
        mut self,
        schema: &Schema,
    ) -> Result<(Target<'o>, Vec<Replacement>, Vec<String>), Failure> {
        let shared = self.shared;
        let check = || shared.check();
        self.members
            .finish(&mut self.target, &self.names, schema, &check)?;
        self.target.take_places(&self.texts, &self.names)?;
        Ok((self.target, self.replacements, self.broken))
    }

    /// The place of a prospect; `None` if it has to wait or is rejected.
    #[inline]
    fn place(
        &mut self,
        piece: Unappended<'_>,
        at: usize,
        prospect: &Prospect,
    ) -> Result<Option<Place>, Failure> {
        let work = piece.work;
        if self.names.get(prospect.name).is_some() {
            self.repeated(piece, at, prospect)?;
            return Ok(None);
        }
        let parent = match prospect.superior {
            None => Some(EntryId::ROOT),
            Some(superior) => self.names.get(superior),
        };
        let Some(parent) = parent else {
            let waiting = work.waiting(at, prospect);
            self.aside.put(&waiting)?;
            return Ok(None);
        };
        if prospect
            .ruled
            .as_ref()
            .is_some_and(|it| !it.numbers.is_empty())
        {
            let waiting = work.waiting(at, prospect);
            self.numbered.push(waiting);
            return Ok(None);
        }
        let claims = work.claims_of(prospect);
        if prospect.kind == Kind::Imported
            && let Some(conflict) = self.holders.conflict(claims, None)
        {
            self.refuse(piece, at, prospect, conflict)?;
            return Ok(None);
        }
        let id = self.give_id(prospect.name);
        self.holders.hold(claims, id);
        match prospect.kind {
            Kind::Imported => self.tally.imported += 1,
            Kind::Kept => {}
            Kind::Initial => {
                self.replaceable.insert(prospect.name, (id, parent));
            }
            Kind::Created => {
                self.tally.created += 1;
                self.replaceable.insert(prospect.name, (id, parent));
            }
        }
        Ok(Some(Place { id, parent }))
    }

    /// Assigns the next id to this name.
    fn give_id(&mut self, name: u128) -> EntryId {
        self.last.0 += 1;
        self.names.insert(name, self.last);
        self.last
    }

    /// Decides about an entry whose name is in use: it replaces an entry made by `pando init` or by
    /// this import, or is rejected.
    #[cold]
    fn repeated(
        &mut self,
        piece: Unappended<'_>,
        at: usize,
        prospect: &Prospect,
    ) -> Result<(), Failure> {
        let work = piece.work;
        if prospect.kind == Kind::Created {
            return Ok(());
        }
        if let Some((id, parent)) = self.replaceable.get(&prospect.name).copied() {
            let claims = work.claims_of(prospect);
            if let Some(conflict) = self.holders.conflict(claims, Some(id)) {
                return self.refuse(piece, at, prospect, conflict);
            }
            self.holders.hold(claims, id);
            self.replaceable.remove(&prospect.name);
            let row = rows::with_parent(work.prepared.entry(at), parent)?;
            if let Some(block) = work.links_of(at) {
                self.members.add(id, block, &self.names)?;
            }
            self.replacements.push(Replacement { id, row });
            self.tally.imported += 1;
            return Ok(());
        }
        let text = work.ldif_of(at, prospect);
        let reason = "an entry with this name already exists";
        let place = work.place_of(prospect);
        self.rejects.put(&place, reason, &text)
    }

    /// Rejects an entry because of a value that another one holds.
    #[cold]
    fn refuse(
        &mut self,
        piece: Unappended<'_>,
        at: usize,
        prospect: &Prospect,
        conflict: Conflict,
    ) -> Result<(), Failure> {
        let work = piece.work;
        let unique = prospect.ruled.as_ref().map_or(&[][..], |it| &it.unique);
        let row = work.prepared.entry(at);
        let reason = self.reason(unique, row, conflict, Some(piece))?;
        let place = work.place_of(prospect);
        let text = work.ldif_of(at, prospect);
        self.rejects.put(&place, &reason, &text)
    }

    /// Appends the entries whose superior exists, and puts the others aside.
    fn append_waiting(
        &mut self,
        all: impl Iterator<Item = Result<Waiting, Failure>>,
    ) -> Result<(), Failure> {
        let mut all = all.peekable();
        if all.peek().is_none() {
            return Ok(());
        }
        let schema = self.shared.schema.newest();
        let mut preparer = Preparer::new(&self.shared.plan.indexes(&schema));
        let mut places = Vec::new();
        for waiting in all {
            let mut waiting = waiting?;
            if self.names.get(waiting.name).is_some() {
                self.reject(&waiting, "an entry with this name already exists")?;
                continue;
            }
            let Some(parent) = self.names.get(waiting.superior) else {
                self.aside.put(&waiting)?;
                continue;
            };
            let given = match self.give_numbers(&schema, &mut waiting)? {
                Ok(given) => given,
                Err(reason) => {
                    self.reject(&waiting, &reason)?;
                    continue;
                }
            };
            let claims = self
                .holders
                .claims_of(&schema, &waiting.ruled.unique, &waiting.row)?;
            let conflict = self.holders.conflict(&claims, None);
            if let Some(conflict) = conflict.filter(|_| waiting.imported) {
                // The holder may be among the entries not appended yet.
                self.target.append(&preparer.take(), &places)?;
                places.clear();
                let reason = self.reason(&waiting.ruled.unique, &waiting.row, conflict, None)?;
                self.reject(&waiting, &reason)?;
                continue;
            }
            preparer.add(&waiting.row_name, &waiting.row)?;
            let id = self.give_id(waiting.name);
            self.holders.hold(&claims, id);
            if !waiting.links.is_empty() {
                self.members.add(id, &waiting.links, &self.names)?;
            }
            given.iter().for_each(|it| self.holders.give(it));
            places.push(Some(Place { id, parent }));
            self.tally.imported += u64::from(waiting.imported);
            if places.len() == LATE_ENTRIES {
                self.target.append(&preparer.take(), &places)?;
                places.clear();
                self.shared.check()?;
            }
        }
        Ok(self.target.append(&preparer.take(), &places)?)
    }

    /// Writes the numbers that an entry requests into its row. The caller records them with the
    /// entry. The inner error says why there is no number.
    fn give_numbers(
        &mut self,
        schema: &Schema,
        waiting: &mut Waiting,
    ) -> Result<Result<Vec<GivenNumber>, String>, Failure> {
        let mut given = Vec::new();
        for rule in &waiting.ruled.numbers {
            let next = match self.holders.next_number(schema, *rule, &waiting.ruled) {
                Ok(next) => next,
                Err(reason) => return Ok(Err(reason)),
            };
            let numbers = self.holders.rulebook().numbers(*rule);
            let attribute = schema.type_of(numbers.type_id).name();
            waiting.row = rows::with_value(schema, &waiting.row, attribute, next.number)?;
            given.push(next);
        }
        Ok(Ok(given))
    }

    /// The reason for refusing an entry under these unique rules because of a conflict.
    #[cold]
    fn reason(
        &mut self,
        unique: &[u16],
        row: &[u8],
        conflict: Conflict,
        piece: Option<Unappended<'_>>,
    ) -> Result<String, Failure> {
        let schema = self.shared.schema.newest();
        let name = self.spelled_name(conflict.holder, piece)?;
        Ok(self.holders.reason(&schema, unique, row, conflict, &name)?)
    }

    /// The name of an entry as spelled, also if it or its superiors are in an unappended piece.
    fn spelled_name(
        &mut self,
        id: EntryId,
        piece: Option<Unappended<'_>>,
    ) -> Result<String, Failure> {
        let mut name = String::new();
        let mut next = id;
        while next != EntryId::ROOT {
            let new = piece.and_then(|it| it.find(next));
            let (row, parent) = match new {
                Some((row, parent)) => (row.to_vec(), parent),
                None => {
                    let Some(row) = self.target.entry(next)? else {
                        break;
                    };
                    let parent = EntryView::new(&row)?.parent();
                    (row, parent)
                }
            };
            if !name.is_empty() {
                name.push(',');
            }
            name.push_str(EntryView::new(&row)?.rdn());
            next = parent;
        }
        Ok(name)
    }

    fn reject(&mut self, waiting: &Waiting, reason: &str) -> Result<(), Failure> {
        let place = String::from_utf8_lossy(&waiting.place);
        self.rejects.put(&place, reason, &waiting.text)
    }
}
