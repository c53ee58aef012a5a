//! The text of rules as tokens, one clause at a time.
//!
//! A clause ends with its line, unless the next line with more than a comment is indented deeper
//! than the clause's first word and does not begin another clause.

use crate::access::error::{Lines, Position, RuleError};

/// The words with which clauses begin.
const CLAUSES: [&str; 5] = ["rule", "on", "for", "let", "deny"];

/// A piece of a clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Token<'t> {
    /// Letters, digits and signs without a space.
    Word(&'t str),
    /// Text in quotation marks, without them.
    Quoted(String),
    Comma,
    Open,
    Close,
    /// The clause is over.
    End,
}

impl Token<'_> {
    /// Returns the token as error messages show it.
    pub(crate) fn shown(&self) -> String {
        match self {
            Token::Word(word) => format!("\"{word}\""),
            Token::Quoted(text) => format!("the text \"{text}\""),
            Token::Comma => "a comma".to_owned(),
            Token::Open => "\"(\"".to_owned(),
            Token::Close => "\")\"".to_owned(),
            Token::End => "the end of the line".to_owned(),
        }
    }
}

/// A reader of tokens with one token of foresight.
pub(crate) struct Scanner<'t> {
    text: &'t str,
    /// First byte that no token has taken; a boundary of characters.
    at: usize,
    /// Number of blanks before the first word of the clause.
    indentation: usize,
    lines: Lines,
    /// The next token and its first byte.
    ahead: Option<(usize, Token<'t>)>,
}

impl<'t> Scanner<'t> {
    pub(crate) fn new(text: &'t str) -> Scanner<'t> {
        Scanner {
            text,
            at: 0,
            indentation: 0,
            lines: Lines::default(),
            ahead: None,
        }
    }

    /// Goes to the first word of the next clause; false at the end of the text.
    pub(crate) fn begin_clause(&mut self) -> bool {
        self.ahead = None;
        let Some(start) = next_line_with_words(self.text, self.at) else {
            return false;
        };
        let line = self.text[..start].rfind('\n').map_or(0, |it| it + 1);
        (self.at, self.indentation) = (start, start - line);
        true
    }

    /// Returns the next token and leaves it.
    pub(crate) fn peek(&mut self) -> Result<&Token<'t>, RuleError> {
        if self.ahead.is_none() {
            self.ahead = Some(self.scan()?);
        }
        let (_, token) = self.ahead.as_ref().expect("set above");
        Ok(token)
    }

    /// Takes the next token.
    pub(crate) fn take(&mut self) -> Result<Token<'t>, RuleError> {
        self.peek()?;
        let (_, token) = self.ahead.take().expect("peek sets it");
        Ok(token)
    }

    /// Takes the next token if it is this word.
    pub(crate) fn take_word(&mut self, word: &str) -> Result<bool, RuleError> {
        let found = *self.peek()? == Token::Word(word);
        if found {
            self.ahead = None;
        }
        Ok(found)
    }

    /// Takes the next token if it is a comma.
    pub(crate) fn take_comma(&mut self) -> Result<bool, RuleError> {
        let found = *self.peek()? == Token::Comma;
        if found {
            self.ahead = None;
        }
        Ok(found)
    }

    /// Takes a filter: text from `(` to its `)`, on one line. Values of filters spell parentheses
    /// as `\28` and `\29` (RFC 4515 §3), and may contain `#`.
    pub(crate) fn take_filter(&mut self) -> Result<String, RuleError> {
        if *self.peek()? != Token::Open {
            return Err(self.unexpected("a filter in parentheses"));
        }
        let (start, _) = self.ahead.take().expect("peek sets it");
        let line = self.text[start..].lines().next().unwrap_or("");
        let mut depth = 0usize;
        for (at, character) in line.char_indices() {
            match character {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => (),
            }
            if depth == 0 {
                self.at = start + at + 1;
                let filter = &line[..=at];
                return match protocol::parse_filter(filter) {
                    Ok(_) => Ok(filter.to_owned()),
                    Err(error) => Err(self.error_at(start + error.at, error.message)),
                };
            }
        }
        Err(self.error_at(
            start,
            "expected \")\" at the end of the filter, got the end of the line",
        ))
    }

    /// Position of the next token.
    pub(crate) fn position(&mut self) -> Result<Position, RuleError> {
        self.peek()?;
        let (start, _) = self.ahead.as_ref().expect("peek sets it");
        Ok(self.lines.position(self.text, *start))
    }

    /// Returns the error of a next token that is not what was expected.
    pub(crate) fn unexpected(&mut self, expected: &str) -> RuleError {
        let (start, shown) = match self.peek() {
            Ok(token) => {
                let shown = token.shown();
                (self.ahead.as_ref().map_or(self.at, |it| it.0), shown)
            }
            Err(error) => return error,
        };
        self.error_at(start, format!("expected {expected}, got {shown}"))
    }

    fn error_at(&mut self, at: usize, message: impl Into<String>) -> RuleError {
        RuleError {
            position: Some(self.lines.position(self.text, at)),
            message: message.into(),
        }
    }

    fn scan(&mut self) -> Result<(usize, Token<'t>), RuleError> {
        if !self.skip_blanks() {
            return Ok((self.at, Token::End));
        }
        let (start, rest) = (self.at, &self.text[self.at..]);
        let sign = match rest.as_bytes()[0] {
            b',' => Some(Token::Comma),
            b'(' => Some(Token::Open),
            b')' => Some(Token::Close),
            b'"' => return self.quoted(),
            _ => None,
        };
        if let Some(sign) = sign {
            self.at += 1;
            return Ok((start, sign));
        }
        let ends = |it: char| it.is_whitespace() || matches!(it, ',' | '(' | ')' | '"' | '#');
        let length = rest.find(ends).unwrap_or(rest.len());
        self.at += length;
        Ok((start, Token::Word(&rest[..length])))
    }

    /// Takes a text in quotation marks, in which two of them stand for one.
    fn quoted(&mut self) -> Result<(usize, Token<'t>), RuleError> {
        let start = self.at;
        let mut text = String::new();
        let mut rest = &self.text[start + 1..];
        loop {
            let Some((before, after)) = rest.split_once('"') else {
                return Err(self.error_at(start, "expected a closing quotation mark, got none"));
            };
            text += before;
            let Some(more) = after.strip_prefix('"') else {
                self.at = self.text.len() - after.len();
                return Ok((start, Token::Quoted(text)));
            };
            text.push('"');
            rest = more;
        }
    }

    /// Goes to the next token of the clause; false if there is none.
    fn skip_blanks(&mut self) -> bool {
        let rest = &self.text[self.at..];
        let words = rest.trim_start_matches(|it: char| it.is_whitespace() && it != '\n');
        self.at = self.text.len() - words.len();
        if !words.is_empty() && !words.starts_with(['\n', '#']) {
            return true;
        }
        let Some(line_end) = words.find('\n') else {
            return false;
        };
        let Some(start) = next_line_with_words(self.text, self.at + line_end) else {
            return false;
        };
        let line = self.text[..start].rfind('\n').map_or(0, |it| it + 1);
        let mut words = self.text[start..].split_whitespace();
        let begins = words.next().is_some_and(|it| match it {
            // No attribute that goes on with a clause has a text behind it.
            "within" => words.next().is_some_and(|it| it.starts_with('"')),
            it => CLAUSES.contains(&it),
        });
        let goes_on = start - line > self.indentation && !begins;
        if goes_on {
            self.at = start;
        }
        goes_on
    }
}

/// Returns the first byte at or after `at` that is neither blank nor part of a comment.
fn next_line_with_words(text: &str, at: usize) -> Option<usize> {
    let mut rest = &text[at..];
    loop {
        rest = rest.trim_start();
        if !rest.starts_with('#') {
            return (!rest.is_empty()).then(|| text.len() - rest.len());
        }
        rest = &rest[rest.find('\n')?..];
    }
}
