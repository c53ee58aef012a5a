//! Streams of add requests in BER.

use protocol::ber::{OCTET_STRING, PartialAttribute, Reader, SEQUENCE};
use protocol::ldif::LdifAttribute;
use protocol::{AddRequest, DecodeError, DecodeLimits, Message, Request};
use state::stop::Failure;
use std::borrow::Cow;
use std::io::Read;

/// Maximum length of a request in bytes; a longer request ends its stream.
const REQUEST_BYTES_MAX: usize = 1 << 30;

/// The tag of an AddRequest, `[APPLICATION 8]`.
pub(super) const ADD_REQUEST: u8 = 0x68;

/// Splits a stream into pieces of whole requests.
pub(crate) struct BerPieces<R> {
    source: R,
    piece_bytes: usize,
    /// Tag of every element.
    tag: u8,
    rest: Vec<u8>,
    next: u64,
    offset: u64,
    at_end: bool,
    /// Reason why the stream cannot be read on.
    broken: Option<String>,
}

/// A piece of a stream.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BerPiece {
    /// Whole elements.
    Requests {
        requests: Vec<u8>,
        /// Number of the first element, from 1.
        first: u64,
        /// Offset of the first element in the stream.
        offset: u64,
    },
    /// The start of the next request is unknown, so the stream ends.
    Broken {
        number: u64,
        offset: u64,
        reason: String,
    },
}

impl<R: Read> BerPieces<R> {
    /// Reads LDAPMessages, or bare requests. Pieces have about `piece_bytes` bytes, or one request.
    pub fn new(source: R, piece_bytes: usize, bare: bool) -> BerPieces<R> {
        BerPieces {
            source,
            piece_bytes,
            tag: if bare { ADD_REQUEST } else { SEQUENCE },
            rest: Vec::new(),
            next: 1,
            offset: 0,
            at_end: false,
            broken: None,
        }
    }

    /// The next piece; `None` at the end.
    pub fn next(&mut self, origin: &str) -> Result<Option<BerPiece>, Failure> {
        if let Some(reason) = self.broken.take() {
            self.at_end = true;
            return Ok(Some(BerPiece::Broken {
                number: self.next,
                offset: self.offset,
                reason,
            }));
        }
        let mut bytes = std::mem::take(&mut self.rest);
        let mut wanted = self.piece_bytes.max(bytes.len() + 1);
        while !self.at_end {
            let missing = (wanted - bytes.len()) as u64;
            let read = self.source.by_ref().take(missing).read_to_end(&mut bytes);
            let read = read.map_err(|error| Failure::file(format!("reading {origin}"), error))?;
            self.at_end = (read as u64) < missing;
            let whole = whole(&bytes, self.tag);
            if whole.count == 0 && whole.problem.is_none() && !self.at_end {
                wanted = bytes.len() * 2;
                continue;
            }
            let cut = self.at_end && whole.end < bytes.len();
            let end = "expected a whole request, got the end";
            self.broken = whole.problem.or(cut.then(|| end.to_owned()));
            if self.broken.is_some() {
                self.at_end = true;
                bytes.truncate(whole.end);
            } else {
                self.rest = bytes.split_off(whole.end);
            }
            if whole.count == 0 {
                break;
            }
            let (first, offset) = (self.next, self.offset);
            self.next += whole.count;
            self.offset += whole.end as u64;
            return Ok(Some(BerPiece::Requests {
                requests: bytes,
                first,
                offset,
            }));
        }
        match self.broken {
            Some(_) => self.next(origin),
            None => Ok(None),
        }
    }
}

/// The complete elements at the start of a buffer.
struct Whole {
    count: u64,
    end: usize,
    /// The error in the bytes behind the elements; `None` if they are the begin of an element.
    problem: Option<String>,
}

fn whole(bytes: &[u8], tag: u8) -> Whole {
    let (mut count, mut end) = (0, 0);
    let problem = loop {
        let rest = &bytes[end..];
        if rest.first().is_some_and(|it| *it != tag) {
            let came = rest.first().copied().unwrap_or_default();
            break Some(format!("expected the tag {tag:02x}, got {came:02x}"));
        }
        match element_length(rest) {
            Err(reason) => break Some(reason),
            Ok(Some(length)) if length <= rest.len() => {
                end += length;
                count += 1;
            }
            Ok(_) => break None,
        }
    };
    Whole {
        count,
        end,
        problem,
    }
}

/// Length in bytes of the first element; `None` while its header is incomplete.
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
    if length > REQUEST_BYTES_MAX {
        return Err(format!(
            "expected a request of at most 1 GiB, got one of {length} bytes"
        ));
    }
    Ok(Some(2 + octets + length))
}

/// The bytes behind the first element.
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
        _ => Err("expected an add request, got another one".to_owned()),
    }
}

/// The attributes of a request as single values, in order.
pub(crate) fn values_of<'r>(request: &AddRequest<'r>) -> Vec<LdifAttribute<'r>> {
    let attributes = request.attributes.iter();
    attributes
        .flat_map(|it| {
            let values = it.values.iter();
            values.map(move |value| (it.description, Cow::Borrowed(value)))
        })
        .collect()
}

/// Decodes a bare AddRequest.
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

#[cfg(test)]
mod tests {
    use super::*;

    /// All bytes of a stream, read in pieces of this size.
    fn pieces(bytes: &[u8], piece_bytes: usize) -> (Vec<u8>, u64, Option<(u64, u64, String)>) {
        let mut stream = BerPieces::new(bytes, piece_bytes, true);
        let (mut all, mut last) = (Vec::new(), 0);
        while let Some(piece) = stream.next("test").expect("memory can be read") {
            match piece {
                BerPiece::Requests {
                    requests,
                    first,
                    offset,
                } => {
                    assert_eq!((offset, last + 1), (all.len() as u64, first));
                    last = first - 1 + whole(&requests, ADD_REQUEST).count;
                    all.extend(requests);
                }
                BerPiece::Broken {
                    number,
                    offset,
                    reason,
                } => {
                    assert_eq!(stream.next("test").expect("read"), None);
                    return (all, last, Some((number, offset, reason)));
                }
            }
        }
        (all, last, None)
    }

    #[test]
    fn streams_are_cut_between_requests_wherever_they_break() {
        let good = [&[ADD_REQUEST, 3, 1, 2, 3][..]; 7].concat();
        for piece_bytes in [1, 4, 5, 6, 1000] {
            assert_eq!(pieces(&good, piece_bytes), (good.clone(), 7, None));
            for (tail, reason) in [
                (&[0x42][..], "the tag 68, got 42"),
                (&[ADD_REQUEST, 0x80, 0, 0], "definite length"),
                (&[ADD_REQUEST, 0x84, 0xff, 0, 0, 0], "at most 1 GiB"),
                (&[ADD_REQUEST, 2, 0], "got the end"),
                (&[ADD_REQUEST], "got the end"),
            ] {
                let bad = [&good, tail].concat();
                let (all, last, broken) = pieces(&bad, piece_bytes);
                let (number, offset, text) = broken.expect("it is broken");
                assert_eq!((all.as_slice(), last), (good.as_slice(), 7));
                assert_eq!((number, offset), (8, 35));
                assert!(text.contains(reason), "{text}");
            }
        }
    }
}
