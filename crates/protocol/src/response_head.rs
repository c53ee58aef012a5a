//! The head of an encoded response: message id, kind and result code, read without the rest, of
//! which only the beginning may be there. By it responses are logged after they were written.

use crate::{MessageId, ResultCode};

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const ENUMERATED: u8 = 0x0a;
const SEARCH_ENTRY: u8 = 0x64;
const SEARCH_REFERENCE: u8 = 0x73;
const INTERMEDIATE: u8 = 0x79;

/// The kind of a response (RFC 4511 §4.1.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Said {
    /// An entry that a search found.
    Entry,
    /// A continuation reference of a search.
    Reference,
    /// An intermediate response.
    Intermediate,
    /// The last response of an operation.
    Result(ResultCode),
}

/// One response, of which only the beginning may be present.
#[derive(Debug, PartialEq, Eq)]
pub struct ResponseHead {
    /// The message id.
    pub id: MessageId,
    /// The kind, with the result code.
    pub said: Said,
    /// Length of the whole message in octets.
    pub length: usize,
}

/// The response at the start of `bytes`; `None` for any other bytes.
pub fn response_head(bytes: &[u8]) -> Option<ResponseHead> {
    let (tag, message, before_message) = element(bytes)?;
    let inside = bytes.get(before_message..)?;
    let (id_tag, id_length, before_id) = element(inside)?;
    let id = inside.get(before_id..before_id.checked_add(id_length)?)?;
    let operation = inside.get(before_id.checked_add(id_length)?..)?;
    let (kind, _, before_content) = element(operation)?;
    if tag != SEQUENCE || id_tag != INTEGER {
        return None;
    }
    let said = match kind {
        SEARCH_ENTRY => Said::Entry,
        SEARCH_REFERENCE => Said::Reference,
        INTERMEDIATE => Said::Intermediate,
        _ => {
            let content = operation.get(before_content..)?;
            let (tag, length, before_code) = element(content)?;
            let code = content.get(before_code..before_code.checked_add(length)?)?;
            if tag != ENUMERATED {
                return None;
            }
            Said::Result(ResultCode(u16::try_from(number(code)).ok()?))
        }
    };
    Some(ResponseHead {
        id: MessageId::try_from(number(id)).ok()?,
        said,
        length: before_message.checked_add(message)?,
    })
}

/// Tag of an element, length of its content, and number of octets before the content.
fn element(bytes: &[u8]) -> Option<(u8, usize, usize)> {
    let (tag, first) = (*bytes.first()?, *bytes.get(1)?);
    if first < 0x80 {
        return Some((tag, usize::from(first), 2));
    }
    let count = usize::from(first & 0x7f);
    let length = bytes.get(2..2 + count).filter(|it| it.len() <= 4)?;
    Some((tag, usize::try_from(number(length)).ok()?, 2 + count))
}

/// An unsigned number of at most eight octets.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |sum, it| sum << 8 | u64::from(*it))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LdapResult, ResultKind, response};

    #[test]
    fn results_are_read_as_they_are_written() {
        let mut out = Vec::new();
        for (id, code) in [(1, 0), (300, 49), (i32::MAX, 4096)] {
            out.clear();
            let result = LdapResult::new(ResultCode(code), "x".repeat(300));
            response::write_result(&mut out, id, ResultKind::SearchDone, &result, &[]);
            let expected = ResponseHead {
                id,
                said: Said::Result(ResultCode(code)),
                length: out.len(),
            };
            assert_eq!(response_head(&out), Some(expected));
        }
        // The beginning of an entry that is sent in parts.
        let part = [0x30, 0x84, 0, 1, 0, 0, 2, 1, 7, 0x64, 0x84, 0, 0, 255, 247];
        let read = response_head(&part).expect("a response");
        assert_eq!((read.id, read.said, read.length), (7, Said::Entry, 65_542));
        for cut in 0..part.len() {
            let _ = response_head(&part[..cut]);
        }
    }
}
