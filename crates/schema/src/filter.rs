//! Filters resolved under the schema.
//!
//! A resolved filter is valid: its types exist and its values obey their syntax. Everything else is
//! [`Filter::Undefined`] with the reason (RFC 4511 §4.5.1.7).

mod alternatives;
mod among;
mod evaluate;
mod print;
mod resolve;
mod shape;

#[cfg(test)]
mod tests;

use smallvec::SmallVec;

pub use alternatives::Alternatives;
pub use among::{Among, Membership};

use crate::description::Description;
use crate::dictionary::AttributeNumber;
use crate::id::TypeId;
use crate::matching::{MatchingRule, Position};
use crate::name::Name;
use crate::schema::Schema;

/// A resolved filter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// All parts are true. Never empty.
    And(Vec<Filter>),
    /// At least one part is true. Never empty.
    Or(Alternatives),
    /// The part is false.
    Not(Box<Filter>),
    /// Some value equals the asserted one.
    Equality(Assertion),
    /// Some value contains the pieces, in this order.
    Substrings(SubstringAssertion),
    /// Some value is equal to the asserted one or greater.
    GreaterOrEqual(Assertion),
    /// Some value is equal to the asserted one or less.
    LessOrEqual(Assertion),
    /// The attribute has a value.
    Present(Selector),
    /// Some value sounds like the asserted one or equals it.
    Approx(Assertion),
    /// Some value matches under a named rule.
    Extensible(ExtensibleAssertion),
    /// The entry is in a set, computed by a caller that reads other entries from an assertion about
    /// links between entries.
    Among(Among),
    /// The entry is a member of one group, whose members are too many to list.
    Member(Membership),
    /// True of every entry, `(&)` (RFC 4526).
    True,
    /// False of every entry, `(|)` (RFC 4526).
    False,
    /// Undefined, for this reason.
    Undefined(String),
}

/// The attributes of an entry that an assertion covers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector {
    /// The attribute type of the assertion.
    pub type_id: TypeId,
    /// Numbers of every covered description of this database: of the type and its subtypes, with at
    /// least the options of the assertion. Empty when no entry has such an attribute.
    pub numbers: SmallVec<[AttributeNumber; 4]>,
    /// Number of the asserted description itself, if it has one.
    pub base: Option<AttributeNumber>,
    /// The description as the client spelled it, for explanations.
    spelled: SmallVec<[u8; 24]>,
}

/// An asserted value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assertion {
    /// The attributes that the assertion covers.
    pub selector: Selector,
    /// The asserted value as the client gave it.
    pub given: Box<[u8]>,
    /// Normal form of the value under the equality rule; for `>=` and `<=` under the ordering rule.
    pub normal: Box<[u8]>,
    /// Further forms that match, by kind of assertion:
    ///
    /// - `objectClass` equality: the normal forms of the class and of all its subclasses, since an
    ///   entry belongs to the superclasses of its classes whether or not they are stored. A look-up
    ///   in an index needs each of them; `normal` is one of them.
    /// - [`Filter::Approx`] on text: the phonetic keys of the value's words, in their order.
    /// - All others: none.
    pub alternatives: Vec<Box<[u8]>>,
}

/// Pieces of a value, each in its normal form (RFC 4518 §2.6.1); at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubstringAssertion {
    /// The attributes in whose values the pieces are searched.
    pub selector: Selector,
    /// The piece at the start of the value.
    pub initial: Option<Box<[u8]>>,
    /// The pieces behind it, in this order and without overlap.
    pub any: Vec<Box<[u8]>>,
    /// The piece at the end of the value.
    pub last: Option<Box<[u8]>>,
}

/// A value asserted under a named rule, `(type:dn:rule:=value)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensibleAssertion {
    /// The named rule, or the equality rule of the attribute type.
    pub rule: &'static MatchingRule,
    /// The named attribute, or each attribute of this database whose syntax fits the rule.
    pub selectors: Vec<Selector>,
    /// Whether an attribute was named; then `selectors` has one element.
    pub attribute_named: bool,
    /// Whether the values in the entry's name count, too.
    pub dn_attributes: bool,
    /// The value behind `:=`, as the client gave it.
    pub given: Box<[u8]>,
    /// Normal form of the value under the rule; empty for substring rules.
    ///
    /// For [`crate::matching::OID_IN_CHAIN`] it is the [`Name::bytes`] of the asserted entry.
    /// Evaluation itself follows no links and sees only direct values; a source that can read other
    /// entries answers [`ValueSource::in_chain`].
    pub normal: Box<[u8]>,
    /// The normalised pieces of a substring rule's value.
    pub pieces: Vec<(Position, Box<[u8]>)>,
}

impl Filter {
    /// Returns the parts of an AND or OR.
    pub fn parts(&self) -> Option<&[Filter]> {
        match self {
            Filter::And(parts) => Some(parts),
            Filter::Or(parts) => Some(parts),
            _ => None,
        }
    }

    /// Approximate number of assertions tested on an entry, at least 1: an assertion without an
    /// attribute counts for each attribute that it covers, and equalities of a long OR are tested
    /// together.
    pub fn weight(&self) -> usize {
        match self {
            Filter::And(parts) => parts.iter().map(Filter::weight).sum(),
            Filter::Or(parts) => parts.weight(),
            Filter::Not(part) => part.weight(),
            Filter::Extensible(it) => it.selectors.len().max(1),
            _ => 1,
        }
    }
}

/// The truth of a filter for one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    /// The entry matches.
    True,
    /// The entry does not match.
    False,
    /// Neither the filter nor its negation matches the entry.
    Undefined,
}

/// The entry on which a filter is evaluated.
pub trait ValueSource {
    /// Calls `test` on the values of an attribute until it returns true. Returns whether a call
    /// returned true; `None` when the entry lacks the attribute.
    fn any_value(
        &self,
        number: AttributeNumber,
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<bool>;

    /// Like [`ValueSource::any_value`], for a `test` that passes exactly the values of one normal
    /// form under the equality rule: a source that finds values by their form need not call it.
    #[inline]
    fn equal_value(
        &self,
        number: AttributeNumber,
        normal: &[u8],
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<bool> {
        let _ = normal;
        self.any_value(number, test)
    }

    /// Returns whether [`ValueSource::equal_value`] finds values of this attribute by their form,
    /// which costs less than testing all of them.
    #[inline]
    fn finds_values(&self, number: AttributeNumber) -> bool {
        let _ = number;
        false
    }

    /// Like [`ValueSource::any_value`], for computed attributes (`entryDN`, `hasSubordinates`, …).
    fn any_virtual(&self, type_id: TypeId, test: &mut dyn FnMut(&[u8]) -> bool) -> Option<bool> {
        let _ = (type_id, test);
        None
    }

    /// Returns the entry's name as spelled, for `:dn:` matching.
    fn spelled_name(&self) -> Option<String> {
        None
    }

    /// Returns the entry's id, for [`Filter::Among`].
    fn id(&self) -> Option<u64> {
        None
    }

    /// Returns whether the entry is a member of a group, for [`Filter::Member`]. `None` when the
    /// source cannot read other entries.
    fn is_member(&self, group: &Membership) -> Option<bool> {
        let _ = group;
        None
    }

    /// Returns the truth of the next assertion in the order of evaluation, if an interrupted
    /// evaluation of this filter on this entry has found it. `None` when the assertion must be
    /// tested.
    #[inline]
    fn known_truth(&self) -> Option<Truth> {
        None
    }

    /// Records the truth of an assertion that was tested.
    #[inline]
    fn note_truth(&self, truth: Truth) {
        let _ = truth;
    }

    /// Returns whether the evaluation must stop; its result is then invalid.
    #[inline]
    fn is_left(&self) -> bool {
        false
    }

    /// Returns whether links of the asserted attribute lead from this entry to the asserted name,
    /// through any number of other entries. `None` when the source cannot read other entries.
    fn in_chain(&self, assertion: &ExtensibleAssertion) -> Option<bool> {
        let _ = assertion;
        None
    }
}

impl Schema {
    /// Returns the filter that is true of an entry and its subordinates,
    /// `(entryDN:dnSubtreeMatch:=name)`; false in a schema without `entryDN`.
    pub fn within(&self, name: &Name) -> Filter {
        let rule = MatchingRule::by_name("dnSubtreeMatch").expect("a standard rule");
        let Some(type_id) = self.attribute_type("entryDN") else {
            return Filter::False;
        };
        Filter::Extensible(ExtensibleAssertion {
            rule,
            selectors: vec![Selector::new(self, &Description::of_type(type_id))],
            attribute_named: true,
            dn_attributes: false,
            given: Box::default(),
            normal: name.bytes().into(),
            pieces: Vec::new(),
        })
    }
}

impl Selector {
    /// Returns the attributes that an assertion about `description` covers in the database of
    /// `schema`.
    pub fn new(schema: &Schema, description: &Description) -> Selector {
        let spelled = schema.spelled(description);
        Selector::spelled_as(schema, description, &spelled)
    }

    fn spelled_as(schema: &Schema, description: &Description, spelled: &str) -> Selector {
        let numbers = if description.options.is_empty() && description.range.is_none() {
            SmallVec::from_slice(schema.numbers_of(description.type_id))
        } else {
            SmallVec::from_vec(schema.selected_numbers(description))
        };
        Selector {
            type_id: description.type_id,
            numbers,
            base: schema.number(description),
            spelled: SmallVec::from_slice(spelled.as_bytes()),
        }
    }

    /// Returns the attribute description as the client spelled it.
    pub fn attribute(&self) -> &str {
        std::str::from_utf8(&self.spelled).expect("made from a str")
    }
}
