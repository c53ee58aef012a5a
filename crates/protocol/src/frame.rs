//! Finding where a message ends in a stream of bytes.

use crate::DecodeError;
use crate::ber::SEQUENCE;

/// The length in bytes of the first LDAPMessage in `buffer`, headers included.
///
/// `None` while the message is not complete. Fails as soon as the bytes cannot become a message of
/// at most `message_bytes_max` bytes, so that a peer never makes us buffer more than that.
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
                // The digits still to come can only make it longer.
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
