//! Matched values control (RFC 3876): returns only those values of the selected attributes that
//! match a filter.

use crate::stop::Stop;
use protocol::ber::put_partial_attribute;
use protocol::{Filter as Given, ResultCode, control};
use schema::{Alternatives, AttributeNumber, Filter, Schema, Truth, TypeId, ValueSource};

/// Maximum number of items other than equality in one control. Each is tested with each value of an
/// entry in one slice; equality items of one attribute are tested together, however many they are.
const TESTED_MAX: usize = 16;
/// Maximum number of values that are looked up one by one in a set of links. With more, all values
/// of the set are walked through in slices.
const LOOKED_UP_MAX: usize = 256;

/// A resolved values return filter.
#[derive(Debug)]
pub struct MatchedValues {
    /// Items of which at least one must match a value.
    items: Alternatives,
}

/// The attribute of values that are matched.
#[derive(Debug, Clone, Copy)]
pub struct MatchedAttribute {
    /// The type of the attribute.
    pub type_id: TypeId,
    /// The number under which the values are stored; `None` if they are not stored.
    pub number: Option<AttributeNumber>,
}

/// One value, presented to a filter as an entry with this value alone.
struct OneValue<'v> {
    attribute: MatchedAttribute,
    value: &'v [u8],
}

impl ValueSource for OneValue<'_> {
    fn any_value(
        &self,
        number: AttributeNumber,
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<bool> {
        (self.attribute.number == Some(number)).then(|| test(self.value))
    }

    fn any_virtual(&self, type_id: TypeId, test: &mut dyn FnMut(&[u8]) -> bool) -> Option<bool> {
        let MatchedAttribute {
            type_id: of,
            number,
        } = self.attribute;
        (number.is_none() && of == type_id).then(|| test(self.value))
    }
}

impl MatchedValues {
    /// Resolves the control's filter under the schema. An item unknown to the schema matches
    /// nothing. `now_s` is called only if the filter is about the present time.
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

    /// Appends an attribute with its matching values; without any it is sent empty (RFC 3876 §2).
    pub fn write<'v>(
        &self,
        schema: &Schema,
        attribute: MatchedAttribute,
        text: &str,
        values: impl Iterator<Item = &'v [u8]>,
        out: &mut Vec<u8>,
    ) {
        let kept: Vec<&[u8]> = values
            .filter(|value| self.matches(schema, attribute, value))
            .collect();
        put_partial_attribute(out, text, kept.into_iter());
    }

    /// Returns the normal forms of which a value must equal one to match, without duplicates.
    /// `None` if the items on the attribute are not all equality, or are too many.
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

    /// Returns whether a value matches the filter.
    pub fn matches(&self, schema: &Schema, attribute: MatchedAttribute, value: &[u8]) -> bool {
        let one = OneValue { attribute, value };
        self.items.evaluate(schema, &one, &mut Vec::new()) == Truth::True
    }
}

/// Resolves an item. An equality on objectClass matches only the value itself, not also its
/// subclasses as in the filter of a search.
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
