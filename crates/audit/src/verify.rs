//! Finding lines that are not the ones that were written.

use crate::chain::{Closing, Hash, Head, Opening};
use crate::read::{Read, Written};
use std::fmt;

/// Something that is wrong with a chain of lines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finding {
    /// The line cannot be read.
    Unreadable(String),
    /// Lines of the chain from the first to the second number are missing.
    Missing(u64, u64),
    /// The line with this number is not the one that its successor, the end of its file or the
    /// beginning of the next file was written after.
    Changed(u64),
    /// The line has this number where another was expected, or none.
    Disorder {
        /// The number that was expected.
        expected: u64,
        /// The number found.
        found: u64,
    },
    /// A file does not begin with the line that says where in the chain it begins.
    NoOpening,
    /// Another chain begins here, after the line with this number.
    Another(u64),
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Finding::Unreadable(why) => f.write_str(why),
            Finding::Missing(from, to) if from == to => write!(f, "line {from} is missing"),
            Finding::Missing(from, to) => write!(f, "lines {from} to {to} are missing"),
            Finding::Changed(line) => write!(
                f,
                "line {line} is not the one that was written: what follows carries another hash"
            ),
            Finding::Disorder { expected, found } => {
                write!(f, "expected line {expected}, found line {found}")
            }
            Finding::NoOpening => {
                f.write_str("expected the line that says where the file begins in the chain")
            }
            Finding::Another(line) => {
                write!(f, "another chain begins here, after line {line}")
            }
        }
    }
}

/// Follows a chain line by line, over any number of files in their order.
#[derive(Debug, Clone, Default)]
pub struct Verifier {
    /// The last line and its hash; `None` before the first line of the first file.
    last: Option<(u64, Hash)>,
    position: u64,
}

impl Verifier {
    /// Takes the next line, given without its end. Returns what is wrong, and goes on after it.
    ///
    /// # Errors
    /// The reason why the line, or the one before it, is wrong.
    pub fn take(&mut self, bytes: &[u8]) -> Result<Written, Finding> {
        let written = Written::read(bytes).map_err(Finding::Unreadable)?;
        match &written {
            Written::Opening(opening) => self.open(opening)?,
            Written::Closing(closing) => self.close(closing)?,
            Written::Line(read) => self.line(read)?,
        }
        Ok(written)
    }

    /// The last line that was taken; `None` if there was none.
    pub fn head(&self) -> Option<Head> {
        self.last.map(|(line, hash)| Head {
            is_on: true,
            line,
            position: self.position,
            hash,
        })
    }

    fn open(&mut self, opening: &Opening) -> Result<(), Finding> {
        let before = opening.line.saturating_sub(1);
        self.position = opening.position;
        let Some((line, hash)) = self.last.replace((before, opening.previous)) else {
            return Ok(());
        };
        match before {
            _ if before == line && hash == opening.previous => Ok(()),
            _ if before == line => Err(Finding::Changed(line)),
            0 => Err(Finding::Another(line)),
            _ if before > line => Err(Finding::Missing(line + 1, before)),
            _ => Err(Finding::Disorder {
                expected: line + 1,
                found: opening.line,
            }),
        }
    }

    fn close(&self, closing: &Closing) -> Result<(), Finding> {
        match self.last {
            None => Err(Finding::NoOpening),
            Some((line, hash)) if line == closing.line && hash == closing.hash => Ok(()),
            Some((line, _)) if line == closing.line => Err(Finding::Changed(line)),
            Some((line, _)) if line < closing.line => Err(Finding::Missing(line + 1, closing.line)),
            Some((line, _)) => Err(Finding::Disorder {
                expected: line,
                found: closing.line,
            }),
        }
    }

    fn line(&mut self, read: &Read) -> Result<(), Finding> {
        self.position = read.position;
        match self.last.replace((read.line, read.hash)) {
            None => Err(Finding::NoOpening),
            Some((line, hash)) if Some(read.line) == line.checked_add(1) => {
                match hash == read.previous {
                    true => Ok(()),
                    false => Err(Finding::Changed(line)),
                }
            }
            Some((line, _)) if read.line > line => Err(Finding::Missing(line + 1, read.line - 1)),
            Some((line, _)) => Err(Finding::Disorder {
                expected: line.saturating_add(1),
                found: read.line,
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Author, Change, Line, Operation, Values};

    /// Four lines with their opening and closing.
    fn file() -> (Vec<Vec<u8>>, Head) {
        let mut head = Head::default();
        let mut out = Vec::new();
        head.opening().write(&mut out);
        let author = Author {
            from: "192.0.2.7".to_owned(),
            rule: "a \"rule\"\n".to_owned(),
            ..Author::default()
        };
        for position in 1..=4 {
            let changes = [Change {
                attribute: "mail".to_owned(),
                is_secret: position == 3,
                deleted: Values {
                    shown: vec![vec![0xff, 0], "ä\u{2028}".into(), vec![b'x'; 2_000]],
                    more: 5,
                },
                added: Values::default(),
            }];
            let line = Line {
                position,
                time: "20261125000000.000000Z",
                operation: Operation::Modify,
                entry: "cn=a\\,b",
                uuid: "",
                is_consequence: false,
                by: "cn=c",
                author: (position > 1).then_some(&author),
                changes: &changes,
            };
            head.append(&line, &mut out);
        }
        let (line, position, hash) = (head.line, head.position, head.hash);
        Closing {
            line,
            position,
            hash,
        }
        .write(&mut out);
        let lines = out.split_inclusive(|it| *it == b'\n');
        (lines.map(|it| it[..it.len() - 1].to_vec()).collect(), head)
    }

    fn findings<'l>(lines: impl IntoIterator<Item = &'l Vec<u8>>) -> Vec<Finding> {
        let mut verifier = Verifier::default();
        let taken = lines.into_iter().map(|it| verifier.take(it));
        taken.filter_map(Result::err).collect()
    }

    #[test]
    fn what_was_written_is_sound() {
        let (lines, head) = file();
        assert_eq!(lines.len(), 6);
        let mut verifier = Verifier::default();
        for line in &lines {
            verifier.take(line).expect("as written");
        }
        let found = verifier.head().expect("there are lines");
        assert_eq!((found.line, found.position, found.hash), (4, 4, head.hash));
    }

    #[test]
    fn every_change_of_a_byte_of_a_line_is_found() {
        let (lines, _) = file();
        for at in 1..=4 {
            for byte in 0..lines[at].len() {
                let mut changed = lines.clone();
                changed[at][byte] ^= 1;
                assert!(!findings(&changed).is_empty(), "line {at}, byte {byte}");
            }
        }
    }

    #[test]
    fn the_first_bad_line_is_named() {
        let (lines, _) = file();
        let mut changed = lines.clone();
        let text = String::from_utf8_lossy(&changed[2]).replace("cn=a", "cn=b");
        changed[2] = text.into_bytes();
        assert_eq!(findings(&changed), [Finding::Changed(2)]);
    }

    #[test]
    fn gaps_and_other_orders_are_found() {
        let (lines, _) = file();
        let without = |gone: &[usize]| {
            let kept = lines.iter().enumerate().filter(|it| !gone.contains(&it.0));
            findings(kept.map(|it| it.1))
        };
        assert_eq!(without(&[2]), [Finding::Missing(2, 2)]);
        assert_eq!(without(&[2, 3]), [Finding::Missing(2, 3)]);
        assert_eq!(without(&[0]), [Finding::NoOpening]);
        // Without its closing, the end of a file is told by the next file or by the database.
        assert_eq!(without(&[4]), [Finding::Missing(4, 4)]);
        let twice = lines[..5].iter().chain(&lines);
        let found = findings(twice);
        assert_eq!(found.first(), Some(&Finding::Another(4)));
        let mut swapped = lines.clone();
        swapped.swap(2, 3);
        assert_eq!(findings(&swapped).first(), Some(&Finding::Missing(2, 2)));
    }
}
