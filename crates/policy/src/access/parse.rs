//! Reading the text of access rules.
//!
//! The grammar stands in docs/adr/0065-the-language-of-access-rules.md. No text makes the parser
//! panic, or recurse deeper than [`crate::access::rules::DEPTH_MAX`]. Its size is bounded by
//! [`TEXT_MAX`].

mod items;
pub(crate) mod scan;
mod subject;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

use crate::access::error::{Position, RuleError, nearest};
use crate::access::right::RightWord;
use crate::access::rules::{
    About, CLAUSES_MAX, Clause, Grant, RULES_MAX, Reach, Rule, Target, Then,
};
pub use items::is_attribute_word;
pub(super) use items::kind_word;
pub use subject::is_subject_attribute;
pub(super) use subject::simple_word;

use scan::{Scanner, Token};

/// Octets of the text of one set of rules at most.
pub const TEXT_MAX: usize = 4 << 20;

/// Rules with their places in the text from which they were read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleText {
    /// The rules, in the order of the text.
    pub rules: Vec<Rule>,
    /// The place of each rule, in the same order.
    pub places: Vec<RulePlaces>,
}

/// Places of a rule and its clauses.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RulePlaces {
    /// The line `rule NAME`.
    pub rule: Position,
    /// The line `within`; that of `rule` if there is none.
    pub within: Position,
    /// The line `on`.
    pub on: Position,
    /// The line `for`; that of `rule` if there is none.
    pub about: Position,
    /// Each `let` and `deny`.
    pub clauses: Vec<Position>,
}

/// Reads the text of access rules.
///
/// # Errors
/// The first error in the text, with its place: also where it grows beyond [`TEXT_MAX`],
/// [`RULES_MAX`] or [`CLAUSES_MAX`].
pub fn parse(text: &str) -> Result<RuleText, RuleError> {
    if text.len() > TEXT_MAX {
        let given = text.len();
        let message = format!("expected {TEXT_MAX} octets of access rules at most, got {given}");
        let position = None;
        return Err(RuleError { position, message });
    }
    let mut clauses = 0;
    let mut parser = Parser {
        scanner: Scanner::new(text),
    };
    let mut read = RuleText {
        rules: Vec::new(),
        places: Vec::new(),
    };
    let mut names = HashSet::new();
    let mut more = parser.scanner.begin_clause();
    while more {
        let at = parser.scanner.position()?;
        let (rule, places) = parser.rule(&mut more)?;
        if !names.insert(rule.name.clone()) {
            let message = format!(
                "expected a name of its own for each rule, got {} again",
                rule.name
            );
            let position = Some(at);
            return Err(RuleError { position, message });
        }
        clauses += rule.clauses.len();
        if read.rules.len() == RULES_MAX || clauses > CLAUSES_MAX {
            let message =
                format!("expected {RULES_MAX} rules and {CLAUSES_MAX} clauses at most, got more");
            let position = Some(at);
            return Err(RuleError { position, message });
        }
        read.rules.push(rule);
        read.places.push(places);
    }
    Ok(read)
}

struct Parser<'t> {
    scanner: Scanner<'t>,
}

impl<'t> Parser<'t> {
    /// Reads one rule; `more` tells afterwards whether another one follows.
    fn rule(&mut self, more: &mut bool) -> Result<(Rule, RulePlaces), RuleError> {
        let mut places = RulePlaces {
            rule: self.scanner.position()?,
            ..RulePlaces::default()
        };
        if !self.scanner.take_word("rule")? {
            return Err(self.unknown("\"rule\" and a name", &["rule"]));
        }
        let name = self.rule_name()?;
        *more = self.end()?;
        places.within = places.rule;
        let mut within = None;
        let at = self.scanner.position()?;
        if *more && self.scanner.take_word("within")? {
            places.within = at;
            within = Some(self.quoted("a name in quotation marks")?);
            *more = self.end()?;
        }
        places.on = self.scanner.position()?;
        if !*more || !self.scanner.take_word("on")? {
            return Err(self.unknown("\"on\" and a target", &["on"]));
        }
        let targets = self.targets()?;
        let filter = match self.scanner.take_word("where")? {
            true => Some(self.scanner.take_filter()?),
            false => None,
        };
        *more = self.end()?;
        let (mut about, mut clauses) = (About::Usual, Vec::new());
        places.about = places.rule;
        let at = self.scanner.position()?;
        if *more && self.scanner.take_word("for")? {
            places.about = at;
            about = self.about()?;
            *more = self.end()?;
        }
        while *more && *self.scanner.peek()? != Token::Word("rule") {
            places.clauses.push(self.scanner.position()?);
            clauses.push(self.clause()?);
            *more = self.end()?;
        }
        if clauses.is_empty() {
            return Err(self.unknown("\"let\" or \"deny\"", &["let", "deny"]));
        }
        let rule = Rule {
            name,
            within,
            targets,
            filter,
            about,
            clauses,
        };
        Ok((rule, places))
    }

    fn rule_name(&mut self) -> Result<String, RuleError> {
        match *self.scanner.peek()? {
            Token::Word(word) if is_rule_name(word) => {
                self.scanner.take()?;
                Ok(word.to_owned())
            }
            _ => {
                let expected = "a name of letters, digits, \"-\", \"_\" and \".\"";
                Err(self.scanner.unexpected(expected))
            }
        }
    }

    fn targets(&mut self) -> Result<Vec<Target>, RuleError> {
        let mut targets = vec![self.target()?];
        while self.scanner.take_comma()? {
            targets.push(self.target()?);
        }
        Ok(targets)
    }

    fn target(&mut self) -> Result<Target, RuleError> {
        if self.scanner.take_word("everything")? {
            return Ok(Target::Everything);
        }
        if self.scanner.take_word("pattern")? {
            return Ok(Target::Pattern(
                self.quoted("a pattern of names in quotation marks")?,
            ));
        }
        for reach in Reach::ALL {
            if self.scanner.take_word(reach.word())? {
                let dn = self.quoted("a name in quotation marks")?;
                return Ok(Target::Below { reach, dn });
            }
        }
        let known = [
            "everything",
            "entry",
            "one",
            "children",
            "subtree",
            "pattern",
        ];
        Err(self.unknown("a target", &known))
    }

    fn clause(&mut self) -> Result<Clause, RuleError> {
        let denies = self.scanner.take_word("deny")?;
        if !denies && !self.scanner.take_word("let")? {
            return Err(self.unknown("\"let\", \"deny\" or \"rule\"", &["let", "deny", "rule"]));
        }
        let subject = self.subject()?;
        let mut rights = vec![self.grant()?];
        while self.scanner.take_comma()? {
            // A word that is no right is one more attribute of the right before.
            if self.next_is_right()? {
                rights.push(self.grant()?);
            } else {
                let item = self.item()?;
                let last = rights.last_mut().expect("there is a first one");
                last.items.push(item);
            }
        }
        let then = self.then()?;
        Ok(Clause {
            denies,
            subject,
            rights,
            then,
        })
    }

    fn next_is_right(&mut self) -> Result<bool, RuleError> {
        Ok(match self.scanner.peek()? {
            Token::Word(word) => *word == "only" || RightWord::find(word).is_some(),
            _ => false,
        })
    }

    fn grant(&mut self) -> Result<Grant, RuleError> {
        let only = self.scanner.take_word("only")?;
        let right = match *self.scanner.peek()? {
            Token::Word(word) => RightWord::find(word),
            _ => None,
        };
        let Some(right) = right else {
            let known: Vec<&str> = RightWord::all().map(RightWord::word).collect();
            return Err(self.unknown("a right", &known));
        };
        self.scanner.take()?;
        let mut items = Vec::new();
        let follows = matches!(*self.scanner.peek()?, Token::Word(word) if word != "then");
        if follows {
            items.push(self.item()?);
        }
        Ok(Grant { only, right, items })
    }

    fn then(&mut self) -> Result<Then, RuleError> {
        if !self.scanner.take_word("then")? {
            return Ok(Then::Stop);
        }
        if self.scanner.take_word("continue")? {
            return Ok(Then::Continue);
        }
        if self.scanner.take_word("gather")? {
            return Ok(Then::Gather);
        }
        if self.scanner.take_word("next")? && self.scanner.take_word("rule")? {
            return Ok(Then::NextRule);
        }
        let known = ["continue", "next", "rule", "gather"];
        Err(self.unknown("\"continue\", \"next rule\" or \"gather\"", &known))
    }

    /// Checks that the clause is over and goes to the next one; false at the end of the text.
    fn end(&mut self) -> Result<bool, RuleError> {
        if *self.scanner.peek()? != Token::End {
            return Err(self.scanner.unexpected("the end of the line"));
        }
        Ok(self.scanner.begin_clause())
    }

    fn quoted(&mut self, expected: &str) -> Result<String, RuleError> {
        if !matches!(self.scanner.peek()?, Token::Quoted(_)) {
            return Err(self.scanner.unexpected(expected));
        }
        match self.scanner.take()? {
            Token::Quoted(text) => Ok(text),
            _ => Err(self.scanner.unexpected(expected)),
        }
    }

    /// Returns the error of a next token that is none of the known words.
    fn unknown(&mut self, expected: &str, known: &[&str]) -> RuleError {
        let given = match self.scanner.peek() {
            Ok(Token::Word(word)) => *word,
            _ => "",
        };
        let mut error = self.scanner.unexpected(expected);
        error.message += &nearest(given, known.iter().copied());
        error
    }
}

/// Returns whether a text can be the name of a rule.
pub fn is_rule_name(text: &str) -> bool {
    let fits = |it: char| it.is_alphanumeric() || matches!(it, '-' | '_' | '.');
    !text.is_empty() && text.chars().all(fits)
}
