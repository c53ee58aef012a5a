//! Walks up: from an entry or a name to its holders, and on to the holders of these. Each entry is
//! visited once, so circles end and depth needs no limit.

use super::dynamic::DynamicGroups;
use super::membership::{Followed, Group, Reach, refuse_too_many};
use super::pace::LOOKS_PER_NAME;
use super::plain::PlainView;
use crate::done;
use crate::progress::Progress;
use crate::stop::Stop;
use roaring::RoaringTreemap;
use schema::{Assertion, Filter, Name, Selector, ValueSource};
use smallvec::SmallVec;
use std::collections::HashSet;
use std::rc::Rc;
use store::{Candidates, EntryId, EntryView, Region, RegionScope};

/// Maximum number of groups that one walk may find; their names take some hundred megabytes.
const GROUPS_MAX: u64 = 1 << 20;

/// Progress of a walk up.
#[derive(Debug)]
pub(super) struct Climb {
    followed: Followed,
    /// Which groups of an entry are wanted; `None` for a chain of links, which ignores access to
    /// groups.
    reach: Option<Reach>,
    met: HashSet<EntryId>,
    found: Vec<Group>,
    /// Index in `found` of the next entry whose holders are looked for.
    next: usize,
    /// The entry or name whose holders are being looked for.
    asked: Option<Box<Target>>,
    looked: u64,
}

/// An entry or name whose holders are looked for, and the progress of that.
#[derive(Debug)]
struct Target {
    /// The entry of the name; the root where only the name matters.
    id: EntryId,
    name: Name,
    spelled: String,
    /// Index of the followed attribute being searched.
    attribute: usize,
    candidates: Option<Candidates>,
    after: EntryId,
    /// Number of dynamic groups already tested.
    described: usize,
}

impl Climb {
    fn new(followed: Followed, reach: Option<Reach>, asked: Option<Target>) -> Climb {
        Climb {
            followed,
            reach,
            met: HashSet::new(),
            found: Vec::new(),
            next: 0,
            asked: asked.map(Box::new),
            looked: 0,
        }
    }

    /// A walk to all entries from which links of these attributes lead to a name.
    pub fn to_name(followed: Followed, target: &Name) -> Climb {
        let asked = Target::new(EntryId::ROOT, target.clone(), String::new());
        Climb::new(followed, None, Some(asked))
    }

    /// The groups found, nearest first.
    pub fn into_groups(self) -> Rc<[Group]> {
        self.found.into()
    }

    /// Ids of all entries found.
    pub fn ids(&self) -> RoaringTreemap {
        self.found.iter().map(|it| it.id.0).collect()
    }
}

impl Target {
    fn new(id: EntryId, name: Name, spelled: String) -> Target {
        Target {
            id,
            name,
            spelled,
            attribute: 0,
            candidates: None,
            after: EntryId::ROOT,
            described: 0,
        }
    }
}

impl PlainView<'_> {
    /// A walk to the groups of an entry.
    pub(super) fn climb_from(&self, id: EntryId, reach: Reach) -> Result<Climb, Stop> {
        let followed = self.member_attributes();
        Ok(Climb::new(followed, Some(reach), self.asking(id)?))
    }

    fn asking(&self, id: EntryId) -> Result<Option<Target>, Stop> {
        let spelled = self.spelled_name(id)?;
        let name = self.catalog.schema.resolve_name(&spelled);
        Ok(name.ok().map(|name| Target::new(id, name, spelled)))
    }

    /// Continues a walk until it or the slice ends.
    pub(super) fn climb(
        &self,
        climb: &mut Climb,
        dynamic: &mut DynamicGroups,
    ) -> Result<Progress<()>, Stop> {
        loop {
            if let Some(mut asked) = climb.asked.take()
                && let Progress::Yield = self.ask(climb, &mut asked, dynamic)?
            {
                climb.asked = Some(asked);
                return Ok(Progress::Yield);
            }
            let Some(next) = climb.found.get(climb.next) else {
                return Ok(Progress::Done(()));
            };
            if climb.reach == Some(Reach::Direct) {
                return Ok(Progress::Done(()));
            }
            climb.asked = self.asking(next.id)?.map(Box::new);
            climb.next += 1;
        }
    }

    /// Finds the holders of `asked`.
    fn ask(
        &self,
        climb: &mut Climb,
        asked: &mut Target,
        dynamic: &mut DynamicGroups,
    ) -> Result<Progress<()>, Stop> {
        while let Some(selector) = climb.followed.get(asked.attribute).cloned() {
            let candidates = match asked.candidates.take() {
                Some(candidates) => candidates,
                None => {
                    done!(self.pace.look(LOOKS_PER_NAME));
                    self.holder_candidates(&selector, &asked.name, &asked.spelled)?
                }
            };
            if let Progress::Yield = self.ask_holders(climb, asked, &selector, &candidates)? {
                asked.candidates = Some(candidates);
                return Ok(Progress::Yield);
            }
            asked.attribute += 1;
            asked.after = EntryId::ROOT;
        }
        match climb.reach {
            Some(Reach::Everything) if self.catalog.has_dynamic_groups => {
                self.ask_dynamic_groups(climb, asked, dynamic)
            }
            _ => Ok(Progress::Done(())),
        }
    }

    fn holder_candidates(
        &self,
        selector: &Selector,
        name: &Name,
        spelled: &str,
    ) -> Result<Candidates, Stop> {
        let everywhere = Region {
            base: EntryId::ROOT,
            scope: RegionScope::Subtree,
        };
        let filter = Filter::Equality(Assertion {
            selector: selector.clone(),
            given: spelled.as_bytes().into(),
            normal: name.bytes().into(),
            alternatives: Vec::new(),
        });
        // The holders of one name are listed in one piece, at about half a microsecond each: 50 ms
        // for an entry in a hundred thousand groups.
        let plan = self.plan(&filter, &everywhere)?;
        self.candidates(&plan, EntryId::ROOT)
    }

    fn ask_holders(
        &self,
        climb: &mut Climb,
        asked: &mut Target,
        selector: &Selector,
        candidates: &Candidates,
    ) -> Result<Progress<()>, Stop> {
        let named = self.snapshot.members_named(asked.name.bytes())?;
        let named: SmallVec<[EntryId; 2]> = named.collect();
        for found in candidates.entries_after(*self.snapshot, asked.after) {
            let (id, view) = found?;
            done!(self.pace.look(1));
            let holds = self.holds_link(id, &view, selector, &named)?
                || self.holds(&view, selector, &asked.name, &asked.spelled);
            // Which entries execution refuses must not depend on whether an index found the
            // candidates.
            if holds || !self.executes {
                climb.looked += 1;
                self.pace.require_short(climb.looked)?;
            }
            if holds {
                self.add_group(climb, id)?;
            }
            asked.after = id;
        }
        Ok(Progress::Done(()))
    }

    /// Whether an entry holds one of `named` as a link.
    fn holds_link(
        &self,
        id: EntryId,
        view: &EntryView<'_>,
        selector: &Selector,
        named: &[EntryId],
    ) -> Result<bool, Stop> {
        if !view.has_links() {
            return Ok(false);
        }
        for set in self.snapshot.linked_sets(id)? {
            if !selector.numbers.contains(&set.number) {
                continue;
            }
            for member in named {
                if self.snapshot.has_member(set.set, *member)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether an entry holds a name as a value. Most values are spelled like the entry they name,
    /// so octets are compared first; comparing normal forms costs forty times as much.
    fn holds(&self, view: &EntryView<'_>, selector: &Selector, name: &Name, spelled: &str) -> bool {
        let any = |test: &mut dyn FnMut(&[u8]) -> bool| {
            let mut numbers = selector.numbers.iter();
            numbers.any(|number| view.any_value(*number, test) == Some(true))
        };
        let schema = &self.catalog.schema;
        let mut normal = Vec::new();
        any(&mut |value| value == spelled.as_bytes())
            || any(&mut |value| {
                normal.clear();
                let type_id = selector.type_id;
                let done = schema.normalise_equality(type_id, value, &mut normal);
                done.is_ok() && normal == name.bytes()
            })
    }

    fn ask_dynamic_groups(
        &self,
        climb: &mut Climb,
        asked: &mut Target,
        dynamic: &mut DynamicGroups,
    ) -> Result<Progress<()>, Stop> {
        let groups = done!(dynamic.read(self)?);
        let Some(view) = self.snapshot.entry(asked.id)? else {
            return Ok(Progress::Done(()));
        };
        while let Some(group) = groups.get(asked.described) {
            done!(self.pace.look(1));
            climb.looked += 1;
            self.pace.require_short(climb.looked)?;
            if self.describes(group, asked.id, &view)? {
                self.add_group(climb, group.id)?;
            }
            asked.described += 1;
        }
        Ok(Progress::Done(()))
    }

    fn add_group(&self, climb: &mut Climb, id: EntryId) -> Result<(), Stop> {
        if !climb.met.insert(id) {
            return Ok(());
        }
        let group = match climb.reach {
            Some(_) => self.known_group(id)?,
            None if self.has_rules => self.known_group(id)?,
            None => Some(Group {
                id,
                spelled: self.spelled_name(id)?,
            }),
        };
        climb.found.extend(group);
        refuse_too_many(climb.found.len() as u64, GROUPS_MAX)
    }
}
