//! Streams of add requests in BER.

use crate::stop::Failure;
use protocol::ber::{OCTET_STRING, PartialAttribute, Reader, SEQUENCE};
use protocol::{AddRequest, DecodeError, DecodeLimits, Message, Request};
use std::io::Read;

/// A request of more bytes ends the import, as a record of LDIF does.
const REQUEST_BYTES_MAX: usize = 1 << 30;

/// The tag of an AddRequest, `[APPLICATION 8]`.
const ADD_REQUEST: u8 = 0x68;

/// Whole requests from a stream.
pub(super) struct BerPieces<R> {
    source: R,
    piece_bytes: usize,
    rest: Vec<u8>,
    next: u64,
    at_end: bool,
}

impl<R: Read> BerPieces<R> {
    pub fn new(source: R, piece_bytes: usize) -> BerPieces<R> {
        BerPieces {
            source,
            piece_bytes,
            rest: Vec::new(),
            next: 1,
            at_end: false,
        }
    }

    /// Requests and the number of the first.
    pub fn next(&mut self, origin: &str) -> Result<Option<(Vec<u8>, u64)>, Failure> {
        let mut bytes = std::mem::take(&mut self.rest);
        let mut wanted = self.piece_bytes.max(bytes.len() + 1);
        loop {
            let missing = (wanted - bytes.len()) as u64;
            let read = self.source.by_ref().take(missing).read_to_end(&mut bytes);
            let read = read.map_err(|error| Failure::file(format!("reading {origin}"), error))?;
            self.at_end = (read as u64) < missing;
            let (count, end) = whole(&bytes).map_err(|text| self.broken(origin, &text))?;
            if count == 0 && !self.at_end {
                if bytes.len() > REQUEST_BYTES_MAX {
                    return Err(self.broken(origin, "expected requests of at most 1 GiB"));
                }
                wanted = bytes.len() * 2;
                continue;
            }
            if self.at_end && end < bytes.len() {
                self.next += count;
                return Err(self.broken(origin, "expected a whole request, came the end"));
            }
            self.rest = bytes.split_off(end);
            let first = self.next;
            self.next += count;
            return Ok((count > 0).then_some((bytes, first)));
        }
    }

    fn broken(&self, origin: &str, text: &str) -> Failure {
        Failure::Input(format!("{origin}, request {}: {text}", self.next))
    }
}

/// How many whole elements `bytes` begins with, and where they end.
fn whole(bytes: &[u8]) -> Result<(u64, usize), String> {
    let (mut count, mut at) = (0, 0);
    while let Some(length) = element_length(&bytes[at..])? {
        if length > bytes.len() - at {
            break;
        }
        at += length;
        count += 1;
    }
    Ok((count, at))
}

/// Bytes of the element that `bytes` begins with; `None` while its header is incomplete.
fn element_length(bytes: &[u8]) -> Result<Option<usize>, String> {
    let [_, first, rest @ ..] = bytes else {
        return Ok(None);
    };
    if *first < 0x80 {
        return Ok(Some(2 + usize::from(*first)));
    }
    let octets = usize::from(first & 0x7f);
    if octets == 0 || octets > 4 {
        return Err("expected a definite length of at most four octets".to_owned());
    }
    let Some(length) = rest.get(..octets) else {
        return Ok(None);
    };
    let length = length
        .iter()
        .fold(0, |sum, octet| sum << 8 | usize::from(*octet));
    Ok(Some(2 + octets + length))
}

/// What follows the first element of a piece.
pub(crate) fn after_element(bytes: &[u8]) -> &[u8] {
    let length = element_length(bytes).ok().flatten().unwrap_or(bytes.len());
    bytes.get(length..).unwrap_or_default()
}

/// The next request of a piece and the bytes after it.
pub(crate) fn read_request(bytes: &[u8], bare: bool) -> Result<(AddRequest<'_>, &[u8]), String> {
    let rest = after_element(bytes);
    let element = &bytes[..bytes.len() - rest.len()];
    let spelled = |error: DecodeError| format!("expected an add request: {error}");
    if bare {
        return Ok((decode_bare(element).map_err(spelled)?, rest));
    }
    let limits = DecodeLimits {
        message_bytes_max: REQUEST_BYTES_MAX,
        ..DecodeLimits::default()
    };
    match Message::decode(element, &limits).map_err(spelled)?.request {
        Request::Add(request) => Ok((request, rest)),
        _ => Err("expected an add request, came another one".to_owned()),
    }
}

/// An AddRequest without its LDAPMessage.
fn decode_bare(element: &[u8]) -> Result<AddRequest<'_>, DecodeError> {
    let mut parts = Reader::new(element).nested(ADD_REQUEST)?;
    let entry = parts.text(OCTET_STRING)?;
    let mut list = parts.nested(SEQUENCE)?;
    let mut attributes = Vec::new();
    while !list.is_empty() {
        attributes.push(PartialAttribute::decode(&mut list)?);
    }
    parts.finish_extensible()?;
    Ok(AddRequest { entry, attributes })
}
