//! A reader of the generic string encoding of ASN.1 values (RFC 3641), the form of subtree
//! specifications (RFC 3672) and of assertions about certificates (RFC 4523).
//!
//! Recursion is bounded by the callers: each reads one known structure.

use std::borrow::Cow;

/// A position in a text.
#[derive(Debug, Clone)]
pub(crate) struct Gser<'t> {
    rest: &'t str,
}

impl<'t> Gser<'t> {
    pub fn new(text: &'t str) -> Gser<'t> {
        Gser { rest: text }
    }

    fn skip_spaces(&mut self) {
        self.rest = self.rest.trim_start_matches(' ');
    }

    /// Consumes a mark if it comes next; `false` if another text does.
    pub fn take(&mut self, mark: &str) -> bool {
        self.skip_spaces();
        match self.rest.strip_prefix(mark) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    /// Returns whether the text is at its end.
    pub fn is_at_end(&mut self) -> bool {
        self.skip_spaces();
        self.rest.is_empty()
    }

    /// Reads an identifier, a number or an OID; `None` when none comes next.
    pub fn word(&mut self) -> Option<&'t str> {
        self.skip_spaces();
        let is_word = |it: char| it.is_ascii_alphanumeric() || it == '-' || it == '.';
        let end = self.rest.find(|it| !is_word(it)).unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        self.rest = rest;
        (!word.is_empty()).then_some(word)
    }

    /// Reads text in double quotes, in which a doubled quote means one.
    pub fn text(&mut self) -> Option<Cow<'t, str>> {
        self.skip_spaces();
        let inside = self.rest.strip_prefix('"')?;
        let mut from = 0;
        loop {
            let quote = from + inside[from..].find('"')?;
            if inside[quote + 1..].starts_with('"') {
                from = quote + 2;
                continue;
            }
            self.rest = &inside[quote + 1..];
            let text = &inside[..quote];
            return Some(match from {
                0 => Cow::Borrowed(text),
                _ => Cow::Owned(text.replace("\"\"", "\"")),
            });
        }
    }

    /// Reads `'00ff'H`, octets in hexadecimal.
    pub fn octets(&mut self) -> Option<Vec<u8>> {
        let mut rest = self.clone();
        let digits = rest.quoted('H')?;
        if digits.len() % 2 != 0 || !digits.bytes().all(|it| it.is_ascii_hexdigit()) {
            return None;
        }
        let octet = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
        let octets: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(octet).collect();
        *self = rest;
        octets
    }

    /// Reads `'0110'B` and returns the digits of the bit string.
    pub fn bits(&mut self) -> Option<&'t str> {
        let mut rest = self.clone();
        let digits = rest.quoted('B')?;
        if !digits.bytes().all(|it| matches!(it, b'0' | b'1')) {
            return None;
        }
        *self = rest;
        Some(digits)
    }

    /// Reads the text between single quotes before a letter.
    fn quoted(&mut self, letter: char) -> Option<&'t str> {
        self.skip_spaces();
        let (inside, rest) = self.rest.strip_prefix('\'')?.split_once('\'')?;
        self.rest = rest.strip_prefix(letter)?;
        Some(inside)
    }

    /// Reads `{ item, item }` or `{ }` and calls `item` at the start of each item.
    pub fn list(&mut self, item: &mut dyn FnMut(&mut Gser<'t>) -> Option<()>) -> Option<()> {
        if !self.take("{") {
            return None;
        }
        if self.take("}") {
            return Some(());
        }
        loop {
            item(self)?;
            if self.take("}") {
                return Some(());
            }
            if !self.take(",") {
                return None;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_words_and_texts() {
        let mut gser = Gser::new(" { a 1 , b \"x\"\"y\" } ");
        let mut seen = Vec::new();
        let done = gser.list(&mut |it| {
            let name = it.word()?;
            let value = match name {
                "a" => it.word()?.to_owned(),
                _ => it.text()?.into_owned(),
            };
            seen.push((name, value));
            Some(())
        });
        assert_eq!((done, gser.is_at_end()), (Some(()), true));
        assert_eq!(seen, [("a", "1".to_owned()), ("b", "x\"y".to_owned())]);
        assert_eq!(Gser::new("\"open").text(), None);
        assert_eq!(Gser::new("{ a").list(&mut |it| it.word().map(drop)), None);
    }
}
