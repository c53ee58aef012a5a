//! From bytes to logical lines: where records end, unfolding, comments, base64.
//!
//! Decoded values are appended to one buffer, and lines point into it or into the text, so a record
//! needs no allocation per value.

use std::fmt;
use std::ops::Range;

use super::LdifError;
use crate::base64;

/// The text of one record within its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RecordText<'a> {
    /// Line of its first byte, from 1 if the caller counted so.
    pub line: u64,
    /// The record without the blank line after it.
    pub text: &'a [u8],
}

/// The records of `text`, of which line `first_line` is the first.
/// Comments, blank lines and `version: 1` alone are no records.
pub fn split_records(text: &[u8], first_line: u64) -> Records<'_> {
    Records {
        text,
        cursor: RecordCursor::new(first_line),
    }
}

/// Iterator over the records of a text; see [`split_records`].
#[derive(Clone, Debug)]
pub struct Records<'a> {
    text: &'a [u8],
    cursor: RecordCursor,
}

impl<'a> Iterator for Records<'a> {
    type Item = RecordText<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        let (line, range) = self.cursor.next(self.text, true)?;
        Some(RecordText {
            line,
            text: self.text.get(range)?,
        })
    }
}

/// End of the last whole record of `text`, after its blank line; `None` if no record ends in
/// `text`. The parts of `text` before and after this place can be parsed independently.
pub fn last_boundary(text: &[u8]) -> Option<usize> {
    let mut end = text.len();
    while let Some(at) = text.get(..end)?.iter().rposition(|byte| *byte == b'\n') {
        match text.get(..at)? {
            [.., b'\n'] | [.., b'\n', b'\r'] => return Some(at + 1),
            _ => end = at,
        }
    }
    None
}

/// Number of line ends in `text`.
pub(super) fn count_lines(text: &[u8]) -> u64 {
    // A byte-wide counter lets the compiler compare 16 bytes at once; 255 is its greatest value.
    let ends = |part: &[u8]| part.iter().map(|byte| u8::from(*byte == b'\n')).sum::<u8>();
    text.chunks(255).map(|part| u64::from(ends(part))).sum()
}

/// Byte order mark, which some editors write before the first line.
const BYTE_ORDER_MARK: &[u8] = "\u{FEFF}".as_bytes();

/// A position in a growing text, moving from record to record.
#[derive(Clone, Debug)]
pub(super) struct RecordCursor {
    /// Start of the record being looked for.
    pub(super) start: usize,
    /// No record ends between `start` and this place. start <= scanned
    scanned: usize,
    /// Line of `start`.
    pub(super) line: u64,
    /// Line ends between `start` and `scanned`.
    newlines: u64,
    /// Whether the first bytes of the input have been examined.
    begun: bool,
}

impl RecordCursor {
    pub(super) fn new(line: u64) -> RecordCursor {
        RecordCursor {
            start: 0,
            scanned: 0,
            line,
            newlines: 0,
            begun: line > 1,
        }
    }

    /// Line and range of the next record; `None` if `text` has no further complete one. Without a
    /// blank line after it, the last record is complete only if `at_end`.
    pub(super) fn next(&mut self, text: &[u8], at_end: bool) -> Option<(u64, Range<usize>)> {
        loop {
            self.skip_blank_lines(text);
            let (end, after) = self.find_end(text, at_end)?;
            let (line, range) = (self.line, self.start..end);
            self.scanned = after;
            self.skip_scanned();
            if text.get(range.clone()).is_some_and(has_content) {
                return Some((line, range));
            }
        }
    }

    /// Continues to the end of the current record, or of the text. Returns whether the end of the
    /// record was found.
    pub(super) fn skip_record(&mut self, text: &[u8], at_end: bool) -> bool {
        let end = self.find_end(text, at_end);
        self.scanned = end.map_or(self.scanned, |(_, after)| after);
        self.skip_scanned();
        end.is_some()
    }

    /// Adjusts the position after the first `count` bytes of the text are removed.
    pub(super) fn forget(&mut self, count: usize) {
        self.start = self.start.saturating_sub(count);
        self.scanned = self.scanned.saturating_sub(count);
    }

    fn skip_scanned(&mut self) {
        self.start = self.scanned;
        self.line += self.newlines;
        self.newlines = 0;
    }

    /// Skips a byte order mark at the beginning of the input.
    fn begin(&mut self, text: &[u8]) {
        if text.starts_with(BYTE_ORDER_MARK) {
            self.start = BYTE_ORDER_MARK.len();
        }
        // Possibly only its first bytes have been read.
        self.begun = text.len() >= BYTE_ORDER_MARK.len() || !BYTE_ORDER_MARK.starts_with(text);
    }

    fn skip_blank_lines(&mut self, text: &[u8]) {
        if !self.begun {
            self.begin(text);
        }
        loop {
            let length = match text.get(self.start..) {
                Some([b'\n', ..]) => 1,
                Some([b'\r', b'\n', ..]) => 2,
                _ => break,
            };
            self.start += length;
            self.line += 1;
        }
        self.scanned = self.scanned.max(self.start);
    }

    /// End of the record at `start`, and end of the blank line after it.
    fn find_end(&mut self, text: &[u8], at_end: bool) -> Option<(usize, usize)> {
        while let Some(found) = text.get(self.scanned..).and_then(|rest| find(rest, b'\n')) {
            let newline = self.scanned + found;
            let blank = match text.get(newline + 1..) {
                Some([b'\n', ..]) => Some(1),
                Some([b'\r', b'\n', ..]) => Some(2),
                // The next byte decides, so this line end must be examined again.
                Some([] | [b'\r']) if !at_end => {
                    self.scanned = newline;
                    return None;
                }
                _ => None,
            };
            self.newlines += 1;
            self.scanned = newline + 1;
            if let Some(length) = blank {
                self.newlines += 1;
                return Some((newline, newline + 1 + length));
            }
        }
        self.scanned = text.len();
        (at_end && self.start < text.len()).then_some((text.len(), text.len()))
    }
}

/// Whether a block of lines has more than comments and `version: 1`.
fn has_content(text: &[u8]) -> bool {
    // Nearly every record starts with its dn.
    if matches!(text.first(), Some(b'd' | b'D')) {
        return true;
    }
    let mut comment = false;
    PhysicalLines(text).any(|line| {
        let folded = line.first() == Some(&b' ');
        comment = line.first() == Some(&b'#') || comment && folded;
        !comment && !line.is_empty() && !is_version_one(line)
    })
}

fn is_version_one(line: &[u8]) -> bool {
    let mut parts = line.splitn(2, |byte| *byte == b':');
    parts
        .next()
        .is_some_and(|name| name.eq_ignore_ascii_case(b"version"))
        && parts.next().is_some_and(|value| value.trim_ascii() == b"1")
}

/// Lines of the text, folded as there, without their line ends.
struct PhysicalLines<'a>(&'a [u8]);

impl<'a> Iterator for PhysicalLines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        if self.0.is_empty() {
            return None;
        }
        let (line, rest) = match find(self.0, b'\n').and_then(|at| self.0.split_at_checked(at)) {
            Some((line, rest)) => (line, rest.get(1..).unwrap_or_default()),
            None => (self.0, &[][..]),
        };
        self.0 = rest;
        Some(line.strip_suffix(b"\r").unwrap_or(line))
    }
}

/// Place of the first `byte`: eight at a time, twice as fast as one by one.
fn find(text: &[u8], byte: u8) -> Option<usize> {
    const LOWEST: u64 = u64::from_ne_bytes([0x01; 8]);
    const HIGHEST: u64 = u64::from_ne_bytes([0x80; 8]);
    let wanted = u64::from_ne_bytes([byte; 8]);
    let (words, rest) = text.as_chunks::<8>();
    for (at, word) in words.iter().enumerate() {
        // The byte is where this has a zero; taking one away from a zero sets its highest bit.
        let zeros = u64::from_le_bytes(*word) ^ wanted;
        let found = zeros.wrapping_sub(LOWEST) & !zeros & HIGHEST;
        if found != 0 {
            return Some(8 * at + (found.trailing_zeros() / 8) as usize);
        }
    }
    let at = rest.iter().position(|it| *it == byte)?;
    Some(8 * words.len() + at)
}

/// Reads the value of a URL (`attribute:< file:///…`) into the buffer; the error says why that is
/// impossible.
pub type UrlReader = Box<dyn FnMut(&str, &mut Vec<u8>) -> Result<(), String> + Send>;

/// Buffers for parsing one record after the other. A record borrows from its scratch.
#[derive(Default)]
pub struct LdifScratch {
    pub(super) lines: Vec<Line>,
    /// Values and descriptions that are not in the text unencoded.
    pub(super) decoded: Vec<u8>,
    /// The current logical line, if it is folded.
    unfolded: Vec<u8>,
    url_reader: Option<UrlReader>,
}

impl LdifScratch {
    /// Buffers; values given by URL are errors.
    pub fn new() -> LdifScratch {
        LdifScratch::default()
    }

    /// Buffers that read values given by URL through `url_reader`. Only for input that is allowed
    /// to make this process read files.
    pub fn with_urls(url_reader: UrlReader) -> LdifScratch {
        LdifScratch {
            url_reader: Some(url_reader),
            ..LdifScratch::default()
        }
    }

    /// Replaces the lines by those of `text`.
    pub(super) fn scan(&mut self, text: &[u8], first_line: u64) -> Result<(), LdifError> {
        self.lines.clear();
        self.decoded.clear();
        let mut physical = PhysicalLines(text);
        let mut number = first_line;
        loop {
            let (line, start) = (number, text.len() - physical.0.len());
            let Some(first) = physical.next() else {
                return Ok(());
            };
            number += 1;
            let is_folded = physical.0.first() == Some(&b' ');
            self.unfolded.clear();
            if is_folded {
                self.unfolded.extend_from_slice(first);
                while physical.0.first() == Some(&b' ') {
                    let part = physical
                        .next()
                        .and_then(|part| part.get(1..))
                        .unwrap_or_default();
                    self.unfolded.extend_from_slice(part);
                    number += 1;
                }
            }
            if first.is_empty() && !is_folded || first.first() == Some(&b'#') {
                continue;
            }
            self.scan_line(LineText {
                number: line,
                start,
                first,
                is_folded,
            })?;
        }
    }

    /// Appends one logical line.
    fn scan_line(&mut self, at: LineText<'_>) -> Result<(), LdifError> {
        // Taken out so that decoding can read it while it writes elsewhere in self.
        let unfolded = std::mem::take(&mut self.unfolded);
        let logical = if at.is_folded {
            unfolded.as_slice()
        } else {
            at.first
        };
        let line = self.line(&at, logical);
        self.unfolded = unfolded;
        self.lines.push(line?);
        Ok(())
    }

    fn line(&mut self, at: &LineText<'_>, logical: &[u8]) -> Result<Line, LdifError> {
        let number = at.number;
        if logical.trim_ascii_end() == b"-" {
            let nothing = Span::text(at.start, 0);
            return Ok(Line {
                number,
                description: nothing,
                value: nothing,
                separator: true,
            });
        }
        let colon = description_length(logical).map_err(|it| LdifError::new(number, it))?;
        let (name, value) = logical.split_at(colon);
        let description = if colon < at.first.len() {
            Span::text(at.start, colon)
        } else {
            self.keep(name)
        };
        let value = match value {
            [b':', b':', base64 @ ..] => {
                let start = self.decoded.len();
                base64::decode_into(&mut self.decoded, base64.trim_ascii())
                    .map_err(|error| LdifError::new(number, error.message))?;
                Span::decoded(start, self.decoded.len())
            }
            [b':', b'<', url @ ..] => {
                let start = self.decoded.len();
                self.read_url(url.trim_ascii())
                    .map_err(|it| LdifError::new(number, it))?;
                Span::decoded(start, self.decoded.len())
            }
            [_, rest @ ..] => {
                let spaces = rest.iter().take_while(|byte| **byte == b' ').count();
                let plain = rest.get(spaces..).unwrap_or_default();
                if at.is_folded {
                    self.keep(plain)
                } else {
                    Span::text(at.start + colon + 1 + spaces, plain.len())
                }
            }
            [] => Span::text(at.start, 0),
        };
        Ok(Line {
            number,
            description,
            value,
            separator: false,
        })
    }

    fn keep(&mut self, bytes: &[u8]) -> Span {
        let start = self.decoded.len();
        self.decoded.extend_from_slice(bytes);
        Span::decoded(start, self.decoded.len())
    }

    fn read_url(&mut self, url: &[u8]) -> Result<(), String> {
        let Ok(url) = std::str::from_utf8(url) else {
            return Err("expected a URL, got bytes that are not UTF-8".to_owned());
        };
        match &mut self.url_reader {
            Some(read) => read(url, &mut self.decoded),
            None => Err(format!(
                "expected a value, got the URL '{url}', which may not be read"
            )),
        }
    }
}

impl fmt::Debug for LdifScratch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LdifScratch")
            .field("lines", &self.lines.len())
            .finish_non_exhaustive()
    }
}

/// An unparsed logical line.
struct LineText<'t> {
    number: u64,
    /// Place of `first` in the text.
    start: usize,
    /// First physical line of the logical line.
    first: &'t [u8],
    is_folded: bool,
}

/// A logical line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) description: Span,
    pub(super) value: Span,
    /// The line is `-`.
    pub(super) separator: bool,
}

/// A range of bytes, in the record's text or in the decoded bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    is_decoded: bool,
    start: usize,
    end: usize,
}

impl Span {
    fn text(start: usize, length: usize) -> Span {
        Span {
            is_decoded: false,
            start,
            end: start + length,
        }
    }

    fn decoded(start: usize, end: usize) -> Span {
        Span {
            is_decoded: true,
            start,
            end,
        }
    }

    pub(super) fn of<'a>(self, text: &'a [u8], decoded: &'a [u8]) -> &'a [u8] {
        let bytes = if self.is_decoded { decoded } else { text };
        bytes.get(self.start..self.end).unwrap_or_default()
    }
}

/// Length of the attribute description before the colon; the error names the mistake.
fn description_length(line: &[u8]) -> Result<usize, String> {
    let length = line
        .iter()
        .take_while(|byte| is_description_byte(**byte))
        .count();
    match line.get(length) {
        Some(b':') if length > 0 => Ok(length),
        _ => {
            let shown = line.get(..40).unwrap_or(line).escape_ascii();
            Err(format!(
                "expected an attribute description and ':', got '{shown}'"
            ))
        }
    }
}

/// RFC 4512 §2.5, and characters in options and macros of other directory servers.
pub(super) fn is_description_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b';' | b'.' | b'_' | b'=')
}
