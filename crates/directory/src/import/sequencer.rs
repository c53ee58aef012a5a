//! The one place where order matters: ids, superiors, names that are taken.

use super::aside::{Aside, Waiting};
use super::pipeline::Shared;
use super::rejects::Rejects;
use super::source::read_request;
use super::table::NameTable;
use super::work::{Kind, Prospect, Text, Work};
use super::worker::values_of;
use crate::stop::Failure;
use std::collections::{HashMap, VecDeque};
use std::path::Path;
use store::{BulkLoader, EntryBuilder, EntryId, EntryView, Place, Preparer};

/// Entries appended at once of those whose superior came late.
const LATE_ENTRIES: usize = 256;

/// An entry that takes the place of one already written.
#[derive(Debug)]
pub(super) struct Replacement {
    pub id: EntryId,
    /// Its row, with the right superior in it.
    pub row: Vec<u8>,
}

/// What came of the input's entries.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Tally {
    pub imported: u64,
    pub created: u64,
    pub rejected: u64,
}

/// Gives prospects their ids and appends them.
pub(super) struct Sequencer<'s> {
    shared: &'s Shared<'s>,
    loader: BulkLoader,
    rejects: Rejects,
    names: NameTable,
    aside: Aside,
    /// Entries that wait no more, to be appended after the piece at hand.
    late: VecDeque<Waiting>,
    last: EntryId,
    /// Entries that an imported one may replace, with their superiors.
    replaceable: HashMap<u128, (EntryId, EntryId)>,
    replacements: Vec<Replacement>,
    tally: Tally,
    /// Inputs that could not be read to their end, with the reasons.
    broken: Vec<String>,
    places: Vec<Option<Place>>,
}

impl<'s> Sequencer<'s> {
    pub fn new(
        shared: &'s Shared<'s>,
        loader: BulkLoader,
        rejects: Rejects,
        folder: &Path,
    ) -> Sequencer<'s> {
        Sequencer {
            shared,
            loader,
            rejects,
            names: NameTable::new(),
            aside: Aside::new(folder),
            late: VecDeque::new(),
            last: EntryId::ROOT,
            replaceable: HashMap::new(),
            replacements: Vec::new(),
            tally: Tally::default(),
            broken: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Appends a piece's entries; returns how many entries of the input it was.
    pub fn append(&mut self, work: Work) -> Result<u64, Failure> {
        let mut places = std::mem::take(&mut self.places);
        places.clear();
        for (at, prospect) in work.entries.iter().enumerate() {
            places.push(self.place(&work, at, prospect)?);
        }
        self.loader.append(&work.prepared, &places)?;
        self.places = places;
        for rejected in &work.rejected {
            let place = work.origin.of(rejected.line, rejected.at);
            if work.broken {
                self.broken.push(format!("{place}: {}", rejected.reason));
            }
            self.rejects.put(&place, &rejected.reason, &rejected.text)?;
        }
        self.append_late()?;
        let imported = work
            .entries
            .iter()
            .filter(|it| it.kind == Kind::Imported)
            .count();
        Ok((imported + work.rejected.len()) as u64)
    }

    /// Rejects what is left without a superior.
    pub fn end(&mut self) -> Result<(), Failure> {
        for waiting in self.aside.take_all() {
            let parts = self.aside.read(&waiting)?;
            let place = String::from_utf8_lossy(&parts.place);
            let reason = "the entry above it is missing, or was rejected";
            self.rejects.put(&place, reason, &parts.text)?;
        }
        self.rejects.flush()
    }

    /// What came of the input.
    pub fn tally(&self) -> Tally {
        Tally {
            rejected: self.rejects.count(),
            ..self.tally
        }
    }

    /// The loader, entries to be replaced once it has finished, and inputs that broke off.
    pub fn into_parts(self) -> (BulkLoader, Vec<Replacement>, Vec<String>) {
        (self.loader, self.replacements, self.broken)
    }

    /// The place of a prospect; `None` if it has none yet, or never will.
    #[inline]
    fn place(
        &mut self,
        work: &Work,
        at: usize,
        prospect: &Prospect,
    ) -> Result<Option<Place>, Failure> {
        if self.names.get(prospect.name).is_some() {
            self.repeated(work, at, prospect)?;
            return Ok(None);
        }
        let parent = match prospect.superior {
            None => Some(EntryId::ROOT),
            Some(superior) => self.names.get(superior),
        };
        let Some(parent) = parent else {
            self.put_aside(work, at, prospect)?;
            return Ok(None);
        };
        let id = self.give_id(prospect.name);
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

    /// The next id, for this name. Entries that waited for it wait no more.
    fn give_id(&mut self, name: u128) -> EntryId {
        self.last.0 += 1;
        self.names.insert(name, self.last);
        if !self.aside.is_empty() {
            self.late.extend(self.aside.take(name));
        }
        self.last
    }

    /// An entry whose name is taken: it replaces what nobody wrote by hand, or is rejected.
    #[cold]
    fn repeated(&mut self, work: &Work, at: usize, prospect: &Prospect) -> Result<(), Failure> {
        if prospect.kind == Kind::Created {
            return Ok(());
        }
        if let Some((id, parent)) = self.replaceable.remove(&prospect.name) {
            let row = with_parent(work.prepared.entry(at), parent)?;
            self.replacements.push(Replacement { id, row });
            self.tally.imported += 1;
            return Ok(());
        }
        let text = self.text(work, at, prospect);
        let reason = "an entry of this name came before";
        let place = work.origin.of(prospect.line, prospect.place.start);
        self.rejects.put(&place, reason, &text)
    }

    #[cold]
    fn put_aside(&mut self, work: &Work, at: usize, prospect: &Prospect) -> Result<(), Failure> {
        let text = self.text(work, at, prospect);
        let (name, row) = (work.prepared.name(at), work.prepared.entry(at));
        let names = (prospect.name, prospect.superior.unwrap_or_default());
        let imported = prospect.kind == Kind::Imported;
        let place = work.origin.of(prospect.line, prospect.place.start);
        let parts = [name, row, text.as_slice(), place.as_bytes()];
        self.aside.put(names, imported, parts)
    }

    /// Appends entries that wait no more, and those that waited for them.
    fn append_late(&mut self) -> Result<(), Failure> {
        if self.late.is_empty() {
            return Ok(());
        }
        let indexes = self.shared.plan.indexes(&self.shared.schema.newest());
        let mut preparer = Preparer::new(&indexes);
        while !self.late.is_empty() {
            let mut places = Vec::new();
            for _ in 0..LATE_ENTRIES {
                let Some(waiting) = self.late.pop_front() else {
                    break;
                };
                let parts = self.aside.read(&waiting)?;
                if self.names.get(waiting.name).is_some() {
                    let place = String::from_utf8_lossy(&parts.place);
                    let reason = "an entry of this name came before";
                    self.rejects.put(&place, reason, &parts.text)?;
                    continue;
                }
                let parent = self.names.get(waiting.superior);
                let parent = parent.expect("it waited until its superior had an id");
                preparer.add(&parts.row_name, &parts.row)?;
                let id = self.give_id(waiting.name);
                places.push(Some(Place { id, parent }));
                self.tally.imported += u64::from(waiting.imported);
            }
            self.loader.append(&preparer.take(), &places)?;
        }
        Ok(())
    }

    /// A prospect as LDIF.
    fn text(&self, work: &Work, at: usize, prospect: &Prospect) -> Vec<u8> {
        let part = |text: &[u8]| {
            text.get(prospect.place.clone())
                .unwrap_or_default()
                .to_vec()
        };
        match &work.text {
            Text::Ldif(text) => part(text),
            Text::Ber { requests, bare } => {
                let request = part(requests);
                read_request(&request, *bare).map_or_else(
                    |_| Vec::new(),
                    |(request, _)| super::rejects::ldif(request.entry, &values_of(&request)),
                )
            }
            Text::Names(names) => {
                let dn = part(names);
                let dn = String::from_utf8_lossy(&dn);
                let view = EntryView::new(work.prepared.entry(at));
                let Ok(view) = view else {
                    return super::rejects::ldif(&dn, &[]);
                };
                super::rejects::stored(&dn, &view)
            }
        }
    }
}

/// A row with another superior in it.
fn with_parent(row: &[u8], parent: EntryId) -> Result<Vec<u8>, Failure> {
    let view = EntryView::new(row)?;
    let mut builder = EntryBuilder::new(parent, view.rdn(), view.position());
    let user = view.user_attributes().as_ptr_range();
    for attribute in view.attributes() {
        let is_user = user.contains(&attribute.encoded.as_ptr());
        builder.copy(&attribute, !is_user);
    }
    let mut out = Vec::with_capacity(row.len());
    builder.finish(&mut out);
    Ok(out)
}
