//! How much one write does at once, and how much is kept: numbers of the state machine.

/// Bounds of execution. All copies of a directory have the default ones, or their states differ;
/// tests make them smaller, to look at what happens beyond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Groups that the deletion of an entry changes at once: an entry in more of them is detached,
    /// and leaves them bit by bit.
    pub left_groups: usize,
    /// Entries that the write of a rename looks at by itself: enough to change 512 groups, or to
    /// find 4,096 entries below the renamed one in no group.
    pub renamed_entries: u32,
    /// Entries up to which a subtree is removed at once: other writes wait that long.
    pub deleted_entries: usize,
    /// Entries looked at for one change of the schema where no index tells which of them have the
    /// attribute or class.
    pub examined_entries: usize,
    /// Changes that the history keeps. A follower that is further behind compares entries instead.
    pub history_changes: u64,
}

impl Bounds {
    /// Bounds that tests reach with few entries.
    pub const SMALL: Bounds = Bounds {
        left_groups: 8,
        renamed_entries: 64,
        deleted_entries: 8,
        examined_entries: 8,
        history_changes: 32,
    };
}

impl Default for Bounds {
    fn default() -> Bounds {
        Bounds {
            left_groups: 512,
            renamed_entries: 4_096,
            deleted_entries: 1_000,
            examined_entries: 100_000,
            history_changes: 1 << 18,
        }
    }
}
