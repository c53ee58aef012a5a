//! Rules for values (`cn=rules,cn=config`) in an import: the rules that apply to an entry, and its
//! claims, which are the values that it holds or that no other entry may hold.

use super::plan::Plan;
use schema::{Name, Schema, TypeId};
use state::catalog::Catalog;
use state::rules::{Numbers, Unique};
use std::ops::Range;
use store::{EntryView, Preparer};
use xxhash_rust::xxh3::xxh3_128;

/// Rules that apply to an entry, by their indexes in the catalog.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Ruled {
    /// Unique rules.
    pub unique: Vec<u16>,
    /// Rules from which the entry requests a number.
    pub numbers: Vec<u16>,
}

/// A value under a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Claim {
    /// Hash of rule, attribute type and value.
    pub key: u128,
    /// Whether no other entry may hold the value.
    pub alone: bool,
    /// Whether the entry holds the value.
    pub holds: bool,
}

/// A place where a number may be in use: a unique rule, or `None` for numbers of all entries, and
/// the attribute type.
pub(super) type Look = (Option<u16>, TypeId);

/// The catalog's rules.
#[derive(Clone, Copy)]
pub(super) struct Rulebook<'p> {
    catalog: &'p Catalog,
}

impl<'p> Rulebook<'p> {
    pub fn new(plan: &'p Plan<'_>) -> Rulebook<'p> {
        Rulebook {
            catalog: &plan.catalog,
        }
    }

    /// Whether there are no rules at all.
    pub fn is_empty(self) -> bool {
        let rules = &self.catalog.rules;
        rules.unique.is_empty() && rules.numbers.is_empty()
    }

    pub fn numbers_count(self) -> u16 {
        self.catalog.rules.numbers.len() as u16
    }

    pub fn unique(self, at: u16) -> &'p Unique {
        &self.catalog.rules.unique[usize::from(at)]
    }

    pub fn numbers(self, at: u16) -> &'p Numbers {
        &self.catalog.rules.numbers[usize::from(at)]
    }

    /// The unique rules for an entry of this name.
    pub fn unique_for(self, name: &Name) -> Vec<u16> {
        let rules = (0..).zip(&self.catalog.rules.unique);
        rules
            .filter(|(_, rule)| rule.place.covers(name))
            .map(|(at, _)| at)
            .collect()
    }

    /// The rules of numbers for an entry of this name, regardless of its classes.
    pub fn numbers_for(self, name: &Name) -> Vec<u16> {
        let rules = (0..).zip(&self.catalog.rules.numbers);
        rules
            .filter(|(_, rule)| rule.place.covers(name))
            .map(|(at, _)| at)
            .collect()
    }

    /// The places where a new number of a type must not be in use: the type itself, and types that
    /// share unique values with it under one of these rules.
    pub fn looks_for(self, schema: &Schema, type_id: TypeId, unique: &[u16]) -> Vec<Look> {
        let mut looks = vec![(None, type_id)];
        for at in unique {
            let rule = self.unique(*at);
            if rule.covers(schema, type_id) {
                let others = rule.types.iter().filter(|it| **it != type_id);
                looks.extend(others.map(|it| (Some(*at), *it)));
            }
        }
        looks
    }

    /// Whether one of the object classes is the rule's class or a subclass.
    pub fn is_of<'v>(
        self,
        schema: &Schema,
        rule: u16,
        mut classes: impl Iterator<Item = &'v [u8]>,
    ) -> bool {
        let wanted = self.numbers(rule).class;
        classes.any(|class| {
            let class = std::str::from_utf8(class).unwrap_or_default();
            let class = schema.object_class(class);
            class.is_some_and(|class| schema.is_subclass(class, wanted))
        })
    }

    /// Calls `act` for the claims of an entry under these unique rules, and for the numbers that
    /// the entry holds, each with attribute type and value.
    pub fn each_claim(
        self,
        schema: &Schema,
        unique: &[u16],
        view: &EntryView<'_>,
        scratch: &mut Vec<u8>,
        act: &mut dyn FnMut(Claim, TypeId, &[u8]),
    ) {
        for stored in view.attributes() {
            let Some(known) = schema.known(stored.number) else {
                continue;
            };
            let is_a = |of: TypeId| schema.is_subtype(known.type_id, of);
            for at in unique {
                let types = &self.unique(*at).types;
                if !types.iter().any(|it| is_a(*it)) {
                    continue;
                }
                for value in stored.values() {
                    for of in types.iter().copied() {
                        let Some(key) = key(schema, Some(*at), of, value, scratch) else {
                            continue;
                        };
                        let (alone, holds) = (true, is_a(of));
                        act(Claim { key, alone, holds }, of, value);
                    }
                }
            }
            let mut last = None;
            for rule in self
                .catalog
                .rules
                .numbers
                .iter()
                .filter(|it| is_a(it.type_id))
            {
                if last.replace(rule.type_id) == Some(rule.type_id) {
                    continue;
                }
                for value in stored.values() {
                    if let Some(key) = key(schema, None, rule.type_id, value, scratch) {
                        let (alone, holds) = (false, true);
                        act(Claim { key, alone, holds }, rule.type_id, value);
                    }
                }
            }
        }
    }
}

/// Claims of the entries of a piece, with the buffer for computing them.
pub(super) struct Claims<'p> {
    rulebook: Rulebook<'p>,
    all: Vec<Claim>,
    normal: Vec<u8>,
}

impl<'p> Claims<'p> {
    pub fn new(rulebook: Rulebook<'p>) -> Claims<'p> {
        Claims {
            rulebook,
            all: Vec::new(),
            normal: Vec::new(),
        }
    }

    /// Takes all claims, in the order of the entries.
    pub fn take(&mut self) -> Vec<Claim> {
        std::mem::take(&mut self.all)
    }

    /// Adds the claims of the last prepared entry. Returns their range, and the rules for values
    /// that apply to the entry; `None` if none do. An entry that requests numbers has no claims
    /// yet: the sequencer computes them when it has assigned the numbers.
    pub fn add(
        &mut self,
        schema: &Schema,
        preparer: &Preparer,
        name: &Name,
        numbers: Vec<u16>,
    ) -> Result<(Range<usize>, Option<Box<Ruled>>), store::Error> {
        let (rulebook, start) = (self.rulebook, self.all.len());
        if rulebook.is_empty() {
            return Ok((start..start, None));
        }
        let unique = rulebook.unique_for(name);
        if numbers.is_empty() {
            let all = &mut self.all;
            let mut add = |claim, _, _: &[u8]| all.push(claim);
            let view = EntryView::new(preparer.last_entry())?;
            rulebook.each_claim(schema, &unique, &view, &mut self.normal, &mut add);
        }
        let ruled = Ruled { unique, numbers };
        let ruled = (ruled != Ruled::default()).then(|| Box::new(ruled));
        Ok((start..self.all.len(), ruled))
    }
}

/// Hash of a value under a unique rule, or as a number of any entry. `None` if the value has no
/// normal form, so that it equals no other value.
pub(super) fn key(
    schema: &Schema,
    rule: Option<u16>,
    of: TypeId,
    value: &[u8],
    scratch: &mut Vec<u8>,
) -> Option<u128> {
    scratch.clear();
    scratch.extend_from_slice(&rule.unwrap_or(u16::MAX).to_le_bytes());
    scratch.extend_from_slice(&of.0.to_le_bytes());
    // A value without a normal form equals no other.
    schema.normalise_equality(of, value, scratch).ok()?;
    Some(xxh3_128(scratch))
}
