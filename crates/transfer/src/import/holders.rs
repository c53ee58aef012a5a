//! Holders of values and counters of numbers, decided in the order of the import.

use super::rulebook::{Claim, Look, Rulebook, key};
use super::table::NameTable;
use schema::Schema;
use state::execute::{counter_key, exhausted};
use state::rules::NumberRange;
use state::stop::Failure;
use std::path::Path;
use store::{EntryId, FieldReader, Fields, Snapshot};

/// Known holders of values under rules: 16 bytes each, and space to grow.
#[derive(Debug)]
pub(super) struct Holders {
    held: NameTable,
    /// For each rule of numbers and each of its ranges: the counter's key, and the last number
    /// given.
    counters: Vec<Vec<(Vec<u8>, Option<u128>)>>,
}

impl Holders {
    /// Continues with the counters of the old database.
    pub fn new(
        rulebook: Rulebook<'_>,
        schema: &Schema,
        old: &Snapshot<'_>,
    ) -> Result<Holders, store::Error> {
        let mut counters = Vec::new();
        for at in 0..rulebook.numbers_count() {
            let rule = rulebook.numbers(at);
            let attribute = schema.type_of(rule.type_id).name();
            let mut of_rule = Vec::new();
            for range in &rule.ranges {
                let key = counter_key(attribute, range);
                let last = old.meta(&key)?;
                let last = last.and_then(|it| Some(u128::from_be_bytes(*it.first_chunk()?)));
                of_rule.push((key, last));
            }
            counters.push(of_rule);
        }
        Ok(Holders {
            held: NameTable::new(),
            counters,
        })
    }

    /// Writes the state to a checkpoint, the values to a file of their own.
    pub fn keep(&self, path: &Path, fields: &mut Fields) -> std::io::Result<()> {
        let (count, checksum) = self.held.save(path)?;
        fields.number(count);
        fields.number(checksum);
        for (_, last) in self.counters.iter().flatten() {
            fields.number(u64::from(last.is_some()));
            fields.wide(last.unwrap_or_default());
        }
        Ok(())
    }

    /// Reads the state of a checkpoint made under the same rules.
    pub fn resume(&mut self, path: &Path, fields: &mut FieldReader<'_>) -> Result<(), Failure> {
        let (count, checksum) = (fields.number()?, fields.number()?);
        let held = NameTable::load(path, count, checksum);
        self.held = held.map_err(|error| Failure::file("reading values held", error))?;
        for (_, last) in self.counters.iter_mut().flatten() {
            let is_known = fields.number()? != 0;
            *last = Some(fields.wide()?).filter(|_| is_known);
        }
        Ok(())
    }

    /// The first value that another entry holds, and that entry; `None` if there is none.
    pub fn conflict(&self, claims: &[Claim], own: Option<EntryId>) -> Option<(u128, EntryId)> {
        claims.iter().filter(|it| it.alone).find_map(|claim| {
            let holder = self.held.get(claim.key)?;
            (Some(holder) != own).then_some((claim.key, holder))
        })
    }

    /// Records an appended entry as holder of its values.
    pub fn hold(&mut self, claims: &[Claim], id: EntryId) {
        for claim in claims.iter().filter(|it| it.holds) {
            if self.held.get(claim.key).is_none() {
                self.held.insert(claim.key, id);
            }
        }
    }

    /// The next number of a rule for an entry under these unique rules; it is held by no entry and
    /// was never given. The caller must call [`give`](Holders::give) if it uses the number.
    pub fn next_number(
        &self,
        rulebook: Rulebook<'_>,
        schema: &Schema,
        (rule, unique): (u16, &[u16]),
        scratch: &mut Vec<u8>,
    ) -> Result<Given, String> {
        let numbers = rulebook.numbers(rule);
        let counters = &self.counters[usize::from(rule)];
        let looks = rulebook.looks_for(schema, numbers.type_id, unique);
        for (range, (of, (_, last))) in numbers.ranges.iter().zip(counters).enumerate() {
            let last = self.past_held(schema, (&looks, of), *last, scratch);
            if let Some(number) = after(last, of) {
                return Ok(Given {
                    rule,
                    range,
                    number,
                });
            }
        }
        Err(exhausted(schema, numbers))
    }

    /// Counts numbers held by imported entries as given, as far as they directly follow a range's
    /// counter. The next number stays the same, and is found without testing each.
    pub fn count_held(&mut self, rulebook: Rulebook<'_>, schema: &Schema, scratch: &mut Vec<u8>) {
        let mut counters = std::mem::take(&mut self.counters);
        for (rule, counters) in (0..).zip(&mut counters) {
            let numbers = rulebook.numbers(rule);
            let looks = rulebook.looks_for(schema, numbers.type_id, &[]);
            for (of, (_, last)) in numbers.ranges.iter().zip(counters) {
                *last = self.past_held(schema, (&looks, of), *last, scratch);
            }
        }
        self.counters = counters;
    }

    /// The number of a range before the next free one, or before the end of the range.
    fn past_held(
        &self,
        schema: &Schema,
        (looks, of): (&[Look], &NumberRange),
        mut last: Option<u128>,
        scratch: &mut Vec<u8>,
    ) -> Option<u128> {
        while let Some(number) = after(last, of) {
            let text = number.to_string();
            let mut keys = looks.iter();
            let is_held = keys.any(|(unique, type_id)| {
                let key = key(schema, *unique, *type_id, text.as_bytes(), scratch);
                key.is_some_and(|key| self.held.get(key).is_some())
            });
            if !is_held {
                break;
            }
            last = Some(number);
        }
        last
    }

    /// Records a number as given.
    pub fn give(&mut self, given: &Given) {
        self.counters[usize::from(given.rule)][given.range].1 = Some(given.number);
    }

    /// The counters to store in the new database.
    pub fn counters(&self) -> impl Iterator<Item = (&[u8], u128)> {
        let counters = self.counters.iter().flatten();
        counters.filter_map(|(key, last)| Some((key.as_slice(), (*last)?)))
    }
}

/// The number that follows the last one given in a range; `None` at its end.
fn after(last: Option<u128>, of: &NumberRange) -> Option<u128> {
    let next = match last {
        Some(last) => last.checked_add(1)?.max(of.low),
        None => of.low,
    };
    (next <= of.high).then_some(next)
}

/// A number given from a range of a rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct Given {
    pub rule: u16,
    range: usize,
    pub number: u128,
}
