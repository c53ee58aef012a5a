//! A compiled template: definitions, lines and tags with every name resolved.

use std::sync::Arc;

use super::lists::Names;
use crate::number::NumberFormat;

/// Number of levels to which templates may be nested.
pub(crate) const DEPTH_MAX: usize = 64;

#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Branches and templates; children always refer to templates.
    pub definitions: Vec<Definition>,
    /// Indexes of the branches in `definitions`, in the order in which they are made.
    pub branches: Vec<usize>,
    /// `occurrences[a][b]`: number of entries of definition b in one subtree made from a, a
    /// included.
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
    /// DN of a branch as spelled; name of a template.
    pub name: String,
    pub is_branch: bool,
    /// Line of the definition in the text.
    pub line: u64,
    /// Key of this definition in the random sequence of its entries.
    pub key: u64,
    /// The attributes, in order of first use; at most one group for each description.
    pub groups: Vec<Group>,
    pub lines: Vec<Line>,
    /// Groups whose first values make the RDN; empty for a branch.
    pub rdn: Vec<usize>,
    /// The line after which the RDN's values are known.
    pub rdn_complete_after: usize,
    pub children: Vec<Child>,
    /// Number of entries in one subtree made from this definition, the top included.
    pub subtree: u64,
    /// Whether a line counts over the whole template, not within one superior.
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
    /// Key that separates runs of one template below one superior in the random sequence.
    pub key: u64,
}

#[derive(Clone, Debug)]
pub(crate) struct Line {
    /// Line in the template; 0 when implied by a branch.
    pub number: u64,
    pub group: usize,
    /// Whether the text is base64 of the value (`attr::`).
    pub base64: bool,
    /// Conditions that must all hold, or the entry lacks this line.
    pub conditions: Vec<Condition>,
    pub parts: Vec<Part>,
    /// Inclusive range of numbers, with one value for each (`<loop:a:b>`).
    pub repeat: Option<(i64, i64)>,
}

#[derive(Clone, Debug)]
pub(crate) enum Condition {
    /// A condition that holds with this probability (0 to 1).
    Presence(f64),
    /// A condition that the attribute has, or lacks, this value or any value.
    Attribute {
        group: Option<usize>,
        value: Option<Vec<u8>>,
        wanted: bool,
    },
}

#[derive(Clone, Debug)]
pub(crate) enum Part {
    Text(Vec<u8>),
    /// The number `start + ordinal * step`, where the ordinal counts within one superior or over
    /// all entries.
    Sequential {
        start: i64,
        step: i64,
        within_parent: bool,
    },
    /// Characters drawn from the set, with a length between the two.
    Characters {
        set: Arc<[u8]>,
        least: usize,
        most: usize,
    },
    /// Base64 of random octets; `padding` completes the last group of four.
    Base64Characters {
        least: usize,
        most: usize,
    },
    /// Random octets of an `attr:: <random:base64:n>` line, made without encoding them in base64.
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
    /// The entry's own DN (`components` 0), or its first or (negative) last components.
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
    /// The first value of an earlier attribute, cut to so many characters.
    Reference {
        group: Option<usize>,
        length: usize,
    },
    LoopNumber,
    Base64(Vec<Part>),
}
