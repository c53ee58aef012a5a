//! The processes that have served a node's folder, as `cluster.json` has them: by their names the
//! cluster knows the folder from copies of it.
//!
//! Each process takes a random name and notes it here before it registers with it. A registration
//! under a name that is not here was made from another copy of the folder. This one is behind then:
//! it must not write, and its member of etcd must not vote, because it has forgotten votes.

use serde::{Deserialize, Serialize};

/// Names kept at most: many starts without a log to register with.
const NAMES_MAX: usize = 64;

/// The processes that have registered from a folder, or may have.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Processes {
    /// Number of the last registration that is known to be of this folder; 0 before the first.
    pub epoch: u64,
    /// Random names of processes: the one of that registration, and all that began since.
    pub names: Vec<String>,
}

impl Processes {
    /// Whether nothing is noted, as by programs of before.
    pub fn is_unknown(&self) -> bool {
        *self == Processes::default()
    }

    /// Notes a process that is going to register.
    pub fn begin(&mut self, name: String) {
        if self.names.len() >= NAMES_MAX {
            // The first one is that of the last registration.
            self.names.remove(1);
        }
        self.names.push(name);
    }

    /// Notes that the last of the processes has registered.
    pub fn registered(&mut self, epoch: u64) {
        self.epoch = epoch;
        let last = self.names.len().saturating_sub(1);
        self.names.drain(..last);
    }

    /// Whether a registration of the node was made from another copy of the folder.
    pub fn is_foreign(&self, epoch: u64, name: &str) -> bool {
        let is_known = self.names.iter().any(|it| it == name);
        !self.names.is_empty() && epoch > self.epoch && !is_known
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registrations_of_another_copy_are_recognised() {
        let mut processes = Processes::default();
        assert!(!processes.is_foreign(3, "before"), "nothing was noted then");
        processes.begin("a".to_owned());
        assert!(processes.is_foreign(1, "z"));
        processes.registered(4);
        for number in 0..2 * NAMES_MAX {
            processes.begin(number.to_string());
        }
        assert_eq!(processes.names.len(), NAMES_MAX);
        // Its own, one that was about to register, and one that a reader is late to know.
        assert!(!processes.is_foreign(4, "a") && !processes.is_foreign(5, "127"));
        assert!(!processes.is_foreign(3, "z"));
        assert!(processes.is_foreign(5, "z"));
        processes.registered(5);
        assert_eq!(processes.names, ["127"]);
    }
}
