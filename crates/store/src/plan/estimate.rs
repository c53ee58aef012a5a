//! Turning a filter into steps, with estimates of their size.

use std::sync::Arc;

use schema::{
    Assertion, AttributeNumber, Filter, Schema, Selector, SubstringAssertion, TypeId,
    grams_of_assertion,
};
use xxhash_rust::xxh3::xxh3_64;

use super::costs::{ENOUGH, HOLDERS_FOUND_MAX, REGION_MAX, SCAN_ADVANTAGE};
use super::planner::{Bases, Planner};
use super::sample::Sample;
use super::step::{FoundIds, Step, Why, found, intersection, union};
use crate::error::Error;
use crate::id::EntryId;
use crate::index::equality::{Holders, holders};
use crate::index::keys::{HashedKey, hash_of_gram, hash_of_whole};
use crate::index::order::{self, Side};
use crate::index::posting;
use crate::index_set::{IndexKind, IndexSet};
use crate::snapshot::{Lookup, Region, RegionScope};

/// Number of values that an ordering estimate counts before it samples entries instead.
const COUNTED_MAX: u64 = 1024;
/// Number of trigrams of an assertion that are looked up; the four rarest are used.
const GRAMS_MAX: usize = 12;
const GRAMS_USED: usize = 4;

/// Returns whether a filter matches every entry.
pub(super) fn is_true(indexes: &IndexSet, filter: &Filter) -> bool {
    match filter {
        Filter::True => true,
        Filter::Present(selector) => is_object_class(indexes, selector),
        _ => false,
    }
}

pub(super) fn is_object_class(indexes: &IndexSet, selector: &Selector) -> bool {
    indexes.schema.attribute_type("objectClass") == Some(selector.type_id)
}

impl Planner<'_> {
    /// Returns the step for a filter, which gives a superset of the matching entries.
    pub fn filter(&self, filter: &Filter) -> Result<Step, Error> {
        match filter {
            Filter::And(parts) => self.all_of(parts),
            Filter::Or(parts) => self.any_of(parts),
            Filter::Equality(assertion) => self.equality(assertion),
            Filter::Substrings(assertion) => self.substrings(assertion),
            Filter::GreaterOrEqual(it) => self.order(&it.selector, &it.normal, Side::From),
            Filter::LessOrEqual(it) => self.order(&it.selector, &it.normal, Side::UpTo),
            Filter::Approx(assertion) => self.approximate(assertion),
            Filter::Present(selector) => self.holding(selector),
            Filter::Among(among) if among.ids().len() > HOLDERS_FOUND_MAX as u64 => {
                Ok(Step::Listed(Arc::clone(among.ids())))
            }
            Filter::Among(among) => {
                let ids = among.ids().iter().map(EntryId);
                Ok(found(Why::Links, ids.collect()))
            }
            Filter::Member(it) => Ok(Step::Members {
                group: EntryId(it.group),
                number: it.number,
                estimate: it.count,
            }),
            Filter::False | Filter::Undefined(_) => Ok(Step::Nothing),
            Filter::Extensible(assertion) => self.extensible(assertion),
            Filter::True | Filter::Not(_) => Ok(Step::Everything),
        }
    }

    /// Replaces a step by the region where that is cheaper, and by a scan where it would look up
    /// more entries than a scan reads.
    pub fn narrow_to_region(&self, step: Step, region: &Region) -> Result<Step, Error> {
        let size = self.size(&step)?;
        if size <= ENOUGH {
            return Ok(step);
        }
        let entries = self.snapshot.entry_count()?;
        if let Some(step) = self.small_region(region, size.min(entries))? {
            return Ok(step);
        }
        let dearer = size.saturating_mul(SCAN_ADVANTAGE) > entries.saturating_mul(3);
        Ok(if dearer && size > REGION_MAX {
            Step::Everything
        } else {
            step
        })
    }

    /// Approximate number of ids that a step gives.
    pub fn size(&self, step: &Step) -> Result<u64, Error> {
        match step {
            Step::Everything => self.snapshot.entry_count(),
            step => Ok(step.rough_size()),
        }
    }

    /// Returns the entries of a region that has fewer than `other` and is small or the only way but
    /// a scan.
    fn small_region(&self, region: &Region, other: u64) -> Result<Option<Step>, Error> {
        let snapshot = self.snapshot;
        match region.scope {
            RegionScope::Base => Ok(Some(found(Why::Region, vec![region.base]))),
            RegionScope::OneLevel => {
                let parent = region.base;
                let children = snapshot.child_count(parent)?;
                // Listing children and looking them up costs less than a scan as long as they are a
                // small part of all entries.
                if children > REGION_MAX && children.saturating_mul(SCAN_ADVANTAGE) > other {
                    return Ok(None);
                }
                if children > other {
                    return Ok(None);
                }
                if children > REGION_MAX {
                    let (count, sample) = (children, self.sample(|it| it.parent() == parent)?);
                    return Ok(Some(Step::Children {
                        parent,
                        count,
                        sample,
                    }));
                }
                let mut ids = snapshot.children(parent).collect::<Result<Vec<_>, _>>()?;
                ids.sort_unstable();
                Ok(Some(found(Why::Region, ids)))
            }
            RegionScope::Subtree | RegionScope::Subordinates => {
                if region.base.is_root() {
                    return Ok(None);
                }
                let ids = self.small_subtree(region, other.min(REGION_MAX))?;
                Ok(ids.map(|ids| found(Why::Region, ids)))
            }
        }
    }

    /// Returns the ids of a subtree with at most `most` entries; `None` for a larger one.
    pub(super) fn small_subtree(
        &self,
        region: &Region,
        most: u64,
    ) -> Result<Option<Vec<EntryId>>, Error> {
        let mut ids = Vec::new();
        if region.scope == RegionScope::Subtree {
            ids.push(region.base);
        }
        let mut open = vec![region.base];
        while let Some(parent) = open.pop() {
            let children = self.snapshot.child_count(parent)?;
            if ids.len() as u64 + children > most {
                return Ok(None);
            }
            if children > 0 {
                for child in self.snapshot.children(parent) {
                    ids.push(child?);
                    open.push(ids[ids.len() - 1]);
                }
            }
        }
        ids.sort_unstable();
        Ok(Some(ids))
    }

    fn all_of(&self, parts: &[Filter]) -> Result<Step, Error> {
        let mut steps: Vec<Step> = Vec::with_capacity(parts.len());
        // Equality comes first: it is the cheapest to look up and the likeliest to be enough.
        let is_equality = |it: &&Filter| matches!(it, Filter::Equality(_));
        let order = parts.iter().filter(is_equality);
        for part in order.chain(parts.iter().filter(|it| !is_equality(it))) {
            match self.filter(part)? {
                Step::Everything => {}
                Step::Nothing => return Ok(Step::Nothing),
                step if step.rough_size() <= ENOUGH => return Ok(step),
                Step::Intersection(inner) => steps.extend(inner),
                step => steps.push(step),
            }
        }
        Ok(intersection(steps).unwrap_or(Step::Everything))
    }

    fn any_of(&self, parts: &[Filter]) -> Result<Step, Error> {
        let mut steps = Vec::with_capacity(parts.len());
        for part in parts {
            match self.filter(part)? {
                Step::Everything => return Ok(Step::Everything),
                Step::Nothing => {}
                Step::Union(inner) => steps.extend(inner),
                step => steps.push(step),
            }
        }
        Ok(union(steps))
    }

    fn equality(&self, assertion: &Assertion) -> Result<Step, Error> {
        let selector = &assertion.selector;
        let Some(bases) = self.bases(selector, IndexKind::Equality) else {
            return self.by_name(assertion);
        };
        if self.covers_links(selector) {
            return self.linked(&assertion.normal, &bases);
        }
        if let ([(base, type_id)], []) = (bases.as_slice(), assertion.alternatives.as_slice()) {
            return self.hashed(
                IndexKind::Equality,
                *base,
                *type_id,
                xxh3_64(&assertion.normal),
            );
        }
        let mut steps = Vec::new();
        for (base, type_id) in bases {
            let alternatives = assertion
                .alternatives
                .iter()
                .filter(|it| **it != assertion.normal);
            for normal in std::iter::once(&assertion.normal).chain(alternatives) {
                steps.push(self.hashed(IndexKind::Equality, base, type_id, xxh3_64(normal))?);
            }
        }
        Ok(union(steps))
    }

    /// Plans an `entryDN` assertion: the value is not stored, but names the entry.
    fn by_name(&self, assertion: &Assertion) -> Result<Step, Error> {
        let schema = &self.indexes.schema;
        if schema.attribute_type("entryDN") != Some(assertion.selector.type_id) {
            return self.holding(&assertion.selector);
        }
        let text = std::str::from_utf8(&assertion.given).ok();
        let Some(name) = text.and_then(|text| schema.resolve_name(text).ok()) else {
            return Ok(Step::Nothing);
        };
        Ok(match self.snapshot.find(&name)? {
            Lookup::Found(id) if !id.is_root() => found(Why::Name, vec![id]),
            _ => Step::Nothing,
        })
    }

    fn approximate(&self, assertion: &Assertion) -> Result<Step, Error> {
        let Some(bases) = self.bases(&assertion.selector, IndexKind::Approximate) else {
            return self.holding(&assertion.selector);
        };
        let mut steps = self.beside(&assertion.selector)?;
        for (base, type_id) in bases {
            let kind = IndexKind::Approximate;
            steps.push(self.hashed(kind, base, type_id, hash_of_whole(&assertion.normal))?);
            // Every word of the assertion must match.
            let mut words = Vec::with_capacity(assertion.alternatives.len());
            for word in &assertion.alternatives {
                words.push(self.hashed(kind, base, type_id, xxh3_64(word))?);
            }
            steps.push(intersection(words).unwrap_or(Step::Nothing));
        }
        Ok(union(steps))
    }

    /// Returns the holders of the attribute: the candidates of an assertion without an index of its
    /// own.
    pub(super) fn holding(&self, selector: &Selector) -> Result<Step, Error> {
        if is_object_class(self.indexes, selector) {
            return Ok(Step::Everything);
        }
        let Some(bases) = self.bases(selector, IndexKind::Presence) else {
            return match self.covers_links(selector) && self.only_links(selector)? {
                true => self.owners(selector),
                false => Ok(Step::Everything),
            };
        };
        let mut steps = self.beside(selector)?;
        for (base, type_id) in bases {
            steps.push(self.posting(IndexKind::Presence, base, type_id, 0)?);
        }
        Ok(union(steps))
    }

    /// Steps needed beside an index of values in rows: those for values stored as links.
    fn beside(&self, selector: &Selector) -> Result<Vec<Step>, Error> {
        match self.covers_links(selector) {
            true => Ok(vec![self.owners(selector)?]),
            false => Ok(Vec::new()),
        }
    }

    pub(super) fn substrings(&self, assertion: &SubstringAssertion) -> Result<Step, Error> {
        let Some(bases) = self.bases(&assertion.selector, IndexKind::Substring) else {
            return self.holding(&assertion.selector);
        };
        let mut grams = grams_of_assertion(assertion);
        if grams.is_empty() {
            return self.holding(&assertion.selector);
        }
        grams.truncate(GRAMS_MAX);
        let mut unions = self.beside(&assertion.selector)?;
        for (base, type_id) in bases {
            let mut steps = Vec::with_capacity(grams.len());
            for gram in &grams {
                let hash = hash_of_gram(*gram);
                steps.push(self.posting(IndexKind::Substring, base, type_id, hash)?);
            }
            steps.sort_by_key(Step::rough_size);
            steps.truncate(GRAMS_USED);
            unions.push(intersection(steps).unwrap_or(Step::Everything));
        }
        Ok(union(unions))
    }

    pub(super) fn order(
        &self,
        selector: &Selector,
        normal: &[u8],
        side: Side,
    ) -> Result<Step, Error> {
        let Some(bases) = self.bases(selector, IndexKind::Ordering) else {
            return self.holding(selector);
        };
        let mut steps = Vec::new();
        for (base, type_id) in bases {
            let mut counted = 0;
            let (transaction, table) = (self.snapshot.transaction, self.snapshot.tables.order);
            order::walk(transaction, table, base, normal, side, |_| {
                counted += 1;
                counted < COUNTED_MAX
            })?;
            let mut sample = Sample::default();
            let estimate = match counted {
                0 => continue,
                COUNTED_MAX => {
                    sample = self.sample_order(selector, normal, side)?;
                    COUNTED_MAX.max(sample.share_of(self.snapshot.entry_count()?))
                }
                counted => counted,
            };
            steps.push(Step::Order {
                base: base.0,
                type_id,
                normal: normal.into(),
                side,
                estimate,
                sample,
            });
        }
        Ok(union(steps))
    }

    /// Returns the bases whose indexes together have every value that an assertion covers; `None`
    /// if an index is missing.
    pub(super) fn bases(&self, selector: &Selector, kind: IndexKind) -> Option<Bases> {
        let schema = &self.indexes.schema;
        let mut bases = Bases::new();
        // The usual case needs no look into the dictionary's order: one number, no options.
        for number in &selector.numbers {
            let known = schema.known(*number)?;
            if bases.iter().any(|(base, _)| *base == known.base) {
                continue;
            }
            if !self.indexes.is_ready(known.type_id, kind) {
                return None;
            }
            // A subtype with another rule has keys that differ from those of this assertion.
            if known.type_id != selector.type_id
                && !same_rule(schema, kind, known.type_id, selector.type_id)
            {
                return None;
            }
            bases.push((known.base, known.type_id));
        }
        // No entry has the attribute, but only stored values are sure to be absent then.
        if bases.is_empty() && !self.indexes.is_ready(selector.type_id, kind) {
            return None;
        }
        Some(bases)
    }

    pub(super) fn hashed(
        &self,
        kind: IndexKind,
        base: AttributeNumber,
        type_id: TypeId,
        hash: u64,
    ) -> Result<Step, Error> {
        let key = HashedKey {
            kind,
            base: base.0,
            hash,
        };
        let why = Why::Index(kind, type_id);
        let (transaction, table) = (self.snapshot.transaction, self.snapshot.tables.index);
        Ok(
            match holders(transaction, table, &key, HOLDERS_FOUND_MAX)? {
                Holders::Nobody => Step::Nothing,
                Holders::One(id) => Step::Found {
                    why,
                    ids: FoundIds::One(id),
                },
                Holders::Few(ids) => Step::Found {
                    why,
                    ids: FoundIds::Several(ids),
                },
                Holders::Many(estimate) => Step::Bucket {
                    key,
                    type_id,
                    estimate,
                },
                Holders::Posted => self.posting(kind, base, type_id, hash)?,
            },
        )
    }

    fn posting(
        &self,
        kind: IndexKind,
        base: AttributeNumber,
        type_id: TypeId,
        hash: u64,
    ) -> Result<Step, Error> {
        let key = HashedKey {
            kind,
            base: base.0,
            hash,
        };
        let (transaction, table) = (self.snapshot.transaction, self.snapshot.tables.posting);
        let pending = self.snapshot.pending.map(|it| &it.postings);
        Ok(
            match posting::estimate(transaction, table, pending, &key)? {
                0 => Step::Nothing,
                estimate => Step::Posting {
                    key,
                    type_id,
                    estimate,
                },
            },
        )
    }
}

/// Returns whether two types derive the keys of an index by the same rule.
fn same_rule(schema: &Schema, kind: IndexKind, one: TypeId, other: TypeId) -> bool {
    let (one, other) = (schema.type_of(one), schema.type_of(other));
    match kind {
        IndexKind::Presence => true,
        IndexKind::Equality | IndexKind::Approximate => one.equality == other.equality,
        IndexKind::Ordering => one.ordering == other.ordering,
        IndexKind::Substring => one.substring == other.substring,
    }
}
