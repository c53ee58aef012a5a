//! Levels and privileges of slapd (slapd.access(5)) as rights.

use std::ops::{BitAnd, Sub};

use crate::access::right::{Right, RightWord};
use crate::access::rules::{Grant, Item};

/// Privileges: one bit for each letter of [`LETTERS`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Privileges(u8);

/// The letters of privileges: disclose, auth, compare, search, read, add, delete, manage.
const LETTERS: &str = "dxcsrazm";

/// Names of levels; each has the privileges of those before it.
const LEVELS: [(&str, &str); 10] = [
    ("none", ""),
    ("disclose", "d"),
    ("auth", "dx"),
    ("compare", "dxc"),
    ("search", "dxcs"),
    ("read", "dxcsr"),
    ("add", "dxcsra"),
    ("delete", "dxcsrz"),
    ("write", "dxcsraz"),
    ("manage", "dxcsrazm"),
];

/// How privileges change those that a subject has already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Change {
    Assign,
    Add,
    Remove,
}

/// The access of a `by` clause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Level {
    pub(super) change: Change,
    pub(super) privileges: Privileges,
    /// Whether it is for the subject's own name as a value only.
    pub(super) of_self: bool,
}

impl Level {
    /// The access of a clause that names none: what the subject has already.
    pub(super) const UNCHANGED: Level = Level {
        change: Change::Add,
        privileges: Privileges(0),
        of_self: false,
    };

    /// Reads a level or privileges; `None` for other words.
    pub(super) fn parse(word: &str) -> Option<Level> {
        let word = word.to_ascii_lowercase();
        let (word, of_self) = match word.strip_prefix("self") {
            Some(rest) if !rest.is_empty() => (rest, true),
            _ => (word.as_str(), false),
        };
        if let Some((_, letters)) = LEVELS.iter().find(|it| it.0 == word) {
            return Some(Level {
                change: Change::Assign,
                privileges: Privileges::of(letters)?,
                of_self,
            });
        }
        let change = match word.chars().next()? {
            '=' => Change::Assign,
            '+' => Change::Add,
            '-' => Change::Remove,
            _ => return None,
        };
        Some(Level {
            change,
            privileges: Privileges::of(&word[1..])?,
            of_self,
        })
    }
}

impl Privileges {
    pub(super) const ALL: Privileges = Privileges(0xff);

    fn of(letters: &str) -> Option<Privileges> {
        let mut privileges = Privileges(0);
        for letter in letters.chars() {
            let letters = match letter {
                'w' => "az",
                '0' => "",
                _ => &LETTERS[LETTERS.find(letter)?..][..1],
            };
            letters
                .chars()
                .for_each(|it| privileges.0 |= privileges.bit(it));
        }
        Some(privileges)
    }

    fn bit(self, letter: char) -> u8 {
        LETTERS.find(letter).map_or(0, |at| 1 << at)
    }

    pub(super) fn has(self, letters: &str) -> bool {
        letters.chars().all(|it| self.0 & self.bit(it) != 0)
    }

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Returns the words for these privileges, each for `items`; `tree` tells whether the rule is
    /// about entries and not only about attributes.
    pub(super) fn grants(self, items: &[Item], tree: bool) -> Vec<Grant> {
        let mut grants = Vec::new();
        let mut give = |only, right| {
            let items = items.to_vec();
            grants.push(Grant { only, right, items });
        };
        use Right::*;
        let ladder = [
            ("dcsr", Read),
            ("dcs", Search),
            ("dc", Compare),
            ("d", Disclose),
        ];
        let most = ladder.iter().find(|it| self.has(it.0));
        if self.has("dxcsrazm") {
            give(false, RightWord::One(Manage));
        } else if let ("dcsr", true) = (most.map_or("", |it| it.0), self.has("az")) {
            give(false, RightWord::Write);
        } else {
            if let Some((_, right)) = most {
                give(false, RightWord::One(*right));
            }
            let rest = [
                ('c', Compare),
                ('s', Search),
                ('r', Read),
                ('a', AddValue),
                ('z', DeleteValue),
            ];
            for (letter, right) in rest {
                let given = most.is_some_and(|it| it.0.contains(letter));
                if self.0 & self.bit(letter) != 0 && !given {
                    let only = !matches!(right, AddValue | DeleteValue);
                    give(only, RightWord::One(right));
                }
            }
        }
        let more = [
            ("x", Authenticate),
            ("a", Add),
            ("a", MoveIn),
            ("z", Delete),
            ("z", MoveOut),
            ("az", Rename),
        ];
        let more = &more[..if tree { more.len() } else { 1 }];
        for (letters, right) in more {
            if self.has(letters) && !self.has("dxcsrazm") {
                give(false, RightWord::One(*right));
            }
        }
        grants
    }

    /// Returns the words that take these privileges: every right that needs one of them.
    pub(super) fn takes(self) -> Vec<Grant> {
        use Right::*;
        let needs = [
            ("d", Disclose),
            ("x", Authenticate),
            ("c", Compare),
            ("s", Search),
            ("r", Read),
            ("a", AddValue),
            ("z", DeleteValue),
            ("az", SelfValue),
            ("a", Add),
            ("a", MoveIn),
            ("z", Delete),
            ("z", MoveOut),
            ("az", Rename),
            ("m", Manage),
        ];
        let any = |letters: &str| letters.chars().any(|it| self.0 & self.bit(it) != 0);
        let taken = needs.into_iter().filter(|it| any(it.0));
        let grant = |right| Grant {
            only: false,
            right: RightWord::One(right),
            items: Vec::new(),
        };
        taken.map(|(_, right)| grant(right)).collect()
    }
}

impl BitAnd for Privileges {
    type Output = Privileges;

    fn bitand(self, other: Privileges) -> Privileges {
        Privileges(self.0 & other.0)
    }
}

impl Sub for Privileges {
    type Output = Privileges;

    fn sub(self, other: Privileges) -> Privileges {
        Privileges(self.0 & !other.0)
    }
}
