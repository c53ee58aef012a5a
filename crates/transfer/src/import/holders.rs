//! Holders of values under rules and counters of numbers, decided in the order of the import.

use super::rulebook::{Claim, Look, Rulebook, Ruled, key};
use super::table::NameTable;
use schema::Schema;
use state::execute::{counter_key, exhausted, held};
use state::rules::NumberRange;
use state::stop::Failure;
use std::path::Path;
use store::{EntryId, EntryView, FieldReader, Fields, Snapshot};

/// Known holders of values under rules: 16 bytes each, and space to grow.
pub(super) struct Holders<'p> {
    rulebook: Rulebook<'p>,
    held: NameTable,
    /// The counter of each range of each rule of numbers.
    counters: Vec<Vec<Counter>>,
    scratch: Vec<u8>,
}

/// The counter of a range of numbers.
#[derive(Debug)]
struct Counter {
    /// Key of the counter in the database.
    key: Vec<u8>,
    /// The last number given; `None` if none was.
    last: Option<u128>,
}

/// A value that another entry holds.
#[derive(Debug, Clone, Copy)]
pub(super) struct Conflict {
    /// Key of the claim.
    key: u128,
    pub holder: EntryId,
}

/// A number given from a range of a rule.
#[derive(Debug, Clone, Copy)]
pub(super) struct GivenNumber {
    rule: u16,
    range: usize,
    pub number: u128,
}

impl<'p> Holders<'p> {
    /// No holders, and the counters of the old database.
    pub fn new(
        rulebook: Rulebook<'p>,
        schema: &Schema,
        old: &Snapshot<'_>,
    ) -> Result<Holders<'p>, store::Error> {
        let mut counters = Vec::new();
        for at in 0..rulebook.numbers_count() {
            let rule = rulebook.numbers(at);
            let attribute = schema.type_of(rule.type_id).name();
            let mut of_rule = Vec::new();
            for range in &rule.ranges {
                let key = counter_key(attribute, range);
                let last = old.meta(&key)?;
                let last = last.and_then(|it| Some(u128::from_be_bytes(*it.first_chunk()?)));
                of_rule.push(Counter { key, last });
            }
            counters.push(of_rule);
        }
        Ok(Holders {
            rulebook,
            held: NameTable::new(),
            counters,
            scratch: Vec::new(),
        })
    }

    /// Writes the state to a checkpoint, the held values to a file of their own.
    pub fn save(&self, path: &Path, fields: &mut Fields) -> std::io::Result<()> {
        let (count, checksum) = self.held.save(path)?;
        fields.number(count);
        fields.number(checksum);
        for counter in self.counters.iter().flatten() {
            fields.number(u64::from(counter.last.is_some()));
            fields.wide(counter.last.unwrap_or_default());
        }
        Ok(())
    }

    /// Reads the state of a checkpoint made under the same rules.
    pub fn resume(&mut self, path: &Path, fields: &mut FieldReader<'_>) -> Result<(), Failure> {
        let (count, checksum) = (fields.number()?, fields.number()?);
        let held = NameTable::load(path, count, checksum);
        self.held = held.map_err(|error| Failure::file("reading values held", error))?;
        for counter in self.counters.iter_mut().flatten() {
            let is_known = fields.number()? != 0;
            counter.last = Some(fields.wide()?).filter(|_| is_known);
        }
        Ok(())
    }

    /// The rules that decide about values.
    pub fn rulebook(&self) -> Rulebook<'p> {
        self.rulebook
    }

    /// The claims of an entry under these unique rules.
    pub fn claims_of(
        &mut self,
        schema: &Schema,
        unique: &[u16],
        row: &[u8],
    ) -> Result<Vec<Claim>, store::Error> {
        let mut claims = Vec::new();
        if self.rulebook.is_empty() {
            return Ok(claims);
        }
        let (view, scratch) = (EntryView::new(row)?, &mut self.scratch);
        let mut add = |claim, _, _: &[u8]| claims.push(claim);
        self.rulebook
            .each_claim(schema, unique, &view, scratch, &mut add);
        Ok(claims)
    }

    /// The first claimed value that another entry than `own` holds; `None` if there is none.
    pub fn conflict(&self, claims: &[Claim], own: Option<EntryId>) -> Option<Conflict> {
        claims.iter().filter(|it| it.alone).find_map(|claim| {
            let key = claim.key;
            let holder = self.held.get(key)?;
            (Some(holder) != own).then_some(Conflict { key, holder })
        })
    }

    /// The reason for refusing an entry because of a conflict. `name` is the holder's name.
    #[cold]
    pub fn reason(
        &mut self,
        schema: &Schema,
        unique: &[u16],
        row: &[u8],
        conflict: Conflict,
        name: &str,
    ) -> Result<String, store::Error> {
        let mut reason = None;
        let mut find = |claim: Claim, of, value: &[u8]| {
            if claim.key == conflict.key && claim.alone {
                reason = Some(held(schema.type_of(of).name(), value, name));
            }
        };
        let (view, scratch) = (EntryView::new(row)?, &mut self.scratch);
        self.rulebook
            .each_claim(schema, unique, &view, scratch, &mut find);
        Ok(reason.unwrap_or_else(|| format!("a value is held by \"{name}\"")))
    }

    /// Records an appended entry as holder of its values.
    pub fn hold(&mut self, claims: &[Claim], id: EntryId) {
        for claim in claims.iter().filter(|it| it.holds) {
            if self.held.get(claim.key).is_none() {
                self.held.insert(claim.key, id);
            }
        }
    }

    /// The next number of a rule for an entry under these rules; it is held by no entry and was
    /// never given. The caller must call [`give`](Holders::give) if it uses the number.
    pub fn next_number(
        &mut self,
        schema: &Schema,
        rule: u16,
        ruled: &Ruled,
    ) -> Result<GivenNumber, String> {
        let numbers = self.rulebook.numbers(rule);
        let looks = self
            .rulebook
            .looks_for(schema, numbers.type_id, &ruled.unique);
        for (range, of) in numbers.ranges.iter().enumerate() {
            let last = self.counters[usize::from(rule)][range].last;
            let last = self.past_held(schema, &looks, of, last);
            if let Some(number) = after(last, of) {
                return Ok(GivenNumber {
                    rule,
                    range,
                    number,
                });
            }
        }
        Err(exhausted(schema, numbers))
    }

    /// Counts numbers held by imported entries as given, as far as they directly follow a range's
    /// counter. The next number does not change, but is found without testing each number.
    pub fn count_held(&mut self, schema: &Schema) {
        for rule in 0..self.rulebook.numbers_count() {
            let numbers = self.rulebook.numbers(rule);
            let looks = self.rulebook.looks_for(schema, numbers.type_id, &[]);
            for (range, of) in numbers.ranges.iter().enumerate() {
                let last = self.counters[usize::from(rule)][range].last;
                let last = self.past_held(schema, &looks, of, last);
                self.counters[usize::from(rule)][range].last = last;
            }
        }
    }

    /// The number of a range before the next free one, or before the end of the range.
    fn past_held(
        &mut self,
        schema: &Schema,
        looks: &[Look],
        of: &NumberRange,
        mut last: Option<u128>,
    ) -> Option<u128> {
        while let Some(number) = after(last, of) {
            let text = number.to_string();
            let scratch = &mut self.scratch;
            let is_held = looks.iter().any(|(unique, type_id)| {
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
    pub fn give(&mut self, given: &GivenNumber) {
        self.counters[usize::from(given.rule)][given.range].last = Some(given.number);
    }

    /// The counters to store in the new database: their keys, and the last number of each.
    pub fn counters(&self) -> impl Iterator<Item = (&[u8], u128)> {
        let counters = self.counters.iter().flatten();
        counters.filter_map(|it| Some((it.key.as_slice(), it.last?)))
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
