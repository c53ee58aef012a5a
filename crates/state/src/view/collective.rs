//! Collective attributes (RFC 3671): values that a subentry lends to the entries of its subtree.
//! They are never stored with those entries, but computed if the database has such subentries.

use super::{View, VisibleEntry};
use crate::knowledge::{COLLECTIVE_CLASS, class_filter};
use crate::stop::Stop;
use schema::{AttributeNumber, Filter, Name, SubtreeSpecification, Truth, TypeId};
use std::borrow::Cow;
use store::{EntryId, Region, RegionScope, StoredAttribute};

/// A value of `collectiveExclusions` that excludes all (RFC 3671 §2.2).
const EXCLUDE_ALL: [&str; 2] = ["2.5.18.0", "excludeallcollectiveattributes"];

/// A subentry that lends attributes.
pub(super) struct Lender {
    id: EntryId,
    spelled: String,
    /// The administrative point: the entry above the subentry.
    point: Name,
    subtrees: Vec<SubtreeSpecification>,
    attributes: Vec<Lent>,
}

/// A lent attribute, encoded as it is stored.
struct Lent {
    type_id: TypeId,
    number: AttributeNumber,
    encoded: Box<[u8]>,
}

impl View<'_> {
    /// All subentries that lend attributes, read once per operation.
    fn lenders(&self) -> Result<&[Lender], Stop> {
        if let Some(lenders) = self.lenders.get() {
            return Ok(lenders);
        }
        let lenders = self.read_lenders()?;
        Ok(self.lenders.get_or_init(|| lenders))
    }

    fn read_lenders(&self) -> Result<Vec<Lender>, Stop> {
        let schema = &self.catalog.schema;
        let everywhere = Region {
            base: EntryId::ROOT,
            scope: RegionScope::Subtree,
        };
        let filter = class_filter(schema, COLLECTIVE_CLASS);
        let plan = store::plan(self.snapshot, &self.catalog.indexes, &filter, &everywhere)?;
        let candidates = self.candidates(&plan, EntryId::ROOT)?;
        let (mut lenders, mut scratch) = (Vec::new(), Vec::new());
        for found in candidates.entries_after(*self.snapshot, EntryId::ROOT) {
            let (id, view) = found?;
            if filter.evaluate(schema, &view, &mut scratch) != Truth::True {
                continue;
            }
            let spelled = self.spelled_name(id)?;
            let point = schema
                .resolve_name(&spelled)
                .ok()
                .and_then(|it| it.parent());
            let Some(point) = point else {
                continue;
            };
            let mut subtrees = Vec::new();
            let mut attributes = Vec::new();
            for attribute in view.attributes() {
                let Some(known) = schema.known(attribute.number) else {
                    continue;
                };
                if known.type_id == self.catalog.computed.subtree_specification {
                    let texts = attribute.values().into_iter().map(String::from_utf8_lossy);
                    subtrees.extend(texts.filter_map(|it| schema.subtree_specification(&it)));
                } else if schema.type_of(known.type_id).collective {
                    attributes.push(Lent {
                        type_id: known.type_id,
                        number: attribute.number,
                        encoded: attribute.encoded.into(),
                    });
                }
            }
            lenders.push(Lender {
                id,
                spelled,
                point,
                subtrees,
                attributes,
            });
        }
        Ok(lenders)
    }

    /// The filter to plan with, for assertions that lent values may satisfy. No index holds lent
    /// values, so if a lender's values satisfy an assertion, the entries of its subtree become
    /// candidates.
    #[inline]
    pub(super) fn with_lent<'f>(&self, filter: &'f Filter) -> Result<Cow<'f, Filter>, Stop> {
        if !self.catalog.has_collective {
            return Ok(Cow::Borrowed(filter));
        }
        let lenders = self.lenders()?;
        let mut widened = filter.clone();
        self.widen(&mut widened, lenders)?;
        Ok(Cow::Owned(widened))
    }

    /// Recursion is bounded by the depth of the filter.
    fn widen(&self, filter: &mut Filter, lenders: &[Lender]) -> Result<(), Stop> {
        let schema = &self.catalog.schema;
        let selectors = match filter {
            Filter::And(parts) => {
                return parts.iter_mut().try_for_each(|it| self.widen(it, lenders));
            }
            Filter::Or(parts) => return parts.try_change(|it| self.widen(it, lenders)),
            Filter::Equality(it)
            | Filter::GreaterOrEqual(it)
            | Filter::LessOrEqual(it)
            | Filter::Approx(it) => std::slice::from_ref(&it.selector),
            Filter::Substrings(it) => std::slice::from_ref(&it.selector),
            Filter::Present(it) => std::slice::from_ref(it),
            Filter::Extensible(it) => &it.selectors,
            _ => return Ok(()),
        };
        let lends = |number: &AttributeNumber| {
            schema
                .known(*number)
                .is_some_and(|it| schema.type_of(it.type_id).collective)
        };
        if !selectors.iter().any(|it| it.numbers.iter().any(lends)) {
            return Ok(());
        }
        let mut scratch = Vec::new();
        let mut parts = Vec::new();
        for lender in lenders {
            let Some(view) = self.snapshot.entry(lender.id)? else {
                continue;
            };
            if filter.evaluate(schema, &view, &mut scratch) != Truth::True {
                continue;
            }
            for subtree in &lender.subtrees {
                let base = schema::joined(&lender.point, &subtree.base);
                parts.push(schema.within(&base));
            }
        }
        if !parts.is_empty() {
            parts.push(std::mem::replace(filter, Filter::False));
            *filter = Filter::Or(parts.into_iter().collect());
        }
        Ok(())
    }
}

impl<'c> VisibleEntry<'c, '_> {
    /// The subentries that lend attributes to this entry.
    fn lenders(&self) -> Result<Vec<&'c Lender>, Stop> {
        let all = self.context.lenders()?;
        if all.is_empty() || self.has_class("subentry") {
            return Ok(Vec::new());
        }
        let Some(name) = self.name() else {
            return Ok(Vec::new());
        };
        let schema = &self.context.catalog.schema;
        let classes = self.internal(self.context.catalog.known.object_class.number);
        let is_of_class = |wanted| {
            let classes = classes.iter().flat_map(|it| it.values().into_iter());
            classes
                .filter_map(|it| schema.object_class(std::str::from_utf8(it).ok()?))
                .any(|it| it == wanted || schema.is_subclass(it, wanted))
        };
        let holds = |lender: &&Lender| {
            let mut subtrees = lender.subtrees.iter();
            subtrees.any(|it| it.holds(&lender.point, &name) && it.fits(&is_of_class))
        };
        Ok(all.iter().filter(holds).collect())
    }

    /// Whether `collectiveExclusions` of the entry excludes an attribute type.
    fn excludes(&self, type_id: TypeId) -> bool {
        let catalog = self.context.catalog;
        let exclusions = catalog.computed.collective_exclusions;
        catalog.schema.numbers_of(exclusions).iter().any(|number| {
            self.internal(*number).is_some_and(|it| {
                it.values().into_iter().any(|value| {
                    let Ok(text) = std::str::from_utf8(value) else {
                        return false;
                    };
                    EXCLUDE_ALL.iter().any(|all| all.eq_ignore_ascii_case(text))
                        || catalog.schema.attribute_type(text) == Some(type_id)
                })
            })
        })
    }

    /// The attributes lent to this entry that the subject may see. Several lenders may lend one
    /// attribute, which is then listed several times.
    pub fn lent(&self) -> Result<Vec<StoredAttribute<'c>>, Stop> {
        if !self.context.catalog.has_collective {
            return Ok(Vec::new());
        }
        let mut lent = Vec::new();
        for lender in self.lenders()? {
            for attribute in &lender.attributes {
                if self.shows(attribute.number) && !self.excludes(attribute.type_id) {
                    lent.push(StoredAttribute {
                        number: attribute.number,
                        encoded: &attribute.encoded,
                    });
                }
            }
        }
        lent.sort_by_key(|it| it.number.0);
        Ok(lent)
    }

    /// The names of the subentries whose subtree holds this entry (RFC 3671 §2.1).
    pub(super) fn lender_names(&self) -> Result<Vec<&'c str>, Stop> {
        if !self.context.catalog.has_collective {
            return Ok(Vec::new());
        }
        let lenders = self.lenders()?;
        Ok(lenders.into_iter().map(|it| it.spelled.as_str()).collect())
    }

    /// Calls `test` for the values of one lent attribute, as [`ValueSource::any_value`] does.
    pub(super) fn any_lent(
        &self,
        number: AttributeNumber,
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<bool> {
        let schema = &self.context.catalog.schema;
        if !schema.type_of(schema.known(number)?.type_id).collective {
            return None;
        }
        let lent = self.lent().ok()?;
        let mut of_number = lent.iter().filter(|it| it.number == number).peekable();
        of_number.peek()?;
        Some(of_number.any(|it| it.values().into_iter().any(&mut *test)))
    }
}
