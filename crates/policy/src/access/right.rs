//! The rights that access rules give and take, and the words for them.

use std::fmt;
use std::ops::{BitAnd, BitOr, Sub};

/// One right to an entry, to the entries below it, to an attribute or to a use of the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Right {
    /// Learn that the entry exists.
    Disclose,
    /// Have a bind compared with the attribute.
    Authenticate,
    /// Compare the attribute with an asserted value.
    Compare,
    /// Find entries by the attribute.
    Search,
    /// Read the values; of an entry: have it returned.
    Read,
    /// Add values.
    AddValue,
    /// Delete values.
    DeleteValue,
    /// Add and delete the subject's own name as a value.
    SelfValue,
    /// Add the entry, or an entry directly below it.
    Add,
    /// Delete the entry, or an entry directly below it.
    Delete,
    /// Give the entry, or an entry directly below it, another RDN.
    Rename,
    /// Move entries to a place directly below the entry.
    MoveIn,
    /// Move entries away from a place directly below the entry.
    MoveOut,
    /// Act as the identity whose entry this is.
    Proxy,
    /// Override the usual rules, e.g. write what only the server writes.
    Manage,
    /// Write access rules about what lies here.
    Administer,
    /// Do the operation, or use the control, that a rule `for use` names.
    Use,
}

impl Right {
    /// All rights, in the order in which they are declared.
    pub const ALL: [Right; 17] = [
        Right::Disclose,
        Right::Authenticate,
        Right::Compare,
        Right::Search,
        Right::Read,
        Right::AddValue,
        Right::DeleteValue,
        Right::SelfValue,
        Right::Add,
        Right::Delete,
        Right::Rename,
        Right::MoveIn,
        Right::MoveOut,
        Right::Proxy,
        Right::Manage,
        Right::Administer,
        Right::Use,
    ];

    /// The word for this right in rules.
    pub fn word(self) -> &'static str {
        match self {
            Right::Disclose => "disclose",
            Right::Authenticate => "authenticate",
            Right::Compare => "compare",
            Right::Search => "search",
            Right::Read => "read",
            Right::AddValue => "add-value",
            Right::DeleteValue => "delete-value",
            Right::SelfValue => "self-value",
            Right::Add => "add",
            Right::Delete => "delete",
            Right::Rename => "rename",
            Right::MoveIn => "move-in",
            Right::MoveOut => "move-out",
            Right::Proxy => "proxy",
            Right::Manage => "manage",
            Right::Administer => "administer",
            Right::Use => "use",
        }
    }
}

impl fmt::Display for Right {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.word())
    }
}

/// A set of rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct RightSet(u32);

impl RightSet {
    /// The set without rights.
    pub const NONE: RightSet = RightSet(0);
    /// The set of all rights.
    pub const ALL: RightSet = RightSet((1 << Right::ALL.len()) - 1);

    /// Returns the set of these rights.
    pub const fn of(rights: &[Right]) -> RightSet {
        let (mut bits, mut at) = (0, 0);
        while at < rights.len() {
            bits |= 1 << rights[at] as u32;
            at += 1;
        }
        RightSet(bits)
    }

    /// Returns whether the set has the right.
    pub fn contains(self, right: Right) -> bool {
        self.0 & (1 << right as u32) != 0
    }

    /// Returns whether the set has no right.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Iterates over the rights of the set.
    pub fn iter(self) -> impl Iterator<Item = Right> {
        Right::ALL.into_iter().filter(move |it| self.contains(*it))
    }
}

impl BitOr for RightSet {
    type Output = RightSet;

    fn bitor(self, other: RightSet) -> RightSet {
        RightSet(self.0 | other.0)
    }
}

impl BitAnd for RightSet {
    type Output = RightSet;

    fn bitand(self, other: RightSet) -> RightSet {
        RightSet(self.0 & other.0)
    }
}

impl Sub for RightSet {
    type Output = RightSet;

    fn sub(self, other: RightSet) -> RightSet {
        RightSet(self.0 & !other.0)
    }
}

/// A word for rights in a clause: one right, or several that belong together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RightWord {
    /// The word of one right.
    One(Right),
    /// No right.
    None,
    /// The rights to change values: [`Right::AddValue`], [`Right::DeleteValue`],
    /// [`Right::SelfValue`].
    Write,
    /// All rights.
    Everything,
}

impl RightWord {
    /// Returns all words.
    pub fn all() -> impl Iterator<Item = RightWord> {
        let more = [RightWord::None, RightWord::Write, RightWord::Everything];
        Right::ALL.into_iter().map(RightWord::One).chain(more)
    }

    /// The word as it is spelled.
    pub fn word(self) -> &'static str {
        match self {
            RightWord::One(right) => right.word(),
            RightWord::None => "none",
            RightWord::Write => "write",
            RightWord::Everything => "everything",
        }
    }

    /// Returns the word with this spelling.
    pub fn find(word: &str) -> Option<RightWord> {
        RightWord::all().find(|it| it.word() == word)
    }

    /// Rights that `deny SUBJECT WORD` takes: those of the word. Who may not add or delete values
    /// may not do so with the own name either.
    pub fn denied(self) -> RightSet {
        let values = RightSet::of(&[Right::AddValue, Right::DeleteValue]);
        let exactly = self.exactly();
        match (exactly & values).is_empty() {
            true => exactly,
            false => exactly | RightSet::of(&[Right::SelfValue]),
        }
    }

    /// Rights of the word itself, which `only WORD` gives.
    pub fn exactly(self) -> RightSet {
        use Right::*;
        match self {
            RightWord::None => RightSet::NONE,
            RightWord::Write => RightSet::of(&[AddValue, DeleteValue, SelfValue]),
            RightWord::Everything => RightSet::ALL,
            RightWord::One(Manage) => RightSet::ALL - RightSet::of(&[Proxy, Administer]),
            RightWord::One(right) => RightSet::of(&[right]),
        }
    }

    /// Rights that `let SUBJECT WORD` gives: those of the word, and of the words below it.
    pub fn with_lower(self) -> RightSet {
        use Right::*;
        let below = match self {
            RightWord::One(Compare) => RightSet::of(&[Disclose]),
            RightWord::One(Search) => RightSet::of(&[Disclose, Compare]),
            RightWord::One(Read) => RightSet::of(&[Disclose, Compare, Search]),
            RightWord::Write => RightSet::of(&[Disclose, Compare, Search, Read]),
            _ => RightSet::NONE,
        };
        self.exactly() | below
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_and_hold_what_is_below_them() {
        for word in RightWord::all() {
            assert_eq!(RightWord::find(word.word()), Some(word));
            assert_eq!(word.exactly() - word.with_lower(), RightSet::NONE);
        }
        assert_eq!(RightWord::find("raed"), None);
        let of = |word: &str| RightWord::find(word).unwrap().with_lower();
        let ladder = [
            "none", "disclose", "compare", "search", "read", "write", "manage",
        ];
        for pair in ladder.windows(2) {
            assert_eq!(of(pair[0]) - of(pair[1]), RightSet::NONE, "{pair:?}");
            assert!(!(of(pair[1]) - of(pair[0])).is_empty(), "{pair:?}");
        }
        assert!(!of("manage").contains(Right::Proxy) && !of("manage").contains(Right::Administer));
        assert!(!of("read").contains(Right::Authenticate));
        assert_eq!(of("everything").iter().count(), Right::ALL.len());
    }
}
