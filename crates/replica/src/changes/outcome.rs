//! The outcome of a record: which of its writes were done, and the numbers given by rules.
//!
//! ```text
//! a bit for each write │ 1 │ for each number: write (4), length (4), attribute, length (4), number
//! ```
//!
//! Changes kept by earlier builds end behind the bits, so their numbers are unknown.

use protocol::ResultCode;
use state::apply::Applied;
use state::execute::GivenNumber;
use state::write::Record;
use store::bytes::{Bytes, put_text};

/// Mark that all given numbers follow.
const NUMBERS: u8 = 1;

/// The encoded outcome: bits, beginning with the lowest of the first byte, then the numbers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome(Vec<u8>);

impl Outcome {
    /// The outcome of an executed record. It never has more bytes than the record, a limit by which
    /// damage is recognised; numbers are left out if there are too many.
    pub fn of(record: &Record<'_>, applied: &Applied, record_bytes: usize) -> Outcome {
        let (mut bits, mut numbers) = (Vec::new(), vec![NUMBERS]);
        let mut at = 0;
        for (unit, done) in record.units.iter().zip(&applied.results) {
            for given in &done.given {
                put_number(at + given.write, given, &mut numbers);
            }
            for _ in unit.iter() {
                if at % 8 == 0 {
                    bits.push(0);
                }
                if done.outcome.result.code == ResultCode::SUCCESS {
                    bits[at / 8] |= 1 << (at % 8);
                }
                at += 1;
            }
        }
        if bits.len() + numbers.len() <= record_bytes {
            bits.append(&mut numbers);
        }
        Outcome(bits)
    }

    /// The outcome of a record without writes.
    #[cfg(test)]
    pub const fn none() -> Outcome {
        Outcome(Vec::new())
    }

    /// An outcome as read from a file.
    pub fn from_bytes(bytes: Vec<u8>) -> Outcome {
        Outcome(bytes)
    }

    /// The bytes to write to a file.
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether the write with this index was done.
    pub fn has(&self, number: usize) -> bool {
        let byte = self.0.get(number / 8).copied().unwrap_or(0);
        byte & 1 << (number % 8) != 0
    }

    /// The numbers given to the entries of the record's writes, of which there are `writes`; `None`
    /// if unknown.
    pub fn numbers(&self, writes: usize) -> Option<Vec<GivenNumber>> {
        let mut rest = Bytes::new(self.0.get(writes.div_ceil(8)..)?);
        if rest.take().ok()? != [NUMBERS] {
            return None;
        }
        let mut numbers = Vec::new();
        while !rest.is_empty() {
            let write = rest.u32().ok()? as usize;
            let attribute = rest.text().ok()?.to_owned();
            let value = rest.text().ok()?.to_owned();
            numbers.push(GivenNumber {
                write,
                attribute,
                value,
            });
        }
        Some(numbers)
    }
}

fn put_number(write: usize, given: &GivenNumber, out: &mut Vec<u8>) {
    out.extend_from_slice(&(write as u32).to_le_bytes());
    put_text(out, &given.attribute);
    put_text(out, &given.value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use protocol::LdapResult;
    use schema::Name;
    use state::concerned::Concerned;
    use state::execute::Done;
    use state::grant::Grant;
    use state::write::{Change, Write};

    fn write() -> Write {
        Write {
            grant: Grant::recorded(String::new(), Name::root()),
            spelled: String::new(),
            manage_dsa_it: false,
            options: None,
            change: Change::Delete,
        }
    }

    fn number(write: usize, value: &str) -> GivenNumber {
        GivenNumber {
            write,
            attribute: "uidNumber".to_owned(),
            value: value.to_owned(),
        }
    }

    #[test]
    fn numbers_stand_with_their_writes() {
        let writes: Vec<Write> = (0..9).map(|_| write()).collect();
        let done = |given| Done {
            given,
            ..Done::from(LdapResult::success())
        };
        let record = Record {
            position: 1,
            time_us: 1,
            units: vec![&writes[..1], &writes[1..]],
        };
        let applied = Applied {
            results: vec![done(vec![number(0, "5")]), done(vec![number(7, "6")])],
            changed: 9,
            catalog: None,
            ending: Vec::new(),
            left_work: false,
            concerned: Concerned::default(),
            rehashed: Vec::new(),
            configuration: false,
            reclaimed: 0,
            audited: None,
        };
        let outcome = Outcome::of(&record, &applied, 1_000);
        assert!((0..9).all(|it| outcome.has(it)));
        let given = vec![number(0, "5"), number(8, "6")];
        assert_eq!(outcome.numbers(9), Some(given));
        // Numbers left out for lack of room, as earlier builds left out all.
        let bits = Outcome::of(&record, &applied, 10);
        assert_eq!(bits.bytes(), [0xff, 1]);
        assert_eq!(bits.numbers(9), None);
        // A truncated outcome has no numbers.
        for length in 2..outcome.bytes().len() {
            let cut = Outcome::from_bytes(outcome.bytes()[..length].to_vec());
            let whole_rows = [3, 25];
            assert_eq!(
                cut.numbers(9).is_some(),
                whole_rows.contains(&length),
                "{length}"
            );
        }
    }
}
