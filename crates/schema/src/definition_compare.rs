//! Comparing a definition with the one in force under the same OID: it adds nothing, it widens the
//! one in force, or it contradicts it. Names are compared by the definitions that they mean, so
//! that a file may write `userid` for `uid`.
//!
//! Widening is a union: afterwards every entry and value is accepted that one of the two
//! definitions accepts. So definitions can be added in any order.

use crate::definition::*;
use crate::error::SchemaError;
use crate::matching::MatchingRule;
use crate::name_table::NameTable;
use crate::syntax;

/// Number of superiors followed upwards at most; other code finds cycles of definitions.
const SUPERIORS_MAX: usize = 64;

/// Syntaxes and the wider ones that accept all of their values. RFC 2307 defines the first two as
/// strings of a form of their own, its successor as text.
const SYNTAX_WITHIN: [(&str, &str); 7] = [
    ("1.3.6.1.1.1.0.0", syntax::OID_DIRECTORY_STRING),
    ("1.3.6.1.1.1.0.1", syntax::OID_IA5_STRING),
    (syntax::OID_IA5_STRING, syntax::OID_DIRECTORY_STRING),
    (syntax::OID_PRINTABLE_STRING, syntax::OID_DIRECTORY_STRING),
    (syntax::OID_PRINTABLE_STRING, syntax::OID_IA5_STRING),
    (syntax::OID_NUMERIC_STRING, syntax::OID_DIRECTORY_STRING),
    (syntax::OID_COUNTRY, syntax::OID_DIRECTORY_STRING),
];

/// Matching rules and the wider ones that compare all of their values in the same way.
const RULE_WITHIN: [(&str, &str); 4] = [
    ("caseIgnoreIA5Match", "caseIgnoreMatch"),
    ("caseExactIA5Match", "caseExactMatch"),
    ("caseIgnoreIA5SubstringsMatch", "caseIgnoreSubstringsMatch"),
    ("caseExactIA5SubstringsMatch", "caseExactSubstringsMatch"),
];

/// Extensions that the server obeys: a definition with one more adds something.
const ACTED_UPON: [&str; 2] = [STRUCTURAL_ALONE, "X-SECRET"];

/// The relation of a definition to the one in force.
pub(crate) enum Standing<T> {
    /// The definition accepts no entry and no value that the one in force refuses.
    NothingNew,
    /// The union of both definitions.
    Wider(T),
}

/// The meaning of the names in definitions.
pub(crate) struct Meaning<'m> {
    /// Handles of attribute types by name.
    pub(crate) type_names: &'m NameTable,
    /// Handles of object classes by name.
    pub(crate) class_names: &'m NameTable,
    /// The attribute type behind a handle.
    pub(crate) type_at: &'m dyn Fn(u16) -> &'m AttributeTypeDefinition,
    /// The object class behind a handle.
    pub(crate) class_at: &'m dyn Fn(u16) -> &'m ObjectClassDefinition,
}

impl<'m> Meaning<'m> {
    /// Compares an attribute type with the one in force under the same OID, whose handle is `id`.
    ///
    /// # Errors
    /// [`SchemaError::Conflict`] with the first difference.
    pub(crate) fn compare_types(
        &self,
        id: u16,
        given: &AttributeTypeDefinition,
    ) -> Result<Standing<AttributeTypeDefinition>, SchemaError> {
        let existing = (self.type_at)(id);
        let mut union = existing.clone();
        let differs = |difference: String| Err(conflict(&given.names, &given.oid, difference));
        if let Err(difference) =
            self.unite_names(self.type_names, id, &mut union.names, &given.names)
        {
            return differs(difference);
        }
        // A type with a supertype and one with the same syntax and rules but without it accept the
        // same values; which of the two is in force decides filters on the supertype alone.
        if let (Some(now), Some(wanted)) = (&existing.superior, &given.superior)
            && self.type_names.find(now) != self.type_names.find(wanted)
        {
            return differs(format!("SUP {now} is in force, got {wanted}"));
        }
        for (word, now, got) in [
            ("COLLECTIVE", existing.collective, given.collective),
            (
                "NO-USER-MODIFICATION",
                existing.no_user_modification,
                given.no_user_modification,
            ),
        ] {
            match (now, got) {
                (true, false) => return differs(format!("{word} is in force, got none")),
                (false, true) => return differs(format!("no {word} is in force, got it")),
                _ => {}
            }
        }
        if existing.usage != given.usage {
            let (now, got) = (existing.usage.keyword(), given.usage.keyword());
            return differs(format!("USAGE {now} is in force, got {got}"));
        }
        if let Err(difference) = self.unite_comparison(&mut union, given) {
            return differs(difference);
        }
        union.single_value &= given.single_value;
        unite_extensions(&mut union.extensions, &given.extensions);
        Ok(match union == *existing {
            true => Standing::NothingNew,
            false => Standing::Wider(union),
        })
    }

    /// Compares an object class with the one in force under the same OID, whose handle is `id`.
    ///
    /// # Errors
    /// [`SchemaError::Conflict`] with the first difference, [`SchemaError::Unknown`] for an
    /// attribute that nothing defines.
    pub(crate) fn compare_classes(
        &self,
        id: u16,
        given: &ObjectClassDefinition,
    ) -> Result<Standing<ObjectClassDefinition>, SchemaError> {
        let existing = (self.class_at)(id);
        let mut union = existing.clone();
        let differs = |difference: String| Err(conflict(&given.names, &given.oid, difference));
        if let Err(difference) =
            self.unite_names(self.class_names, id, &mut union.names, &given.names)
        {
            return differs(difference);
        }
        match (existing.kind, given.kind) {
            (now, got) if now == got => {}
            (ClassKind::Auxiliary, ClassKind::Structural) => {
                set_structural_alone(&mut union.extensions);
            }
            (now, got) => {
                let (now, got) = (now.keyword(), got.keyword());
                return differs(format!("{now} is in force, got {got}"));
            }
        }
        let superiors = |it: &ObjectClassDefinition| -> Vec<String> {
            let mut found: Vec<String> = (it.superiors.iter())
                .filter(|name| !name.eq_ignore_ascii_case("top"))
                .map(|name| match self.class_names.find(name) {
                    Some(id) => id.to_string(),
                    None => name.to_ascii_lowercase(),
                })
                .collect();
            found.sort();
            found.dedup();
            found
        };
        if superiors(existing) != superiors(given) {
            let words = |it: &ObjectClassDefinition| match it.superiors.is_empty() {
                true => "none".to_string(),
                false => it.superiors.join(" $ "),
            };
            let (now, got) = (words(existing), words(given));
            return differs(format!("SUP {now} is in force, got {got}"));
        }
        self.unite_attributes(&mut union, given)?;
        unite_extensions(&mut union.extensions, &given.extensions);
        Ok(match union == *existing {
            true => Standing::NothingNew,
            false => Standing::Wider(union),
        })
    }

    /// Adds the names that no other definition has. An error names the definition that already has
    /// the OID or a name: two vendors may have given it to different things.
    fn unite_names(
        &self,
        table: &NameTable,
        id: u16,
        names: &mut Vec<String>,
        given: &[String],
    ) -> Result<(), String> {
        if let (Some(first), false) = (names.first(), given.is_empty())
            && !given.iter().any(|name| table.find(name) == Some(id))
        {
            return Err(format!("the OID is that of {first}"));
        }
        for name in given {
            match table.find(name) {
                Some(found) if found == id => {}
                Some(_) => return Err(format!("the name {name} has another OID")),
                None => names.push(name.clone()),
            }
        }
        Ok(())
    }

    /// Unites syntax and matching rules, inherited ones where a definition gives none. An error is
    /// the difference.
    fn unite_comparison(
        &self,
        union: &mut AttributeTypeDefinition,
        given: &AttributeTypeDefinition,
    ) -> Result<(), String> {
        let now = self.effective(union, |it| it.syntax.as_ref());
        let got = self.effective(given, |it| it.syntax.as_ref());
        let mut widened = false;
        match (&now, &got) {
            (Some(now), Some(got)) if now == got || within(&SYNTAX_WITHIN, got, now) => {}
            (Some(now), Some(got)) if within(&SYNTAX_WITHIN, now, got) => {
                union.syntax = Some(got.clone());
                union.length = given.length;
                widened = true;
            }
            (Some(now), Some(got)) => {
                return Err(format!(
                    "SYNTAX {} is in force, got {}",
                    syntax_words(now),
                    syntax_words(got)
                ));
            }
            // A definition without a syntax has none of its own; other code reports a missing
            // syntax.
            _ => {}
        }
        let narrowed = now != got && !widened;
        for (word, of) in [
            ("EQUALITY", Role::Equality),
            ("ORDERING", Role::Ordering),
            ("SUBSTR", Role::Substring),
        ] {
            let now = self.effective(union, |it| of.get(it));
            let got = self.effective(given, |it| of.get(it));
            *of.slot(union) = match (now, got) {
                (None, None) => continue,
                (Some(now), None) if widened => Some(wide_rule(&now)),
                (Some(_), None) => continue,
                // Rules of the narrower syntax do not fit the one in force.
                (None, Some(got)) if narrowed => Some(wide_rule(&got)),
                (None, Some(got)) => Some(got),
                (Some(now), Some(got)) if same_rule(&now, &got) => continue,
                (Some(now), Some(got)) if rule_within(&got, &now) => continue,
                (Some(now), Some(got)) if rule_within(&now, &got) => Some(got),
                (Some(now), Some(got)) => {
                    return Err(format!("{word} {now} is in force, got {got}"));
                }
            };
        }
        Ok(())
    }

    /// Returns a property of a definition, its own or that of the nearest superior with it.
    fn effective<'d>(
        &self,
        definition: &'d AttributeTypeDefinition,
        of: impl Fn(&AttributeTypeDefinition) -> Option<&String>,
    ) -> Option<String>
    where
        'm: 'd,
    {
        let mut at = definition;
        for _ in 0..SUPERIORS_MAX {
            if let Some(found) = of(at) {
                return Some(found.clone());
            }
            let superior = self.type_names.find(at.superior.as_deref()?)?;
            at = (self.type_at)(superior);
        }
        None
    }

    /// Requires the attributes that both require, and allows those that either allows or requires.
    fn unite_attributes(
        &self,
        union: &mut ObjectClassDefinition,
        given: &ObjectClassDefinition,
    ) -> Result<(), SchemaError> {
        let ids = |names: &[String], role| -> Result<Vec<u16>, SchemaError> {
            let id = |name: &String| match self.type_names.find(name) {
                Some(id) => Ok(id),
                None => Err(SchemaError::Unknown {
                    definition: given.names.first().unwrap_or(&given.oid).clone(),
                    role,
                    name: name.clone(),
                }),
            };
            names.iter().map(id).collect()
        };
        let given_must = ids(&given.must, "required attribute")?;
        let given_may = ids(&given.may, "allowed attribute")?;
        let must = ids(&union.must, "required attribute")?;
        let may = ids(&union.may, "allowed attribute")?;
        let mut kept = Vec::new();
        for (name, id) in std::mem::take(&mut union.must).into_iter().zip(&must) {
            match given_must.contains(id) {
                true => kept.push(name),
                false => union.may.push(name),
            }
        }
        union.must = kept;
        let named = given.must.iter().zip(&given_must);
        for (name, id) in named.chain(given.may.iter().zip(&given_may)) {
            // Every entry has it, whether its classes list it or not.
            let always = Some(*id) == self.type_names.find("objectClass");
            let is_new = !always && !must.contains(id) && !may.contains(id);
            if is_new && !union.may.iter().any(|it| it.eq_ignore_ascii_case(name)) {
                union.may.push(name.clone());
            }
        }
        Ok(())
    }
}

/// The place of a matching rule in an attribute type.
#[derive(Clone, Copy)]
enum Role {
    Equality,
    Ordering,
    Substring,
}

impl Role {
    fn get(self, it: &AttributeTypeDefinition) -> Option<&String> {
        match self {
            Role::Equality => it.equality.as_ref(),
            Role::Ordering => it.ordering.as_ref(),
            Role::Substring => it.substring.as_ref(),
        }
    }

    fn slot(self, it: &mut AttributeTypeDefinition) -> &mut Option<String> {
        match self {
            Role::Equality => &mut it.equality,
            Role::Ordering => &mut it.ordering,
            Role::Substring => &mut it.substring,
        }
    }
}

/// Returns whether all values of one syntax are values of the other, directly or through a third.
fn within(table: &[(&str, &str)], narrow: &str, wide: &str) -> bool {
    table
        .iter()
        .any(|&(from, to)| from == narrow && (to == wide || table.contains(&(to, wide))))
}

/// Returns an OID with the description of its syntax, if known.
fn syntax_words(oid: &str) -> String {
    match syntax::Syntax::by_oid(oid) {
        Some(known) => format!("{oid} ({})", known.description),
        None => oid.to_string(),
    }
}

fn rule_name(name_or_oid: &str) -> &str {
    MatchingRule::by_name(name_or_oid).map_or(name_or_oid, |rule| rule.name)
}

fn same_rule(one: &str, other: &str) -> bool {
    rule_name(one).eq_ignore_ascii_case(rule_name(other))
}

fn rule_within(narrow: &str, wide: &str) -> bool {
    within(&RULE_WITHIN, rule_name(narrow), rule_name(wide))
}

/// Returns the rule of a wider syntax that compares like this one, else the rule itself.
fn wide_rule(rule: &str) -> String {
    let name = rule_name(rule);
    let wide = RULE_WITHIN.iter().find(|(narrow, _)| *narrow == name);
    wide.map_or(rule, |(_, wide)| *wide).to_string()
}

impl MatchingRule {
    /// Returns whether this rule makes the same normal forms as `other` of all values that `other`
    /// compares: indexes and names built under `other` stay valid under this one.
    pub fn compares_like(&self, other: &MatchingRule) -> bool {
        self == other || rule_within(other.name, self.name)
    }
}

impl syntax::Syntax {
    /// Returns whether every value of the other syntax, except an empty one, is a value of this
    /// one.
    pub fn accepts_all_of(&self, other: &syntax::Syntax) -> bool {
        self.oid == other.oid || within(&SYNTAX_WITHIN, other.oid, self.oid)
    }
}

fn unite_extensions(union: &mut Extensions, given: &Extensions) {
    for (keyword, values) in given {
        let acted_upon = ACTED_UPON.iter().any(|it| it.eq_ignore_ascii_case(keyword));
        let present = union
            .iter()
            .any(|(own, _)| own.eq_ignore_ascii_case(keyword));
        if acted_upon && !present {
            union.push((keyword.clone(), values.clone()));
        }
    }
}

fn set_structural_alone(extensions: &mut Extensions) {
    let mark = (STRUCTURAL_ALONE.to_string(), vec!["TRUE".to_string()]);
    unite_extensions(extensions, &vec![mark]);
}

pub(crate) fn conflict(names: &[String], oid: &str, difference: String) -> SchemaError {
    let name = match names.first() {
        Some(name) => format!("{name} ({oid})"),
        None => oid.to_string(),
    };
    SchemaError::Conflict { name, difference }
}
