//! Filters resolved under the schema, and their evaluation (RFC 4511 §4.5.1.7).

use smallvec::SmallVec;

use crate::dictionary::AttributeNumber;
use crate::matching::MatchingRule;
use crate::name::Name;
use crate::schema::{Schema, TypeId};

/// A resolved filter. What is in it cannot be wrong: types exist, values obey their syntax.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// All are true.
    And(Vec<Filter>),
    /// Some is true.
    Or(Vec<Filter>),
    /// The other way round.
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
    /// Some value sounds like the asserted one.
    Approx(Assertion),
    /// Some value matches under a named rule.
    Extensible(ExtensibleAssertion),
    /// Always, `(&)` (RFC 4526).
    True,
    /// Never, `(|)` (RFC 4526).
    False,
    /// Cannot be decided, with the reason for an explanation.
    Undefined(String),
}

/// Which attributes of an entry an assertion is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector {
    /// The attribute type.
    pub type_id: TypeId,
    /// Every description of this database that the assertion covers: the type and its subtypes,
    /// with at least the options asked for.
    pub numbers: SmallVec<[AttributeNumber; 4]>,
    /// The number of exactly the description asked for, if it has one.
    pub base: Option<AttributeNumber>,
    attribute: SmallVec<[u8; 24]>,
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
    /// More normal forms that match as well.
    ///
    /// - For `objectClass` equality: the class and all its subclasses, because an entry belongs to
    ///   the superclasses of its classes whether or not they are stored. An index has to be asked
    ///   for each of them (`normal` is the first).
    /// - For `Approx`: the phonetic keys of the value's words, in order.
    /// - Empty otherwise.
    pub alternatives: Vec<Box<[u8]>>,
}

/// Pieces of a value, each in its normal form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubstringAssertion {
    /// The attributes it is about.
    pub selector: Selector,
    /// What the value starts with.
    pub initial: Option<Box<[u8]>>,
    /// What follows, in this order.
    pub any: Vec<Box<[u8]>>,
    /// What the value ends with.
    pub last: Option<Box<[u8]>>,
}

/// A value asserted under a named rule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensibleAssertion {
    /// The rule named, or the equality rule of the attribute type.
    pub rule: &'static MatchingRule,
    /// The attribute named, or every attribute type in use that the rule applies to.
    pub selectors: Vec<Selector>,
    /// Whether the attribute was named.
    pub attribute_named: bool,
    /// Whether the values of the entry's DN count too (`:dn:`).
    pub dn_attributes: bool,
    /// The value as the client gave it.
    pub given: Box<[u8]>,
    /// Its normal form under the rule; empty for substring rules.
    pub normal: Box<[u8]>,
    /// The pieces, for a substring rule.
    pub pieces: Vec<(crate::matching::Position, Box<[u8]>)>,
}

/// The truth of a filter for an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Truth {
    /// It matches.
    True,
    /// It does not.
    False,
    /// Nobody can say; it does not match, and neither does its negation.
    Undefined,
}

/// What a filter is evaluated on.
pub trait ValueSource {
    /// Calls `test` on values until it returns true. `None`: the entry has no such attribute;
    /// otherwise whether a call returned true.
    fn any_value(
        &self,
        number: AttributeNumber,
        test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<bool>;

    /// The same for attributes that are not stored (`entryDN`, `hasSubordinates`, …).
    fn any_virtual(
        &self,
        _type_id: TypeId,
        _test: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Option<bool> {
        None
    }

    /// The entry's own name, for `:dn:` matching.
    fn name(&self) -> Option<Name> {
        None
    }
}

impl Schema {
    /// Resolves a filter. Never fails: what cannot be decided becomes [`Filter::Undefined`].
    pub fn resolve_filter(&self, _filter: &protocol::Filter<'_>) -> Filter {
        unimplemented!()
    }
}

impl Filter {
    /// Evaluates.
    pub fn evaluate<E: ValueSource + ?Sized>(
        &self,
        _schema: &Schema,
        _entry: &E,
        _scratch: &mut Vec<u8>,
    ) -> Truth {
        unimplemented!()
    }
}

impl std::fmt::Display for Filter {
    fn fmt(&self, _f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        unimplemented!()
    }
}
