//! Filters resolved under the schema.
//!
//! A resolved filter cannot be wrong: its types exist and its values obey their syntax. Everything
//! else has become [`Filter::Undefined`] on the way (RFC 4511 §4.5.1.7), with the reason.

mod alternatives;
mod among;
mod evaluate;
mod print;
mod resolve;

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
    /// All are true. Never empty.
    And(Vec<Filter>),
    /// At least one is true. Never empty.
    Or(Alternatives),
    /// This one is false.
    Not(Box<Filter>),
    /// Some value equals the asserted one.
    Equality(Assertion),
    /// Some value holds the pieces, in this order.
    Substrings(SubstringAssertion),
    /// Some value is equal or stands after.
    GreaterOrEqual(Assertion),
    /// Some value is equal or stands before.
    LessOrEqual(Assertion),
    /// There is a value.
    Present(Selector),
    /// Some value sounds like the asserted one or equals it.
    Approx(Assertion),
    /// Some value matches under a named rule.
    Extensible(ExtensibleAssertion),
    /// The entry is one of these, which somebody who can read other entries has worked out from an
    /// assertion about links between entries.
    Among(Among),
    /// The entry is a member of one group: the same for a group of very many members.
    Member(Membership),
    /// Always, `(&)` (RFC 4526).
    True,
    /// Never, `(|)` (RFC 4526).
    False,
    /// Cannot be decided, for this reason.
    Undefined(String),
}

/// Which attributes of an entry an assertion is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector {
    /// The attribute type.
    pub type_id: TypeId,
    /// Every description of this database that is covered: of the type and its subtypes, with at
    /// least the options asked for. Empty: no entry has such an attribute.
    pub numbers: SmallVec<[AttributeNumber; 4]>,
    /// The number of exactly the description asked for, if it has one.
    pub base: Option<AttributeNumber>,
    /// As the client spelled it, for explanations.
    spelled: SmallVec<[u8; 24]>,
}

/// An asserted value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assertion {
    /// The attributes it is about.
    pub selector: Selector,
    /// The value as the client gave it.
    pub given: Box<[u8]>,
    /// Its normal form under the equality rule, for `>=` and `<=` under the ordering rule.
    pub normal: Box<[u8]>,
    /// More that matches, by kind of assertion:
    ///
    /// - `objectClass` equality: the normal forms of the class and of all its subclasses, since
    ///   an entry belongs to the superclasses of its classes whether or not they are stored. An
    ///   index has to be asked for each of them; `normal` is one of them.
    /// - [`Filter::Approx`] on text: the phonetic keys of the value's words, in their order.
    /// - All others: empty.
    pub alternatives: Vec<Box<[u8]>>,
}

/// Pieces of a value, each in its normal form (RFC 4518 §2.6.1); at least one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubstringAssertion {
    /// The attributes it is about.
    pub selector: Selector,
    /// What the value starts with.
    pub initial: Option<Box<[u8]>>,
    /// What follows, in this order and without overlap.
    pub any: Vec<Box<[u8]>>,
    /// What the value ends with.
    pub last: Option<Box<[u8]>>,
}

/// A value asserted under a named rule, `(type:dn:rule:=value)`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensibleAssertion {
    /// The rule named, or the equality rule of the attribute type.
    pub rule: &'static MatchingRule,
    /// The attribute named, or each attribute of this database whose syntax fits the rule.
    pub selectors: Vec<Selector>,
    /// Whether an attribute was named; then `selectors` holds just that.
    pub attribute_named: bool,
    /// Whether the values in the entry's name count too.
    pub dn_attributes: bool,
    /// The value as the client gave it.
    pub given: Box<[u8]>,
    /// Its normal form under the rule; empty for substring rules.
    ///
    /// For [`crate::matching::OID_IN_CHAIN`] this is the [`Name::bytes`] of the entry asked for.
    /// Evaluation itself follows no links, it sees direct values only; a source that can read
    /// other entries answers [`ValueSource::in_chain`].
    pub normal: Box<[u8]>,
    /// The normalised pieces of a substring rule.
    pub pieces: Vec<(Position, Box<[u8]>)>,
}

impl Filter {
    /// The parts of an AND or OR.
    pub fn parts(&self) -> Option<&[Filter]> {
        match self {
            Filter::And(parts) => Some(parts),
            Filter::Or(parts) => Some(parts),
            _ => None,
        }
    }

    /// About how many assertions are tested on an entry, at least 1: one without an attribute
    /// counts for each attribute that it covers, and equalities of a long OR are tested together.
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
    /// It does not.
    False,
    /// Nobody can say: neither the filter nor its negation matches.
    Undefined,
}

/// What a filter is evaluated on: one entry.
pub trait ValueSource {
    /// Calls `test` on the values of an attribute until it returns true. `None`: the entry has no
    /// such attribute; otherwise whether a call returned true.
    fn any_value(
        &self,
        number: AttributeNumber,
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<bool>;

    /// The same, when `test` passes exactly the values of one normal form under the attribute's
    /// equality rule: a source that finds values by their form need not call it.
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

    /// Whether [`ValueSource::equal_value`] finds values of this attribute by their form, so that
    /// it costs less than looking at all of them.
    #[inline]
    fn finds_values(&self, number: AttributeNumber) -> bool {
        let _ = number;
        false
    }

    /// As `any_value`, for attributes that are not stored (`entryDN`, `hasSubordinates`, …).
    fn any_virtual(&self, type_id: TypeId, test: &mut dyn FnMut(&[u8]) -> bool) -> Option<bool> {
        let _ = (type_id, test);
        None
    }

    /// The entry's own name as it is spelled, for `:dn:` matching.
    fn spelled_name(&self) -> Option<String> {
        None
    }

    /// The number of the entry, for [`Filter::Among`].
    fn id(&self) -> Option<u64> {
        None
    }

    /// Whether the entry is a member of a group, for [`Filter::Member`]. `None`: the source cannot
    /// read other entries.
    fn is_member(&self, group: &Membership) -> Option<bool> {
        let _ = group;
        None
    }

    /// The truth of the next assertion, in the order of evaluation, when an evaluation of this
    /// filter on this entry that was left has found it. `None`: the assertion is to be tested.
    #[inline]
    fn known_truth(&self) -> Option<Truth> {
        None
    }

    /// Takes the truth of an assertion that was tested.
    #[inline]
    fn note_truth(&self, truth: Truth) {
        let _ = truth;
    }

    /// Whether the evaluation is to be left: its result means nothing then.
    #[inline]
    fn is_left(&self) -> bool {
        false
    }

    /// Whether links of the asserted attribute lead from this entry to the asserted name, through
    /// any number of other entries. `None`: the source cannot read other entries.
    fn in_chain(&self, assertion: &ExtensibleAssertion) -> Option<bool> {
        let _ = assertion;
        None
    }
}

impl Schema {
    /// The filter that is true of an entry and all below it,
    /// `(entryDN:dnSubtreeMatch:=name)`. False in a schema without `entryDN`.
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
    /// What an assertion about this description covers in the database of `schema`.
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

    /// The attribute description as the client spelled it.
    pub fn attribute(&self) -> &str {
        std::str::from_utf8(&self.spelled).expect("made from a str")
    }
}
