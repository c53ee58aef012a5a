//! Simple paged results (RFC 2696) with stateless cookies.
//!
//! A cookie says where the last page ended and is signed with a key kept in the database, so a
//! client can go on after a restart, on another connection, with any number of searches at once.

use protocol::ResultCode;
use store::EntryId;

use crate::stop::Stop;

/// The key that signs cookies; made once per database.
#[derive(Clone)]
pub(crate) struct CookieKey([u8; 32]);

const VERSION: u8 = 1;
const BODY_BYTES: usize = 1 + 2 + 8 + 8 + 8;
const TAG_BYTES: usize = 16;

/// Where a paged search stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PagePosition {
    /// The ordinal of the region being searched (more than one when aliases are dereferenced).
    pub region: u16,
    /// The last candidate that was looked at.
    pub after: EntryId,
    /// Entries sent by all pages so far.
    pub sent: u64,
    /// What the search asks: a cookie serves only the search it was made for.
    pub fingerprint: u64,
}

impl CookieKey {
    pub fn from_bytes(bytes: [u8; 32]) -> CookieKey {
        CookieKey(bytes)
    }

    /// The cookie for a position.
    pub fn seal(&self, at: &PagePosition) -> Vec<u8> {
        let mut cookie = Vec::with_capacity(BODY_BYTES + TAG_BYTES);
        cookie.push(VERSION);
        cookie.extend_from_slice(&at.region.to_be_bytes());
        cookie.extend_from_slice(&at.after.0.to_be_bytes());
        cookie.extend_from_slice(&at.sent.to_be_bytes());
        cookie.extend_from_slice(&at.fingerprint.to_be_bytes());
        let tag = blake3::keyed_hash(&self.0, &cookie);
        cookie.extend_from_slice(&tag.as_bytes()[..TAG_BYTES]);
        cookie
    }

    /// The position in a cookie of ours, for the search with this fingerprint.
    pub fn open(&self, cookie: &[u8], fingerprint: u64) -> Result<PagePosition, Stop> {
        self.read(cookie).filter(|at| at.fingerprint == fingerprint).map_or_else(
            || {
                Stop::refuse(
                    ResultCode::UNWILLING_TO_PERFORM,
                    "this paging cookie was not issued for this search: begin again without one",
                )
            },
            Ok,
        )
    }

    fn read(&self, cookie: &[u8]) -> Option<PagePosition> {
        if cookie.len() != BODY_BYTES + TAG_BYTES {
            return None;
        }
        let (body, tag) = cookie.split_at(BODY_BYTES);
        let expected = blake3::keyed_hash(&self.0, body);
        let mut expected_tag = [0; 32];
        expected_tag[..TAG_BYTES].copy_from_slice(&expected.as_bytes()[..TAG_BYTES]);
        let mut given_tag = [0; 32];
        given_tag[..TAG_BYTES].copy_from_slice(tag);
        // blake3::Hash compares in constant time.
        if blake3::Hash::from(expected_tag) != blake3::Hash::from(given_tag) || body[0] != VERSION {
            return None;
        }
        let number = |at: usize| {
            let bytes: [u8; 8] = body[at..at + 8]
                .try_into()
                .expect("eight bytes were cut out");
            u64::from_be_bytes(bytes)
        };
        Some(PagePosition {
            region: u16::from_be_bytes([body[1], body[2]]),
            after: EntryId(number(3)),
            sent: number(11),
            fingerprint: number(19),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_bound_to_its_search_and_its_key() {
        let key = CookieKey::from_bytes([7; 32]);
        let at = PagePosition {
            region: 1,
            after: EntryId(42),
            sent: 9,
            fingerprint: 5,
        };
        let cookie = key.seal(&at);
        assert_eq!(key.open(&cookie, 5).expect("ours"), at);
        assert!(key.open(&cookie, 6).is_err());
        assert!(CookieKey::from_bytes([8; 32]).open(&cookie, 5).is_err());
        for at in 0..cookie.len() {
            let mut bad = cookie.clone();
            bad[at] ^= 1;
            assert!(key.open(&bad, 5).is_err(), "byte {at}");
        }
        assert!(key.open(&cookie[1..], 5).is_err());
    }
}
