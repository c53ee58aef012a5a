//! Three-valued evaluation of a filter on one entry (RFC 4511 §4.5.1.7).
//!
//! A value with the asserted octets matches without a rule. Only other values are normalised, into
//! the caller's scratch buffer, so the usual evaluation allocates nothing.

use super::{
    Assertion, ExtensibleAssertion, Filter, Selector, SubstringAssertion, Truth, ValueSource,
};
use crate::AttributeNumber;
use crate::id::TypeId;
use crate::matching::{Family, MatchingRule, Position, RuleKind, certificate_parts};
use crate::name;
use crate::phonetic::phonetic_key;
use crate::schema::Schema;
use crate::syntaxes::time;

impl Filter {
    /// Returns the truth of the filter for an entry. `scratch` is overwritten; a search passes the
    /// same buffer for every entry.
    pub fn evaluate<E: ValueSource + ?Sized>(
        &self,
        schema: &Schema,
        entry: &E,
        scratch: &mut Vec<u8>,
    ) -> Truth {
        match self {
            Filter::And(parts) => {
                let mut truth = Truth::True;
                for part in parts {
                    match part.evaluate(schema, entry, scratch) {
                        Truth::False => return Truth::False,
                        Truth::Undefined => truth = Truth::Undefined,
                        Truth::True => (),
                    }
                    if entry.is_left() {
                        return Truth::Undefined;
                    }
                }
                truth
            }
            Filter::Or(parts) => parts.evaluate(schema, entry, scratch),
            Filter::Not(part) => match part.evaluate(schema, entry, scratch) {
                Truth::True => Truth::False,
                Truth::False => Truth::True,
                Truth::Undefined => Truth::Undefined,
            },
            Filter::True => Truth::True,
            Filter::False => Truth::False,
            Filter::Undefined(_) => Truth::Undefined,
            assertion => once(entry, || assertion.test(schema, entry, scratch)),
        }
    }

    /// Returns the truth of an assertion for an entry.
    #[inline]
    fn test<E: ValueSource + ?Sized>(
        &self,
        schema: &Schema,
        entry: &E,
        scratch: &mut Vec<u8>,
    ) -> Truth {
        match self {
            Filter::Equality(it) => equality(it, schema, entry, scratch),
            Filter::Substrings(it) => substrings(it, schema, entry, scratch),
            Filter::GreaterOrEqual(it) => ordering(it, schema, entry, scratch, |a, b| a >= b),
            Filter::LessOrEqual(it) => ordering(it, schema, entry, scratch, |a, b| a <= b),
            Filter::Present(selector) => any(selector, entry, &mut |_| true),
            Filter::Approx(it) => approx(it, schema, entry, scratch),
            Filter::Extensible(it) => extensible(it, schema, entry, scratch),
            Filter::Member(it) => match entry.is_member(it) {
                Some(found) => found.into(),
                None => it.asserted.test(schema, entry, scratch),
            },
            Filter::Among(it) => entry.id().is_some_and(|id| it.contains(id)).into(),
            // The other kinds are no assertions.
            _ => self.evaluate(schema, entry, scratch),
        }
    }
}

/// Returns the truth of an assertion from an interrupted evaluation, or else from `test`.
#[inline]
pub(super) fn once<E: ValueSource + ?Sized>(entry: &E, test: impl FnOnce() -> Truth) -> Truth {
    if let Some(known) = entry.known_truth() {
        return known;
    }
    let truth = test();
    entry.note_truth(truth);
    truth
}

impl From<bool> for Truth {
    fn from(matches: bool) -> Truth {
        if matches { Truth::True } else { Truth::False }
    }
}

/// Returns whether some value of the selected attributes passes the test.
#[inline]
pub(super) fn any<E: ValueSource + ?Sized>(
    selector: &Selector,
    entry: &E,
    test: &mut dyn FnMut(&[u8]) -> bool,
) -> Truth {
    any_by(selector, entry, test, |number, test| {
        entry.any_value(number, test)
    })
}

/// Like [`any`], with `of` as the way to the stored values of an attribute.
#[inline]
fn any_by<E: ValueSource + ?Sized>(
    selector: &Selector,
    entry: &E,
    test: &mut dyn FnMut(&[u8]) -> bool,
    of: impl Fn(AttributeNumber, &mut dyn FnMut(&[u8]) -> bool) -> Option<bool>,
) -> Truth {
    let mut stored = false;
    for number in &selector.numbers {
        match of(*number, test) {
            Some(true) => return Truth::True,
            Some(false) => stored = true,
            None => (),
        }
    }
    let found = !stored && entry.any_virtual(selector.type_id, test) == Some(true);
    found.into()
}

#[inline]
fn equality<E: ValueSource + ?Sized>(
    assertion: &Assertion,
    schema: &Schema,
    entry: &E,
    scratch: &mut Vec<u8>,
) -> Truth {
    let (given, normal) = (&*assertion.given, &*assertion.normal);
    let rule = schema.type_of(assertion.selector.type_id).equality;
    if !assertion.alternatives.is_empty() {
        let alternatives = &assertion.alternatives;
        return any(&assertion.selector, entry, &mut |value| {
            value == given
                || alternatives.iter().any(|it| it.eq_ignore_ascii_case(value))
                || normalised(rule, schema, value, scratch, |it| {
                    alternatives.iter().any(|alternative| **alternative == *it)
                })
        });
    }
    let test = &mut |value: &[u8]| {
        value == given || normalised(rule, schema, value, scratch, |it| it == normal)
    };
    any_by(&assertion.selector, entry, test, |number, test| {
        entry.equal_value(number, normal, test)
    })
}

/// Returns whether the normal form of a value passes the test; a value without one does not.
#[inline]
fn normalised(
    rule: Option<&MatchingRule>,
    schema: &Schema,
    value: &[u8],
    scratch: &mut Vec<u8>,
    test: impl FnOnce(&[u8]) -> bool,
) -> bool {
    scratch.clear();
    rule.is_some_and(|rule| rule.normalise(schema, value, scratch).is_ok()) && test(scratch)
}

fn ordering<E: ValueSource + ?Sized>(
    assertion: &Assertion,
    schema: &Schema,
    entry: &E,
    scratch: &mut Vec<u8>,
    compare: fn(&[u8], &[u8]) -> bool,
) -> Truth {
    let rule = schema.type_of(assertion.selector.type_id).ordering;
    any(&assertion.selector, entry, &mut |value| {
        normalised(rule, schema, value, scratch, |it| {
            compare(it, &assertion.normal)
        })
    })
}

fn substrings<E: ValueSource + ?Sized>(
    assertion: &SubstringAssertion,
    schema: &Schema,
    entry: &E,
    scratch: &mut Vec<u8>,
) -> Truth {
    let Some(rule) = schema.type_of(assertion.selector.type_id).substring else {
        return Truth::Undefined;
    };
    any(&assertion.selector, entry, &mut |value| {
        scratch.clear();
        rule.normalise_for_pieces(value, scratch).is_ok() && assertion.matches(scratch)
    })
}

impl SubstringAssertion {
    /// Returns whether a value, in the form of [`Schema::normalise_substring`], contains the pieces
    /// in their order and without overlap.
    pub fn matches(&self, value: &[u8]) -> bool {
        let initial = self
            .initial
            .iter()
            .map(|piece| (Position::Initial, &**piece));
        let any = self.any.iter().map(|piece| (Position::Any, &**piece));
        let last = self.last.iter().map(|piece| (Position::Final, &**piece));
        holds_pieces(value, initial.chain(any).chain(last))
    }
}

/// Takes the first place where each piece fits: if any choice of places works, that one does.
fn holds_pieces<'p>(value: &[u8], pieces: impl Iterator<Item = (Position, &'p [u8])>) -> bool {
    let mut rest = value;
    for (position, piece) in pieces {
        let left = match position {
            Position::Initial => rest.strip_prefix(piece),
            Position::Any => find(rest, piece).map(|at| &rest[at + piece.len()..]),
            Position::Final => rest.strip_suffix(piece),
        };
        match left {
            Some(left) => rest = left,
            None => return false,
        }
    }
    true
}

/// Length in bytes up to which a piece is compared at every place in turn. Longer ones need a
/// searcher, which costs more to set up but stays linear: value and piece may be megabytes of one
/// letter.
const SHORT_PIECE_BYTES_MAX: usize = 32;

fn find(value: &[u8], piece: &[u8]) -> Option<usize> {
    if piece.len() > SHORT_PIECE_BYTES_MAX {
        return memchr::memmem::find(value, piece);
    }
    let (first, tail) = piece.split_first()?;
    let last_start = value.len().checked_sub(piece.len())?;
    let mut at = 0;
    while at <= last_start {
        at += value[at..=last_start]
            .iter()
            .position(|byte| byte == first)?;
        if value[at + 1..].starts_with(tail) {
            return Some(at);
        }
        at += 1;
    }
    None
}

fn approx<E: ValueSource + ?Sized>(
    assertion: &Assertion,
    schema: &Schema,
    entry: &E,
    scratch: &mut Vec<u8>,
) -> Truth {
    let rule = schema.type_of(assertion.selector.type_id).equality;
    let keys = &assertion.alternatives;
    any(&assertion.selector, entry, &mut |value| {
        value == &*assertion.given
            || normalised(rule, schema, value, scratch, |it| it == &*assertion.normal)
            || !keys.is_empty() && sounds_like(value, keys)
    })
}

/// Returns whether the words of the assertion sound like words of the value, in their order.
fn sounds_like(value: &[u8], keys: &[Box<[u8]>]) -> bool {
    let words = phonetic_key(value);
    let mut words = words.iter();
    keys.iter().all(|key| words.any(|word| **word == **key))
}

fn extensible<E: ValueSource + ?Sized>(
    assertion: &ExtensibleAssertion,
    schema: &Schema,
    entry: &E,
    scratch: &mut Vec<u8>,
) -> Truth {
    if assertion.rule.family == Family::InChain
        && let Some(leads_there) = entry.in_chain(assertion)
    {
        return leads_there.into();
    }
    for selector in &assertion.selectors {
        let own = schema.type_of(selector.type_id).equality == Some(assertion.rule);
        let test = &mut |value: &[u8]| assertion.matches(schema, value, scratch);
        let found = match own && assertion.rule.kind == RuleKind::Equality {
            // The equality rule of the attribute matches like the plain assertion.
            true => any_by(selector, entry, test, |number, test| {
                entry.equal_value(number, &assertion.normal, test)
            }),
            false => any(selector, entry, test),
        };
        if found == Truth::True {
            return Truth::True;
        }
    }
    if !assertion.dn_attributes {
        return Truth::False;
    }
    let spelled = entry.spelled_name();
    let Some(Ok(entry_name)) = spelled.as_deref().map(protocol::parse_name) else {
        return Truth::False;
    };
    let values = entry_name.rdns.iter().flat_map(|it| it.values.iter());
    let mut found = values.filter(|it| {
        let type_id = schema.attribute_type(it.attribute);
        type_id.is_some_and(|id| assertion.matches_in_name(schema, id, &it.value, scratch))
    });
    found.next().is_some().into()
}

impl ExtensibleAssertion {
    /// Returns whether one stored value matches.
    pub fn matches(&self, schema: &Schema, value: &[u8], scratch: &mut Vec<u8>) -> bool {
        scratch.clear();
        match self.rule.kind {
            RuleKind::Substrings => {
                self.rule.normalise_for_pieces(value, scratch).is_ok()
                    && holds_pieces(scratch, self.pieces.iter().map(|(at, it)| (*at, &**it)))
            }
            _ => {
                self.rule.normalise(schema, value, scratch).is_ok() && self.matches_normal(scratch)
            }
        }
    }

    fn matches_normal(&self, value: &[u8]) -> bool {
        let asserted = &*self.normal;
        if self.rule.kind == RuleKind::Ordering {
            // RFC 4517 §4.2: the rule is true for values less than the asserted one.
            return value < asserted;
        }
        match self.rule.family {
            Family::Word => value
                .split(|byte| !is_word_byte(*byte))
                .any(|word| word == asserted),
            // Both values are 16 octets.
            Family::BitAnd => value
                .iter()
                .zip(asserted)
                .all(|(has, want)| has & want == *want),
            Family::BitOr => value
                .iter()
                .zip(asserted)
                .any(|(has, want)| has & want != 0),
            Family::NameSubtree => name::is_within(value, asserted),
            Family::NameOneLevel => name::below(value, asserted).is_some_and(name::is_one_rdn),
            Family::NameSubordinate => name::below(value, asserted).is_some(),
            Family::NameSuperior => name::below(asserted, value).is_some(),
            Family::LaterThan => value > asserted,
            Family::EarlierThan => value < asserted,
            Family::CertificateParts | Family::CertificateListParts => {
                certificate_parts::holds(value, asserted)
            }
            Family::PartialTime => time::fits_pattern(value, asserted),
            _ => value == asserted,
        }
    }

    /// Returns whether a value in the entry's name, as spelled, matches.
    fn matches_in_name(
        &self,
        schema: &Schema,
        type_id: TypeId,
        value: &[u8],
        scratch: &mut Vec<u8>,
    ) -> bool {
        let covered = match self.selectors.first() {
            Some(selector) if self.attribute_named => schema.is_subtype(type_id, selector.type_id),
            _ => self.rule.applies_to(schema.type_of(type_id).syntax),
        };
        covered && self.matches(schema, value, scratch)
    }
}

fn is_word_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte >= 0x80 || byte == b'_'
}
