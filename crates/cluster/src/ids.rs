//! Identifiers of clusters and nodes in files and messages: 32 hexadecimal digits.

use replica::commit_log::NodeId;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// Random identifier of a cluster, made once.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ClusterId(pub [u8; 16]);

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", u128::from_be_bytes(self.0))
    }
}

impl fmt::Debug for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

impl Serialize for ClusterId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for ClusterId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ClusterId, D::Error> {
        sixteen(deserializer).map(ClusterId)
    }
}

/// How a node's identifier is written and read, for fields of that type.
pub mod node {
    use super::*;

    /// Writes the identifier.
    ///
    /// # Errors
    /// Those of the format.
    pub fn serialize<S: Serializer>(id: &NodeId, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(id)
    }

    /// Reads the identifier.
    ///
    /// # Errors
    /// There are not 32 hexadecimal digits.
    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<NodeId, D::Error> {
        sixteen(deserializer).map(NodeId)
    }
}

fn sixteen<'de, D: Deserializer<'de>>(deserializer: D) -> Result<[u8; 16], D::Error> {
    let text = String::deserialize(deserializer)?;
    let digits = text.len() == 32 && text.bytes().all(|it| it.is_ascii_hexdigit());
    let number = u128::from_str_radix(&text, 16).ok().filter(|_| digits);
    let number = number.ok_or_else(|| {
        D::Error::custom(format!("expected 32 hexadecimal digits, got \"{text}\""))
    })?;
    Ok(number.to_be_bytes())
}
