//! What a subject may see, by the access rules.

use super::plain::PlainView;
use super::ruled::Claim;
use crate::stop::Stop;
use policy::access::objects::Object;
use policy::access::right::Right as RuleRight;
use policy::access::words::Use;
use policy::{Decision, Right, Target};
use protocol::ResultCode;
use schema::{AttributeNumber, Name, TypeId};
use smallvec::SmallVec;
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
        match self.has_rules {
            false => (catalog.access).narrow(self.subject, &catalog.schema, filter),
            // Rules of the directory decide about the state of accounts.
            true => (catalog.access.secrets()).conceal(&catalog.schema, filter),
        }
    }

    /// Whether an attribute type is secret for the subject where the built-in rules hold.
    #[inline]
    pub fn conceals(&self, type_id: TypeId) -> bool {
        !self.sees_config && self.catalog.access.guarded().contains(type_id)
    }

    /// Whether the subject may see the attribute in every entry.
    #[inline]
    pub fn shows_everywhere(&self, number: AttributeNumber) -> bool {
        !self.has_rules && !self.hidden.contains(number)
    }

    /// Whether the subject may learn that an entry of this name exists or existed.
    pub fn may_hear_of(&self, name: &str) -> bool {
        if self.sees_config {
            return true;
        }
        let Ok(name) = self.catalog.schema.resolve_name(name) else {
            return false;
        };
        match self.has_rules {
            // What cannot be read is not heard of.
            true => (self.is_given(&name, &Claim::entry(RuleRight::Read))).unwrap_or(false),
            false => !name.is_within(&self.catalog.config),
        }
    }

    /// The decision of the access rules.
    #[inline]
    pub fn decide(&self, right: Right, name: &Name, attribute: Option<TypeId>) -> Decision {
        if self.has_rules {
            return self.decide_ruled(right, name, attribute);
        }
        let target = Target { name, attribute };
        self.catalog.access.decide(self.subject, right, &target)
    }

    #[cold]
    fn decide_ruled(&self, right: Right, name: &Name, attribute: Option<TypeId>) -> Decision {
        self.decide_claims(name, &claims(right, attribute))
    }

    /// Whether the directory's rules give all of these claims, and some. Unlike a decision it names
    /// no rule.
    fn gives(&self, name: &Name, claims: &[Claim<'_>]) -> bool {
        let given = |it: &Claim<'_>| self.is_given(name, it).unwrap_or(false);
        !claims.is_empty() && claims.iter().all(given)
    }

    /// The decision of the directory's rules about several claims to one entry: all, or none.
    pub(crate) fn decide_claims(&self, name: &Name, claims: &[Claim<'_>]) -> Decision {
        let (mut rule, mut clause) = ("none".to_owned(), None);
        for claim in claims {
            // What cannot be read gives no right.
            let Ok(Some(ruling)) = self.ruling(name, claim) else {
                return Decision::denied("unreadable".into());
            };
            rule = self.rule_of(&ruling);
            clause = ruling.place.and_then(|it| it.clause).map(|it| it + 1);
            if !ruling.allowed {
                let denied = Decision::denied(rule.into());
                return Decision { clause, ..denied };
            }
        }
        Decision {
            allowed: !claims.is_empty(),
            rule: rule.into(),
            clause,
        }
    }

    /// Refuses with `insufficientAccessRights` unless the directory's rules give all claims to the
    /// entry.
    pub fn require_claims(&self, name: &Name, claims: &[Claim<'_>]) -> Result<(), Stop> {
        if claims.is_empty() || self.gives(name, claims) {
            return Ok(());
        }
        let decision = self.decide_claims(name, claims);
        match decision.allowed {
            true => Ok(()),
            false => self.refuse(&decision, "the right to do this", "this entry"),
        }
    }

    /// Whether rules of the directory are about a use of the server, and none gives it to the
    /// subject at an entry.
    pub fn lacks_use(&self, what: Use, name: &Name) -> Result<bool, Stop> {
        let rules = self.catalog.access_rules.as_ref();
        let claim = Claim::of(RuleRight::Use, Object::Use(what));
        let are_about = self.is_ruled() && rules.is_some_and(|it| it.decides(what));
        Ok(are_about && !self.is_given(name, &claim)?)
    }

    /// Refuses a use of the server with `insufficientAccessRights` and the text `refused`, unless
    /// the subject is the administrator or the directory's rules give it the use.
    pub fn require_use(&self, what: Use, name: &Name, refused: &str) -> Result<(), Stop> {
        let claim = Claim::of(RuleRight::Use, Object::Use(what));
        match self.subject.is_administrator() || self.is_given(name, &claim)? {
            true => Ok(()),
            false => Stop::refuse(ResultCode::INSUFFICIENT_ACCESS_RIGHTS, refused),
        }
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
        if self.has_rules && self.gives(name, &claims(right, attribute)) {
            return Ok(());
        }
        let decision = self.decide(right, name, attribute);
        if decision.allowed {
            return Ok(());
        }
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
        self.refuse(&decision, access, &what)
    }

    fn refuse<T>(&self, decision: &Decision, access: &str, what: &str) -> Result<T, Stop> {
        let who = match self.subject.dn.as_str() {
            "" => "an anonymous client",
            dn => dn,
        };
        let text = format!("{who} has no {access} to {what} {}", decision.place());
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

/// The claims of an operation, in the words of the directory's rules.
fn claims(right: Right, attribute: Option<TypeId>) -> SmallVec<[Claim<'static>; 2]> {
    let object = attribute.map_or(Object::Entry, Object::Attribute);
    let rights: &[RuleRight] = match (right, attribute) {
        (Right::Authenticate, _) => &[RuleRight::Authenticate],
        (Right::Disclose, _) => &[RuleRight::Disclose],
        (Right::Compare, _) => &[RuleRight::Compare],
        (Right::Search, _) => &[RuleRight::Search],
        (Right::Read, _) => &[RuleRight::Read],
        (Right::Write, Some(_)) => &[RuleRight::DeleteValue, RuleRight::AddValue],
        // A change of nothing tells whether the entry exists.
        (Right::Write, None) => &[RuleRight::Disclose],
        (Right::Add, _) => &[RuleRight::Add],
        (Right::Delete, _) => &[RuleRight::Delete],
        (Right::Rename, _) => &[RuleRight::Rename],
        (Right::Manage, _) => &[RuleRight::Manage],
    };
    rights.iter().map(|it| Claim::of(*it, object)).collect()
}
