//! Reading what a rule is about: `for`, and the attributes behind a right.

use super::Parser;
use super::scan::Token;
use crate::access::error::RuleError;
use crate::access::rules::{About, Item, Things, ValueWord};
use crate::access::words::Use;

/// Words for kinds of attributes and parts of the entry.
const KINDS: [(&str, Things); 6] = [
    ("all", Things::All),
    ("user", Things::User),
    ("operational", Things::Operational),
    ("secrets", Things::Secrets),
    ("entry", Things::Entry),
    ("children", Things::Children),
];

impl Parser<'_> {
    /// Reads what is behind `for`.
    pub(super) fn about(&mut self) -> Result<About, RuleError> {
        if self.scanner.take_word("use")? {
            return self.uses();
        }
        let mut items = vec![self.item()?];
        while self.scanner.take_comma()? {
            items.push(self.item()?);
        }
        Ok(About::Items(items))
    }

    fn uses(&mut self) -> Result<About, RuleError> {
        if self.scanner.take_word("everything")? {
            return Ok(About::EveryUse);
        }
        let mut uses = vec![self.one_use()?];
        while self.scanner.take_comma()? {
            uses.push(self.one_use()?);
        }
        Ok(About::Uses(uses))
    }

    fn one_use(&mut self) -> Result<Use, RuleError> {
        for it in Use::ALL {
            if self.scanner.take_word(it.word())? {
                return Ok(it);
            }
        }
        let known: Vec<&str> = Use::ALL.iter().map(|it| it.word()).collect();
        Err(self.unknown("a use of the server", &known))
    }

    /// Reads `cn`, `!cn`, `@person`, `secrets`, `member value self`, …
    pub(super) fn item(&mut self) -> Result<Item, RuleError> {
        let Token::Word(word) = *self.scanner.peek()? else {
            return Err(self.not_an_attribute());
        };
        if let Some(excluded) = word.strip_prefix('!') {
            let things = self.things(excluded)?;
            self.scanner.take()?;
            return Ok(Item::Not(things));
        }
        let things = self.things(word)?;
        self.scanner.take()?;
        match things {
            Things::Attribute(attribute) if self.scanner.take_word("value")? => {
                let value = match self.scanner.take_word("self")? {
                    true => ValueWord::Own,
                    false => {
                        ValueWord::Equal(self.quoted("\"self\" or a value in quotation marks")?)
                    }
                };
                Ok(Item::Values { attribute, value })
            }
            things => Ok(Item::Only(things)),
        }
    }

    fn things(&mut self, word: &str) -> Result<Things, RuleError> {
        if let Some((_, things)) = KINDS.iter().find(|it| it.0 == word) {
            return Ok(things.clone());
        }
        match word.strip_prefix('@') {
            Some(class) if is_descriptor(class) => Ok(Things::Class(class.to_owned())),
            None if is_attribute_word(word) => Ok(Things::Attribute(word.to_owned())),
            _ => Err(self.not_an_attribute()),
        }
    }

    fn not_an_attribute(&mut self) -> RuleError {
        let expected = "an attribute type (without options), \"@\" and a class, \"all\", \
                        \"user\", \"operational\", \"secrets\", \"entry\" or \"children\"";
        self.scanner.unexpected(expected)
    }
}

/// Returns the word for a kind of attribute or a part of the entry; `None` for those that have a
/// name.
pub(in crate::access) fn kind_word(things: &Things) -> Option<&'static str> {
    let found = KINDS.iter().find(|it| it.1 == *things);
    found.map(|it| it.0)
}

/// Returns whether a word can name an attribute type in a rule: a descriptor or OID (RFC 4512
/// §1.4) that is no word of the language there.
pub fn is_attribute_word(word: &str) -> bool {
    const OTHERS: [&str; 4] = ["then", "value", "use", "only"];
    let right = crate::access::right::RightWord::find(word).is_some();
    let kind = KINDS.iter().any(|it| it.0 == word);
    is_descriptor(word) && !right && !kind && !OTHERS.contains(&word)
}

/// Returns whether a word is a short name or an OID (RFC 4512 §1.4).
pub(super) fn is_descriptor(word: &str) -> bool {
    let rest = |it: u8| it.is_ascii_alphanumeric() || matches!(it, b'-' | b'.' | b'_');
    let begins_well = word.starts_with(|it: char| it.is_ascii_alphanumeric());
    begins_well && word.bytes().all(rest)
}
