//! What a subject may see, by the access rules.

use super::plain::PlainView;
use crate::stop::Stop;
use policy::{Decision, Right, Target};
use protocol::ResultCode;
use schema::{AttributeNumber, Name, TypeId};
use store::{EntryId, EntryView, Lookup, Region, RegionScope};

impl PlainView<'_> {
    /// Whether the subject may read `cn=monitor`, which has the same access as the configuration.
    #[inline]
    pub fn sees_monitor(&self) -> bool {
        self.sees_config
    }

    /// Whether no entry is hidden from the subject, so that sizes of index rows reveal nothing to
    /// it.
    #[inline]
    pub fn sees_everything(&self) -> bool {
        self.sees_config
    }

    /// Replaces assertions about attributes that the subject may not search in a resolved filter,
    /// so that plans, counts and walks along links never use them.
    #[inline]
    pub fn narrow(&self, filter: &mut schema::Filter) {
        let catalog = self.catalog;
        (catalog.access).narrow(self.subject, &catalog.schema, filter);
    }

    /// Whether an attribute type is secret for the subject.
    #[inline]
    pub fn conceals(&self, type_id: TypeId) -> bool {
        !self.sees_config && self.catalog.access.secrets().contains(type_id)
    }

    /// Whether the subject may see the attribute.
    #[inline]
    pub fn shows(&self, number: AttributeNumber) -> bool {
        !self.hidden.contains(number)
    }

    /// Whether the subject may learn that an entry of this name exists or existed.
    pub fn may_hear_of(&self, name: &str) -> bool {
        self.sees_config
            || (self.catalog.schema.resolve_name(name))
                .is_ok_and(|name| !name.is_within(&self.catalog.config))
    }

    /// The decision of the access rules.
    #[inline]
    pub fn decide(&self, right: Right, name: &Name, attribute: Option<TypeId>) -> Decision {
        self.catalog
            .access
            .decide(self.subject, right, &Target { name, attribute })
    }

    /// Refuses with `insufficientAccessRights` and the text `refused` unless the subject is the
    /// administrator.
    pub fn require_administrator(&self, refused: &str) -> Result<(), Stop> {
        match self.subject.is_administrator() {
            true => Ok(()),
            false => Stop::refuse(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, refused),
        }
    }

    /// Refuses with `insufficientAccessRights` unless the access rules allow it.
    #[inline]
    pub fn require(
        &self,
        right: Right,
        name: &Name,
        attribute: Option<TypeId>,
    ) -> Result<(), Stop> {
        let decision = self.decide(right, name, attribute);
        if decision.allowed {
            return Ok(());
        }
        let who = match self.subject.dn.as_str() {
            "" => "an anonymous client",
            dn => dn,
        };
        let what = match attribute {
            Some(attribute) => format!(
                "{} of this entry",
                self.catalog.schema.type_of(attribute).name()
            ),
            None => "this entry".to_owned(),
        };
        let access = match right {
            Right::Disclose => "access",
            Right::Search | Right::Read | Right::Compare => "read access",
            Right::Add | Right::Delete | Right::Rename | Right::Write | Right::Manage => {
                "write access"
            }
            Right::Authenticate => "leave to authenticate with",
        };
        let text = format!(
            "{who} has no {access} to {what} (rule \"{}\")",
            decision.rule
        );
        Stop::refuse(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, text)
    }

    /// Whether an entry is `cn=config` or stands below it.
    pub(super) fn is_configuration(&self, id: EntryId, row: &EntryView<'_>) -> Result<bool, Stop> {
        let Lookup::Found(base) = self.snapshot.find(&self.catalog.config)? else {
            return Ok(false);
        };
        let scope = RegionScope::Subtree;
        let region = Region { base, scope };
        Ok(self.snapshot.is_within(id, row, &region)?)
    }
}
