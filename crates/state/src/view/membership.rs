//! Membership: the groups of an entry and the members of a group, computed from the equality
//! indexes of `member` and `uniqueMember`. No result is stored, so none is stale.
//!
//! Every walk over groups visits each group once: circles end, and depth needs no limit.

use super::plain::PlainView;
use crate::stop::Stop;
use policy::Right;
use protocol::ResultCode;
use schema::{Description, Name, Selector, TypeId};
use smallvec::SmallVec;
use store::EntryId;

/// Kinds of membership.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reach {
    /// Groups that hold the entry's name: `memberOf`.
    Direct,
    /// Also groups that hold the names of such groups: `memberOf` in chain.
    Nested,
    /// Also groups whose `memberURL` finds the entry: `isMemberOf`.
    Everything,
}

/// A group of an entry.
#[derive(Debug)]
pub struct Group {
    pub id: EntryId,
    pub spelled: String,
}

/// The attributes that a walk follows, each with the attribute numbers it covers (subtypes and
/// options).
pub type Followed = SmallVec<[Selector; 2]>;

impl PlainView<'_> {
    /// The attributes in which static groups hold their members, as far as this database has them.
    pub(super) fn member_attributes(&self) -> Followed {
        let computed = &self.catalog.computed;
        let schema = &self.catalog.schema;
        [computed.member, computed.unique_member]
            .into_iter()
            .filter(|it| !schema.numbers_of(*it).is_empty())
            .map(|it| Selector::new(schema, &Description::of_type(it)))
            .collect()
    }

    /// Whether an index finds the holders of these attributes' values, or execution must find them
    /// without.
    pub fn can_follow(&self, followed: &[Selector]) -> bool {
        if self.executes {
            return true;
        }
        let (schema, indexes) = (&self.catalog.schema, &self.catalog.indexes);
        let types = followed.iter().flat_map(|it| &it.numbers);
        types
            .filter_map(|number| schema.known(*number))
            .all(|known| indexes.is_ready(known.type_id, store::IndexKind::Equality))
    }

    /// Whether the groups of entries can be computed.
    pub fn knows_groups(&self) -> bool {
        self.can_follow(&self.member_attributes())
    }

    /// Refuses to walk along links that no index covers.
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

    /// Refuses to compute groups if no index leads to them.
    pub fn require_groups(&self, wanted: &str) -> Result<(), Stop> {
        self.require_follow(&self.member_attributes(), wanted)
    }

    /// The kind of membership that a computed attribute type stands for; `None` for other types.
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

    /// The group; `None` if the subject may not know its members.
    pub(super) fn known_group(&self, id: EntryId) -> Result<Option<Group>, Stop> {
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
        let disclosed = || !self.has_rules || self.decide(Right::Read, group, None).allowed;
        !hidden && disclosed() && self.decide(Right::Search, group, Some(member)).allowed
    }
}

/// Refuses a walk that has visited more than `max` entries.
pub(super) fn refuse_too_many(met: u64, max: u64) -> Result<(), Stop> {
    if met <= max {
        return Ok(());
    }
    Stop::refuse(
        ResultCode::ADMIN_LIMIT_EXCEEDED,
        format!("the assertion about groups leads to more than {max} entries"),
    )
}
