//! Templates of names and filters, in which `$1` stands for what the first star of a rule has
//! captured, and so on. Each octet of a capture is written as an escape, so it can end neither a
//! value nor a filter, and stands for itself only.

use std::fmt::Write;

use super::pattern::Captures;

/// A text with places for captures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Template {
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    /// Number of the capture, from 0.
    Capture(usize),
}

impl Template {
    /// Reads a template whose rule has this number of stars.
    ///
    /// # Errors
    /// A message that names a number of no star.
    pub(super) fn read(text: &str, stars: usize) -> Result<Template, String> {
        let mut pieces = Vec::new();
        let mut rest = text;
        let mut before = String::new();
        while let Some((head, tail)) = rest.split_once('$') {
            before.push_str(head);
            let digits = tail.bytes().take(2).take_while(u8::is_ascii_digit).count();
            rest = &tail[digits..];
            if digits == 0 {
                before.push('$');
                continue;
            }
            let number: usize = tail[..digits].parse().unwrap_or(0);
            if !(1..=stars).contains(&number) {
                return Err(format!(
                    "expected $1 to ${stars}, one for each star of the rule, got ${number}"
                ));
            }
            pieces.push(Piece::Text(std::mem::take(&mut before)));
            pieces.push(Piece::Capture(number - 1));
        }
        before.push_str(rest);
        pieces.push(Piece::Text(before));
        Ok(Template { pieces })
    }

    /// The text with captures filled in. Names (RFC 4514 §2.4) and filters (RFC 4515 §3) spell an
    /// escaped octet alike.
    pub(super) fn filled(&self, captures: &Captures) -> String {
        let mut text = String::new();
        for piece in &self.pieces {
            match piece {
                Piece::Text(piece) => text.push_str(piece),
                Piece::Capture(number) => {
                    for octet in captures.get(*number).into_iter().flatten() {
                        let _ = write!(text, "\\{octet:02x}");
                    }
                }
            }
        }
        text
    }
}
