//! Sort keys (RFC 2891) as octets: entries stand in the order of their keys.
//!
//! A key has one part for each key asked for, then the entry's id. A part says first whether the
//! entry has a value, then holds the least one: its normal form, zero octets escaped, and a
//! terminator. All octets of a reversed part are complemented, and those of the id when the first
//! part is: keys of an ordering index can then be walked backwards and stand in the same order.

use crate::context::VisibleEntry;
use protocol::ResultCode;
use protocol::control::SortRequest;
use schema::matching::RuleKind;
use schema::{AttributeNumber, MatchingRule, Schema, TypeId, ValueSource};
use smallvec::SmallVec;
use store::EntryId;

/// Keys one search may be sorted by. The paging cookie holds them all.
const KEYS_MAX: usize = 16;
/// Octets of a value's normal form that take part in the order; entries that differ further on
/// stand in the order of their ids. A limit on memory and on the size of paging cookies.
const VALUE_BYTES_MAX: usize = 1024;

const PRESENT: u8 = 0x01;
/// RFC 2891 §2.2: no value is larger than every value.
const ABSENT: u8 = 0x02;
const TERMINATOR: [u8; 2] = [0x00, 0x01];
const ESCAPED_ZERO: [u8; 2] = [0x00, 0xFF];
const ID_BYTES: usize = 8;

/// The order that a client asked for, under the schema.
#[derive(Debug)]
pub(crate) struct Order {
    keys: SmallVec<[Key; 2]>,
}

#[derive(Debug)]
struct Key {
    rule: &'static MatchingRule,
    type_id: TypeId,
    numbers: Vec<AttributeNumber>,
    reverse: bool,
}

/// Why results cannot be sorted, as the response control says it (RFC 2891 §1.2).
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Unsorted {
    pub code: ResultCode,
    pub attribute: String,
    pub text: String,
}

/// Room for the work on one key after the other.
#[derive(Debug, Default)]
pub(crate) struct Scratch {
    least: Vec<u8>,
    value: Vec<u8>,
}

impl Order {
    /// The order asked for, or why there is none.
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

    /// The key of an entry.
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

    /// The entry a key belongs to; id 0, which no entry has, when the octets are no key.
    pub fn id_of(&self, key: &[u8]) -> EntryId {
        let id = key
            .last_chunk::<ID_BYTES>()
            .map_or(0, |it| u64::from_be_bytes(*it));
        EntryId(if self.is_reverse() { !id } else { id })
    }

    /// Keys that are not less belong to the target of a view on this value or to what follows it;
    /// `None` when the value is none of the first key's.
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

    /// The value of a key's first part; `None` when the entry has none.
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

    /// Whether the first key is reversed.
    pub fn is_reverse(&self) -> bool {
        self.keys.first().is_some_and(|it| it.reverse)
    }

    /// Whether there is one key only.
    pub fn is_single(&self) -> bool {
        self.keys.len() == 1
    }

    /// The type of the first key.
    pub fn first_type(&self) -> Option<TypeId> {
        self.keys.first().map(|it| it.type_id)
    }

    /// The numbers of the attributes the first key looks at.
    pub fn first_numbers(&self) -> &[AttributeNumber] {
        self.keys.first().map_or(&[], |it| &it.numbers)
    }

    /// The type of the first key when it is sorted as an ordering index sorts it.
    pub fn indexed_type(&self, schema: &Schema) -> Option<TypeId> {
        let key = self.keys.first()?;
        let own = schema.sorting_rule(key.type_id)?;
        (own.family == key.rule.family).then_some(key.type_id)
    }

    /// The least value of the first key in its normal form, or none.
    pub fn first_of<'s>(
        &self,
        schema: &Schema,
        entry: &VisibleEntry<'_, '_>,
        scratch: &'s mut Scratch,
    ) -> Option<&'s [u8]> {
        let key = self.keys.first()?;
        key.least(schema, entry, scratch).then_some(&scratch.least)
    }
}

impl Key {
    /// Leaves the least value in the scratch (RFC 2891 §2.2, also when the order is reversed).
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

/// An ordering rule that fits the type's syntax, or the one the type is sorted by anyway.
fn named_rule(schema: &Schema, type_id: TypeId, name: &str) -> Option<&'static MatchingRule> {
    let rule = MatchingRule::by_name(name)?;
    let fits = rule.kind == RuleKind::Ordering && rule.applies_to(schema.type_of(type_id).syntax);
    (fits || schema.sorting_rule(type_id) == Some(rule)).then_some(rule)
}
