//! Collective attributes (RFC 3671): values that a subentry lends to the entries of its subtree.
//! They are never stored with those entries, but computed if the database has such subentries.

use super::entry::VisibleEntry;
use super::lenders::Lender;
use crate::stop::Stop;
use schema::{AttributeNumber, TypeId};
use store::StoredAttribute;

/// A value of `collectiveExclusions` that excludes all (RFC 3671 §2.2).
const EXCLUDE_ALL: [&str; 2] = ["2.5.18.0", "excludeallcollectiveattributes"];

impl<'c> VisibleEntry<'c, '_> {
    /// The subentries that lend attributes to this entry.
    fn lenders(&self) -> Result<Vec<&'c Lender>, Stop> {
        let all = self.view.lenders()?;
        if all.is_empty() || self.has_class("subentry") {
            return Ok(Vec::new());
        }
        let Some(name) = self.name() else {
            return Ok(Vec::new());
        };
        let schema = &self.view.catalog.schema;
        let classes = self.internal(self.view.catalog.known.object_class.number);
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
        let catalog = self.view.catalog;
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
        if !self.view.catalog.has_collective {
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
        if !self.view.catalog.has_collective {
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
    ) -> Result<Option<bool>, Stop> {
        let schema = &self.view.catalog.schema;
        let known = schema.known(number);
        if !known.is_some_and(|it| schema.type_of(it.type_id).collective) {
            return Ok(None);
        }
        let lent = self.lent()?;
        let mut of_number = lent.iter().filter(|it| it.number == number).peekable();
        let some = of_number.peek().is_some();
        Ok(some.then(|| of_number.any(|it| it.values().into_iter().any(&mut *test))))
    }
}
