//! A template after compilation: definitions, lines and tags with every name resolved.

use std::sync::Arc;

use super::lists::Names;
use crate::number::NumberFormat;

/// Nesting of templates below templates that is accepted.
pub(crate) const DEPTH_MAX: usize = 64;

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Branches and templates; children always refer to templates.
    pub definitions: Vec<Definition>,
    /// Positions of the branches in `definitions`, in the order in which they are made.
    pub branches: Vec<usize>,
    /// `occurrences[a][b]`: entries of definition b in one subtree made from a, a included.
    pub occurrences: Vec<Vec<u64>>,
    pub total: u64,
    pub unused_defines: Vec<String>,
    pub known_names: Vec<String>,
}

impl Plan {
    pub fn attributes(&self) -> Vec<(u64, &str)> {
        let mut found: Vec<(u64, &str)> = Vec::new();
        for group in self
            .definitions
            .iter()
            .flat_map(|definition| &definition.groups)
        {
            match found
                .iter_mut()
                .find(|(_, text)| text.eq_ignore_ascii_case(&group.description))
            {
                Some((line, _)) => *line = (*line).min(group.line),
                None => found.push((group.line, &group.description)),
            }
        }
        found
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Definition {
    /// A branch's DN as spelled; a template's name.
    pub name: String,
    pub is_branch: bool,
    /// Line of the definition.
    pub line: u64,
    /// Key of this definition in the random sequence of its entries.
    pub key: u64,
    /// The attributes, in order of first use; at most one group for each description.
    pub groups: Vec<Group>,
    pub lines: Vec<Line>,
    /// Groups whose first values make the RDN; empty for a branch.
    pub rdn: Vec<usize>,
    /// The line after which the RDN's values can be known.
    pub rdn_complete_after: usize,
    pub children: Vec<Child>,
    /// Entries in one subtree made from this definition, itself included.
    pub subtree: u64,
    /// A line counts over the whole template, not within one parent.
    pub counts_globally: bool,
}

#[derive(Clone, Debug)]
pub(crate) struct Group {
    pub description: String,
    /// First line that mentions the attribute; 0 when implied.
    pub line: u64,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Child {
    pub definition: usize,
    pub count: u64,
    /// Sets runs of one template below one parent apart in the random sequence.
    pub key: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Line in the template; 0 when implied by a branch.
    pub number: u64,
    pub group: usize,
    /// The text is base64 of the value (`attr::`).
    pub base64: bool,
    /// All must hold, or the entry goes without this line.
    pub conditions: Vec<Condition>,
    pub parts: Vec<Part>,
    /// One value for each number of this inclusive range (`<loop:a:b>`).
    pub repeat: Option<(i64, i64)>,
}

#[derive(Clone, Debug)]
pub(crate) enum Condition {
    /// Holds with this probability (0 to 1).
    Presence(f64),
    /// The attribute has (or has not) this value, or any value.
    Attribute {
        group: Option<usize>,
        value: Option<Vec<u8>>,
        wanted: bool,
    },
}

#[derive(Clone, Debug)]
pub(crate) enum Part {
    Text(Vec<u8>),
    /// `start + ordinal * step`, where the ordinal counts within the parent or over all.
    Sequential {
        start: i64,
        step: i64,
        within_parent: bool,
    },
    /// A length between the two, drawn from the set.
    Characters {
        set: Arc<[u8]>,
        least: usize,
        most: usize,
    },
    /// Base64 of random octets; `padding` complete the last group of four.
    Base64Characters {
        least: usize,
        most: usize,
    },
    /// Random octets (an `attr:: <random:base64:n>` line, made without the detour over base64).
    Octets {
        least: usize,
        most: usize,
    },
    Number {
        low: i64,
        high: i64,
        format: NumberFormat,
    },
    Telephone,
    /// An English month, cut to so many characters.
    Month(usize),
    Guid,
    /// A line of a file.
    FileLine {
        lines: Arc<[Vec<u8>]>,
        sequential: bool,
    },
    /// A value by weight: `(sum of weights up to and including it, value)`.
    List(Arc<[(u64, Vec<u8>)]>),
    FirstName(Names),
    LastName(Names),
    Rdn,
    /// The entry's own DN (`components` 0), its first or (negative) last components.
    Dn {
        components: i64,
        underscores: bool,
    },
    /// The DN of the ancestor so many levels up.
    AncestorDn {
        levels: usize,
        underscores: bool,
    },
    ParentAttribute(String),
    /// First value of an earlier attribute, cut to so many characters.
    Reference {
        group: Option<usize>,
        length: usize,
    },
    LoopNumber,
    Base64(Vec<Part>),
}
