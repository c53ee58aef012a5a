//! Names of the keys of a cluster in etcd. All of them lie below one prefix, and none is ever
//! deleted: a key that is no longer wanted is overwritten by a value that says so.
//!
//! | key below `/pando/<cluster>/` | value |
//! |---|---|
//! | `cluster` | made once: which cluster this is, and in which etcd |
//! | `fmt` | the format level that the cluster is to have: every registered program executes it |
//! | `node/<id>` | registration of a node: epoch, addresses |
//! | `log/<id>/<lane>` | the last record of a lane; its history is the log |
//! | `pos/<id>` | how far a node is |
//! | `hold/<id>` | a place behind which nothing may be trimmed |
//! | `floor` | the place up to which the log was trimmed |
//! | `next` | the import that closes the log, to begin another generation |

use replica::commit_log::NodeId;

/// The keys of one cluster.
#[derive(Debug, Clone)]
pub(super) struct Keys {
    /// `/pando/<cluster>/`.
    prefix: String,
}

/// Meaning of a key below the prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Key {
    /// Identity of the cluster.
    Cluster,
    /// Format level.
    Format,
    /// Registration of a node.
    Node(NodeId),
    /// A lane of a node.
    Lane {
        /// The node.
        node: NodeId,
        /// Number of the lane.
        lane: u8,
    },
    /// How far a node is.
    Position(NodeId),
    /// A hold on trimming.
    Hold(NodeId),
    /// Place up to which the log was trimmed.
    Floor,
    /// The import that closes the log.
    Next,
}

impl Keys {
    /// The keys of the cluster with this UUID.
    pub(super) fn of(cluster: &[u8; 16]) -> Keys {
        Keys {
            prefix: format!("/pando/{:032x}/", u128::from_be_bytes(*cluster)),
        }
    }

    /// Beginning of all keys.
    pub(super) fn prefix(&self) -> Vec<u8> {
        self.prefix.clone().into_bytes()
    }

    /// Beginning of the keys of all lanes of all nodes.
    pub(super) fn lanes(&self) -> Vec<u8> {
        self.named("log/")
    }

    /// Beginning of the keys of all lanes of a node.
    pub(super) fn lanes_of(&self, node: NodeId) -> Vec<u8> {
        self.named(&format!("log/{node}/"))
    }

    /// Beginning of the keys of all holds.
    pub(super) fn holds(&self) -> Vec<u8> {
        self.named("hold/")
    }

    /// The key of a lane.
    pub(super) fn lane(&self, node: NodeId, lane: u8) -> Vec<u8> {
        self.named(&format!("log/{node}/{lane}"))
    }

    /// The first bytes of the keys of all registrations.
    pub(super) fn nodes(&self) -> Vec<u8> {
        self.named("node/")
    }

    /// The key of a node's registration.
    pub(super) fn node(&self, node: NodeId) -> Vec<u8> {
        self.named(&format!("node/{node}"))
    }

    /// The key of a node's position.
    pub(super) fn position(&self, node: NodeId) -> Vec<u8> {
        self.named(&format!("pos/{node}"))
    }

    /// The key of a hold.
    pub(super) fn hold(&self, node: NodeId) -> Vec<u8> {
        self.named(&format!("hold/{node}"))
    }

    /// A key or the beginning of keys, by its name below the prefix.
    pub(super) fn named(&self, name: &str) -> Vec<u8> {
        format!("{}{name}", self.prefix).into_bytes()
    }

    /// The meaning of a key, `None` for one that this program does not know.
    pub(super) fn parse(&self, key: &[u8]) -> Option<Key> {
        let name = key.strip_prefix(self.prefix.as_bytes())?;
        let name = std::str::from_utf8(name).ok()?;
        match name.split_once('/') {
            None if name == "cluster" => Some(Key::Cluster),
            None if name == "fmt" => Some(Key::Format),
            None if name == "floor" => Some(Key::Floor),
            None if name == "next" => Some(Key::Next),
            Some(("node", id)) => Some(Key::Node(node(id)?)),
            Some(("pos", id)) => Some(Key::Position(node(id)?)),
            Some(("hold", id)) => Some(Key::Hold(node(id)?)),
            Some(("log", rest)) => {
                let (id, number) = rest.split_once('/')?;
                let lane: u8 = number.parse().ok()?;
                // `+1` and `01` parse too, but are not keys that this program writes.
                if lane.to_string() != number {
                    return None;
                }
                let node = node(id)?;
                Some(Key::Lane { node, lane })
            }
            _ => None,
        }
    }
}

/// A node by its 32 lower-case hexadecimal digits.
fn node(text: &str) -> Option<NodeId> {
    let digits = |it: u8| it.is_ascii_digit() || (b'a'..=b'f').contains(&it);
    if text.len() != 32 || !text.bytes().all(digits) {
        return None;
    }
    let number = u128::from_str_radix(text, 16).ok()?;
    Some(NodeId(number.to_be_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_mean_what_they_were_made_for() {
        let keys = Keys::of(&[0xab; 16]);
        let node = NodeId([0x10; 16]);
        let made = [
            (keys.node(node), Key::Node(node)),
            (keys.position(node), Key::Position(node)),
            (keys.hold(node), Key::Hold(node)),
            (keys.lane(node, 12), Key::Lane { node, lane: 12 }),
            (keys.named("floor"), Key::Floor),
            (keys.named("fmt"), Key::Format),
            (keys.named("next"), Key::Next),
            (keys.named("cluster"), Key::Cluster),
        ];
        for (key, meaning) in made {
            assert!(key.starts_with(b"/pando/abababababababababababababababab/"));
            assert_eq!(keys.parse(&key), Some(meaning));
            assert_eq!(Keys::of(&[1; 16]).parse(&key), None);
        }
        for unknown in ["", "snap/1", "node/1", "log/1/1", "pos/", "floor/"] {
            assert_eq!(keys.parse(&keys.named(unknown)), None, "{unknown}");
        }
    }
}
