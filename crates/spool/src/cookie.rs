//! Simple paged results (RFC 2696) with stateless cookies.
//!
//! A cookie holds the end of the last page and is signed with a key stored in the database, so a
//! client can continue after a restart, on another connection, and with any number of searches at
//! once.

use protocol::ResultCode;
use store::EntryId;

use state::stop::Stop;

/// The key that signs cookies; made once for a database.
#[derive(Clone)]
pub struct CookieKey([u8; 32]);

const VERSION: u8 = 1;
/// Version byte of cookies of sorted searches and of context ids of views.
const VERSION_SORTED: u8 = 4;
const VERSION_CONTEXT: u8 = 5;
/// Version byte of cookies and context ids with a position, behind which the cookie itself stands.
const VERSION_POSITIONED: u8 = 6;
const BODY_BYTES: usize = 1 + 2 + 8 + 8 + 8;
const TAG_BYTES: usize = 16;

/// Position of a paged search.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PagePosition {
    /// Index of the region being searched (there are several if aliases are dereferenced).
    pub region: u16,
    /// Id of the last candidate looked at.
    pub after: EntryId,
    /// Number of entries sent by all pages so far.
    pub sent: u64,
    /// Fingerprint of the search: a cookie is valid only for the search it was made for.
    pub fingerprint: u64,
}

/// Position of a paged and sorted search.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SortedPosition {
    /// Sort key of the last entry sent.
    pub after: Box<[u8]>,
    /// Number of entries sent by all pages so far.
    pub sent: u64,
    /// Number of the list that the pages are parts of; 0 for none.
    pub list: u64,
}

fn foreign<T>() -> Result<T, Stop> {
    Stop::refuse(
        ResultCode::UNWILLING_TO_PERFORM,
        "this paging cookie was not issued for this search: begin again without one",
    )
}

impl CookieKey {
    /// The key of a database, as stored.
    pub fn from_bytes(bytes: [u8; 32]) -> CookieKey {
        CookieKey(bytes)
    }

    /// Identifier of this database's order of writes, equal on every copy.
    pub fn log(&self) -> [u8; 16] {
        let mut log = [0; 16];
        let whole = blake3::derive_key("Pando: name of the order of writes", &self.0);
        log.copy_from_slice(&whole[..16]);
        log
    }

    /// A salt for a name without one, equal on every server at all times.
    pub fn salt(&self, name: &[u8]) -> [u8; 16] {
        let mut salt = [0; 16];
        let whole = blake3::keyed_hash(&self.0, &[b"salt", name].concat());
        salt.copy_from_slice(&whole.as_bytes()[..16]);
        salt
    }

    /// A hash of a name that some client gave, by which equal names are recognised and which nobody
    /// without the key can search names for.
    pub fn name_hash(&self, name: &[u8]) -> [u8; 16] {
        let mut hash = [0; 16];
        let key = blake3::derive_key("Pando: names of failed binds", &self.0);
        hash.copy_from_slice(&blake3::keyed_hash(&key, name).as_bytes()[..16]);
        hash
    }

    /// The cookie of a position.
    pub fn seal(&self, at: &PagePosition) -> Vec<u8> {
        let mut cookie = Vec::with_capacity(BODY_BYTES + TAG_BYTES);
        cookie.push(VERSION);
        cookie.extend_from_slice(&at.region.to_be_bytes());
        cookie.extend_from_slice(&at.after.0.to_be_bytes());
        cookie.extend_from_slice(&at.sent.to_be_bytes());
        cookie.extend_from_slice(&at.fingerprint.to_be_bytes());
        self.sign(cookie)
    }

    /// The position in a cookie; refuses cookies that this key did not sign or that belong to
    /// another search.
    pub fn open(&self, cookie: &[u8], fingerprint: u64) -> Result<PagePosition, Stop> {
        self.read(cookie)
            .filter(|at| at.fingerprint == fingerprint)
            .map_or_else(foreign, Ok)
    }

    /// The cookie of a position in a sorted search.
    pub fn seal_sorted(&self, at: &SortedPosition, fingerprint: u64) -> Vec<u8> {
        let mut body = Vec::with_capacity(1 + 3 * 8 + at.after.len() + TAG_BYTES);
        body.push(VERSION_SORTED);
        body.extend_from_slice(&at.sent.to_be_bytes());
        body.extend_from_slice(&at.list.to_be_bytes());
        body.extend_from_slice(&fingerprint.to_be_bytes());
        body.extend_from_slice(&at.after);
        self.sign(body)
    }

    /// The position in a cookie of a sorted search; refuses others as [`open`](Self::open) does.
    pub fn open_sorted(&self, cookie: &[u8], fingerprint: u64) -> Result<SortedPosition, Stop> {
        let read = || {
            let (version, rest) = self.verified(cookie)?.split_first()?;
            let (sent, rest) = rest.split_first_chunk::<8>()?;
            let (list, rest) = rest.split_first_chunk::<8>()?;
            let (of, after) = rest.split_first_chunk::<8>()?;
            let ours = *version == VERSION_SORTED && u64::from_be_bytes(*of) == fingerprint;
            ours.then(|| SortedPosition {
                after: after.into(),
                sent: u64::from_be_bytes(*sent),
                list: u64::from_be_bytes(*list),
            })
        };
        read().map_or_else(foreign, Ok)
    }

    /// The context id of a viewed list, by the list's number.
    pub fn seal_context(&self, fingerprint: u64, list: u64) -> Vec<u8> {
        let mut body = vec![VERSION_CONTEXT];
        body.extend_from_slice(&fingerprint.to_be_bytes());
        body.extend_from_slice(&list.to_be_bytes());
        self.sign(body)
    }

    /// The number of the list that a context id names; `None` if it was not made by this key for
    /// the search with this fingerprint.
    pub fn open_context(&self, given: &[u8], fingerprint: u64) -> Option<u64> {
        let (version, body) = self.verified(given)?.split_first()?;
        let (of, list) = body.split_first_chunk::<8>()?;
        let list = u64::from_be_bytes(list.try_into().ok()?);
        let is_ours = *version == VERSION_CONTEXT && *of == fingerprint.to_be_bytes();
        is_ours.then_some(list)
    }

    /// The same cookie or context id, with the position of the state that its search has seen: a
    /// node of a cluster waits for that before it goes on with a search of another node.
    pub fn positioned(&self, cookie: &[u8], position: u64) -> Vec<u8> {
        let body = &cookie[..cookie.len().saturating_sub(TAG_BYTES)];
        let mut positioned = Vec::with_capacity(cookie.len() + 9);
        positioned.push(VERSION_POSITIONED);
        positioned.extend_from_slice(&position.to_be_bytes());
        positioned.extend_from_slice(body);
        self.sign(positioned)
    }

    /// The position in a cookie or context id; `None` if it has none, or if this key did not sign
    /// it.
    pub fn position_of(&self, cookie: &[u8]) -> Option<u64> {
        Some(positioned(self.signed(cookie)?)?.0)
    }

    /// Appends the tag to a cookie. Public for the fuzz body, whose mutations would otherwise never
    /// pass the tag.
    pub fn sign(&self, mut body: Vec<u8>) -> Vec<u8> {
        let tag = blake3::keyed_hash(&self.0, &body);
        body.extend_from_slice(&tag.as_bytes()[..TAG_BYTES]);
        body
    }

    /// The content of a signed cookie without its position; `None` if the tag is wrong.
    fn verified<'c>(&self, signed: &'c [u8]) -> Option<&'c [u8]> {
        let body = self.signed(signed)?;
        Some(positioned(body).map_or(body, |it| it.1))
    }

    /// What the tag of a cookie is for; `None` if the tag is wrong.
    fn signed<'c>(&self, signed: &'c [u8]) -> Option<&'c [u8]> {
        let (body, tag) = signed.split_last_chunk::<TAG_BYTES>()?;
        let mut expected = [0; 32];
        expected[..TAG_BYTES]
            .copy_from_slice(&blake3::keyed_hash(&self.0, body).as_bytes()[..TAG_BYTES]);
        let mut given = [0; 32];
        given[..TAG_BYTES].copy_from_slice(tag);
        // blake3::Hash compares in constant time.
        (blake3::Hash::from(expected) == blake3::Hash::from(given)).then_some(body)
    }

    fn read(&self, cookie: &[u8]) -> Option<PagePosition> {
        let body = self.verified(cookie)?;
        if body.len() != BODY_BYTES || body[0] != VERSION {
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

/// The position that stands before the body of a cookie, and that body; `None` if there is none.
fn positioned(body: &[u8]) -> Option<(u64, &[u8])> {
    let (version, rest) = body.split_first()?;
    let (position, rest) = rest.split_first_chunk::<8>()?;
    (*version == VERSION_POSITIONED).then_some((u64::from_be_bytes(*position), rest))
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

    #[test]
    fn cookies_of_one_kind_are_none_of_another() {
        let key = CookieKey::from_bytes([7; 32]);
        let at = SortedPosition {
            after: Box::from(*b"key"),
            sent: 3,
            list: 2,
        };
        let cookie = key.seal_sorted(&at, 5);
        assert_eq!(key.open_sorted(&cookie, 5).expect("ours"), at);
        assert!(key.open_sorted(&cookie, 6).is_err());
        assert!(key.open(&cookie, 5).is_err());
        assert_eq!(key.open_context(&cookie, 5), None);
        let context = key.seal_context(5, 9);
        assert_eq!(key.open_context(&context, 5), Some(9));
        assert_eq!(key.open_context(&context, 6), None);
        assert!(key.open_sorted(&context, 5).is_err());
        for at in 0..cookie.len() {
            let mut bad = cookie.clone();
            bad[at] ^= 1;
            assert!(key.open_sorted(&bad, 5).is_err(), "byte {at}");
        }
        assert_eq!(key.open_context(b"", 5), None);
    }

    #[test]
    fn a_cookie_may_have_a_position() {
        let key = CookieKey::from_bytes([7; 32]);
        let at = PagePosition {
            region: 1,
            after: EntryId(42),
            sent: 9,
            fingerprint: 5,
        };
        let plain = key.seal(&at);
        assert_eq!(key.position_of(&plain), None);
        let cookie = key.positioned(&plain, 1_234);
        assert_eq!(key.position_of(&cookie), Some(1_234));
        assert_eq!(key.open(&cookie, 5).expect("ours"), at);
        let context = key.positioned(&key.seal_context(5, 9), 7);
        assert_eq!(key.open_context(&context, 5), Some(9));
        assert_eq!(key.position_of(&context), Some(7));
        for at in 0..cookie.len() {
            let mut bad = cookie.clone();
            bad[at] ^= 1;
            assert!(key.open(&bad, 5).is_err(), "byte {at}");
            assert_eq!(key.position_of(&bad), None, "byte {at}");
        }
        assert_eq!(key.position_of(b""), None);
    }
}
