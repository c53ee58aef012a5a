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
/// Meta key: the format level of the database, big-endian in 4 bytes. Missing at the first level.
pub const META_LEVEL: &[u8] = b"level";
/// Meta key: the end of the audit's chain, as [`audit::Head`] encodes it. Missing until the audit
/// begins for the first time.
pub const META_AUDIT: &[u8] = b"audit";
/// Meta key: the cluster that the database belongs to, as identifier (16 bytes) and generation (8
/// bytes, big-endian). Missing in the database of a node alone.
pub const META_CLUSTER: &[u8] = b"cluster";
/// Meta key: place in the cluster's log up to which every record was executed, big-endian.
pub const META_PLACE: &[u8] = b"log-place";
/// Meta key: position of the last record of a cluster's log that changed the configuration,
/// big-endian.
pub const META_CONFIGURATION: &[u8] = b"log-configuration";
/// Prefix of meta keys, before node (16 bytes) and number of a lane: epoch and sequence number of
/// the last executed record of the lane, each of 8 bytes, big-endian.
pub const META_LANE: &[u8] = b"log-lane/";
/// Prefix of meta keys, before node (16 bytes), lane and number of a part (4 bytes, big-endian):
/// parts of a bundle whose last part has not come.
pub const META_PART: &[u8] = b"log-part/";
