//! Bounds on the work of one write and on the length of the history, equal on every node.

/// Bounds of execution. Every copy of a directory uses the default ones, or their states differ;
/// tests lower them to reach the code for work beyond a bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Groups that the deletion of an entry changes at once: an entry in more groups is detached,
    /// and later writes remove it from them.
    pub left_groups: usize,
    /// Entries that the write of a rename reads itself: enough to change 512 groups, or to find
    /// 4,096 entries below the renamed one in no group.
    pub renamed_entries: u32,
    /// Entries of a subtree up to which it is removed at once; other writes wait meanwhile.
    pub deleted_entries: usize,
    /// Entries read for one change of the schema if no index gives the entries that have the
    /// attribute or class.
    pub examined_entries: usize,
    /// Changes that the history keeps. For a follower that missed more, the server compares entries
    /// instead.
    pub history_changes: u64,
}

impl Bounds {
    /// Bounds for tests, reached with few entries.
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
