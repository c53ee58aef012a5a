//! Entries as octets of each output, cut into pieces of bounded size.

use protocol::ber;
use protocol::ldif::LdifWriter;

use super::piece::{FilterKind, Format, PIECE_BYTES, Piece, Stop, Wanted};
use crate::template::{Attribute, Entry};

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const INTEGER: u8 = 0x02;
const OCTET_STRING: u8 = 0x04;
const ADD_REQUEST: u8 = 0x68;

pub(crate) struct Encoder<'a, F> {
    wanted: &'a Wanted,
    piece: Piece,
    /// Callback that takes a piece; `false` when no more are wanted.
    hand_on: F,
    unwanted: bool,
    /// Content octets of each attribute's values, for BER.
    lengths: Vec<usize>,
}

impl<'a, F: FnMut(Piece) -> bool> Encoder<'a, F> {
    pub fn new(wanted: &'a Wanted, hand_on: F) -> Encoder<'a, F> {
        let mut piece = Piece::default();
        if wanted.entries.is_some() {
            piece.octets[0].reserve(PIECE_BYTES);
        }
        Encoder {
            wanted,
            piece,
            hand_on,
            unwanted: false,
            lengths: Vec::new(),
        }
    }

    /// Passes on the remaining piece; `false` when no more runs are wanted.
    pub fn finish(mut self) -> bool {
        self.piece.last = true;
        !self.unwanted && (self.hand_on)(self.piece)
    }

    pub fn entry(&mut self, entry: &Entry<'_>) -> Result<(), Stop> {
        match self.wanted.entries {
            None => {}
            Some(Format::Ldif { fold_columns }) => self.ldif(entry, LdifWriter::new(fold_columns)),
            Some(format) => self.ber(entry, format == Format::BerMessages),
        }
        self.lists(entry);
        self.piece.entries += 1;
        self.cut();
        if self.unwanted {
            Err(Stop::Unwanted)
        } else {
            Ok(())
        }
    }

    /// Passes on the piece when it is large.
    fn cut(&mut self) {
        if self.piece.octets.iter().map(Vec::len).sum::<usize>() < PIECE_BYTES || self.unwanted {
            return;
        }
        let full = std::mem::take(&mut self.piece);
        self.unwanted = !(self.hand_on)(full);
    }

    /// Visits the values of an attribute and passes on full pieces in between; `put` must append
    /// values.
    fn values(&mut self, attribute: &Attribute<'_>, mut put: impl FnMut(&mut Vec<u8>, &[u8])) {
        match attribute.slices() {
            Some(values) => values.for_each(|value| put(&mut self.piece.octets[0], value)),
            None => attribute.for_each(|value| {
                put(&mut self.piece.octets[0], value);
                self.cut();
            }),
        }
    }

    fn ldif(&mut self, entry: &Entry<'_>, writer: LdifWriter) {
        writer.put_dn(&mut self.piece.octets[0], entry.dn());
        for attribute in entry.attributes() {
            let description = attribute.description();
            self.values(&attribute, |out, value| {
                writer.put_value(out, description, value)
            });
        }
        writer.end_record(&mut self.piece.octets[0]);
    }

    /// Writes an AddRequest: lengths are computed first, since BER writes them in front of the
    /// values.
    fn ber(&mut self, entry: &Entry<'_>, in_message: bool) {
        self.lengths.clear();
        let mut list = 0;
        for attribute in entry.attributes() {
            let mut set = 0;
            let mut add = |value: &[u8]| set += ber::header_length(value.len()) + value.len();
            match attribute.slices() {
                Some(values) => values.for_each(add),
                None => attribute.for_each(&mut add),
            }
            self.lengths.push(set);
            list += whole(attribute_content(attribute.description(), set));
        }
        let request = whole(entry.dn().len()) + whole(list);
        let out = &mut self.piece.octets[0];
        if in_message {
            let id = (entry.index() % i32::MAX as u64 + 1) as i64;
            let id_octets = ber::integer_length(id);
            ber::put_header(out, SEQUENCE, 2 + id_octets + whole(request));
            ber::put_integer(out, INTEGER, id);
        }
        ber::put_header(out, ADD_REQUEST, request);
        ber::put_octets(out, OCTET_STRING, entry.dn().as_bytes());
        ber::put_header(out, SEQUENCE, list);
        for (position, attribute) in entry.attributes().enumerate() {
            let set = self.lengths[position];
            let out = &mut self.piece.octets[0];
            ber::put_header(
                out,
                SEQUENCE,
                attribute_content(attribute.description(), set),
            );
            ber::put_octets(out, OCTET_STRING, attribute.description().as_bytes());
            ber::put_header(out, SET, set);
            self.values(&attribute, |out, value| {
                ber::put_octets(out, OCTET_STRING, value)
            });
        }
    }

    fn lists(&mut self, entry: &Entry<'_>) {
        let [_, names, binds, logins, filters] = &mut self.piece.octets;
        if self.wanted.names {
            put_line(names, &[entry.dn().as_bytes()]);
        }
        let password = || entry.attribute("userPassword").and_then(|it| it.first());
        if self.wanted.binds
            && let Some(password) = password()
        {
            put_line(binds, &[entry.dn().as_bytes(), b"\t", password]);
        }
        if let Some(attribute) = &self.wanted.logins
            && let Some(login) = entry.attribute(attribute).and_then(|it| it.first())
            && let Some(password) = password()
        {
            put_line(logins, &[login, b"\t", password]);
        }
        if let Some((description, kind)) = &self.wanted.filters
            && let Some(attribute) = entry.attribute(description)
        {
            attribute.for_each(|value| put_filter(filters, description, *kind, value));
        }
    }
}

/// Octets of an element with so much content.
fn whole(content: usize) -> usize {
    ber::header_length(content) + content
}

fn attribute_content(description: &str, set: usize) -> usize {
    whole(description.len()) + whole(set)
}

fn put_line(out: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|part| out.extend_from_slice(part));
    out.push(b'\n');
}

/// Appends a filter (RFC 4515) and a line end.
fn put_filter(out: &mut Vec<u8>, attribute: &str, kind: FilterKind, value: &[u8]) {
    let half = value.len().div_ceil(2);
    let quarter = value.len() / 4;
    let (before, part, after): (&[u8], &[u8], &[u8]) = match kind {
        FilterKind::Equality => (b"=", value, b""),
        FilterKind::Presence => (b"=*", b"", b""),
        FilterKind::Initial => (b"=", &value[..half], b"*"),
        FilterKind::Any => (b"=*", &value[quarter..quarter + half], b"*"),
        FilterKind::Final => (b"=*", &value[value.len() - half..], b""),
        FilterKind::GreaterOrEqual => (b">=", value, b""),
        FilterKind::LessOrEqual => (b"<=", value, b""),
    };
    out.push(b'(');
    out.extend_from_slice(attribute.as_bytes());
    out.extend_from_slice(before);
    put_assertion(out, part);
    out.extend_from_slice(after);
    out.extend_from_slice(b")\n");
}

/// Appends an assertion value with the escapes of RFC 4515 §3; octets outside ASCII and control
/// characters are escaped too, so that each filter stays on one line even when a character was cut.
pub(crate) fn put_assertion(out: &mut Vec<u8>, value: &[u8]) {
    for &byte in value {
        if byte.is_ascii_graphic() && !matches!(byte, b'*' | b'(' | b')' | b'\\') || byte == b' ' {
            out.push(byte);
        } else {
            let digit = |nibble: u8| b"0123456789abcdef"[usize::from(nibble)];
            out.extend_from_slice(&[b'\\', digit(byte >> 4), digit(byte & 15)]);
        }
    }
}
