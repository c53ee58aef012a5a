//! Printing access rules: one text for each rule, which the parser reads as the same rule.

use std::fmt;

use crate::access::parse::{kind_word, simple_word};
use crate::access::rules::{
    About, Clause, Grant, Item, Reach, Rule, Target, Things, ValueWord, Who,
};

/// Prints rules, with an empty line between them.
pub fn print(rules: &[Rule]) -> String {
    let rules: Vec<String> = rules.iter().map(Rule::to_string).collect();
    rules.join("\n")
}

impl fmt::Display for Rule {
    /// Writes the rule and its clauses, one a line.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(out, "rule {}", self.name)?;
        if let Some(dn) = &self.within {
            writeln!(out, "within {}", quoted(dn))?;
        }
        write!(out, "on {}", list(&self.targets))?;
        if let Some(filter) = &self.filter {
            write!(out, " where {filter}")?;
        }
        writeln!(out)?;
        match &self.about {
            About::Usual => (),
            About::Items(items) => writeln!(out, "for {}", list(items))?,
            About::Uses(uses) => {
                let words: Vec<&str> = uses.iter().map(|it| it.word()).collect();
                writeln!(out, "for use {}", words.join(", "))?;
            }
            About::EveryUse => writeln!(out, "for use everything")?,
        }
        self.clauses.iter().try_for_each(|it| writeln!(out, "{it}"))
    }
}

impl fmt::Display for Clause {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let word = if self.denies { "deny" } else { "let" };
        write!(out, "{word} {} {}", self.subject, list(&self.rights))?;
        match self.then.words() {
            Some(words) => write!(out, " then {words}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let only = if self.only { "only " } else { "" };
        write!(out, "{only}{}", self.right.word())?;
        match self.items.is_empty() {
            true => Ok(()),
            false => write!(out, " {}", list(&self.items)),
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Everything => out.write_str("everything"),
            Target::Below { reach, dn } => below(out, *reach, dn),
            Target::Pattern(pattern) => write!(out, "pattern {}", quoted(pattern)),
        }
    }
}

impl fmt::Display for Item {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Item::Only(things) => write!(out, "{things}"),
            Item::Not(things) => write!(out, "!{things}"),
            Item::Values { attribute, value } => match value {
                ValueWord::Own => write!(out, "{attribute} value self"),
                ValueWord::Equal(value) => write!(out, "{attribute} value {}", quoted(value)),
            },
        }
    }
}

impl fmt::Display for Things {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Things::Attribute(name) => out.write_str(name),
            Things::Class(name) => write!(out, "@{name}"),
            kind => out.write_str(kind_word(kind).expect("kinds have words")),
        }
    }
}

impl fmt::Display for Who {
    /// Writes the condition. The depth of the condition bounds the recursion.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Anyone | Who::Anonymous | Who::Users | Who::Administrator | Who::Own => {
                out.write_str(simple_word(self).expect("these are words"))
            }
            Who::Below { reach, dn } => below(out, *reach, dn),
            Who::Pattern(pattern) => write!(out, "pattern {}", quoted(pattern)),
            Who::Group { dn, by: None } => write!(out, "group {}", quoted(dn)),
            Who::Group { dn, by: Some(by) } => write!(out, "group {} by {by}", quoted(dn)),
            Who::Named(attribute) => out.write_str(attribute),
            Who::NamedAbove(attribute) => write!(out, "{attribute} of parent"),
            Who::Having(filter) => write!(out, "having {filter}"),
            Who::From(network) => write!(out, "from {network}"),
            Who::FromLocal => out.write_str("from local"),
            Who::Via(way) => write!(out, "via {}", way.word()),
            Who::At(hours) => write!(out, "at \"{hours}\""),
            Who::Real(inner) => write!(out, "real {}", Part(inner)),
            Who::Not(inner) => write!(out, "not {}", Part(inner)),
            Who::All(parts) => {
                for (at, part) in parts.iter().enumerate() {
                    let joins = matches!(
                        part,
                        Who::Via(_) | Who::From(_) | Who::FromLocal | Who::At(_)
                    );
                    let before = match at {
                        0 => "",
                        _ if joins => " ",
                        _ => ", ",
                    };
                    write!(out, "{before}{}", Part(part))?;
                }
                Ok(())
            }
            Who::Any(parts) => {
                for (at, part) in parts.iter().enumerate() {
                    let before = if at > 0 { " or " } else { "" };
                    match part {
                        Who::Any(_) => write!(out, "{before}({part})")?,
                        _ => write!(out, "{before}{part}")?,
                    }
                }
                Ok(())
            }
        }
    }
}

/// A part of a condition, in parentheses if it has parts itself.
struct Part<'w>(&'w Who);

impl fmt::Display for Part<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Who::All(_) | Who::Any(_) => write!(out, "({})", self.0),
            one => write!(out, "{one}"),
        }
    }
}

fn below(out: &mut fmt::Formatter<'_>, reach: Reach, dn: &str) -> fmt::Result {
    write!(out, "{} {}", reach.word(), quoted(dn))
}

fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('"', "\"\""))
}

fn list<T: fmt::Display>(parts: &[T]) -> String {
    let parts: Vec<String> = parts.iter().map(T::to_string).collect();
    parts.join(", ")
}
