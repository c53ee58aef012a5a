//! Resolving filters as spelled under a schema.

use crate::description::Description;
use crate::error::InvalidValue;
use crate::filter::{Assertion, ExtensibleAssertion, Filter, Selector, SubstringAssertion};
use crate::matching::{Family, MatchingRule, Position, RuleKind};
use crate::phonetic::phonetic_key;
use crate::schema::{AttributeType, Schema};
use crate::syntaxes::identifier::is_numeric_oid;
use crate::syntaxes::time;

/// OID of `objectClass` (RFC 4512 §3.3).
const OBJECT_CLASS_OID: &str = "2.5.4.0";
/// OID of `top`, from which every other class derives.
const TOP_OID: &str = "2.5.6.0";

impl Schema {
    /// Resolves a filter. Never fails: an undecidable part becomes [`Filter::Undefined`].
    ///
    /// Rules about the present time are undefined here; see [`Schema::resolve_filter_with`].
    pub fn resolve_filter(&self, filter: &protocol::Filter<'_>) -> Filter {
        Resolver {
            schema: self,
            now_s: None,
        }
        .filter(filter)
    }

    /// Resolves a filter at a time that `now_s` gives in seconds of Unix time: assertions such as
    /// `(modifyTimestamp:relativeTimeGTOrderingMatch:=-90d)` are then about fixed moments. `now_s`
    /// is called only when the filter has one.
    pub fn resolve_filter_with(
        &self,
        filter: &protocol::Filter<'_>,
        now_s: &dyn Fn() -> i64,
    ) -> Filter {
        Resolver {
            schema: self,
            now_s: Some(now_s),
        }
        .filter(filter)
    }

    /// Resolves the assertion of a compare request: the filter `(attribute=value)`.
    pub fn resolve_assertion(&self, attribute: &str, value: &[u8]) -> Filter {
        Resolver {
            schema: self,
            now_s: None,
        }
        .item(|it| it.equality(attribute, value))
    }
}

struct Resolver<'s> {
    schema: &'s Schema,
    now_s: Option<&'s dyn Fn() -> i64>,
}

/// A filter, or the reason why it is undefined.
type Resolved = Result<Filter, String>;

/// Normalised pieces in order.
type Pieces = Vec<(Position, Box<[u8]>)>;

impl<'s> Resolver<'s> {
    /// Resolves a filter. The decoder's limit of depth bounds the recursion.
    fn filter(&self, filter: &protocol::Filter<'_>) -> Filter {
        use protocol::Filter as Given;
        match filter {
            Given::And(parts) if parts.is_empty() => Filter::True,
            Given::Or(parts) if parts.is_empty() => Filter::False,
            Given::And(parts) => Filter::And(parts.iter().map(|it| self.filter(it)).collect()),
            Given::Or(parts) => Filter::Or(parts.iter().map(|it| self.filter(it)).collect()),
            Given::Not(part) => Filter::Not(Box::new(self.filter(part))),
            Given::Equality { attribute, value } => self.item(|it| it.equality(attribute, value)),
            Given::Substrings {
                attribute,
                initial,
                any,
                last,
            } => self.item(|it| it.substrings(attribute, *initial, any, *last)),
            Given::GreaterOrEqual { attribute, value } => {
                self.item(|it| it.ordering(attribute, value).map(Filter::GreaterOrEqual))
            }
            Given::LessOrEqual { attribute, value } => {
                self.item(|it| it.ordering(attribute, value).map(Filter::LessOrEqual))
            }
            Given::Present(attribute) => self.item(|it| {
                it.selector(attribute)
                    .map(|(selector, _)| Filter::Present(selector))
            }),
            Given::Approx { attribute, value } => self.item(|it| it.approx(attribute, value)),
            Given::Extensible {
                rule,
                attribute,
                value,
                dn_attributes,
            } => self.item(|it| it.extensible(*rule, *attribute, value, *dn_attributes)),
            // RFC 4511 §4.5.1.7: an unknown choice is undefined, not a protocol error.
            Given::Unrecognised { .. } => {
                Filter::Undefined("filter choice that LDAP does not define".to_owned())
            }
        }
    }

    fn item(&self, resolve: impl FnOnce(&Self) -> Resolved) -> Filter {
        resolve(self).unwrap_or_else(Filter::Undefined)
    }

    fn selector(&self, attribute: &str) -> Result<(Selector, &'s AttributeType), String> {
        // Most descriptions are a bare type, which need not be parsed.
        let description = match self.schema.attribute_type(attribute) {
            Some(type_id) => Description::of_type(type_id),
            None => self
                .schema
                .describe(attribute)
                .map_err(|error| error.to_string())?,
        };
        let attribute_type = self.schema.type_of(description.type_id);
        Ok((
            Selector::spelled_as(self.schema, &description, attribute),
            attribute_type,
        ))
    }

    fn equality(&self, attribute: &str, value: &[u8]) -> Resolved {
        let (selector, attribute_type) = self.selector(attribute)?;
        let rule = equality_rule(attribute_type, attribute)?;
        let normal = self.normal(rule, attribute, value)?;
        let mut alternatives = Vec::new();
        if rule.family == Family::ObjectIdentifier && attribute_type.oid == OBJECT_CLASS_OID {
            alternatives = self.class_and_subclasses(value, &normal)?;
            if alternatives.is_empty() {
                // Every entry belongs to top.
                return Ok(Filter::Present(selector));
            }
        }
        Ok(Filter::Equality(Assertion {
            selector,
            given: value.into(),
            normal,
            alternatives,
        }))
    }

    /// Returns the normal forms of a class and its subclasses; none for `top`, to which all belong.
    fn class_and_subclasses(
        &self,
        name_or_oid: &[u8],
        normal: &[u8],
    ) -> Result<Vec<Box<[u8]>>, String> {
        let text = std::str::from_utf8(name_or_oid).unwrap_or("");
        let Some(class) = self.schema.object_class(text) else {
            // An OID means itself, an unknown name nothing (RFC 4517 §4.2.26).
            return match is_numeric_oid(name_or_oid) {
                true => Ok(vec![normal.into()]),
                false => Err(format!("no object class {text:?}")),
            };
        };
        if self.schema.class_of(class).oid == TOP_OID {
            return Ok(Vec::new());
        }
        let subclasses = self
            .schema
            .object_classes()
            .filter(|(id, it)| *id == class || it.all_superiors.contains(&class));
        let normal = |name: &str| name.to_ascii_lowercase().into_bytes().into_boxed_slice();
        Ok(subclasses.map(|(_, it)| normal(it.name())).collect())
    }

    fn substrings(
        &self,
        attribute: &str,
        initial: Option<&[u8]>,
        any: &[&[u8]],
        last: Option<&[u8]>,
    ) -> Resolved {
        let (selector, attribute_type) = self.selector(attribute)?;
        let rule = attribute_type
            .substring
            .ok_or_else(|| format!("{attribute}: {}", InvalidValue::NoSubstringRule))?;
        let piece = |piece: &[u8], position| self.piece(rule, attribute, piece, position);
        let initial = initial
            .map(|it| piece(it, Position::Initial))
            .transpose()?
            .flatten();
        let any = any
            .iter()
            .filter_map(|it| piece(it, Position::Any).transpose());
        let any = any.collect::<Result<Vec<_>, _>>()?;
        let last = last
            .map(|it| piece(it, Position::Final))
            .transpose()?
            .flatten();
        if initial.is_none() && any.is_empty() && last.is_none() {
            return Ok(Filter::Present(selector));
        }
        Ok(Filter::Substrings(SubstringAssertion {
            selector,
            initial,
            any,
            last,
        }))
    }

    /// Returns the normal form of a piece; `None` when it is empty, e.g. only spaces of a telephone
    /// number.
    fn piece(
        &self,
        rule: &MatchingRule,
        attribute: &str,
        piece: &[u8],
        position: Position,
    ) -> Result<Option<Box<[u8]>>, String> {
        if piece.is_empty() {
            return Ok(None);
        }
        let mut normal = Vec::with_capacity(piece.len() + 2);
        rule.normalise_piece(piece, position, &mut normal)
            .map_err(|error| format!("{attribute}: {error}"))?;
        Ok((!normal.is_empty()).then(|| normal.into_boxed_slice()))
    }

    fn ordering(&self, attribute: &str, value: &[u8]) -> Result<Assertion, String> {
        let (selector, attribute_type) = self.selector(attribute)?;
        let rule = attribute_type
            .ordering
            .ok_or_else(|| format!("{attribute}: {}", InvalidValue::NoOrderingRule))?;
        let normal = self.normal(rule, attribute, value)?;
        Ok(Assertion {
            selector,
            given: value.into(),
            normal,
            alternatives: Vec::new(),
        })
    }

    fn approx(&self, attribute: &str, value: &[u8]) -> Resolved {
        let (selector, attribute_type) = self.selector(attribute)?;
        let rule = equality_rule(attribute_type, attribute)?;
        if !is_text(rule.family) {
            // The value has no phonetic keys: the assertion is an equality (RFC 4511 §4.5.1.7.6).
            return self.equality(attribute, value);
        }
        let normal = self.normal(rule, attribute, value)?;
        let alternatives = phonetic_key(value)
            .into_iter()
            .map(Vec::into_boxed_slice)
            .collect::<Vec<_>>();
        Ok(Filter::Approx(Assertion {
            selector,
            given: value.into(),
            normal,
            alternatives,
        }))
    }

    fn extensible(
        &self,
        rule: Option<&str>,
        attribute: Option<&str>,
        value: &[u8],
        dn_attributes: bool,
    ) -> Resolved {
        let named = attribute.map(|it| self.selector(it)).transpose()?;
        let rule = match (rule, &named) {
            (Some(name), _) => MatchingRule::by_name(name)
                .ok_or_else(|| format!("unknown matching rule {name:?}"))?,
            (None, Some((_, attribute_type))) => {
                equality_rule(attribute_type, attribute.unwrap_or(""))?
            }
            (None, None) => return Err("neither attribute nor matching rule".to_owned()),
        };
        if let Some((selector, attribute_type)) = &named
            && !applies(rule, attribute_type)
        {
            let attribute = selector.attribute();
            return Err(format!(
                "matching rule {} does not apply to {attribute}",
                rule.name
            ));
        }
        let (normal, pieces) = match rule.kind {
            RuleKind::Substrings => (Box::default(), self.written_pieces(rule, value)?),
            _ => (self.normal(rule, rule.name, value)?, Vec::new()),
        };
        let attribute_named = named.is_some();
        let selectors = match named {
            Some((selector, _)) => vec![selector],
            None => self.selectors_of(rule),
        };
        Ok(Filter::Extensible(ExtensibleAssertion {
            rule,
            selectors,
            attribute_named,
            dn_attributes,
            given: value.into(),
            normal,
            pieces,
        }))
    }

    /// Returns the selectors of every attribute type in use to which a rule applies, without types
    /// whose supertype is selected: a selector covers subtypes.
    fn selectors_of(&self, rule: &MatchingRule) -> Vec<Selector> {
        let fits = |it: &AttributeType| rule.applies_to(it.syntax);
        self.schema
            .attribute_types()
            .filter(|(id, it)| fits(it) && !self.schema.numbers_of(*id).is_empty())
            .filter(|(_, it)| {
                !it.superior
                    .is_some_and(|sup| fits(self.schema.type_of(sup)))
            })
            .map(|(id, _)| Selector::new(self.schema, &Description::of_type(id)))
            .collect()
    }

    /// Returns the pieces of a substring assertion written as a value, `a*b*c` (RFC 4517 §3.3.30).
    fn written_pieces(&self, rule: &MatchingRule, value: &[u8]) -> Result<Pieces, String> {
        crate::syntaxes::text::substring_assertion(value)
            .map_err(|reason| format!("{}: {reason}", rule.name))?;
        let count = value.iter().filter(|byte| **byte == b'*').count();
        let mut pieces = Vec::new();
        for (at, written) in value.split(|byte| *byte == b'*').enumerate() {
            let position = match at {
                0 => Position::Initial,
                _ if at == count => Position::Final,
                _ => Position::Any,
            };
            let plain = unescape_piece(written);
            let piece = self.piece(rule, rule.name, &plain, position)?;
            pieces.extend(piece.map(|piece| (position, piece)));
        }
        Ok(pieces)
    }

    fn normal(
        &self,
        rule: &MatchingRule,
        attribute: &str,
        value: &[u8],
    ) -> Result<Box<[u8]>, String> {
        let mut normal = Vec::with_capacity(value.len());
        let done = match (rule.family, self.now_s) {
            (Family::LaterThan | Family::EarlierThan, Some(now_s)) => {
                time::put_relative_time(value, now_s(), &mut normal).map_err(str::to_owned)
            }
            _ => rule
                .normalise_assertion(self.schema, value, &mut normal)
                .map_err(|error| error.to_string()),
        };
        done.map_err(|error| format!("{attribute}: {error}"))?;
        Ok(normal.into_boxed_slice())
    }
}

fn equality_rule(
    attribute_type: &AttributeType,
    attribute: &str,
) -> Result<&'static MatchingRule, String> {
    attribute_type
        .equality
        .ok_or_else(|| format!("{attribute}: {}", InvalidValue::NoEqualityRule))
}

/// Returns whether a rule applies to a type: by its syntax, or because the type is defined with it.
fn applies(rule: &'static MatchingRule, attribute_type: &AttributeType) -> bool {
    rule.applies_to(attribute_type.syntax)
        || [
            attribute_type.equality,
            attribute_type.ordering,
            attribute_type.substring,
        ]
        .contains(&Some(rule))
}

/// Returns whether values of the family are words that have a sound.
pub(super) fn is_text(family: Family) -> bool {
    matches!(
        family,
        Family::CaseIgnore
            | Family::CaseExact
            | Family::CaseIgnoreIa5
            | Family::CaseExactIa5
            | Family::CaseIgnoreList
    )
}

/// Decodes `\2A`, an asterisk, and `\5C`, a backslash; other octets stand for themselves.
fn unescape_piece(written: &[u8]) -> Vec<u8> {
    let mut plain = Vec::with_capacity(written.len());
    let mut rest = written;
    while let Some((byte, after)) = rest.split_first() {
        let (byte, after) = match rest {
            [b'\\', b'2', b'A' | b'a', after @ ..] => (b'*', after),
            [b'\\', b'5', b'C' | b'c', after @ ..] => (b'\\', after),
            _ => (*byte, after),
        };
        plain.push(byte);
        rest = after;
    }
    plain
}
