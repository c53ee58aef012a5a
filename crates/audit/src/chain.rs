//! The chain: each line carries the hash of the line before it, and files say where they begin and
//! end in it.

use crate::attempts::Attempts;
use crate::json::Object;
use crate::line::Line;

/// A BLAKE3 hash of a line, without the line's end.
pub type Hash = [u8; 32];

/// The end of the chain: what the next line carries. The database keeps it, so every node and
/// every copy of the database has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Head {
    /// Whether changes are audited.
    pub is_on: bool,
    /// Number of the last line, from 1; 0 if there is none.
    pub line: u64,
    /// Position of the record of the last line.
    pub position: u64,
    /// Hash of the last line; zeros if there is none.
    pub hash: Hash,
}

/// Version of an encoded head.
const VERSION: u8 = 1;

impl Head {
    /// The head as bytes: version, whether changes are audited, line, position, hash.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = vec![VERSION, u8::from(self.is_on)];
        out.extend_from_slice(&self.line.to_le_bytes());
        out.extend_from_slice(&self.position.to_le_bytes());
        out.extend_from_slice(&self.hash);
        out
    }

    /// Decodes a head; `None` if the bytes are none.
    pub fn decode(bytes: &[u8]) -> Option<Head> {
        let (head, rest) = bytes.split_first_chunk::<2>()?;
        let (line, rest) = rest.split_first_chunk::<8>()?;
        let (position, hash) = rest.split_first_chunk::<8>()?;
        let is_on = match head {
            [VERSION, 0] => false,
            [VERSION, 1] => true,
            _ => return None,
        };
        Some(Head {
            is_on,
            line: u64::from_le_bytes(*line),
            position: u64::from_le_bytes(*position),
            hash: hash.try_into().ok()?,
        })
    }

    /// Appends a line about a change and its end to `out`, and makes it the last one.
    pub fn append(&mut self, line: &Line<'_>, out: &mut Vec<u8>) {
        self.put(line.position, out, |head, out| {
            line.write(head.line, &head.hash, out);
        });
    }

    /// Appends a line about attempts and its end to `out`, and makes it the last one.
    pub fn append_attempts(&mut self, attempts: &Attempts<'_>, out: &mut Vec<u8>) {
        self.put(attempts.position, out, |head, out| {
            attempts.write(head.line, &head.hash, out);
        });
    }

    fn put(&mut self, position: u64, out: &mut Vec<u8>, write: impl FnOnce(&Head, &mut Vec<u8>)) {
        let start = out.len();
        self.line += 1;
        write(self, out);
        self.position = position;
        self.hash = hash_of(&out[start..]);
        out.push(b'\n');
    }

    /// Where a file begins whose first line is the next one.
    pub fn opening(&self) -> Opening {
        Opening {
            line: self.line.saturating_add(1),
            position: self.position,
            previous: self.hash,
        }
    }
}

/// The hash of a line, given without its end.
pub(crate) fn hash_of(line: &[u8]) -> Hash {
    *blake3::hash(line).as_bytes()
}

/// The first line of a file: where in the chain the file begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// Number of the file's first line of the chain.
    pub line: u64,
    /// Position of the record of the line before it; 0 if there is none.
    pub position: u64,
    /// Hash of the line before it.
    pub previous: Hash,
}

impl Opening {
    /// Appends the line and its end to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut object = Object::begin(out);
        object.number("audit", 1);
        object.number("from", self.line);
        object.number("position", self.position);
        object.text("previous", &hex(&self.previous));
        object.end();
        out.push(b'\n');
    }
}

/// The last line of a file that another one follows: where in the chain the file ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closing {
    /// Number of the file's last line of the chain.
    pub line: u64,
    /// Position of the record of that line.
    pub position: u64,
    /// Hash of that line.
    pub hash: Hash,
}

impl Closing {
    /// Appends the line and its end to `out`.
    pub fn write(&self, out: &mut Vec<u8>) {
        let mut object = Object::begin(out);
        object.number("closed", self.line);
        object.number("position", self.position);
        object.text("hash", &hex(&self.hash));
        object.end();
        out.push(b'\n');
    }
}

/// Bytes as hexadecimal digits, two for each.
pub fn hex(bytes: &[u8]) -> String {
    let digit = |it: u8| char::from(b"0123456789abcdef"[usize::from(it)]);
    let digits = bytes
        .iter()
        .flat_map(|it| [digit(it >> 4), digit(it & 0xf)]);
    digits.collect()
}

/// Reads 64 hexadecimal digits; `None` if the text is something else.
pub(crate) fn of_hex(text: &str) -> Option<Hash> {
    let mut hash = Hash::default();
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if pairs.len() != hash.len() || !rest.is_empty() {
        return None;
    }
    for (byte, pair) in hash.iter_mut().zip(pairs) {
        let digit = |it: u8| char::from(it).to_digit(16).map(|it| it as u8);
        *byte = digit(pair[0])? << 4 | digit(pair[1])?;
    }
    Some(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_head_is_stored_and_read() {
        let head = Head {
            is_on: true,
            line: 7,
            position: 9,
            hash: [3; 32],
        };
        let bytes = head.encode();
        assert_eq!(Head::decode(&bytes), Some(head));
        for length in 0..bytes.len() {
            assert_eq!(Head::decode(&bytes[..length]), None, "{length}");
        }
        let longer = [bytes.as_slice(), &[0]].concat();
        assert_eq!(Head::decode(&longer), None);
    }

    #[test]
    fn hexadecimal_digits_are_read_back() {
        let hash = std::array::from_fn(|it| (it * 9 % 256) as u8);
        assert_eq!(of_hex(&hex(&hash)), Some(hash));
        assert_eq!(of_hex(&hex(&hash)[1..]), None);
        assert_eq!(of_hex(&"é".repeat(32)), None);
    }
}
