//! The parts of an OR, perhaps a thousand values of one attribute.
//!
//! Clients look up lists of names with `(|(uid=a)(uid=b)…)`. Tested part by part, each entry's
//! value would be read and normalised once for every part. So the parts of a long OR are kept in
//! rows, each with the equalities about one attribute sorted by normal form: a value is normalised
//! once for a row and looked up in it.
//!
//! Invariant: with `ROWS_FROM` parts or more, the parts are sorted by [`order`].

use std::cmp::Ordering;
use std::ops::Deref;

use super::evaluate::{any, once};
use super::{Assertion, Filter, Truth, ValueSource};
use crate::schema::Schema;

/// Number of parts from which rows are used; fewer are tested one by one, in the given order.
const ROWS_FROM: usize = 4;

/// Number of parts of a row that weigh as much as one part tested alone.
const TESTED_TOGETHER: usize = 16;

/// The parts of an OR. Never empty in a resolved filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alternatives(Vec<Filter>);

impl FromIterator<Filter> for Alternatives {
    fn from_iter<I: IntoIterator<Item = Filter>>(parts: I) -> Alternatives {
        let mut alternatives = Alternatives(parts.into_iter().collect());
        alternatives.sort();
        alternatives
    }
}

impl Deref for Alternatives {
    type Target = [Filter];

    fn deref(&self) -> &[Filter] {
        &self.0
    }
}

impl Alternatives {
    /// Applies `change` to each part.
    ///
    /// # Errors
    /// The first error of `change`.
    pub fn try_change<E>(
        &mut self,
        change: impl FnMut(&mut Filter) -> Result<(), E>,
    ) -> Result<(), E> {
        let changed = self.0.iter_mut().try_for_each(change);
        self.sort();
        changed
    }

    /// Weight of the parts, see [`Filter::weight`].
    pub(super) fn weight(&self) -> usize {
        let others = self.0.iter().filter(|it| plain(it).is_none());
        let (count, weight) = others.fold((0, 0), |(count, weight), it| {
            (count + 1, weight + it.weight())
        });
        let in_rows = self.0.len() - count;
        weight + in_rows.min(ROWS_FROM + in_rows / TESTED_TOGETHER)
    }

    fn sort(&mut self) {
        if self.0.len() >= ROWS_FROM {
            self.0.sort_by(order);
        }
    }

    /// Returns the truth of the OR for one entry; `scratch` is overwritten.
    pub fn evaluate<E: ValueSource + ?Sized>(
        &self,
        schema: &Schema,
        entry: &E,
        scratch: &mut Vec<u8>,
    ) -> Truth {
        let mut truth = Truth::False;
        let mut rest = &*self.0;
        while let Some(first) = rest.first() {
            let row = match self.0.len() {
                ROWS_FROM.. => row(rest, entry),
                _ => &[],
            };
            let found = match plain(first) {
                Some(it) if !row.is_empty() => {
                    once(entry, || equals_one(it, row, schema, entry, scratch))
                }
                _ => first.evaluate(schema, entry, scratch),
            };
            match found {
                Truth::True => return Truth::True,
                Truth::Undefined => truth = Truth::Undefined,
                Truth::False => (),
            }
            if entry.is_left() {
                return Truth::Undefined;
            }
            rest = &rest[row.len().max(1)..];
        }
        truth
    }
}

/// Orders parts of rows first, by attribute and then by normal form; other parts stay as they are.
fn order(a: &Filter, b: &Filter) -> Ordering {
    match (plain(a), plain(b)) {
        (Some(a), Some(b)) => attribute_order(a, b).then_with(|| a.normal.cmp(&b.normal)),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => Ordering::Equal,
    }
}

fn attribute_order(a: &Assertion, b: &Assertion) -> Ordering {
    let (a, b) = (&a.selector, &b.selector);
    (a.type_id, &a.numbers).cmp(&(b.type_id, &b.numbers))
}

/// Returns the assertion of an equality with a single normal form.
fn plain(part: &Filter) -> Option<&Assertion> {
    match part {
        Filter::Equality(it) if it.alternatives.is_empty() => Some(it),
        _ => None,
    }
}

/// Returns the leading parts that one pass over the entry's values can test: none if the first part
/// belongs to no row, or if the source finds values by their form and need not list ten million.
fn row<'f, E: ValueSource + ?Sized>(parts: &'f [Filter], entry: &E) -> &'f [Filter] {
    let Some(first) = parts.first().and_then(plain) else {
        return &[];
    };
    if first
        .selector
        .numbers
        .iter()
        .any(|it| entry.finds_values(*it))
    {
        return &[];
    }
    let same = |part: &Filter| plain(part).is_some_and(|it| attribute_order(first, it).is_eq());
    &parts[..parts.partition_point(same)]
}

/// Returns whether a value equals that of some part of a row, which begins with `first`.
fn equals_one<E: ValueSource + ?Sized>(
    first: &Assertion,
    row: &[Filter],
    schema: &Schema,
    entry: &E,
    scratch: &mut Vec<u8>,
) -> Truth {
    let rule = schema.type_of(first.selector.type_id).equality;
    any(&first.selector, entry, &mut |value| {
        scratch.clear();
        match rule.map(|it| it.normalise(schema, value, scratch)) {
            Some(Ok(())) => {
                let order = |part: &Filter| {
                    plain(part).map_or(Ordering::Greater, |it| (*it.normal).cmp(&**scratch))
                };
                row.binary_search_by(order).is_ok()
            }
            // A value without a normal form equals the same octets.
            _ => row.iter().filter_map(plain).any(|it| *it.given == *value),
        }
    })
}
