//! Keys of metadata rows beside the entries.

/// Meta key: the key that signs paging cookies and names the order of writes.
pub const META_COOKIE_KEY: &[u8] = b"cookie-key";
/// Meta key: some entry is or was an alias.
pub const META_ALIASES: &[u8] = b"aliases";
/// Meta key: some entry is or was a referral object.
pub const META_REFERRALS: &[u8] = b"referrals";
/// Meta key: some entry is or was a subentry.
pub const META_SUBENTRIES: &[u8] = b"subentries";
/// Meta key: time of the last record in microseconds since 1970, big-endian.
pub const META_TIME: &[u8] = b"time";
