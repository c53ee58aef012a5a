//! Reading subjects: conditions joined by `not`, `and` (also a comma), `or` and parentheses.

use super::Parser;
use super::items::is_descriptor;
use super::scan::Token;
use crate::access::error::{RuleError, nearest};
use crate::access::right::RightWord;
use crate::access::rules::{DEPTH_MAX, Reach, Who};
use crate::access::words::Way;

/// Subjects that are one word.
const SIMPLE: [(&str, Who); 5] = [
    ("anyone", Who::Anyone),
    ("anonymous", Who::Anonymous),
    ("users", Who::Users),
    ("administrator", Who::Administrator),
    ("self", Who::Own),
];

/// Words that begin other subjects or join them, so they cannot name attributes in a subject.
const RESERVED: [&str; 18] = [
    "entry", "one", "children", "subtree", "pattern", "group", "having", "from", "via", "at",
    "real", "not", "and", "or", "of", "by", "then", "only",
];

impl Parser<'_> {
    /// Reads the subject of a clause.
    pub(super) fn subject(&mut self) -> Result<Who, RuleError> {
        self.any(DEPTH_MAX)
    }

    fn any(&mut self, depth_max: u8) -> Result<Who, RuleError> {
        let first = self.all(depth_max)?;
        let mut parts = vec![first];
        while self.scanner.take_word("or")? {
            parts.push(self.all(depth_max)?);
        }
        Ok(match parts.len() {
            1 => parts.remove(0),
            _ => Who::Any(parts),
        })
    }

    fn all(&mut self, depth_max: u8) -> Result<Who, RuleError> {
        let first = self.unit(depth_max)?;
        let mut parts = vec![first];
        while self.joins()? {
            parts.push(self.unit(depth_max)?);
        }
        Ok(match parts.len() {
            1 => parts.remove(0),
            _ => Who::All(parts),
        })
    }

    /// Takes a comma or `and`; `via`, `from` and `at` need neither.
    fn joins(&mut self) -> Result<bool, RuleError> {
        if self.scanner.take_comma()? || self.scanner.take_word("and")? {
            return Ok(true);
        }
        Ok(matches!(
            *self.scanner.peek()?,
            Token::Word("via" | "from" | "at")
        ))
    }

    fn unit(&mut self, depth_max: u8) -> Result<Who, RuleError> {
        let Some(depth_max) = depth_max.checked_sub(1) else {
            let expected = format!("at most {DEPTH_MAX} conditions in each other");
            return Err(self.scanner.unexpected(&expected));
        };
        if self.scanner.take_word("not")? {
            return Ok(Who::Not(Box::new(self.unit(depth_max)?)));
        }
        if self.scanner.take_word("real")? {
            return Ok(Who::Real(Box::new(self.unit(depth_max)?)));
        }
        if *self.scanner.peek()? == Token::Open {
            self.scanner.take()?;
            let inner = self.any(depth_max)?;
            if *self.scanner.peek()? != Token::Close {
                return Err(self.scanner.unexpected("\")\""));
            }
            self.scanner.take()?;
            return Ok(inner);
        }
        self.condition()
    }

    fn condition(&mut self) -> Result<Who, RuleError> {
        for (word, who) in &SIMPLE {
            if self.scanner.take_word(word)? {
                return Ok(who.clone());
            }
        }
        for reach in Reach::ALL {
            if self.scanner.take_word(reach.word())? {
                let dn = self.quoted("a name in quotation marks")?;
                return Ok(Who::Below { reach, dn });
            }
        }
        if self.scanner.take_word("pattern")? {
            return Ok(Who::Pattern(
                self.quoted("a pattern of names in quotation marks")?,
            ));
        }
        if self.scanner.take_word("group")? {
            return self.group();
        }
        if self.scanner.take_word("having")? {
            return Ok(Who::Having(self.scanner.take_filter()?));
        }
        if self.scanner.take_word("from")? {
            return self.address();
        }
        if self.scanner.take_word("via")? {
            return self.way();
        }
        if self.scanner.take_word("at")? {
            return self.hours();
        }
        self.names()
    }

    fn group(&mut self) -> Result<Who, RuleError> {
        let dn = self.quoted("the name of a group in quotation marks")?;
        let by = match self.scanner.take_word("by")? {
            true => Some(self.attribute()?),
            false => None,
        };
        Ok(Who::Group { dn, by })
    }

    fn address(&mut self) -> Result<Who, RuleError> {
        if self.scanner.take_word("local")? {
            return Ok(Who::FromLocal);
        }
        let expected = "\"local\", an address or a network such as 10.0.0.0/8";
        let network = match *self.scanner.peek()? {
            Token::Word(word) => word.parse().ok(),
            _ => None,
        };
        let network = network.ok_or_else(|| self.scanner.unexpected(expected))?;
        self.scanner.take()?;
        Ok(Who::From(network))
    }

    fn way(&mut self) -> Result<Who, RuleError> {
        for way in Way::ALL {
            if self.scanner.take_word(way.word())? {
                return Ok(Who::Via(way));
            }
        }
        let known: Vec<&str> = Way::ALL.iter().map(|it| it.word()).collect();
        Err(self.unknown("a transport or a way to authenticate", &known))
    }

    fn hours(&mut self) -> Result<Who, RuleError> {
        let position = self.scanner.position()?;
        let text = self.quoted("times of the week in quotation marks")?;
        let hours = text.parse().map_err(|message| RuleError {
            position: Some(position),
            message,
        })?;
        Ok(Who::At(hours))
    }

    /// Reads the name of an attribute whose values are names, perhaps `of parent`.
    fn names(&mut self) -> Result<Who, RuleError> {
        let attribute = self.attribute()?;
        if !self.scanner.take_word("of")? {
            return Ok(Who::Named(attribute));
        }
        match self.scanner.take_word("parent")? {
            true => Ok(Who::NamedAbove(attribute)),
            false => Err(self.unknown("\"parent\"", &["parent"])),
        }
    }

    fn attribute(&mut self) -> Result<String, RuleError> {
        match *self.scanner.peek()? {
            Token::Word(word) if is_subject_attribute(word) => {
                self.scanner.take()?;
                Ok(word.to_owned())
            }
            Token::Word(word) => {
                let mut error = self.scanner.unexpected("a subject");
                let simple = SIMPLE.iter().map(|it| it.0);
                error.message += &nearest(word, simple.chain(RESERVED));
                Err(error)
            }
            _ => Err(self.scanner.unexpected("a subject")),
        }
    }
}

/// Returns whether a word can name an attribute type in a subject.
pub fn is_subject_attribute(word: &str) -> bool {
    let simple = SIMPLE.iter().any(|it| it.0 == word);
    let reserved = RESERVED.contains(&word) || RightWord::find(word).is_some();
    is_descriptor(word) && !simple && !reserved
}

/// Returns the word of a subject that is one word.
pub(in crate::access) fn simple_word(who: &Who) -> Option<&'static str> {
    let found = SIMPLE.iter().find(|it| it.1 == *who);
    found.map(|it| it.0)
}
