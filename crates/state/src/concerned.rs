//! Accounts that a commit concerns: connections that are bound to them are judged again.
//!
//! This is no part of the state: nodes may differ in it, and a few accounts too many cost only
//! some time.

use store::EntryId;

/// Number of single accounts beyond which a commit concerns everybody.
const ENTRIES_MAX: usize = 64;

/// Accounts whose connections may have to end after a commit.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Concerned {
    /// Entries that were deleted or renamed, or whose password, lock or policy changed.
    pub entries: Vec<EntryId>,
    /// Whether any account may be concerned: a subtree was deleted or renamed, the configuration or
    /// the lifetime of passwords under a policy changed.
    pub everybody: bool,
    /// Whether members of a group may have changed, on which limits may depend.
    pub groups: bool,
}

impl Concerned {
    /// Adds one entry.
    pub fn note(&mut self, entry: EntryId) {
        match self.entries.len() < ENTRIES_MAX {
            true => self.entries.push(entry),
            false => self.everybody = true,
        }
    }

    /// Adds the accounts of another commit.
    pub fn join(&mut self, other: &Concerned) {
        self.everybody |= other.everybody;
        self.groups |= other.groups;
        other.entries.iter().for_each(|it| self.note(*it));
    }

    /// Whether no account is concerned.
    pub fn is_nobody(&self) -> bool {
        !self.everybody && !self.groups && self.entries.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_accounts_are_everybody() {
        let mut all = Concerned::default();
        assert!(all.is_nobody());
        for id in 0..ENTRIES_MAX as u64 {
            all.note(EntryId(id));
        }
        assert!(!all.everybody && !all.is_nobody());
        let mut one = Concerned::default();
        one.note(EntryId(7));
        one.groups = true;
        all.join(&one);
        assert!(all.everybody && all.groups);
        assert_eq!(all.entries.len(), ENTRIES_MAX);
    }
}
