//! Explanations of decisions about access: of whomever, made as operations make them.

use super::facts::{OfEntry, OfSubject};
use super::plain::PlainView;
use super::ruled::Claim;
use crate::stop::{Failure, Stop};
use policy::Subject;
use policy::access::compile::RuleSet;
use policy::access::decide::{Question, Ruling, SubjectRules};
use policy::access::facts::{Asker, Identity};
use policy::access::objects::Object;
use policy::access::right::Right;
use policy::access::sets;
use policy::access::words::Use;
use schema::Name;
use store::Lookup;

/// Uses that everybody has as long as no rule is about them.
const FREE: [Use; 6] = [
    Use::Sync,
    Use::Persist,
    Use::Unindexed,
    Use::Sort,
    Use::View,
    Use::Count,
];

/// The explanation of a decision.
#[derive(Debug, Default)]
pub struct Explained {
    /// Whether the right is given.
    pub allowed: bool,
    /// Name of the rule that decided; empty if none is about the question.
    pub rule: String,
    /// The clause that decided, as text; empty if none matched.
    pub clause: String,
    /// Contributions of rules and clauses, in the order in which they were asked.
    pub reasons: Vec<ExplainedReason>,
    /// Changes that turn the decision, in words.
    pub changes: Vec<String>,
}

/// Contribution of one rule or clause.
#[derive(Debug)]
pub struct ExplainedReason {
    /// Name of the rule.
    pub rule: String,
    /// The clause as text; empty if the reason is about the rule.
    pub clause: String,
    /// The reason, in words.
    pub why: String,
}

impl PlainView<'_> {
    /// Explains how a claim of somebody to an entry is decided, which may exist or not.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn explain_access(
        &self,
        asker: Asker,
        name: &Name,
        claim: &Claim<'_>,
    ) -> Result<Explained, Stop> {
        if matches!(asker.acting, Identity::Administrator(_)) {
            return Ok(Explained::fixed(true, "administrator", "is asked nothing"));
        }
        let catalog = self.catalog;
        let set = match &catalog.access_rules {
            Some(set) => set.clone(),
            None => self.built_in()?,
        };
        let facts = OfSubject::new(self);
        let subject = set.of_subject(asker, &facts);
        let row = match self.snapshot.find(name)? {
            Lookup::Found(id) => self.snapshot.entry(id)?.map(|row| (id, row)),
            Lookup::Missing { .. } => None,
        };
        if name.is_within(&catalog.config) || name.is_within(&catalog.monitor) {
            let place = row.as_ref().map(|(id, row)| (*id, row));
            let has_rules = catalog.access_rules.is_some();
            let (right, object) = (claim.right, claim.object);
            let allowed = has_rules && self.sees_of_config(&subject, name, place, right, object);
            let why = "is the administrator's, but for rules within an area that was handed over";
            return Ok(Explained::fixed(allowed, "configuration", why));
        }
        if let Some(explained) = self.beside_rules(&subject, name, claim) {
            return Ok(explained);
        }
        let id = row.map(|(id, _)| id);
        let entry = OfEntry::named(self, name, id, None);
        let question = Question {
            object: claim.object,
            value: claim.value,
        };
        let explanation = subject.explain(&entry, &facts, question, claim.right);
        let mut explained = Explained::of(&explanation, &set);
        if entry.is_cut() {
            explained.allowed = false;
            explained.reasons.push(ExplainedReason {
                rule: explained.rule.clone(),
                clause: String::new(),
                why: "could not be judged, as the entry could not be read as a whole".to_owned(),
            });
        }
        Ok(explained)
    }

    /// Decides a claim of a subject to the entry of this name, which may exist or not, by rules
    /// that need not be in force. `None` where no rules are asked, in the configuration and the
    /// monitor, and where the entry cannot be read as a whole.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn ruling_under(
        &self,
        rules: &SubjectRules,
        name: &Name,
        claim: &Claim<'_>,
    ) -> Result<Option<Ruling>, Stop> {
        let (catalog, (object, value)) = (self.catalog, (claim.object, claim.value));
        if name.is_within(&catalog.config) || name.is_within(&catalog.monitor) {
            return Ok(None);
        }
        if let Object::Use(it) = object
            && !rules.set().decides(it)
        {
            let (allowed, place) = (FREE.contains(&it), None);
            return Ok(Some(Ruling { allowed, place }));
        }
        let entry = OfEntry::named(self, name, self.id_of_asked(name)?, None);
        let ruling = rules.decide(&entry, Question { object, value }, claim.right);
        Ok((!entry.is_cut()).then_some(ruling))
    }

    /// The decision where operations do not ask the rules alone.
    fn beside_rules(
        &self,
        subject: &SubjectRules,
        name: &Name,
        claim: &Claim<'_>,
    ) -> Option<Explained> {
        let catalog = self.catalog;
        match claim.object {
            Object::Use(it) if !subject.set().decides(it) => {
                let allowed = FREE.contains(&it);
                let why = match allowed {
                    true => "is everybody's, as no rule is about this use",
                    false => "is the administrator's, as no rule is about this use",
                };
                Some(Explained::fixed(allowed, "", why))
            }
            Object::Entry if claim.right == Right::Proxy => {
                let nobody = Subject::anonymous(None, false);
                let as_entry = |it: &Name| {
                    nobody.authenticated(it.clone(), String::new(), policy::Authentication::None)
                };
                let own = subject.asker().acting.name().map(as_entry)?;
                let mut other = as_entry(name);
                if catalog
                    .administrator
                    .as_ref()
                    .is_some_and(|it| it.name == *name)
                {
                    other = nobody.administrator(
                        name.clone(),
                        String::new(),
                        policy::Authentication::None,
                    );
                }
                let decision = catalog.access.decide_proxy(&own, &other);
                let why = "is named by pandoProxy, or acts as itself";
                let of_setting = Explained::fixed(true, "proxy", why);
                decision.allowed.then_some(of_setting)
            }
            _ => None,
        }
    }

    /// The built-in rules as a set.
    fn built_in(&self) -> Result<RuleSet, Stop> {
        let (schema, secrets) = (&self.catalog.schema, self.catalog.access.secrets());
        let set = RuleSet::compile(schema, secrets, &sets::builtin());
        Ok(set.map_err(|error| Failure::Configuration(error.to_string()))?)
    }
}

impl Explained {
    /// A decision that no rule of the directory makes.
    fn fixed(allowed: bool, rule: &str, why: &str) -> Explained {
        Explained {
            allowed,
            rule: rule.to_owned(),
            reasons: vec![ExplainedReason {
                rule: rule.to_owned(),
                clause: String::new(),
                why: why.to_owned(),
            }],
            ..Explained::default()
        }
    }

    fn of(it: &policy::access::explain::Explanation, set: &RuleSet) -> Explained {
        let place = it.ruling.place;
        let rule = place.and_then(|it| set.rules().nth(it.rule));
        let clause = place.and_then(|it| rule?.clauses.get(it.clause?));
        let reasons = it.reasons.iter().map(|it| ExplainedReason {
            rule: it.rule.clone(),
            clause: it.clause.clone().unwrap_or_default(),
            why: it.why.to_string(),
        });
        Explained {
            allowed: it.ruling.allowed,
            rule: rule.map(|it| it.name.clone()).unwrap_or_default(),
            clause: clause.map(ToString::to_string).unwrap_or_default(),
            reasons: reasons.collect(),
            changes: it.changes(),
        }
    }
}
