//! Words of one line of a file of tests.

use crate::report::Problem;

/// A part of a line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Token {
    /// Characters up to a blank, a comma or a quotation mark.
    Word(String),
    /// Text in quotation marks, `""` in it for one of them.
    Quoted(String),
    /// A comma.
    Comma,
    /// The end of the line.
    End,
}

/// A line that is read from its beginning on.
#[derive(Debug)]
pub struct Line<'t> {
    /// File and number of the line, as in `tests:12`; empty for a line from the command line.
    place: String,
    text: &'t str,
    /// Byte behind what was taken.
    at: usize,
}

impl<'t> Line<'t> {
    /// A line of a file, with its number from 1.
    pub fn of_file(file: &str, number: usize, text: &'t str) -> Line<'t> {
        Line {
            place: format!("{file}:{number}"),
            text,
            at: 0,
        }
    }

    /// A line from the command line.
    pub fn alone(text: &'t str) -> Line<'t> {
        Line {
            place: "question".to_owned(),
            text,
            at: 0,
        }
    }

    /// The next part, which stays.
    pub fn peek(&self) -> Result<Token, Problem> {
        Ok(self.scan()?.0)
    }

    /// Takes the next part.
    pub fn take(&mut self) -> Result<Token, Problem> {
        let (token, end) = self.scan()?;
        self.at = end;
        Ok(token)
    }

    /// Takes the next part if it is this word; returns whether it was.
    pub fn take_word(&mut self, word: &str) -> Result<bool, Problem> {
        let found = self.peek()? == Token::Word(word.to_owned());
        if found {
            self.take()?;
        }
        Ok(found)
    }

    /// Takes a part that must come next.
    pub fn expect(&mut self, wanted: &Token, expected: &str) -> Result<(), Problem> {
        match self.peek()? == *wanted {
            true => self.take().map(|_| ()),
            false => Err(self.wrong(expected)),
        }
    }

    /// Takes a text in quotation marks, or a word.
    pub fn take_text(&mut self, expected: &str) -> Result<String, Problem> {
        match self.peek()? {
            Token::Word(text) | Token::Quoted(text) => {
                self.take()?;
                Ok(text)
            }
            Token::Comma | Token::End => Err(self.wrong(expected)),
        }
    }

    /// The problem that something else was expected next.
    pub fn wrong(&self, expected: &str) -> Problem {
        let given = match self.peek() {
            Ok(Token::Word(text) | Token::Quoted(text)) => format!("\"{text}\""),
            Ok(Token::Comma) => "a comma".to_owned(),
            Ok(Token::End) => "the end of the line".to_owned(),
            Err(problem) => return problem,
        };
        self.problem(&format!("expected {expected}, got {given}"))
    }

    /// A problem with what comes next.
    pub fn problem(&self, text: &str) -> Problem {
        let column = self.text[..self.begin()].chars().count() + 1;
        Problem::failed(format_args!("{}:{column}: {text}", self.place))
    }

    /// First byte of the next part.
    fn begin(&self) -> usize {
        let rest = &self.text[self.at..];
        self.at + rest.len() - rest.trim_start().len()
    }

    /// The next part, and the byte behind it.
    fn scan(&self) -> Result<(Token, usize), Problem> {
        let begin = self.begin();
        let rest = &self.text[begin..];
        let Some(first) = rest.chars().next().filter(|it| *it != '#') else {
            return Ok((Token::End, begin));
        };
        match first {
            ',' => Ok((Token::Comma, begin + 1)),
            '"' => {
                let (mut text, mut at) = (String::new(), 1);
                loop {
                    let Some(length) = rest[at..].find('"') else {
                        return Err(
                            self.problem("expected a quotation mark at the end of the text")
                        );
                    };
                    text.push_str(&rest[at..at + length]);
                    at += length + 1;
                    if !rest[at..].starts_with('"') {
                        return Ok((Token::Quoted(text), begin + at));
                    }
                    text.push('"');
                    at += 1;
                }
            }
            _ => {
                let ends = |it: char| it.is_whitespace() || matches!(it, ',' | '"');
                let length = rest.find(ends).unwrap_or(rest.len());
                let end = begin + length;
                Ok((Token::Word(rest[..length].to_owned()), end))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_and_places() {
        let mut line = Line::of_file("f", 3, " ada,\"a \"\"b\"\"\" -> # end");
        let word = |it: &str| Token::Word(it.to_owned());
        assert_eq!(line.take().unwrap(), word("ada"));
        assert!(!line.take_word("x").unwrap());
        let wrong = line.wrong("a word");
        assert_eq!(wrong.text(), "f:3:5: expected a word, got a comma");
        line.expect(&Token::Comma, "a comma").unwrap();
        assert_eq!(line.take_text("a text").unwrap(), "a \"b\"");
        assert_eq!(line.take().unwrap(), word("->"));
        assert_eq!(line.take().unwrap(), Token::End);
        assert_eq!(line.take().unwrap(), Token::End);
        let open = Line::of_file("f", 1, "\"a").peek().unwrap_err();
        assert!(open.text().starts_with("f:1:1: expected a quotation mark"));
    }
}
