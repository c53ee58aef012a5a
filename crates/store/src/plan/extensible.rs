//! Steps for extensible assertions, `(type:rule:=value)`.
//!
//! A rule that is the attribute's own reads the same index as the plain assertion. Other rules read
//! an index that gives a superset: the ordering index for relative times, the names for `entryDN`,
//! and presence otherwise.

use schema::matching::{Family, Position, RuleKind};
use schema::{ExtensibleAssertion, Name, Selector, SubstringAssertion};
use xxhash_rust::xxh3::xxh3_64;

use super::costs::REGION_MAX;
use super::planner::Planner;
use super::step::{Step, Why, found, union};
use crate::error::Error;
use crate::id::EntryId;
use crate::index::order::Side;
use crate::index_set::IndexKind;
use crate::snapshot::{Lookup, Region, RegionScope};

impl Planner<'_> {
    /// Returns the step for an extensible assertion.
    pub(super) fn extensible(&self, assertion: &ExtensibleAssertion) -> Result<Step, Error> {
        // Values in names are in no index.
        if assertion.dn_attributes {
            return Ok(Step::Everything);
        }
        let mut steps = Vec::with_capacity(assertion.selectors.len());
        for selector in &assertion.selectors {
            match self.extensible_on(assertion, selector)? {
                Step::Everything => return Ok(Step::Everything),
                step => steps.push(step),
            }
        }
        Ok(union(steps))
    }

    fn extensible_on(
        &self,
        assertion: &ExtensibleAssertion,
        selector: &Selector,
    ) -> Result<Step, Error> {
        let schema = &self.indexes.schema;
        if schema.attribute_type("entryDN") == Some(selector.type_id) {
            return self.by_entry_name(assertion);
        }
        let (rule, own) = (assertion.rule, schema.type_of(selector.type_id));
        let normal = &*assertion.normal;
        match (rule.kind, rule.family) {
            (RuleKind::Equality, _) if own.equality == Some(rule) => {
                let Some(bases) = self.bases(selector, IndexKind::Equality) else {
                    return self.holding(selector);
                };
                if self.covers_links(selector) {
                    return self.linked(normal, &bases);
                }
                let mut steps = Vec::with_capacity(bases.len());
                for (base, type_id) in bases {
                    let kind = IndexKind::Equality;
                    steps.push(self.hashed(kind, base, type_id, xxh3_64(normal))?);
                }
                Ok(union(steps))
            }
            (RuleKind::Ordering, _) if own.ordering == Some(rule) => {
                self.order(selector, normal, Side::UpTo)
            }
            (RuleKind::Substrings, _) if own.substring == Some(rule) => {
                self.substrings(&as_substrings(assertion, selector))
            }
            (_, Family::LaterThan) if is_moment(own.ordering) => {
                self.order(selector, normal, Side::From)
            }
            (_, Family::EarlierThan) if is_moment(own.ordering) => {
                self.order(selector, normal, Side::UpTo)
            }
            _ => self.holding(selector),
        }
    }

    /// Returns the kind of index that finds the matches of an assertion, if any.
    pub(super) fn index_of(&self, assertion: &ExtensibleAssertion) -> Option<IndexKind> {
        let own = (self.indexes.schema).type_of(assertion.selectors.first()?.type_id);
        let rule = assertion.rule;
        match rule.family {
            Family::LaterThan | Family::EarlierThan if is_moment(own.ordering) => {
                Some(IndexKind::Ordering)
            }
            _ if own.equality == Some(rule) => Some(IndexKind::Equality),
            _ if own.ordering == Some(rule) => Some(IndexKind::Ordering),
            _ => None,
        }
    }

    /// Plans an assertion about `entryDN`, whose values are not stored, by the tree of names.
    fn by_entry_name(&self, assertion: &ExtensibleAssertion) -> Result<Step, Error> {
        let name = Name::from_bytes(&assertion.normal);
        // A naming context may stand below a name without an entry.
        let Lookup::Found(base) = self.snapshot.find(&name)? else {
            return Ok(Step::Everything);
        };
        if base.is_root() {
            return Ok(Step::Everything);
        }
        let scope = match assertion.rule.family {
            Family::DistinguishedName => return Ok(found(Why::Name, vec![base])),
            Family::NameSubtree => RegionScope::Subtree,
            Family::NameSubordinate => RegionScope::Subordinates,
            Family::NameOneLevel => {
                if self.snapshot.child_count(base)? > REGION_MAX {
                    return Ok(Step::Everything);
                }
                let children = self.snapshot.children(base);
                let mut ids = children.collect::<Result<Vec<EntryId>, _>>()?;
                ids.sort_unstable();
                return Ok(found(Why::Region, ids));
            }
            _ => return Ok(Step::Everything),
        };
        Ok(
            match self.small_subtree(&Region { base, scope }, REGION_MAX)? {
                Some(ids) => found(Why::Region, ids),
                None => Step::Everything,
            },
        )
    }
}

/// Returns whether an ordering index has moments in their order.
fn is_moment(ordering: Option<&schema::MatchingRule>) -> bool {
    ordering.is_some_and(|rule| rule.family == Family::GeneralizedTime)
}

fn as_substrings(assertion: &ExtensibleAssertion, selector: &Selector) -> SubstringAssertion {
    let mut pieces = SubstringAssertion {
        selector: selector.clone(),
        initial: None,
        any: Vec::new(),
        last: None,
    };
    for (position, piece) in &assertion.pieces {
        match position {
            Position::Initial => pieces.initial = Some(piece.clone()),
            Position::Any => pieces.any.push(piece.clone()),
            Position::Final => pieces.last = Some(piece.clone()),
        }
    }
    pieces
}
