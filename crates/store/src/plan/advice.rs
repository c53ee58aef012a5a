//! Index advice: the indexes that would find the entries of an unindexed filter.

use schema::{Assertion, Filter, Selector, TypeId, grams_of_assertion};

use super::estimate::is_true;
use crate::index_set::{IndexKind, IndexSet};

/// The indexes that a filter lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Advice {
    /// None: an index finds the entries, or will when it is built.
    Indexed,
    /// All of these indexes together.
    Add(Vec<(TypeId, IndexKind)>),
    /// No index can help, e.g. with a negation.
    Hopeless,
}

/// Returns the indexes that a filter lacks. `may_index` tells whether values of a type are stored.
pub fn advise(indexes: &IndexSet, filter: &Filter, may_index: &dyn Fn(TypeId) -> bool) -> Advice {
    Adviser { indexes, may_index }.of(filter)
}

struct Adviser<'a> {
    indexes: &'a IndexSet,
    may_index: &'a dyn Fn(TypeId) -> bool,
}

impl Adviser<'_> {
    fn of(&self, filter: &Filter) -> Advice {
        if is_true(self.indexes, filter) {
            return Advice::Hopeless;
        }
        match filter {
            Filter::And(parts) => self.all_of(parts),
            Filter::Or(parts) => self.any_of(parts),
            Filter::Equality(it) => self.equality(it),
            Filter::Substrings(it) if grams_of_assertion(it).is_empty() => Advice::Hopeless,
            Filter::Substrings(it) => self.kind(&it.selector, IndexKind::Substring),
            Filter::GreaterOrEqual(it) | Filter::LessOrEqual(it) => {
                self.kind(&it.selector, IndexKind::Ordering)
            }
            Filter::Approx(it) => self.kind(&it.selector, IndexKind::Approximate),
            Filter::Present(selector) => self.kind(selector, IndexKind::Presence),
            Filter::Extensible(it) => match it.selectors.as_slice() {
                [one] if !it.dn_attributes && self.has_own_rule(one, it.rule.name) => {
                    self.kind(one, IndexKind::Equality)
                }
                _ => Advice::Hopeless,
            },
            Filter::Among(_) | Filter::Member(_) => Advice::Indexed,
            Filter::False | Filter::Undefined(_) => Advice::Indexed,
            Filter::True | Filter::Not(_) => Advice::Hopeless,
        }
    }

    /// Advice for an AND: one indexed part is enough, the one that is cheapest to index.
    fn all_of(&self, parts: &[Filter]) -> Advice {
        let mut best: Option<Vec<(TypeId, IndexKind)>> = None;
        for part in parts {
            match self.of(part) {
                Advice::Indexed => return Advice::Indexed,
                Advice::Hopeless => {}
                Advice::Add(indexes) => {
                    if best.as_ref().is_none_or(|it| cost(&indexes) < cost(it)) {
                        best = Some(indexes);
                    }
                }
            }
        }
        best.map_or(Advice::Hopeless, Advice::Add)
    }

    /// Advice for an OR: every part needs an index.
    fn any_of(&self, parts: &[Filter]) -> Advice {
        let mut all = Vec::new();
        for part in parts {
            match self.of(part) {
                Advice::Indexed => {}
                Advice::Hopeless => return Advice::Hopeless,
                Advice::Add(indexes) => {
                    for index in indexes {
                        if !all.contains(&index) {
                            all.push(index);
                        }
                    }
                }
            }
        }
        match all.is_empty() {
            true => Advice::Indexed,
            false => Advice::Add(all),
        }
    }

    fn equality(&self, assertion: &Assertion) -> Advice {
        let schema = &self.indexes.schema;
        if schema.attribute_type("entryDN") == Some(assertion.selector.type_id) {
            return Advice::Indexed;
        }
        self.kind(&assertion.selector, IndexKind::Equality)
    }

    /// Advice for an attribute: it and all its subtypes in use need an index of this kind.
    fn kind(&self, selector: &Selector, kind: IndexKind) -> Advice {
        let schema = &self.indexes.schema;
        let mut types: Vec<TypeId> = Vec::new();
        let known = selector.numbers.iter().filter_map(|it| schema.known(*it));
        for type_id in known.map(|it| it.type_id) {
            if !types.contains(&type_id) {
                types.push(type_id);
            }
        }
        if types.is_empty() {
            types.push(selector.type_id);
        }
        if !types.iter().all(|it| self.is_possible(*it, kind)) {
            return Advice::Hopeless;
        }
        types.retain(|it| !self.indexes.maintained(*it).contains(kind));
        match types.is_empty() {
            true => Advice::Indexed,
            false => Advice::Add(types.into_iter().map(|it| (it, kind)).collect()),
        }
    }

    fn is_possible(&self, type_id: TypeId, kind: IndexKind) -> bool {
        let own = self.indexes.schema.type_of(type_id);
        let has_rule = match kind {
            IndexKind::Presence => true,
            IndexKind::Equality | IndexKind::Approximate => own.equality.is_some(),
            IndexKind::Ordering => own.ordering.is_some() || own.equality.is_some(),
            IndexKind::Substring => own.substring.is_some(),
        };
        has_rule && (self.may_index)(type_id)
    }

    fn has_own_rule(&self, selector: &Selector, rule: &str) -> bool {
        let own = self.indexes.schema.type_of(selector.type_id).equality;
        own.is_some_and(|it| it.name == rule)
    }
}

/// Orders advice: fewer indexes first, then those that take less room and select fewer entries.
fn cost(indexes: &[(TypeId, IndexKind)]) -> (usize, u32) {
    let each = indexes.iter().map(|(_, kind)| match kind {
        IndexKind::Equality => 0,
        IndexKind::Approximate => 1,
        IndexKind::Ordering => 2,
        IndexKind::Substring => 3,
        IndexKind::Presence => 4,
    });
    (indexes.len(), each.max().unwrap_or(0))
}
