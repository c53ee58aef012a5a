//! Selects the attributes of an entry that a response contains (RFC 4511 §4.5.1.8).

mod ranged;

use crate::catalog::Catalog;
use crate::done;
use crate::matched_values::{MatchedAttribute, MatchedValues};
use crate::progress::Progress;
use crate::selected::Selected;
use crate::stop::Stop;
use crate::view::{Described, VisibleEntry};
use crate::virtual_entry::VirtualEntry;
use protocol::ber;
use schema::{AttributeNumber, KnownAttribute, TypeId, ValueRange};
use smallvec::SmallVec;
use std::ops::ControlFlow;
use store::{LinkedSet, SetId, StoredAttribute};

/// A resolved attribute selection.
#[derive(Debug, Clone, Default)]
pub struct Projection {
    all_user: bool,
    all_operational: bool,
    types_only: bool,
    /// Stored attributes selected by name, class or subtype.
    numbers: Selected<AttributeNumber>,
    /// Stored attributes of which a range of values is selected; `None` if there are none.
    ranges: Option<Box<Ranges>>,
    /// Types selected by name, for entries and values that are not stored.
    types: Selected<TypeId>,
    /// Computed types to return.
    computed: SmallVec<[TypeId; 4]>,
}

/// Stored attributes of which a range of values is selected.
#[derive(Debug, Clone, Default)]
struct Ranges {
    /// One range for each attribute.
    of: SmallVec<[(AttributeNumber, ValueRange); 1]>,
    /// The attributes in `of`, as a set.
    numbers: Selected<AttributeNumber>,
}

impl Projection {
    /// Resolves the selection of a request: names, `*`, `+` (RFC 3673), `1.1`, `@class` (RFC 4529),
    /// subtypes, options. Names the schema does not know select nothing.
    #[inline]
    pub fn of(catalog: &Catalog, attributes: &[&str], types_only: bool) -> Projection {
        let mut it = Projection {
            types_only,
            ..Projection::default()
        };
        it.all_user = attributes.is_empty();
        for text in attributes {
            match *text {
                "*" => it.all_user = true,
                "+" => it.all_operational = true,
                "1.1" | "" => {}
                text => match text.strip_prefix('@') {
                    Some(class) => it.select_class(catalog, class),
                    None => it.select(catalog, text),
                },
            }
        }
        let computed = &catalog.computed;
        let all = [
            computed.entry_dn,
            computed.subschema_subentry,
            computed.has_subordinates,
            computed.num_subordinates,
            computed.index_state,
            computed.collective_attribute_subentries,
            computed.context_csn,
            computed.etag,
            computed.entry_ttl,
        ];
        for type_id in all {
            if it.all_operational || it.types.contains(type_id) {
                it.computed.push(type_id);
            }
        }
        for type_id in [computed.member_of, computed.is_member_of] {
            let shown = it.all_operational && catalog.shown_memberships.contains(&type_id);
            if shown || it.types.contains(type_id) {
                it.computed.push(type_id);
            }
        }
        if catalog.has_dynamic_groups && it.types.contains(computed.member) {
            it.computed.push(computed.member);
        }
        it
    }

    /// Removes attributes that are computed from other entries and were not selected by name: they
    /// change without their entry, so a copy of them would become wrong (RFC 4533 §4.2).
    pub fn leave_out_computed(&mut self) {
        let types = &self.types;
        self.computed.retain(|it| types.contains(*it));
    }

    fn select(&mut self, catalog: &Catalog, text: &str) {
        let Ok(description) = catalog.schema.describe(text) else {
            return;
        };
        let schema = &catalog.schema;
        if let Some(range) = description.range {
            let own = |it: &AttributeNumber| {
                let known = schema.known(*it);
                known.is_some_and(|it| it.type_id == description.type_id)
            };
            let numbers = schema.selected_numbers(&description);
            for number in numbers.into_iter().filter(own) {
                let ranges = self.ranges.get_or_insert_default();
                // Only the first range of an attribute counts; further ranges would multiply the
                // response.
                if !ranges.numbers.contains(number) {
                    ranges.numbers.insert(number);
                    ranges.of.push((number, range));
                }
            }
            return;
        }
        // Computed values have no options.
        if description.options.is_empty() {
            self.types.insert(description.type_id);
        }
        self.numbers
            .extend(catalog.schema.selected_numbers(&description));
    }

    fn select_class(&mut self, catalog: &Catalog, class: &str) {
        let Some(class) = catalog.schema.object_class(class) else {
            return;
        };
        let class = catalog.schema.class_of(class);
        for type_id in class.all_must.iter().chain(&class.all_may) {
            self.types.insert(*type_id);
            let numbers = catalog.schema.numbers_of(*type_id);
            self.numbers.extend(numbers.iter().copied());
        }
    }

    /// Returns whether names of attributes are wanted without their values.
    pub fn is_types_only(&self) -> bool {
        self.types_only
    }

    /// Returns whether the request selects no attributes, but only the name.
    fn nothing(&self) -> bool {
        !self.all_user
            && !self.all_operational
            && self.numbers.is_empty()
            && self.ranges.is_none()
            && self.computed.is_empty()
    }

    /// Appends the selected attributes as PartialAttributes. Yields when walks over groups use up
    /// the slice: the caller then takes the part appended off `out`, and calls again in the next.
    #[inline]
    pub fn write(
        &self,
        catalog: &Catalog,
        entry: &VisibleEntry<'_, '_>,
        matched: Option<&MatchedValues>,
        out: &mut Vec<u8>,
    ) -> Result<Progress<()>, Stop> {
        self.write_some(catalog, entry, matched, u64::MAX, out)
    }

    /// Like `write`, without sets of more than `members_max` members.
    pub fn write_some(
        &self,
        catalog: &Catalog,
        entry: &VisibleEntry<'_, '_>,
        matched: Option<&MatchedValues>,
        members_max: u64,
        out: &mut Vec<u8>,
    ) -> Result<Progress<()>, Stop> {
        if self.nothing() {
            return Ok(Progress::Done(()));
        }
        if let Some(ranges) = &self.ranges {
            self.write_ranged(catalog, entry, ranges, out)?;
        }
        if let Some(matched) = matched {
            return self.write_matched(catalog, entry, matched, members_max, out);
        }
        let plain = self.all_user && !self.types_only && !self.all_operational;
        let plain = plain && self.numbers.is_empty() && self.ranges.is_none();
        match plain {
            true => entry.write_user_attributes(out),
            false => self.write_one_by_one(catalog, entry, out),
        }
        if entry.has_links() {
            self.write_linked(catalog, entry, None, members_max, out)?;
        }
        if catalog.has_collective {
            self.write_lent(catalog, entry, None, out)?;
        }
        for type_id in self.computed_but(catalog, members_max) {
            let mut values: SmallVec<[Vec<u8>; 1]> = SmallVec::new();
            done!(entry.shown_values(*type_id, &mut |value| {
                values.push(value.to_vec());
                self.types_only
            })?);
            if !values.is_empty() {
                let text = catalog.schema.type_of(*type_id).name();
                if self.types_only {
                    values.clear();
                }
                ber::put_partial_attribute(out, text, values.iter().map(Vec::as_slice));
            }
        }
        Ok(Progress::Done(()))
    }

    /// Like `write`, with only the values that match a matched values control.
    fn write_matched(
        &self,
        catalog: &Catalog,
        entry: &VisibleEntry<'_, '_>,
        matched: &MatchedValues,
        members_max: u64,
        out: &mut Vec<u8>,
    ) -> Result<Progress<()>, Stop> {
        for (attribute, known) in self.selected(catalog, entry) {
            let which = MatchedAttribute {
                type_id: known.type_id,
                number: Some(attribute.number),
            };
            let values = attribute.values();
            matched.write(&catalog.schema, which, &known.text, values.iter(), out);
        }
        if entry.has_links() {
            self.write_linked(catalog, entry, Some(matched), members_max, out)?;
        }
        if catalog.has_collective {
            self.write_lent(catalog, entry, Some(matched), out)?;
        }
        for type_id in self.computed_but(catalog, members_max) {
            let values = done!(entry.all_shown_values(*type_id)?);
            if !values.is_empty() {
                let text = catalog.schema.type_of(*type_id).name();
                let values = values.iter().map(Vec::as_slice);
                let which = MatchedAttribute {
                    type_id: *type_id,
                    number: None,
                };
                matched.write(&catalog.schema, which, text, values, out);
            }
        }
        Ok(Progress::Done(()))
    }

    fn write_one_by_one(&self, catalog: &Catalog, entry: &VisibleEntry<'_, '_>, out: &mut Vec<u8>) {
        for (attribute, known) in self.selected(catalog, entry) {
            if self.types_only {
                ber::put_partial_attribute(out, &known.text, std::iter::empty());
            } else {
                out.extend_from_slice(attribute.encoded);
            }
        }
    }

    /// Appends values that are links. Sets of more than `members_max` members are left out, unless
    /// the matched values control names single values, which are looked up.
    fn write_linked(
        &self,
        catalog: &Catalog,
        entry: &VisibleEntry<'_, '_>,
        matched: Option<&MatchedValues>,
        members_max: u64,
        out: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        for set in entry.linked_sets()? {
            let Some(known) = catalog.schema.known(set.number) else {
                continue;
            };
            if !self.selects(known) {
                continue;
            }
            let asked = matched.and_then(|it| it.equal_to(set.number));
            if let (Some(forms), false) = (asked, self.types_only) {
                write_equal(entry, &set, &known.text, &forms, out)?;
                continue;
            }
            if set.count > members_max {
                continue;
            }
            let start = out.len();
            let mut some = false;
            let mut walked = Ok(());
            let values = |out: &mut Vec<u8>| {
                walked = entry.linked_values(set.set, &mut |value| {
                    some = true;
                    if self.types_only {
                        return ControlFlow::Break(());
                    }
                    let which = MatchedAttribute {
                        type_id: known.type_id,
                        number: Some(known.number),
                    };
                    if matched.is_none_or(|it| it.matches(&catalog.schema, which, value)) {
                        ber::put_octets(out, ber::OCTET_STRING, value);
                    }
                    ControlFlow::Continue(())
                });
            };
            ber::put_nested(out, ber::SEQUENCE, |out| {
                ber::put_octets(out, ber::OCTET_STRING, known.text.as_bytes());
                ber::put_nested(out, ber::SET, values);
            });
            walked?;
            if !some {
                // All members of the set are deleted entries.
                out.truncate(start);
            }
        }
        Ok(())
    }

    /// Returns the selected sets with more than `members_max` members.
    pub fn large_sets<'k>(
        &self,
        catalog: &'k Catalog,
        entry: &VisibleEntry<'_, '_>,
        members_max: u64,
    ) -> Result<Vec<(&'k KnownAttribute, SetId)>, Stop> {
        if self.types_only || self.nothing() {
            return Ok(Vec::new());
        }
        let sets = entry.linked_sets()?.into_iter();
        let large = sets.filter(|it| it.count > members_max);
        let selected = large.filter_map(|it| {
            let known = catalog.schema.known(it.number);
            let known = known.filter(|known| self.selects(known))?;
            Some((known, it.set))
        });
        Ok(selected.collect())
    }

    /// Returns the members of a dynamic group; `None` if they are not selected or the entry is not
    /// a dynamic group.
    pub fn described(
        &self,
        catalog: &Catalog,
        entry: &VisibleEntry<'_, '_>,
    ) -> Result<Option<Described>, Stop> {
        let member = catalog.computed.member;
        if !self.computed.contains(&member) {
            return Ok(None);
        }
        entry.description()
    }

    /// Returns the computed types to return, without members of dynamic groups if these are sent in
    /// parts.
    fn computed_but(&self, catalog: &Catalog, members_max: u64) -> impl Iterator<Item = &TypeId> {
        let member = catalog.computed.member;
        let in_parts = members_max != u64::MAX;
        (self.computed.iter()).filter(move |it| !in_parts || **it != member)
    }

    /// Returns whether a stored attribute is returned with all its values. A range replaces them if
    /// `*` selects the attribute; if its name does, both are returned.
    fn selects(&self, known: &KnownAttribute) -> bool {
        let by_kind = match known.operational {
            true => self.all_operational,
            false => self.all_user,
        };
        let number = known.number;
        let ranged = |it: &Ranges| it.numbers.contains(number);
        by_kind && !self.ranges.as_deref().is_some_and(ranged) || self.numbers.contains(number)
    }

    /// Appends collective attributes (RFC 3671): user attributes with the values of all lenders
    /// together.
    fn write_lent(
        &self,
        catalog: &Catalog,
        entry: &VisibleEntry<'_, '_>,
        matched: Option<&MatchedValues>,
        out: &mut Vec<u8>,
    ) -> Result<(), Stop> {
        for same in entry.lent()?.chunk_by(|a, b| a.number == b.number) {
            let number = same[0].number;
            let Some(known) = catalog.schema.known(number) else {
                continue;
            };
            if !self.all_user && !self.numbers.contains(number) {
                continue;
            }
            let mut values: Vec<&[u8]> = Vec::new();
            if !self.types_only {
                values.extend(same.iter().flat_map(|it| it.values().into_iter()));
                values.sort_unstable();
                values.dedup();
            }
            match matched {
                None => ber::put_partial_attribute(out, &known.text, values.into_iter()),
                Some(matched) => {
                    let which = MatchedAttribute {
                        type_id: known.type_id,
                        number: Some(number),
                    };
                    matched.write(&catalog.schema, which, &known.text, values.into_iter(), out);
                }
            }
        }
        Ok(())
    }

    /// Iterates over the selected attributes stored in an entry, with their entries in the
    /// dictionary.
    fn selected<'s, 'a>(
        &'s self,
        catalog: &'s Catalog,
        entry: &'s VisibleEntry<'_, 'a>,
    ) -> impl Iterator<Item = (StoredAttribute<'a>, &'s KnownAttribute)> {
        entry.attributes().filter_map(|attribute| {
            let known = catalog.schema.known(attribute.number)?;
            self.selects(known).then_some((attribute, known))
        })
    }

    /// Like `write`, for a virtual entry.
    pub fn write_virtual(
        &self,
        catalog: &Catalog,
        entry: &VirtualEntry,
        matched: Option<&MatchedValues>,
        out: &mut Vec<u8>,
    ) {
        for attribute in entry.attributes() {
            let by_kind = if attribute.operational {
                self.all_operational
            } else {
                self.all_user
            };
            if !by_kind && !entry.is_any_of(attribute, &self.types) {
                continue;
            }
            match matched {
                None => attribute.encode(out, self.types_only),
                Some(matched) => {
                    let values = attribute.values.iter().map(Vec::as_slice);
                    let which = MatchedAttribute {
                        type_id: attribute.type_id,
                        number: None,
                    };
                    matched.write(&catalog.schema, which, &attribute.text, values, out);
                }
            }
        }
    }
}

/// Appends the values of a set that have these normal forms. Matched values filters mostly ask for
/// few values, which are looked up without reading the other values.
fn write_equal(
    entry: &VisibleEntry<'_, '_>,
    set: &LinkedSet,
    text: &str,
    forms: &[&[u8]],
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    let mut values: Vec<Vec<u8>> = Vec::new();
    for form in forms {
        if let Some(member) = entry.member_of_form(set, form)? {
            let mut value = Vec::new();
            entry.write_member(set.set, member, &mut value)?;
            values.push(value);
        }
    }
    values.sort_unstable();
    values.dedup();
    ber::put_partial_attribute(out, text, values.iter().map(Vec::as_slice));
    Ok(())
}
