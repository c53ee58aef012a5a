//! Facts about entries for access rules, read from entries as stored.

use super::dynamic::DynamicGroups;
use super::membership::Reach;
use super::plain::PlainView;
use super::remembered::Ruled;
use super::stored::StoredEntry;
use crate::catalog::Catalog;
use crate::stop::Stop;
use policy::Subject;
use policy::access::facts::{EntryFacts, Group, SubjectFacts};
use roaring::RoaringTreemap;
use schema::{Filter, Name, Truth, TypeId, ValueSource};
use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use store::{EntryId, EntryView, Lookup, Snapshot};

/// Facts about the entries of subjects, and about groups.
pub(super) struct OfSubject<'f> {
    snapshot: &'f Snapshot<'f>,
    catalog: &'f Catalog,
    server: Subject,
    /// An entry, and the groups that it is in.
    climbed: RefCell<Option<(EntryId, RoaringTreemap)>>,
    /// Whether a write is executed: then no fact may depend on which indexes are complete here.
    executes: bool,
}

impl<'f> OfSubject<'f> {
    pub fn new(view: &PlainView<'f>) -> OfSubject<'f> {
        OfSubject {
            snapshot: view.snapshot,
            catalog: view.catalog,
            server: Subject::server(),
            climbed: RefCell::new(None),
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
            let is_known = |it: &(EntryId, _)| it.0 == member;
            if !self.climbed.borrow().as_ref().is_some_and(is_known) {
                let mut climb = view.climb_from(member, Reach::Everything)?;
                view.whole(|| view.climb(&mut climb, &mut DynamicGroups::default()))?;
                *self.climbed.borrow_mut() = Some((member, climb.ids()));
            }
            let climbed = self.climbed.borrow();
            let is_in = climbed.as_ref().is_some_and(|it| it.1.contains(id.0));
            Ok(is_in.into())
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
    /// The name, read when it is asked for.
    name: OnceCell<Cow<'f, Name>>,
    /// The entry; `None` if there is none of this name.
    id: Option<EntryId>,
    /// Its row, read when it is asked for; `None` if it cannot be read.
    row: OnceCell<Option<EntryView<'f>>>,
    /// Where ids of entries are remembered by name, if no two entries may have the same name.
    ids: Option<&'f Ruled>,
    cut: Cell<bool>,
    /// Whether a fact was asked for that a change of the entry may turn.
    has_read: Cell<bool>,
}

impl<'f> OfEntry<'f> {
    /// Facts about a stored entry. With `ids` the entry is told from others by its id.
    pub fn stored(
        view: &'f PlainView<'f>,
        place: Place<'f, 'f>,
        ids: Option<&'f Ruled>,
    ) -> OfEntry<'f> {
        OfEntry {
            view,
            name: OnceCell::new(),
            id: Some(place.id),
            row: OnceCell::from(Some(*place.row)),
            ids,
            cut: Cell::new(false),
            has_read: Cell::new(false),
        }
    }

    /// Facts about the entry of a name, if there is one.
    pub fn named(
        view: &'f PlainView<'f>,
        name: &'f Name,
        id: Option<EntryId>,
        ids: Option<&'f Ruled>,
    ) -> OfEntry<'f> {
        OfEntry {
            view,
            name: OnceCell::from(Cow::Borrowed(name)),
            id,
            row: OnceCell::new(),
            ids,
            cut: Cell::new(false),
            has_read: Cell::new(false),
        }
    }

    /// The name of the entry as stored; `None` if it cannot be read, or means nothing.
    fn stored_name(&self) -> Option<Name> {
        let mut spelled = Vec::with_capacity(64);
        let view = self.view;
        view.snapshot
            .write_name(self.place()?.row, &mut spelled)
            .ok()?;
        let spelled = std::str::from_utf8(&spelled).ok()?;
        view.catalog.schema.resolve_name(spelled).ok()
    }

    /// The entry with its row; `None` if there is none of this name, or the row cannot be read.
    fn place(&self) -> Option<Place<'_, 'f>> {
        let id = self.id?;
        let row = self.row.get_or_init(|| {
            let row = self.view.snapshot.entry(id).ok().flatten();
            self.cut.set(self.cut.get() || row.is_none());
            row
        });
        row.as_ref().map(|row| Place { id, row })
    }

    /// Whether a fact was asked for that follows from the values of the entry.
    pub fn has_read(&self) -> bool {
        self.has_read.get()
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
        self.name.get_or_init(|| {
            let name = self.stored_name();
            self.cut.set(self.cut.get() || name.is_none());
            Cow::Owned(name.unwrap_or_default())
        })
    }

    fn is_named(&self, name: &Name) -> Truth {
        let (Some(ids), Some(id)) = (self.ids, self.id) else {
            return (self.name() == name).into();
        };
        let find = || {
            Ok(match self.view.snapshot.find(name)? {
                Lookup::Found(id) => Some(id),
                Lookup::Missing { .. } => None,
            })
        };
        let named = ids.entry_named(name, find);
        self.read(named.map(|it| (it == Some(id)).into()))
    }

    fn matches(&self, filter: &Filter) -> Truth {
        let Some(Place { id, row }) = self.place() else {
            return Truth::Undefined;
        };
        self.has_read.set(true);
        self.read(StoredEntry::evaluate(
            self.view,
            id,
            row,
            filter,
            &mut Vec::new(),
        ))
    }

    fn names(&self, attribute: TypeId, subject: &Name) -> Truth {
        let Some(place) = self.place() else {
            return Truth::Undefined;
        };
        self.has_read.set(true);
        self.read(names(self.view, place, attribute, subject))
    }

    fn superior_names(&self, attribute: TypeId, subject: &Name) -> Truth {
        let known = self.ids.and_then(|_| self.place());
        let known = known.map(|it| it.row.parent());
        let superior = match known {
            Some(_) => None,
            None => match self.name().parent() {
                None => return Truth::False,
                superior => superior,
            },
        };
        let found = || {
            let id = match &superior {
                None => known.unwrap_or(EntryId::ROOT),
                Some(superior) => match self.view.snapshot.find(superior)? {
                    Lookup::Found(id) => id,
                    Lookup::Missing { .. } => return Ok(Truth::Undefined),
                },
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
