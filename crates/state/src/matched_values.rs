//! Matched values (RFC 3876): of the attributes selected, only the values that a filter matches.

use crate::stop::Stop;
use protocol::ber::put_partial_attribute;
use protocol::{Filter as Given, ResultCode, control};
use schema::{Alternatives, AttributeNumber, Filter, Schema, Truth, TypeId, ValueSource};

/// Items other than equality that one control may have. Each is tested with each value of an entry
/// before the thread's other connections have their turn; equalities of one attribute are tested
/// together, however many they are.
const TESTED_MAX: usize = 16;
/// Values that are looked up one by one in a set of links. Of more, all values of the set are gone
/// through, in slices.
const LOOKED_UP_MAX: usize = 256;

/// A resolved values return filter.
#[derive(Debug)]
pub struct MatchedValues {
    /// One of these must match a value.
    items: Alternatives,
}

/// One value, as the only one of an entry.
struct OneValue<'v> {
    type_id: TypeId,
    /// `None`: the value is not stored.
    number: Option<AttributeNumber>,
    value: &'v [u8],
}

impl ValueSource for OneValue<'_> {
    fn any_value(
        &self,
        number: AttributeNumber,
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<bool> {
        (self.number == Some(number)).then(|| test(self.value))
    }

    fn any_virtual(&self, type_id: TypeId, test: &mut dyn FnMut(&[u8]) -> bool) -> Option<bool> {
        (self.number.is_none() && self.type_id == type_id).then(|| test(self.value))
    }
}

impl MatchedValues {
    /// The control's filter under the schema. An item the schema does not know matches nothing.
    /// `now_s` is asked only when the filter is about the present time.
    pub fn of(
        schema: &Schema,
        asked: &control::MatchedValues<'_>,
        now_s: &dyn Fn() -> i64,
    ) -> Result<MatchedValues, Stop> {
        let is_equality = |it: &&Given<'_>| matches!(it, Given::Equality { .. });
        let tested = asked.items.len() - asked.items.iter().filter(is_equality).count();
        if tested > TESTED_MAX {
            let text = format!(
                "matched values control: expected at most {TESTED_MAX} items other than equality, \
                 got {tested}"
            );
            return Stop::refuse(ResultCode::ADMIN_LIMIT_EXCEEDED, text);
        }
        let items = asked.items.iter().map(|item| resolve(schema, item, now_s));
        Ok(MatchedValues {
            items: items.collect(),
        })
    }

    /// Appends an attribute with the values that match; with none of them it stays, empty
    /// (RFC 3876 §2).
    pub fn write<'v>(
        &self,
        schema: &Schema,
        (type_id, number): (TypeId, Option<AttributeNumber>),
        text: &str,
        values: impl Iterator<Item = &'v [u8]>,
        out: &mut Vec<u8>,
    ) {
        let kept: Vec<&[u8]> = values
            .filter(|value| self.matches(schema, (type_id, number), value))
            .collect();
        put_partial_attribute(out, text, kept.into_iter());
    }

    /// The normal forms of which values of an attribute must be one to match, each once; `None`
    /// when that is not all that is asked, or when they are very many.
    pub fn equal_to(&self, number: AttributeNumber) -> Option<Vec<&[u8]>> {
        let mut forms = Vec::new();
        for item in self.items.iter() {
            match item {
                Filter::Equality(it) if it.alternatives.is_empty() => {
                    if it.selector.numbers.contains(&number) {
                        forms.push(&*it.normal);
                    }
                }
                Filter::Undefined(_) | Filter::False => {}
                _ => return None,
            }
        }
        forms.sort_unstable();
        forms.dedup();
        (forms.len() <= LOOKED_UP_MAX).then_some(forms)
    }

    /// Whether a value matches.
    pub fn matches(
        &self,
        schema: &Schema,
        (type_id, number): (TypeId, Option<AttributeNumber>),
        value: &[u8],
    ) -> bool {
        let one = OneValue {
            type_id,
            number,
            value,
        };
        self.items.evaluate(schema, &one, &mut Vec::new()) == Truth::True
    }
}

/// Equality of object classes is about entries: there a class stands for its subclasses. Here it
/// is about the value.
fn resolve(schema: &Schema, item: &Given<'_>, now_s: &dyn Fn() -> i64) -> Filter {
    let resolved = schema.resolve_filter_with(item, now_s);
    let Given::Equality { value, .. } = item else {
        return resolved;
    };
    match resolved {
        Filter::Equality(mut assertion) => {
            let mut normal = Vec::with_capacity(value.len());
            let type_id = assertion.selector.type_id;
            if !assertion.alternatives.is_empty()
                && schema
                    .normalise_equality(type_id, value, &mut normal)
                    .is_ok()
            {
                assertion.normal = normal.into();
                assertion.alternatives.clear();
            }
            Filter::Equality(assertion)
        }
        Filter::Present(selector) => {
            let mut normal = Vec::with_capacity(value.len());
            let done = schema.normalise_equality(selector.type_id, value, &mut normal);
            match done {
                Ok(()) => Filter::Equality(schema::Assertion {
                    selector,
                    given: (*value).into(),
                    normal: normal.into(),
                    alternatives: Vec::new(),
                }),
                Err(error) => Filter::Undefined(error.to_string()),
            }
        }
        other => other,
    }
}
