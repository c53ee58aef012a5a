//! Printing of definitions as RFC 4512 §4.1 text, fields in the order of the RFC.

use std::fmt::{self, Display, Formatter};

use crate::definition::*;

/// Prints the fields with which nearly all definitions begin.
macro_rules! head {
    ($f:expr, $of:expr, $identifier:expr) => {
        head(
            $f,
            $identifier,
            &$of.names,
            $of.description.as_deref(),
            $of.obsolete,
        )?
    };
}

impl Display for Definition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Definition::AttributeType(it) => it.fmt(f),
            Definition::ObjectClass(it) => it.fmt(f),
            Definition::Syntax(it) => it.fmt(f),
            Definition::MatchingRule(it) => it.fmt(f),
            Definition::MatchingRuleUse(it) => it.fmt(f),
            Definition::ContentRule(it) => it.fmt(f),
            Definition::NameForm(it) => it.fmt(f),
            Definition::StructureRule(it) => it.fmt(f),
        }
    }
}

impl Display for AttributeTypeDefinition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        head!(f, self, &self.oid);
        word(f, "SUP", self.superior.as_deref())?;
        word(f, "EQUALITY", self.equality.as_deref())?;
        word(f, "ORDERING", self.ordering.as_deref())?;
        word(f, "SUBSTR", self.substring.as_deref())?;
        word(f, "SYNTAX", self.syntax.as_deref())?;
        if let Some(length) = self.length {
            write!(f, "{{{length}}}")?;
        }
        flag(f, "SINGLE-VALUE", self.single_value)?;
        flag(f, "COLLECTIVE", self.collective)?;
        flag(f, "NO-USER-MODIFICATION", self.no_user_modification)?;
        if self.usage != Usage::UserApplications {
            word(f, "USAGE", Some(self.usage.keyword()))?;
        }
        tail(f, &self.extensions)
    }
}

impl Display for ObjectClassDefinition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        head!(f, self, &self.oid);
        words(f, "SUP", &self.superiors)?;
        flag(f, self.kind.keyword(), true)?;
        words(f, "MUST", &self.must)?;
        words(f, "MAY", &self.may)?;
        tail(f, &self.extensions)
    }
}

impl Display for SyntaxDefinition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        head(f, &self.oid, &[], self.description.as_deref(), false)?;
        tail(f, &self.extensions)
    }
}

impl Display for MatchingRuleDefinition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        head!(f, self, &self.oid);
        word(f, "SYNTAX", Some(&self.syntax))?;
        tail(f, &self.extensions)
    }
}

impl Display for MatchingRuleUseDefinition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        head!(f, self, &self.oid);
        words(f, "APPLIES", &self.applies)?;
        tail(f, &self.extensions)
    }
}

impl Display for ContentRuleDefinition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        head!(f, self, &self.oid);
        words(f, "AUX", &self.auxiliaries)?;
        words(f, "MUST", &self.must)?;
        words(f, "MAY", &self.may)?;
        words(f, "NOT", &self.not)?;
        tail(f, &self.extensions)
    }
}

impl Display for NameFormDefinition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        head!(f, self, &self.oid);
        word(f, "OC", Some(&self.class))?;
        words(f, "MUST", &self.must)?;
        words(f, "MAY", &self.may)?;
        tail(f, &self.extensions)
    }
}

impl Display for StructureRuleDefinition {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let rule_id = self.rule_id.to_string();
        head!(f, self, &rule_id);
        word(f, "FORM", Some(&self.form))?;
        // Rule ids in a list are separated by white space alone (RFC 4512 §4.1.7.1 `ruleidlist`).
        match self.superiors.as_slice() {
            [] => {}
            [one] => write!(f, " SUP {one}")?,
            several => {
                f.write_str(" SUP (")?;
                for rule_id in several {
                    write!(f, " {rule_id}")?;
                }
                f.write_str(" )")?;
            }
        }
        tail(f, &self.extensions)
    }
}

fn head(
    f: &mut Formatter<'_>,
    identifier: &str,
    names: &[String],
    description: Option<&str>,
    obsolete: bool,
) -> fmt::Result {
    write!(f, "( {identifier}")?;
    if !names.is_empty() {
        quoted_list(f, "NAME", names)?;
    }
    if let Some(description) = description {
        f.write_str(" DESC ")?;
        quoted(f, description)?;
    }
    flag(f, "OBSOLETE", obsolete)
}

fn tail(f: &mut Formatter<'_>, extensions: &Extensions) -> fmt::Result {
    for (keyword, values) in extensions {
        quoted_list(f, keyword, values)?;
    }
    f.write_str(" )")
}

fn flag(f: &mut Formatter<'_>, keyword: &str, set: bool) -> fmt::Result {
    if set { write!(f, " {keyword}") } else { Ok(()) }
}

fn word(f: &mut Formatter<'_>, keyword: &str, value: Option<&str>) -> fmt::Result {
    match value {
        Some(value) => write!(f, " {keyword} {value}"),
        None => Ok(()),
    }
}

fn words(f: &mut Formatter<'_>, keyword: &str, values: &[String]) -> fmt::Result {
    match values {
        [] => Ok(()),
        [one] => write!(f, " {keyword} {one}"),
        several => write!(f, " {keyword} ( {} )", several.join(" $ ")),
    }
}

fn quoted_list(f: &mut Formatter<'_>, keyword: &str, values: &[String]) -> fmt::Result {
    write!(f, " {keyword} ")?;
    if let [one] = values {
        return quoted(f, one);
    }
    f.write_str("(")?;
    for value in values {
        f.write_str(" ")?;
        quoted(f, value)?;
    }
    f.write_str(" )")
}

fn quoted(f: &mut Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("'")?;
    for character in text.chars() {
        match character {
            '\'' => f.write_str("\\27")?,
            '\\' => f.write_str("\\5C")?,
            other => write!(f, "{other}")?,
        }
    }
    f.write_str("'")
}
