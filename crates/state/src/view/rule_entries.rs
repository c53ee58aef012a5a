//! Entries of access rules, as those may see them to whom a part of the directory was handed over:
//! rules within an area about which the subject may write rules. Every other entry of the
//! configuration is the administrator's.

use super::facts::OfSubject;
use super::plain::PlainView;
use super::ruled::Claim;
use crate::access_rules::{self, PlacedRule};
use crate::stop::Stop;
use policy::access::compile::RuleSet;
use policy::access::decide::SubjectRules;
use policy::access::objects::{Object, ObjectSet};
use policy::access::right::Right;
use policy::access::rules::Rule;
use schema::Name;
use std::borrow::Cow;
use store::{EntryId, EntryView, Lookup};

/// Attributes of a rule's entry that its author sees.
const SHOWN: [&str; 11] = [
    "objectClass",
    "cn",
    "pandoAccessText",
    "pandoAccessOrder",
    "description",
    "entryUUID",
    "entryDN",
    "createTimestamp",
    "modifyTimestamp",
    "creatorsName",
    "modifiersName",
];

/// The rights to see an entry of the configuration.
#[derive(Debug, Default)]
pub(super) struct ConfigSight {
    /// Whether the subject may learn that the entry exists, and search below it.
    pub discloses: bool,
    /// Things of the entry that the subject may read and search by.
    pub shown: ObjectSet,
}

impl PlainView<'_> {
    /// Whether an entry of this name would keep an access rule, and another subject than the
    /// administrator may have it handed over.
    pub fn keeps_handed_over(&self, name: &Name) -> bool {
        self.has_rules && self.keeps_rule(name)
    }

    fn keeps_rule(&self, name: &Name) -> bool {
        let container = &self.catalog.rule_container;
        name.depth() == container.depth() + 1 && name.is_within(container)
    }

    /// Finds the container of rules, or an entry directly below it; `None` for other names.
    pub(super) fn find_rule(&self, name: &Name) -> Result<Option<Lookup>, Stop> {
        match self.keeps_handed_over(name) || *name == self.catalog.rule_container {
            true => Ok(Some(self.snapshot.find(name)?)),
            false => Ok(None),
        }
    }

    /// The subject's rights to see an entry of the configuration.
    pub(super) fn config_sight(
        &self,
        rules: &SubjectRules,
        name: &Name,
        place: Option<(EntryId, &EntryView<'_>)>,
    ) -> ConfigSight {
        let hidden = ConfigSight::default();
        if *name == self.catalog.rule_container {
            return ConfigSight {
                discloses: rules.may_administer(),
                ..hidden
            };
        }
        let Some((id, row)) = place.filter(|_| self.keeps_rule(name)) else {
            return hidden;
        };
        let schema = &self.catalog.schema;
        let placed = access_rules::read_entry(schema, id, row);
        let governed = placed.is_ok_and(|it| rules.governed(&it.rule).is_some());
        if !governed {
            return hidden;
        }
        let types = SHOWN.iter().filter_map(|it| schema.attribute_type(it));
        let objects = types.map(Object::Attribute).chain([Object::Entry]);
        ConfigSight {
            discloses: true,
            shown: ObjectSet::of(objects),
        }
    }

    /// Whether the subject has a right to see something of an entry of the configuration.
    pub(super) fn sees_of_config(
        &self,
        rules: &SubjectRules,
        name: &Name,
        place: Option<(EntryId, &EntryView<'_>)>,
        right: Right,
        object: Object,
    ) -> bool {
        if !matches!(
            right,
            Right::Disclose | Right::Compare | Right::Search | Right::Read
        ) {
            return false;
        }
        let sight = self.config_sight(rules, name, place);
        let is_base = object == Object::Entry && matches!(right, Right::Disclose | Right::Search);
        sight.shown.contains(object) || (is_base && sight.discloses)
    }

    /// The stored rule with this name, if the subject may write rules within its area.
    pub(crate) fn governed_rule(&self, name: &Name) -> Result<Option<PlacedRule>, Stop> {
        let (Some(ruled), Lookup::Found(id)) = (self.ruled(), self.snapshot.find(name)?) else {
            return Ok(None);
        };
        let Some(row) = self
            .snapshot
            .entry(id)?
            .filter(|_| self.keeps_handed_over(name))
        else {
            return Ok(None);
        };
        let placed = access_rules::read_entry(&self.catalog.schema, id, &row)?;
        Ok(ruled.rules.governed(&placed.rule).map(|_| placed))
    }

    /// Name of the rule that gives the subject the area of a rule to write rules in; "none" if no
    /// rule does.
    pub(crate) fn handed_over_by(&self, rule: &Rule) -> Cow<'static, str> {
        let area = self.own_rules().and_then(|own| own.governed(rule));
        let claims = [Claim::entry(Right::Administer)];
        let decision = area.map(|it| self.decide_claims(&it, &claims));
        decision.map_or(Cow::Borrowed("none"), |it| it.rule)
    }

    /// All stored rules, in the order of adding.
    pub(crate) fn placed_rules(&self) -> Result<Vec<PlacedRule>, Stop> {
        Ok(access_rules::read(self.snapshot, &self.catalog.schema)?)
    }

    /// The rules for the subject; `None` where the built-in ones hold.
    pub(crate) fn own_rules(&self) -> Option<&SubjectRules> {
        self.ruled().map(|it| &it.rules)
    }

    /// The rules for the subject wherever it is, by whichever way it came and at any time; `None`
    /// where the built-in ones hold.
    pub(crate) fn lasting_rules(&self) -> Option<SubjectRules> {
        let set = self.catalog.access_rules.as_ref()?;
        let asker = self.subject.asker(None).anyhow();
        Some(set.of_subject(asker, &OfSubject::new(self)))
    }

    /// The subject under another set of rules.
    pub fn under(&self, set: &RuleSet) -> SubjectRules {
        self.judged_under(set)
    }
}
