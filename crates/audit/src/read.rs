//! Reading lines.

use crate::chain::{Closing, Hash, Opening, hash_of, of_hex};
use serde_json::Value;

/// A line of a file.
#[derive(Debug, Clone, PartialEq)]
pub enum Written {
    /// The first line of a file.
    Opening(Opening),
    /// The last line of a file that another one follows.
    Closing(Closing),
    /// A line of the chain.
    Line(Box<Read>),
}

/// A line of the chain, as read.
#[derive(Debug, Clone, PartialEq)]
pub struct Read {
    /// Number of the line.
    pub line: u64,
    /// Hash of the line before it.
    pub previous: Hash,
    /// Hash of this line.
    pub hash: Hash,
    /// Position of the record.
    pub position: u64,
    /// The whole object.
    content: Value,
}

impl Written {
    /// Reads a line, given without its end.
    ///
    /// # Errors
    /// The text that was expected.
    pub fn read(bytes: &[u8]) -> Result<Written, String> {
        let content: Value = serde_json::from_slice(bytes)
            .map_err(|error| format!("expected a line of JSON: {error}"))?;
        let number = |key: &str| {
            let found = content.get(key).and_then(Value::as_u64);
            found.ok_or_else(|| format!("expected a number as \"{key}\""))
        };
        let hash = |key: &str| {
            let found = content.get(key).and_then(Value::as_str).and_then(of_hex);
            found.ok_or_else(|| format!("expected 64 hexadecimal digits as \"{key}\""))
        };
        if content.get("audit").is_some() {
            return match number("audit")? {
                1 => Ok(Written::Opening(Opening {
                    line: number("from")?,
                    position: number("position")?,
                    previous: hash("previous")?,
                })),
                other => Err(format!("expected an audit of version 1, got {other}")),
            };
        }
        if content.get("closed").is_some() {
            return Ok(Written::Closing(Closing {
                line: number("closed")?,
                position: number("position")?,
                hash: hash("hash")?,
            }));
        }
        Ok(Written::Line(Box::new(Read {
            line: number("line")?,
            previous: hash("previous")?,
            hash: hash_of(bytes),
            position: number("position")?,
            content,
        })))
    }
}

impl Read {
    /// The text under a key; empty if there is none.
    pub fn text(&self, key: &str) -> &str {
        text_of(&self.content, key)
    }

    /// DN and entryUUID of the subject that the change was made as, and of the one that
    /// authenticated; empty where there is none.
    pub fn subjects(&self) -> [&str; 4] {
        let of = |key: &str| self.content.get(key).unwrap_or(&Value::Null);
        let (by, real) = (of("by"), of("real"));
        [
            text_of(by, "dn"),
            text_of(by, "uuid"),
            text_of(real, "dn"),
            text_of(real, "uuid"),
        ]
    }
}

fn text_of<'v>(value: &'v Value, key: &str) -> &'v str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}
