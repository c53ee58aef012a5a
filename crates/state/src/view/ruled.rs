//! Access rules of the directory, judged for the subject of a view.
//!
//! The rules replace the built-in ones for every entry but those of the configuration and the
//! monitor, which stay the administrator's; `rule_entries` has the exception. Questions about an
//! entry are answered from the entry as stored, whatever the subject may see of it.

use super::facts::{OfEntry, OfSubject, Place};
use super::plain::PlainView;
use super::sights::{Ruled, Sight};
use crate::stop::Stop;
use policy::Subject;
use policy::access::compile::RuleSet;
use policy::access::decide::{Question, Ruling, SubjectRules};
use policy::access::hours::WeekMinute;
use policy::access::objects::{Object, ObjectSet};
use policy::access::right::Right;
use protocol::Scope;
use schema::{Membership, Name};
use store::{EntryId, EntryView, Lookup};

/// A right that an operation needs, and the thing that it is a right to.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'v> {
    /// The right.
    pub right: Right,
    /// The thing.
    pub object: Object,
    /// The value of the attribute; `None` for all values, or where there is none.
    pub value: Option<&'v [u8]>,
}

impl Claim<'_> {
    /// A right to an entry itself.
    pub fn entry(right: Right) -> Claim<'static> {
        Claim::of(right, Object::Entry)
    }

    /// A right to a thing with all its values.
    pub fn of(right: Right, object: Object) -> Claim<'static> {
        Claim {
            right,
            object,
            value: None,
        }
    }
}

impl PlainView<'_> {
    /// Whether the subject is judged by rules of the directory.
    #[inline]
    pub fn is_ruled(&self) -> bool {
        self.has_rules
    }

    /// The rules for the subject; `None` if the built-in ones hold.
    pub(super) fn ruled(&self) -> Option<&Ruled> {
        if !self.has_rules {
            return None;
        }
        let set = self.catalog.access_rules.as_ref()?;
        let ruled = self
            .ruled
            .get_or_init(|| Box::new(Ruled::new(self.judged_under(set))));
        Some(ruled)
    }

    /// A set of rules, judged for the subject.
    pub(super) fn judged_under(&self, set: &RuleSet) -> SubjectRules {
        let minute = match self.now_us() {
            0 => None,
            now_us => i64::try_from(now_us / 1_000_000).ok().map(WeekMinute::at),
        };
        let facts = OfSubject::new(self);
        set.of_subject(self.subject.asker(minute), &facts)
    }

    /// The subject's rights to see an entry; `None` if the built-in rules hold.
    #[inline]
    pub(super) fn sight(&self, id: EntryId, row: &EntryView<'_>) -> Result<Option<&Sight>, Stop> {
        match self.has_rules {
            false => Ok(None),
            true => self.judged_sight(id, row),
        }
    }

    #[cold]
    fn judged_sight(&self, id: EntryId, row: &EntryView<'_>) -> Result<Option<&Sight>, Stop> {
        let Some(ruled) = self.ruled() else {
            return Ok(None);
        };
        let mut spelled = Vec::with_capacity(64);
        self.snapshot.write_name(row, &mut spelled)?;
        let name = std::str::from_utf8(&spelled).ok();
        let name = name.and_then(|it| self.catalog.schema.resolve_name(it).ok());
        let (mut read, mut search) = (ObjectSet::default(), ObjectSet::default());
        let mut discloses = false;
        // An entry whose name means nothing is the administrator's.
        if let Some(name) = name
            .as_ref()
            .filter(|it| it.is_within(&self.catalog.config))
        {
            let of_config = self.config_sight(&ruled.rules, name, Some((id, row)));
            discloses = of_config.discloses;
            (read, search) = (of_config.shown.clone(), of_config.shown);
        } else if let Some(name) = name {
            let facts = OfEntry::new(self, &name, Some(Place { id, row }));
            read = ruled.rules.objects_of(&facts, Right::Read);
            search = ruled.rules.objects_of(&facts, Right::Search);
            let question = Question::about(Object::Entry);
            let ruling = ruled.rules.decide(&facts, question, Right::Disclose);
            discloses = ruling.allowed && !facts.is_cut();
            if facts.is_cut() {
                (read, search) = (ObjectSet::default(), ObjectSet::default());
            }
        }
        Ok(Some(ruled.kept(self.catalog, read, search, discloses)))
    }

    /// Whether the subject has a right to a thing of the entry with this name, which may exist or
    /// not. False where the built-in rules hold.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn is_given(&self, name: &Name, claim: &Claim<'_>) -> Result<bool, Stop> {
        Ok(self.ruling(name, claim)?.is_some_and(|it| it.allowed))
    }

    /// The decision of the directory's rules; `None` where the built-in rules hold.
    pub(super) fn ruling(&self, name: &Name, claim: &Claim<'_>) -> Result<Option<Ruling>, Stop> {
        let Some(ruled) = self.ruled() else {
            return Ok(None);
        };
        let refused = Ruling {
            allowed: false,
            place: None,
        };
        if name.is_within(&self.catalog.monitor) {
            return Ok(Some(refused));
        }
        let question = Question {
            object: claim.object,
            value: claim.value,
        };
        let row = match self.snapshot.find(name)? {
            Lookup::Found(id) => self.snapshot.entry(id)?.map(|row| (id, row)),
            Lookup::Missing { .. } => None,
        };
        if name.is_within(&self.catalog.config) {
            let place = row.as_ref().map(|(id, row)| (*id, row));
            let (right, object) = (claim.right, claim.object);
            let allowed = self.sees_of_config(&ruled.rules, name, place, right, object);
            return Ok(Some(Ruling { allowed, ..refused }));
        }
        let place = row.as_ref().map(|(id, row)| Place { id: *id, row });
        let facts = OfEntry::new(self, name, place);
        let ruling = ruled.rules.decide(&facts, question, claim.right);
        Ok(Some(match facts.is_cut() {
            true => refused,
            false => ruling,
        }))
    }

    /// Whether every entry directly below one may be returned; true where the built-in rules hold.
    pub(super) fn returns_children(&self, name: &Name) -> bool {
        let Some(ruled) = self.ruled() else {
            return true;
        };
        let region = ruled.rules.region(name.clone(), Scope::SingleLevel);
        region.held(Right::Read).always.contains(Object::Entry)
    }

    /// Whether a filter may ask for the members of a group.
    pub(super) fn may_ask_members(&self, group: &Membership) -> bool {
        !self.has_rules || matches!(self.known_group(EntryId(group.group)), Ok(Some(_)))
    }

    /// Name of the rule that made a decision.
    pub(super) fn rule_of(&self, ruling: &Ruling) -> String {
        let set = self.catalog.access_rules.as_ref();
        let named = ruling.place.and_then(|it| set?.rules().nth(it.rule));
        named.map_or_else(|| "none".to_owned(), |it| it.name.clone())
    }
}

impl PlainView<'_> {
    /// Whether the subject may act as another one (RFC 4370). No rule of the directory lets anybody
    /// act as the administrator.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn may_act_as(&self, other: &Subject) -> Result<bool, Stop> {
        let access = &self.catalog.access;
        if access.decide_proxy(self.subject, other).allowed {
            return Ok(true);
        }
        match &other.name {
            Some(name) if !other.is_administrator() => {
                self.is_given(name, &Claim::entry(Right::Proxy))
            }
            _ => Ok(false),
        }
    }
}
