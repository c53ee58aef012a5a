//! Fuzz bodies: for any input bytes nothing panics, and a decoded value encodes to equal bytes.

use super::envelope::Envelope;
use super::keys::{Key, Keys};
use super::values::{self, Floor, Format, Hold, Identity, Registration, Report};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt::Debug;

/// Records as they stand in etcd.
pub fn envelope(bytes: &[u8]) {
    if let Ok(envelope) = Envelope::decode(bytes) {
        assert_eq!(envelope.encode(), bytes);
    }
}

/// Names of keys below a cluster's prefix.
pub fn key(bytes: &[u8]) {
    let keys = Keys::of(&[0x5a; 16]);
    let mut named = keys.prefix();
    named.extend_from_slice(bytes);
    if let Some(key) = keys.parse(&named)
        && let Key::Lane { node, lane } = key
    {
        assert_eq!(keys.lane(node, lane), named);
    }
}

/// Values of all keys but the lanes'.
pub fn value(bytes: &[u8]) {
    again::<Identity>(bytes);
    again::<Format>(bytes);
    again::<Registration>(bytes);
    again::<Report>(bytes);
    again::<Hold>(bytes);
    again::<Floor>(bytes);
    if let Some(report) = values::decode::<Report>(bytes) {
        report.standing();
    }
}

fn again<T: Serialize + DeserializeOwned + PartialEq + Debug>(bytes: &[u8]) {
    if let Some(value) = values::decode::<T>(bytes) {
        assert_eq!(values::decode::<T>(&values::encode(&value)), Some(value));
    }
}

#[cfg(test)]
mod tests {
    use crate::log::envelope::Envelope;
    use crate::log::keys::Keys;
    use replica::commit_log::{NodeId, Origin};

    #[test]
    fn records_and_keys_cut_and_damaged() {
        let origin = Origin {
            node: NodeId([3; 16]),
            epoch: 2,
            lane: 1,
            sequence: 40,
        };
        let record = Envelope {
            cluster: [9; 16],
            origin,
            payload: b"payload",
        };
        let keys = Keys::of(&[0x5a; 16]);
        let lane = keys.lane(origin.node, 1)[keys.prefix().len()..].to_vec();
        for (seed, body) in [
            (record.encode(), super::envelope as fn(&[u8])),
            (lane, super::key),
        ] {
            body(&seed);
            for at in 0..seed.len() {
                body(&seed[..at]);
                for bits in [0x01, 0x80, 0xff] {
                    let mut damaged = seed.clone();
                    damaged[at] ^= bits;
                    body(&damaged);
                }
            }
        }
    }
}
