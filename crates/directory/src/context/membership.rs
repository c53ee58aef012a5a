//! Membership: the groups of an entry and the members of a group, worked out from the equality
//! indexes of `member` and `uniqueMember`. Nothing is stored twice, so nothing is ever stale.
//!
//! Every walk over groups visits each group once: circles end, and depth has no limit of its own.

use super::Context;
use super::collective::Lender;
use super::dynamic::DynamicGroup;
use crate::stop::Stop;
use policy::Right;
use protocol::ResultCode;
use schema::{Assertion, Description, Filter, Name, Selector, TypeId, ValueSource};
use smallvec::SmallVec;
use std::cell::{OnceCell, RefCell};
use std::collections::HashSet;
use store::{EntryId, EntryView, Lookup, Region, RegionScope};

/// Entries one walk may meet before it is refused: it runs in one piece, while others wait.
pub(super) const MET_MAX: usize = 4 << 20;

/// Which memberships count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Groups that name the entry themselves: `memberOf`.
    Direct,
    /// Also groups that name such groups: `memberOf` in chain.
    Nested,
    /// Also groups that describe their members by a search: `isMemberOf`.
    Everything,
}

/// A group of an entry.
pub(crate) struct Group {
    pub id: EntryId,
    pub spelled: String,
}

/// What one operation remembers of the groups it has met.
#[derive(Default)]
pub(super) struct Memory {
    pub lenders: OnceCell<Vec<Lender>>,
    pub dynamic: OnceCell<Vec<DynamicGroup>>,
    chains: RefCell<Vec<Chain>>,
}

/// The entries from which links of an attribute lead to a name.
struct Chain {
    type_id: TypeId,
    target: Box<[u8]>,
    ids: HashSet<EntryId>,
}

/// The attributes that are followed, each with everything it covers.
pub(crate) type Followed = SmallVec<[Selector; 2]>;

impl Context<'_> {
    /// The attributes static groups name their members with, as far as this database has them.
    pub(super) fn member_attributes(&self) -> Followed {
        let computed = &self.catalog.computed;
        let schema = &self.catalog.schema;
        [computed.member, computed.unique_member]
            .into_iter()
            .filter(|it| !schema.numbers_of(*it).is_empty())
            .map(|it| Selector::new(schema, &Description::of_type(it)))
            .collect()
    }

    /// Whether holders of values of these attributes are found by an index.
    pub fn can_follow(&self, followed: &[Selector]) -> bool {
        let (schema, indexes) = (&self.catalog.schema, &self.catalog.indexes);
        let types = followed.iter().flat_map(|it| &it.numbers);
        types
            .filter_map(|number| schema.known(*number))
            .all(|known| indexes.is_ready(known.type_id, store::IndexKind::Equality))
    }

    /// Whether the groups of entries can be told.
    pub fn knows_groups(&self) -> bool {
        self.can_follow(&self.member_attributes())
    }

    /// Refuses to walk links that no index leads along.
    pub fn require_follow(&self, followed: &[Selector], wanted: &str) -> Result<(), Stop> {
        if self.can_follow(followed) {
            return Ok(());
        }
        let names: Vec<&str> = followed.iter().map(Selector::attribute).collect();
        Stop::refuse(
            ResultCode::UNWILLING_TO_PERFORM,
            format!(
                "{wanted} needs an equality index on {}",
                names.join(" and ")
            ),
        )
    }

    /// Refuses to tell groups when no index leads to them.
    pub fn require_groups(&self, wanted: &str) -> Result<(), Stop> {
        self.require_follow(&self.member_attributes(), wanted)
    }

    /// What a membership type means.
    pub fn reach_of(&self, type_id: TypeId) -> Option<Reach> {
        let computed = &self.catalog.computed;
        if type_id == computed.member_of {
            Some(Reach::Direct)
        } else if type_id == computed.is_member_of {
            Some(Reach::Everything)
        } else {
            None
        }
    }

    /// The groups an entry belongs to, nearest first, that the subject may know of.
    pub fn groups_of(&self, id: EntryId, reach: Reach) -> Result<Vec<Group>, Stop> {
        let followed = self.member_attributes();
        let mut found: Vec<Group> = Vec::new();
        let mut met = HashSet::new();
        let mut current = id;
        let mut next = 0;
        loop {
            for id in self.groups_naming(current, &followed, reach)? {
                if met.insert(id)
                    && let Some(group) = self.known_group(id)?
                {
                    found.push(group);
                }
            }
            refuse_too_many(met.len())?;
            if reach == Reach::Direct || next == found.len() {
                return Ok(found);
            }
            current = found[next].id;
            next += 1;
        }
    }

    /// The groups that have an entry as a member, without others in between.
    fn groups_naming(
        &self,
        id: EntryId,
        followed: &[Selector],
        reach: Reach,
    ) -> Result<Vec<EntryId>, Stop> {
        let spelled = self.spelled_name(id)?;
        let Ok(name) = self.catalog.schema.resolve_name(&spelled) else {
            return Ok(Vec::new());
        };
        let mut groups = self.holders(followed, &name, &spelled)?;
        if reach == Reach::Everything && self.catalog.has_dynamic_groups {
            self.add_dynamic_groups_of(id, &mut groups)?;
        }
        Ok(groups)
    }

    /// The group, unless the subject may not know its members.
    fn known_group(&self, id: EntryId) -> Result<Option<Group>, Stop> {
        let spelled = self.spelled_name(id)?;
        let name = self.catalog.schema.resolve_name(&spelled);
        Ok(name
            .is_ok_and(|name| self.may_know_members(&name))
            .then_some(Group { id, spelled }))
    }

    /// Whether the subject may find a group by its members.
    pub fn may_know_members(&self, group: &Name) -> bool {
        let hidden = !self.sees_config && group.is_within(&self.catalog.config);
        let member = self.catalog.computed.member;
        !hidden && self.decide(Right::Search, group, Some(member)).allowed
    }

    /// The entries that hold a name in one of the attributes, verified.
    pub(super) fn holders(
        &self,
        followed: &[Selector],
        name: &Name,
        spelled: &str,
    ) -> Result<Vec<EntryId>, Stop> {
        let everywhere = Region {
            base: EntryId::ROOT,
            scope: RegionScope::Subtree,
        };
        let mut holders = Vec::new();
        for selector in followed {
            let filter = Filter::Equality(Assertion {
                selector: selector.clone(),
                given: spelled.as_bytes().into(),
                normal: name.bytes().into(),
                alternatives: Vec::new(),
            });
            let plan = self.plan(&filter, &everywhere)?;
            let candidates = self.candidates(&plan, EntryId::ROOT)?;
            for found in candidates.entries_after(*self.snapshot, EntryId::ROOT) {
                let (id, view) = found?;
                if self.holds_link(id, &view, selector, name)?
                    || self.holds(&view, selector, name, spelled)
                {
                    holders.push(id);
                }
            }
        }
        Ok(holders)
    }

    /// Whether an entry holds a name as a link.
    fn holds_link(
        &self,
        id: EntryId,
        view: &EntryView<'_>,
        selector: &Selector,
        name: &Name,
    ) -> Result<bool, Stop> {
        if !view.has_links() {
            return Ok(false);
        }
        for set in self.snapshot.linked_sets(id)? {
            if !selector.numbers.contains(&set.number) {
                continue;
            }
            for member in self.snapshot.members_named(name.bytes())? {
                if self.snapshot.has_member(set.set, member)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether an entry holds a name. Most are spelled as the entry they name is, so a comparison
    /// of octets comes before the one of normal forms, which costs forty times as much.
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

    /// The entries from which links of the attributes lead to a name, directly or through others.
    pub fn chain_to(&self, followed: &[Selector], target: &Name) -> Result<Vec<EntryId>, Stop> {
        let mut met = HashSet::new();
        let mut found: Vec<EntryId> = Vec::new();
        let mut next = 0;
        let mut holders = self.holders(followed, target, "")?;
        loop {
            found.extend(holders.into_iter().filter(|id| met.insert(*id)));
            refuse_too_many(found.len())?;
            let Some(current) = found.get(next) else {
                return Ok(found);
            };
            next += 1;
            let spelled = self.spelled_name(*current)?;
            holders = match self.catalog.schema.resolve_name(&spelled) {
                Ok(name) => self.holders(followed, &name, &spelled)?,
                Err(_) => Vec::new(),
            };
        }
    }

    /// Whether links of an attribute lead from an entry to a name; what leads there is worked out
    /// once per operation.
    pub fn leads_to(&self, id: EntryId, selector: &Selector, target: &Name) -> Result<bool, Stop> {
        let (type_id, target_bytes) = (selector.type_id, target.bytes());
        let mut chains = self.memory.chains.borrow_mut();
        let known = chains
            .iter()
            .find(|it| it.type_id == type_id && *it.target == *target_bytes);
        if let Some(chain) = known {
            return Ok(chain.ids.contains(&id));
        }
        let followed = std::slice::from_ref(selector);
        let ids: HashSet<EntryId> = match self.can_follow(followed) {
            true => self.chain_to(followed, target)?.into_iter().collect(),
            false => HashSet::new(),
        };
        let found = ids.contains(&id);
        chains.push(Chain {
            type_id,
            target: target_bytes.into(),
            ids,
        });
        Ok(found)
    }

    /// The members of a group that are entries of this directory.
    pub fn members_of(&self, group: &Name, reach: Reach) -> Result<Vec<EntryId>, Stop> {
        let Lookup::Found(group_id) = self.snapshot.find(group)? else {
            return Ok(Vec::new());
        };
        if !self.may_know_members(group) {
            return Ok(Vec::new());
        }
        let followed = self.member_attributes();
        let mut met = HashSet::new();
        let mut found: Vec<EntryId> = Vec::new();
        let mut next = 0;
        let mut current = group_id;
        loop {
            self.add_members(current, &followed, reach, &mut |id| {
                if met.insert(id) {
                    found.push(id);
                }
            })?;
            refuse_too_many(found.len())?;
            if reach == Reach::Direct {
                return Ok(found);
            }
            // What has no members of its own costs one look at the entry.
            let Some(id) = found.get(next) else {
                return Ok(found);
            };
            next += 1;
            current = *id;
        }
    }

    fn add_members(
        &self,
        group: EntryId,
        followed: &[Selector],
        reach: Reach,
        add: &mut dyn FnMut(EntryId),
    ) -> Result<(), Stop> {
        let Some(view) = self.snapshot.entry(group)? else {
            return Ok(());
        };
        let stored = followed.iter().flat_map(|it| {
            let numbers = it.numbers.iter();
            numbers.filter_map(|number| Some((it.type_id, view.attribute(*number)?)))
        });
        let mut known = None;
        let mut normal = Vec::new();
        for (type_id, attribute) in stored {
            if !self.knows_members_of(group, &mut known)? {
                return Ok(());
            }
            for value in attribute.values() {
                normal.clear();
                let schema = &self.catalog.schema;
                if schema
                    .normalise_equality(type_id, value, &mut normal)
                    .is_err()
                {
                    continue;
                }
                let name = Name::from_bytes(without_uid(&normal));
                match self.snapshot.find(&name)? {
                    Lookup::Found(id) if id != EntryId::ROOT => add(id),
                    _ => {}
                }
            }
        }
        if view.has_links() {
            let numbers = |it: &Selector| it.numbers.clone();
            let numbers: Vec<_> = followed.iter().flat_map(numbers).collect();
            for set in self.snapshot.linked_sets(group)? {
                if !numbers.contains(&set.number) {
                    continue;
                }
                if !self.knows_members_of(group, &mut known)? {
                    return Ok(());
                }
                for member in self.snapshot.members_after(set.set, EntryId::ROOT)? {
                    let member = member?;
                    match self.snapshot.entry(member)? {
                        Some(_) => add(member),
                        None => self
                            .snapshot
                            .named_by(member)?
                            .into_iter()
                            .for_each(&mut *add),
                    }
                }
            }
        }
        if reach == Reach::Everything && self.catalog.has_dynamic_groups {
            let found = self.dynamic_members(group)?;
            if !found.is_empty() && self.knows_members_of(group, &mut known)? {
                found.into_iter().for_each(add);
            }
        }
        Ok(())
    }

    /// As [`Context::may_know_members`], worked out once for a group.
    fn knows_members_of(&self, group: EntryId, known: &mut Option<bool>) -> Result<bool, Stop> {
        if let Some(known) = known {
            return Ok(*known);
        }
        let knows = self.known_group(group)?.is_some();
        *known = Some(knows);
        Ok(knows)
    }
}

/// The name in the normal form of a name with an optional bit string (RFC 4517 §3.3.21), which
/// stands behind `00 03`.
fn without_uid(normal: &[u8]) -> &[u8] {
    let mut at = 0;
    while at + 1 < normal.len() {
        match normal[at..at + 2] {
            [0, 3] => return &normal[..at],
            [0, _] => at += 2,
            _ => at += 1,
        }
    }
    normal
}

fn refuse_too_many(met: usize) -> Result<(), Stop> {
    if met <= MET_MAX {
        return Ok(());
    }
    Stop::refuse(
        ResultCode::ADMIN_LIMIT_EXCEEDED,
        format!("the assertion about groups leads to more than {MET_MAX} entries"),
    )
}
