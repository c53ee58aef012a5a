//! Finding where a message ends in a stream of bytes.

use crate::DecodeError;
use crate::ber::SEQUENCE;

/// The length in bytes of the first LDAPMessage in `buffer`, headers included.
///
/// `None` while the message is not complete. Fails as soon as the bytes cannot become a message of
/// at most `message_bytes_max` bytes, so that a peer never makes the server buffer more than that.
#[inline]
pub fn frame(buffer: &[u8], message_bytes_max: usize) -> Result<Option<usize>, DecodeError> {
    match buffer {
        [] => Ok(None),
        [SEQUENCE] => Ok(None),
        [SEQUENCE, length @ 0..=0x7F, ..] => whole(
            buffer,
            usize::from(*length).saturating_add(2),
            message_bytes_max,
        ),
        [SEQUENCE, 0x80, ..] => Err(DecodeError::IndefiniteLength),
        // X.690 §8.1.3.5: reserved, and longer than any limit.
        [SEQUENCE, 0xFF, ..] => Err(DecodeError::beyond(message_bytes_max)),
        [SEQUENCE, first, rest @ ..] => {
            let octets = usize::from(*first & 0x7F);
            let known = rest.get(..octets).unwrap_or(rest);
            let value = known.iter().fold(0_u64, |sum, octet| {
                sum.checked_mul(256)
                    .map_or(u64::MAX, |sum| sum | u64::from(*octet))
            });
            let content = usize::try_from(value).unwrap_or(usize::MAX);
            let total = content.saturating_add(octets).saturating_add(2);
            if known.len() < octets {
                // The missing digits can only increase the length.
                return within(total, message_bytes_max).map(|_| None);
            }
            whole(buffer, total, message_bytes_max)
        }
        [found, ..] => Err(DecodeError::UnexpectedTag {
            expected: SEQUENCE,
            found: *found,
        }),
    }
}

#[inline]
fn whole(buffer: &[u8], total: usize, limit: usize) -> Result<Option<usize>, DecodeError> {
    let total = within(total, limit)?;
    Ok(if buffer.len() < total {
        None
    } else {
        Some(total)
    })
}

#[inline]
fn within(total: usize, limit: usize) -> Result<usize, DecodeError> {
    if total > limit {
        return Err(DecodeError::beyond(limit));
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: usize = 1000;

    #[test]
    fn a_message_is_whole_or_not() {
        let short = [SEQUENCE, 3, 1, 2, 3, 9, 9];
        let mut long = vec![SEQUENCE, 0x82, 1, 0];
        long.resize(4 + 256 + 1, 7);
        for (bytes, length) in [(&short[..], 5), (&long, 260)] {
            for end in 0..bytes.len() {
                let expected = if end < length { None } else { Some(length) };
                assert_eq!(
                    frame(&bytes[..end], LIMIT),
                    Ok(expected),
                    "{end} of {length}"
                );
            }
        }
    }

    #[test]
    fn padded_lengths_are_lengths() {
        assert_eq!(frame(&[SEQUENCE, 0x84, 0, 0, 0, 1, 7], LIMIT), Ok(Some(7)));
    }

    #[test]
    fn what_cannot_become_a_message_is_refused_at_once() {
        let beyond = Err(DecodeError::LengthBeyondLimit { limit: 1000 });
        assert_eq!(frame(&[SEQUENCE, 0x82, 0x03, 0xE8], LIMIT), beyond);
        assert_eq!(
            frame(&[SEQUENCE, 0x82, 0x03, 0xE4], LIMIT),
            Ok(None),
            "1000 with its header"
        );
        assert_eq!(
            frame(&[SEQUENCE, 0x84, 1, 1], LIMIT),
            Ok(None),
            "257 so far"
        );
        assert_eq!(
            frame(&[SEQUENCE, 0x84, 255, 255], LIMIT),
            beyond,
            "65535 so far"
        );
        assert_eq!(
            frame(&[SEQUENCE, 0x8A, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0], LIMIT),
            beyond
        );
        assert_eq!(frame(&[SEQUENCE, 0xFF], LIMIT), beyond);
        assert_eq!(
            frame(&[SEQUENCE, 0x80], LIMIT),
            Err(DecodeError::IndefiniteLength)
        );
        let http = DecodeError::UnexpectedTag {
            expected: SEQUENCE,
            found: b'G',
        };
        assert_eq!(frame(b"GET / HTTP/1.1", LIMIT), Err(http));
    }
}
