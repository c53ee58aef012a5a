//! Facts about entries for access rules, read from entries as stored.

use super::dynamic::DynamicGroups;
use super::membership::Reach;
use super::plain::PlainView;
use super::stored::StoredEntry;
use crate::catalog::Catalog;
use crate::stop::Stop;
use policy::Subject;
use policy::access::facts::{EntryFacts, Group, SubjectFacts};
use schema::{Filter, Name, Truth, TypeId, ValueSource};
use std::cell::Cell;
use store::{EntryId, EntryView, Lookup, Snapshot};

/// Facts about the entries of subjects, and about groups.
pub(super) struct OfSubject<'f> {
    snapshot: &'f Snapshot<'f>,
    catalog: &'f Catalog,
    server: Subject,
    /// Whether a write is executed: then no fact may depend on which indexes are complete here.
    executes: bool,
}

impl<'f> OfSubject<'f> {
    pub fn new(view: &PlainView<'f>) -> OfSubject<'f> {
        OfSubject {
            snapshot: view.snapshot,
            catalog: view.catalog,
            server: Subject::server(),
            executes: view.executes,
        }
    }

    /// Runs `test` on an entry; undefined if it cannot be read.
    fn on(
        &self,
        name: &Name,
        test: impl FnOnce(&PlainView<'_>, EntryId) -> Result<Truth, Stop>,
    ) -> Truth {
        let Ok(Lookup::Found(id)) = self.snapshot.find(name) else {
            return Truth::Undefined;
        };
        let mut view = PlainView::new(self.snapshot, self.catalog, &self.server);
        view.executes = self.executes;
        test(&view, id).unwrap_or(Truth::Undefined)
    }
}

impl SubjectFacts for OfSubject<'_> {
    fn matches(&self, subject: &Name, filter: &Filter) -> Truth {
        self.on(subject, |view, id| {
            let Some(row) = view.snapshot.entry(id)? else {
                return Ok(Truth::Undefined);
            };
            StoredEntry::evaluate(view, id, &row, filter, &mut Vec::new())
        })
    }

    fn is_member(&self, subject: &Name, group: &Group) -> Truth {
        self.on(&group.name, |view, id| {
            if let Some(by) = group.by {
                let Some(row) = view.snapshot.entry(id)? else {
                    return Ok(Truth::Undefined);
                };
                return names(view, Place { id, row: &row }, by, subject);
            }
            let Lookup::Found(member) = self.snapshot.find(subject)? else {
                return Ok(Truth::Undefined);
            };
            if !self.executes && !view.knows_groups() {
                return Ok(Truth::Undefined);
            }
            let mut climb = view.climb_from(member, Reach::Everything)?;
            view.whole(|| view.climb(&mut climb, &mut DynamicGroups::default()))?;
            Ok(climb.ids().contains(id.0).into())
        })
    }
}

/// A stored entry.
#[derive(Clone, Copy)]
pub(super) struct Place<'e, 'v> {
    pub id: EntryId,
    pub row: &'e EntryView<'v>,
}

/// Facts about the entry that a decision is about.
pub(super) struct OfEntry<'f> {
    view: &'f PlainView<'f>,
    name: &'f Name,
    /// The entry; `None` if there is none of this name.
    place: Option<Place<'f, 'f>>,
    cut: Cell<bool>,
}

impl<'f> OfEntry<'f> {
    pub fn new(
        view: &'f PlainView<'f>,
        name: &'f Name,
        place: Option<Place<'f, 'f>>,
    ) -> OfEntry<'f> {
        OfEntry {
            view,
            name,
            place,
            cut: Cell::new(false),
        }
    }

    /// Whether a fact could not be read, so that decisions made from the facts are void.
    pub fn is_cut(&self) -> bool {
        self.cut.get()
    }

    fn read(&self, fact: Result<Truth, Stop>) -> Truth {
        fact.unwrap_or_else(|_| {
            self.cut.set(true);
            Truth::Undefined
        })
    }
}

impl EntryFacts for OfEntry<'_> {
    fn name(&self) -> &Name {
        self.name
    }

    fn matches(&self, filter: &Filter) -> Truth {
        let Some(Place { id, row }) = self.place else {
            return Truth::Undefined;
        };
        self.read(StoredEntry::evaluate(
            self.view,
            id,
            row,
            filter,
            &mut Vec::new(),
        ))
    }

    fn names(&self, attribute: TypeId, subject: &Name) -> Truth {
        let Some(place) = self.place else {
            return Truth::Undefined;
        };
        self.read(names(self.view, place, attribute, subject))
    }

    fn superior_names(&self, attribute: TypeId, subject: &Name) -> Truth {
        let Some(superior) = self.name.parent() else {
            return Truth::False;
        };
        let found = || {
            let Lookup::Found(id) = self.view.snapshot.find(&superior)? else {
                return Ok(Truth::Undefined);
            };
            match self.view.snapshot.entry(id)? {
                Some(row) => names(self.view, Place { id, row: &row }, attribute, subject),
                None => Ok(Truth::Undefined),
            }
        };
        self.read(found())
    }
}

/// Whether an attribute of an entry, or a subtype of it, has the name of a subject as a value.
fn names(
    view: &PlainView<'_>,
    place: Place<'_, '_>,
    attribute: TypeId,
    subject: &Name,
) -> Result<Truth, Stop> {
    let schema = &view.catalog.schema;
    let mut scratch = Vec::new();
    let entry = StoredEntry::new(view, place.id, place.row);
    let mut found = false;
    for number in schema.numbers_of(attribute) {
        let type_id = schema.known(*number).map_or(attribute, |it| it.type_id);
        let mut test = |value: &[u8]| {
            scratch.clear();
            let done = schema.normalise_equality(type_id, value, &mut scratch);
            done.is_ok() && scratch == subject.bytes()
        };
        found |= entry.equal_value(*number, subject.bytes(), &mut test) == Some(true);
    }
    entry.finish(found.into())
}
