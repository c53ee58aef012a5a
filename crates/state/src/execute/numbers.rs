//! Numbers for new entries (`uidNumber`, `gidNumber` …), given in the order of execution: no number
//! is given twice, even after its first holder is deleted.

use super::Execution;
use super::draft::Draft;
use super::free_number::free_number;
use super::holder::other_match;
use crate::rules::{NumberRange, Numbers};
use crate::stop::Stop;
use crate::view::View;
use policy::Subject;
use protocol::{Filter, ResultCode};
use schema::{AttributeNumber, Name, Schema, TypeId};
use store::EntryId;

/// A rule that applies to an entry.
#[derive(Clone, Copy)]
pub(super) struct Due<'x> {
    rule: &'x Numbers,
    /// Number of the rule's attribute.
    number: AttributeNumber,
}

/// An attribute type, and the bases below which holders of its values are looked for.
type Look = (TypeId, Vec<EntryId>);

/// Counter of a range, stored if the write succeeds.
pub(super) struct Counter {
    key: Vec<u8>,
    last: u128,
    /// The attribute that got the last number; `None` if the range was only skipped.
    given: Option<String>,
    number: AttributeNumber,
}

impl Counter {
    /// The attribute that got a number.
    pub fn gave_to(&self) -> Option<AttributeNumber> {
        self.given.is_some().then_some(self.number)
    }
}

/// A number given to an entry by a rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GivenNumber {
    /// Index of the write in its unit, or in the whole record.
    pub write: usize,
    /// Name of the attribute.
    pub attribute: String,
    /// The number in digits.
    pub value: String,
}

impl<'x> Execution<'x, '_> {
    /// Returns the rules that apply to entries of this name.
    pub(super) fn numbers_due(&mut self, name: &Name) -> Result<Vec<Due<'x>>, Stop> {
        let rules = &self.catalog.rules.numbers;
        let mut due = Vec::new();
        for rule in rules.iter().filter(|rule| rule.place.covers(name)) {
            let attribute = self.schema.type_of(rule.type_id).name().to_owned();
            let Ok(description) = self.schema.describe(&attribute) else {
                continue;
            };
            let number = self.number(&description)?;
            due.push(Due { rule, number });
        }
        Ok(due)
    }

    /// Gives a draft the numbers it requests by the rule's request value or, if `missing` is true,
    /// by lacking the attribute.
    pub(super) fn give_numbers(
        &self,
        due: &[Due<'x>],
        name: &Name,
        draft: &mut Draft<'_>,
        missing: bool,
    ) -> Result<Vec<Counter>, Stop> {
        let mut counters = Vec::new();
        for &Due { rule, number } in due {
            let asks = match draft.find(number) {
                None => missing,
                Some(it) => {
                    let request = rule.request.as_deref();
                    request.is_some() && it.values.iter().eq(request)
                }
            };
            if !asks || !self.is_of(rule, draft) {
                continue;
            }
            let next = self.next_number(rule, number, name, &mut counters)?;
            draft.stamp(&self.schema, number, next.to_string().into_bytes());
        }
        Ok(counters)
    }

    /// Stores counters, and records the given numbers with the current write.
    pub(super) fn keep(&mut self, counters: &[Counter]) -> Result<(), Stop> {
        for counter in counters {
            self.batch
                .put_meta(&counter.key, &counter.last.to_be_bytes())?;
            self.given
                .extend(counter.given.iter().map(|attribute| GivenNumber {
                    write: 0,
                    attribute: attribute.clone(),
                    value: counter.last.to_string(),
                }));
        }
        Ok(())
    }

    fn is_of(&self, rule: &Numbers, draft: &Draft<'_>) -> bool {
        let classes = draft.find(self.catalog.known.object_class.number);
        classes.is_some_and(|classes| {
            classes.values.iter().any(|value| {
                let text = std::str::from_utf8(value).unwrap_or_default();
                let class = self.schema.object_class(text);
                class.is_some_and(|class| self.schema.is_subclass(class, rule.class))
            })
        })
    }

    /// Returns the next number in the rule's ranges that was never given and that no entry holds,
    /// with the counters to store: the counter of its range, and the counters of used-up ranges
    /// before it.
    fn next_number(
        &self,
        rule: &Numbers,
        number: AttributeNumber,
        name: &Name,
        counters: &mut Vec<Counter>,
    ) -> Result<u128, Stop> {
        let attribute = self.schema.type_of(rule.type_id).name();
        let catalog = self.catalog_now();
        let (snapshot, server) = (self.batch.snapshot(), Subject::server());
        let view = View::new(&snapshot, &catalog, &server);
        let looks = self.looks_for(rule, name)?;
        let mut is_held = |number: u128| -> Result<bool, Stop> {
            let value = number.to_string();
            for (of, bases) in &looks {
                let filter = self.schema.resolve_filter(&Filter::Equality {
                    attribute: self.schema.type_of(*of).name(),
                    value: value.as_bytes(),
                });
                if other_match(&view, &filter, bases, None)?.is_some() {
                    return Ok(true);
                }
            }
            Ok(false)
        };
        for range in &rule.ranges {
            let key = counter_key(attribute, range);
            let last = snapshot.meta(&key)?;
            let last = last.and_then(|it| Some(u128::from_be_bytes(*it.first_chunk()?)));
            let first = match last {
                Some(last) if last >= range.high => continue,
                Some(last) => range.low.max(last + 1),
                None => range.low,
            };
            let found = free_number(first, range.high, &mut is_held)?;
            // A used-up range is marked, so that later writes do not search it again.
            let last = found.unwrap_or(range.high);
            let given = found.map(|_| attribute.to_owned());
            counters.push(Counter {
                key,
                last,
                given,
                number,
            });
            if let Some(found) = found {
                return Ok(found);
            }
        }
        Stop::refuse(
            ResultCode::UNWILLING_TO_PERFORM,
            exhausted(&self.schema, rule),
        )
    }

    /// Returns the places where a number for an entry of this name must not be in use: the
    /// attribute itself anywhere, and attributes that share unique values with it, whose rule would
    /// refuse it.
    fn looks_for(&self, rule: &Numbers, name: &Name) -> Result<Vec<Look>, Stop> {
        let mut looks = vec![(rule.type_id, vec![EntryId::ROOT])];
        let shared = self.catalog.rules.unique.iter().filter(|it| {
            it.types.len() > 1 && it.place.covers(name) && it.covers(&self.schema, rule.type_id)
        });
        for unique in shared {
            let bases = unique.bases(&self.batch.snapshot())?;
            let others = unique.types.iter().filter(|it| **it != rule.type_id);
            looks.extend(others.map(|it| (*it, bases.clone())));
        }
        Ok(looks)
    }
}

/// Returns the text of the refusal when a rule has no number left.
pub fn exhausted(schema: &Schema, rule: &Numbers) -> String {
    let ranges: Vec<String> = rule.ranges.iter().map(NumberRange::to_string).collect();
    format!(
        "all numbers for {} in {} are given away; add a pandoNumberRange to the rule in \
         cn=rules,cn=config",
        schema.type_of(rule.type_id).name(),
        ranges.join(", ")
    )
}

/// Returns the meta key of a range's counter. It does not include the upper end, so that a range
/// can be extended.
pub fn counter_key(attribute: &str, range: &NumberRange) -> Vec<u8> {
    format!("number {} {}", attribute.to_ascii_lowercase(), range.low).into_bytes()
}
