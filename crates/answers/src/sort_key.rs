//! Sort keys (RFC 2891) as octet strings, whose order is that of the entries.
//!
//! A key has one part for each requested sort key, then the entry's id. A part is a flag for
//! whether the entry has a value, the least value in normal form with zero octets escaped, and a
//! terminator. All octets of a reversed part are complemented, and those of the id if the first
//! part is: an ordering index walked backwards then has the same order.

use protocol::control::{SortRequest, SortResponse};
use protocol::{OwnedControl, ResultCode, oid};
use schema::matching::RuleKind;
use schema::{AttributeNumber, MatchingRule, Schema, TypeId, ValueSource};
use smallvec::SmallVec;
use state::stop::Stop;
use state::view::VisibleEntry;
use store::EntryId;

/// Maximum number of sort keys of a search; the paging cookie holds them all.
const KEYS_MAX: usize = 16;
/// Octets of a value's normal form that are compared; entries that differ only further on are
/// ordered by id. Limits memory and the size of paging cookies.
const VALUE_BYTES_MAX: usize = 1024;

const PRESENT: u8 = 0x01;
/// RFC 2891 §2.2: an absent value is larger than every value.
const ABSENT: u8 = 0x02;
const TERMINATOR: [u8; 2] = [0x00, 0x01];
const ESCAPED_ZERO: [u8; 2] = [0x00, 0xFF];
const ID_BYTES: usize = 8;

/// The requested order, resolved under the schema.
#[derive(Debug)]
pub struct Order {
    keys: SmallVec<[Key; 2]>,
}

#[derive(Debug)]
struct Key {
    rule: &'static MatchingRule,
    type_id: TypeId,
    numbers: Vec<AttributeNumber>,
    reverse: bool,
}

/// Reason why results cannot be sorted, as the response control reports it (RFC 2891 §1.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unsorted {
    /// The result of the sort (RFC 2891 §1.2).
    pub code: ResultCode,
    /// The attribute description that was asked for.
    pub attribute: String,
    /// The reason, for the client.
    pub text: String,
}

impl Unsorted {
    /// The response control that reports the reason.
    pub fn control(&self) -> OwnedControl {
        sort_response(self.code, Some(&self.attribute))
    }
}

/// The response control of a sorted result.
pub fn sorted_control() -> OwnedControl {
    sort_response(ResultCode::SUCCESS, None)
}

fn sort_response(code: ResultCode, attribute: Option<&str>) -> OwnedControl {
    let value = SortResponse { code, attribute };
    OwnedControl::with_value(oid::SORT_RESPONSE, false, |out| value.encode(out))
}

/// Buffers for computing keys.
#[derive(Debug, Default)]
pub struct Scratch {
    least: Vec<u8>,
    value: Vec<u8>,
}

impl Order {
    /// Resolves the requested order.
    pub fn of(schema: &Schema, asked: &SortRequest<'_>) -> Result<Order, Unsorted> {
        let fail = |code, attribute: &str, text: String| {
            Err(Unsorted {
                code,
                attribute: attribute.to_owned(),
                text,
            })
        };
        if let Some(key) = asked.keys.get(KEYS_MAX) {
            let text = format!("expected at most {KEYS_MAX} sort keys, got more");
            return fail(ResultCode::UNWILLING_TO_PERFORM, key.attribute, text);
        }
        let mut keys = SmallVec::with_capacity(asked.keys.len());
        for key in &asked.keys {
            let attribute = key.attribute;
            let Ok(description) = schema.describe(attribute) else {
                let text = format!("{attribute}: the schema defines no such attribute type");
                return fail(ResultCode::NO_SUCH_ATTRIBUTE, attribute, text);
            };
            let type_id = description.type_id;
            let rule = match key.ordering_rule {
                None => schema.sorting_rule(type_id),
                Some(name) => named_rule(schema, type_id, name),
            };
            let Some(rule) = rule else {
                let text = match key.ordering_rule {
                    None => format!("{attribute} has no matching rule to sort by"),
                    Some(name) => format!("no ordering rule {name} for values of {attribute}"),
                };
                return fail(ResultCode::INAPPROPRIATE_MATCHING, attribute, text);
            };
            keys.push(Key {
                rule,
                type_id,
                numbers: schema.selected_numbers(&description),
                reverse: key.reverse,
            });
        }
        Ok(Order { keys })
    }

    /// The sort key of an entry.
    pub fn key_of<E: ValueSource>(
        &self,
        schema: &Schema,
        entry: &E,
        id: EntryId,
        scratch: &mut Scratch,
    ) -> Box<[u8]> {
        let mut out = Vec::with_capacity(48);
        for key in &self.keys {
            let start = out.len();
            if key.least(schema, entry, scratch) {
                put_value(&mut out, &scratch.least);
            } else {
                out.push(ABSENT);
            }
            key.finish(&mut out, start);
        }
        let start = out.len();
        out.extend_from_slice(&id.0.to_be_bytes());
        if self.is_reverse() {
            complement(&mut out[start..]);
        }
        out.into_boxed_slice()
    }

    /// The sort key of a stored entry, of the values that the slice has time to read.
    pub fn key_of_entry(
        &self,
        entry: &VisibleEntry<'_, '_>,
        scratch: &mut Scratch,
    ) -> Result<Box<[u8]>, Stop> {
        let schema = &entry.catalog().schema;
        let mut key = Box::default();
        let _ = entry.tested_sliced(|it| key = self.key_of(schema, it, entry.id, scratch))?;
        Ok(key)
    }

    /// The entry id in a sort key; 0, which no entry has, if the octets are no key.
    pub fn id_of(&self, key: &[u8]) -> EntryId {
        let id = key
            .last_chunk::<ID_BYTES>()
            .map_or(0, |it| u64::from_be_bytes(*it));
        EntryId(if self.is_reverse() { !id } else { id })
    }

    /// The least key of an entry at or behind the target of a view on this value; `None` if the
    /// first sort key's rule does not accept the value.
    pub fn bound_of(&self, schema: &Schema, value: &[u8]) -> Option<Box<[u8]>> {
        let key = self.keys.first()?;
        let mut normal = Vec::with_capacity(value.len());
        key.rule
            .normalise_assertion(schema, value, &mut normal)
            .ok()?;
        normal.truncate(VALUE_BYTES_MAX);
        let mut out = Vec::with_capacity(normal.len() + 8);
        put_value(&mut out, &normal);
        key.finish(&mut out, 0);
        Some(out.into_boxed_slice())
    }

    /// The value in the first part of a key; `None` if the entry has none.
    pub fn first_value(&self, key: &[u8]) -> Option<Vec<u8>> {
        let mask = if self.is_reverse() { 0xFF } else { 0 };
        let mut bytes = key.iter().map(|byte| byte ^ mask);
        if bytes.next()? != PRESENT {
            return None;
        }
        let mut value = Vec::new();
        loop {
            match bytes.next()? {
                0 if bytes.next()? == TERMINATOR[1] => return Some(value),
                byte => value.push(byte),
            }
        }
    }

    /// Whether the first sort key is reversed.
    pub fn is_reverse(&self) -> bool {
        self.keys.first().is_some_and(|it| it.reverse)
    }

    /// Whether there is only one sort key.
    pub fn is_single(&self) -> bool {
        self.keys.len() == 1
    }

    /// Attribute type of the first sort key.
    pub fn first_type(&self) -> Option<TypeId> {
        self.keys.first().map(|it| it.type_id)
    }

    /// Numbers of the attributes that the first sort key covers.
    pub fn first_numbers(&self) -> &[AttributeNumber] {
        self.keys.first().map_or(&[], |it| &it.numbers)
    }

    /// Attribute type of the first sort key, if its rule is that of the ordering index; else
    /// `None`.
    pub fn indexed_type(&self, schema: &Schema) -> Option<TypeId> {
        let key = self.keys.first()?;
        let own = schema.sorting_rule(key.type_id)?;
        (own.family == key.rule.family).then_some(key.type_id)
    }

    /// The least value for the first sort key in normal form, of the values that the slice has time
    /// to read; `None` if there is none.
    pub fn first_of<'s>(
        &self,
        entry: &VisibleEntry<'_, '_>,
        scratch: &'s mut Scratch,
    ) -> Result<Option<&'s [u8]>, Stop> {
        let Some(key) = self.keys.first() else {
            return Ok(None);
        };
        let schema = &entry.catalog().schema;
        let mut found = false;
        let _ = entry.tested_sliced(|it| found = key.least(schema, it, scratch))?;
        Ok(found.then_some(&scratch.least))
    }
}

impl Key {
    /// Puts the least value into the scratch buffer (RFC 2891 §2.2: the least also if the order is
    /// reversed); false if there is none.
    fn least<E: ValueSource>(&self, schema: &Schema, entry: &E, scratch: &mut Scratch) -> bool {
        let Scratch { least, value } = scratch;
        let mut found = false;
        let mut take = |stored: &[u8]| {
            value.clear();
            if self.rule.normalise(schema, stored, value).is_ok() && (!found || *value < *least) {
                std::mem::swap(value, least);
                found = true;
            }
            false
        };
        let mut stored = false;
        for number in &self.numbers {
            stored |= entry.any_value(*number, &mut take).is_some();
        }
        if !stored {
            entry.any_virtual(self.type_id, &mut take);
        }
        least.truncate(VALUE_BYTES_MAX);
        found
    }

    fn finish(&self, out: &mut [u8], start: usize) {
        if self.reverse {
            complement(&mut out[start..]);
        }
    }
}

fn put_value(out: &mut Vec<u8>, normal: &[u8]) {
    out.push(PRESENT);
    for byte in normal {
        match byte {
            0 => out.extend_from_slice(&ESCAPED_ZERO),
            byte => out.push(*byte),
        }
    }
    out.extend_from_slice(&TERMINATOR);
}

fn complement(bytes: &mut [u8]) {
    bytes.iter_mut().for_each(|byte| *byte = !*byte);
}

/// The named ordering rule, if it fits the type's syntax or is the rule by which the type is sorted
/// by default.
fn named_rule(schema: &Schema, type_id: TypeId, name: &str) -> Option<&'static MatchingRule> {
    let rule = MatchingRule::by_name(name)?;
    let fits = rule.kind == RuleKind::Ordering && rule.applies_to(schema.type_of(type_id).syntax);
    (fits || schema.sorting_rule(type_id) == Some(rule)).then_some(rule)
}
