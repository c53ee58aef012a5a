//! The values of all keys but the lanes': JSON, so that an operator can read them with `etcdctl`.
//!
//! Unknown members are ignored, missing ones take defaults: programs of different versions share
//! them.

use super::settings::NodeAbout;
use replica::commit_log::{NodeId, Standing};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// `cluster`: made once, never changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Identity {
    /// UUID of the cluster, 32 hexadecimal digits.
    pub(super) cluster: String,
    /// The number by which etcd's members know their own cluster. An etcd that was restored from a
    /// backup has another one, and may lack records.
    pub(super) etcd: u64,
}

/// `fmt`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Format {
    /// Format level of records.
    pub(super) level: u32,
}

/// `node/<id>`. Only registration and removal write it: an append compares its revision.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Registration {
    /// Number of registrations of the node so far.
    pub(super) epoch: u64,
    /// Random name of the process that registered.
    pub(super) process: String,
    /// Place from which that process follows the log.
    pub(super) from: u64,
    /// The node was removed: it must not register again.
    pub(super) removed: bool,
    /// Address of the node that has closed the log since; empty if none has. The process that
    /// registered can append nothing any more.
    pub(super) closed_by: String,
    address: String,
    etcd_url: String,
    etcd_peer_url: String,
    format_min: u32,
    format_max: u32,
    version: String,
    volatile: bool,
}

impl Registration {
    /// A registration without what a node says about itself.
    pub(super) fn new(about: &NodeAbout) -> Registration {
        Registration {
            address: about.address.clone(),
            etcd_url: about.etcd_url.clone(),
            etcd_peer_url: about.etcd_peer_url.clone(),
            format_min: about.format_min,
            format_max: about.format_max,
            version: about.version.clone(),
            volatile: about.volatile,
            ..Registration::default()
        }
    }

    /// The node's words about itself.
    pub(super) fn about(&self) -> NodeAbout {
        NodeAbout {
            address: self.address.clone(),
            etcd_url: self.etcd_url.clone(),
            etcd_peer_url: self.etcd_peer_url.clone(),
            format_min: self.format_min,
            format_max: self.format_max,
            version: self.version.clone(),
            volatile: self.volatile,
        }
    }
}

/// `pos/<id>`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Report {
    /// Number of the registration that reports.
    pub(super) epoch: u64,
    place: u64,
    synced_place: u64,
    position: u64,
    time_us: u64,
    level: u32,
    /// The node's clock when it reported, microseconds since 1970.
    pub(super) now_us: u64,
    /// Digests of the state at the last multiples of `DIGEST_EVERY`, oldest first.
    pub(super) digests: Vec<ReportedDigest>,
}

/// Digest of the state at a position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ReportedDigest {
    /// The position.
    pub(super) position: u64,
    /// 32 hexadecimal digits.
    digest: String,
}

impl ReportedDigest {
    /// The digest, `None` for text that is none.
    pub(super) fn digest(&self) -> Option<u128> {
        u128::from_str_radix(&self.digest, 16).ok()
    }

    /// A digest as text.
    pub(super) fn new(position: u64, digest: u128) -> ReportedDigest {
        ReportedDigest {
            position,
            digest: format!("{digest:032x}"),
        }
    }
}

impl Report {
    /// A report of a node about itself, at this time of its clock.
    pub(super) fn new(standing: &Standing, epoch: u64, now_us: u64) -> Report {
        Report {
            epoch,
            place: standing.place,
            synced_place: standing.synced_place,
            position: standing.position,
            time_us: standing.time_us,
            level: standing.level,
            now_us,
            digests: Vec::new(),
        }
    }

    /// The part of the log that the node has executed.
    pub(super) fn standing(&self) -> Standing {
        let last = self.digests.last();
        let digest = last.and_then(|it| Some((it.position, it.digest()?)));
        Standing {
            place: self.place,
            synced_place: self.synced_place,
            position: self.position,
            digest: digest.unwrap_or_default(),
            time_us: self.time_us,
            level: self.level,
        }
    }
}

/// `hold/<id>`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Hold {
    /// The place behind which all records are kept.
    pub(super) place: u64,
    /// Seconds for which it counts after it was written; 0 for a hold that was released.
    pub(super) seconds: u64,
}

/// `floor`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Floor {
    /// Records up to this place were trimmed or may be at any time.
    pub(super) place: u64,
}

/// `next`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Next {
    /// The node that an import fills, 32 hexadecimal digits.
    pub(super) node: String,
    /// Its address for other nodes.
    pub(super) address: String,
    /// The generation that begins with it.
    pub(super) generation: u64,
    /// Progress of that.
    pub(super) stage: Stage,
}

/// Progress of another generation, in a [`Next`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Stage {
    /// None is under way: the log takes records.
    #[default]
    Open,
    /// An import is under way or has ended: nothing is appended meanwhile.
    Closed,
    /// It has begun: nothing is ever appended again.
    Begun,
}

/// An import that has closed the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closing {
    /// The node that it fills.
    pub node: NodeId,
    /// Where other nodes reach that node, `HOST:PORT`.
    pub address: String,
    /// The generation that begins with it.
    pub generation: u64,
    /// Whether that has begun, so that this log stays closed for good.
    pub has_begun: bool,
}

impl Next {
    /// The import that has closed the log; `None` if it is open.
    pub(super) fn closing(&self) -> Option<Closing> {
        let node = u128::from_str_radix(&self.node, 16).ok()?;
        (self.stage != Stage::Open).then(|| Closing {
            node: NodeId(node.to_be_bytes()),
            address: self.address.clone(),
            generation: self.generation,
            has_begun: self.stage == Stage::Begun,
        })
    }
}

/// The bytes of a value.
pub(super) fn encode(value: &impl Serialize) -> Vec<u8> {
    serde_json::to_vec(value).expect("values have text keys and no maps")
}

/// A value of these bytes, `None` for other bytes.
pub(super) fn decode<T: DeserializeOwned>(bytes: &[u8]) -> Option<T> {
    serde_json::from_slice(bytes).ok()
}
