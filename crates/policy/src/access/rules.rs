//! Access rules as data: what the text of a rule says, before any name in it is resolved.
//!
//! Invariant: a rule that the parser made prints to a text that it reads as an equal rule.

use crate::access::hours::Hours;
use crate::access::right::RightWord;
use crate::access::words::{Use, Way};
use crate::network::Network;

/// Rules in one set at most.
pub const RULES_MAX: usize = 10_000;

/// Clauses in all rules of one set at most.
pub const CLAUSES_MAX: usize = 50_000;

/// Nesting of parentheses, `not` and `real` in a subject at most.
pub const DEPTH_MAX: u8 = 32;

/// An access rule: what it is about, and who gets which rights to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// Name of the rule, unique in its set.
    pub name: String,
    /// Name of the entry at and below which the rule may have an effect, as spelled; `None` if it
    /// may have one everywhere. Rules of a larger area are asked first.
    pub within: Option<String>,
    /// The entries that the rule is about: those that one of these targets matches.
    pub targets: Vec<Target>,
    /// A filter (RFC 4515) that the entries match, too.
    pub filter: Option<String>,
    /// What of the entries the rule is about.
    pub about: About,
    /// Who gets which rights, in the order in which they are asked.
    pub clauses: Vec<Clause>,
}

/// A description of entries by their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// Every entry.
    Everything,
    /// Entries at or below a name.
    Below {
        /// How far from the name the entries lie.
        reach: Reach,
        /// The name, as spelled.
        dn: String,
    },
    /// Entries whose names have the form of this one, in which `*` stands for any text.
    Pattern(String),
}

/// The entries that are meant by one name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The entry with the name.
    Entry,
    /// Those directly below.
    One,
    /// Those below, at any depth.
    Children,
    /// The entry and those below.
    Subtree,
}

impl Reach {
    /// All of them, in ascending order of what they mean.
    pub const ALL: [Reach; 4] = [Reach::Entry, Reach::One, Reach::Children, Reach::Subtree];

    /// The word in rules.
    pub fn word(self) -> &'static str {
        match self {
            Reach::Entry => "entry",
            Reach::One => "one",
            Reach::Children => "children",
            Reach::Subtree => "subtree",
        }
    }
}

/// The things of an entry that a rule is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum About {
    /// The entry, the place below it, and all attributes but secrets: `entry, children, all`.
    Usual,
    /// What one of these items names and none excludes. Never empty.
    Items(Vec<Item>),
    /// Uses of the server where the search base or the changed entry is a target. Never empty.
    Uses(Vec<Use>),
    /// Every use of the server.
    EveryUse,
}

/// A word for attributes, or for the entry itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Item {
    /// What is meant.
    Only(Things),
    /// What is not meant, though other items name it.
    Not(Things),
    /// Values of an attribute.
    Values {
        /// Name or OID of the attribute type.
        attribute: String,
        /// Which of the values.
        value: ValueWord,
    },
}

/// Attributes, or parts of the entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Things {
    /// An attribute type and its subtypes, by name or OID.
    Attribute(String),
    /// The attributes of an object class and its superclasses, by name or OID, without secrets.
    Class(String),
    /// Every attribute that is no secret.
    All,
    /// Every user attribute that is no secret.
    User,
    /// Every operational attribute that is no secret.
    Operational,
    /// Every secret attribute.
    Secrets,
    /// The entry itself.
    Entry,
    /// The place directly below the entry, where entries are added, deleted and moved.
    Children,
}

/// Certain values of an attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueWord {
    /// Values equal to this one.
    Equal(String),
    /// The subject's own name.
    Own,
}

/// One line of a rule: `let` or `deny`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clause {
    /// Whether the rights are taken instead of given.
    pub denies: bool,
    /// The subjects that the clause is for.
    pub subject: Who,
    /// The rights. Never empty.
    pub rights: Vec<Grant>,
    /// What is looked at next when the clause matched.
    pub then: Then,
}

/// Rights in a clause, perhaps for some attributes only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// Whether the rights below the word are left out.
    pub only: bool,
    /// The word for the rights.
    pub right: RightWord,
    /// What the rights are for, of what the rule is about; empty for all of it.
    pub items: Vec<Item>,
}

impl Grant {
    /// No right.
    pub const NONE: Grant = Grant {
        only: false,
        right: RightWord::None,
        items: Vec::new(),
    };
}

/// What is looked at after a clause that matched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Then {
    /// No more: the decision is made.
    Stop,
    /// The clauses below in the same rule.
    Continue,
    /// The rules below.
    NextRule,
    /// Every clause and every rule below; what the clause denies stays denied.
    Gather,
}

impl Then {
    /// The words for it; `None` for [`Then::Stop`], which needs none.
    pub fn words(self) -> Option<&'static str> {
        match self {
            Then::Stop => None,
            Then::Continue => Some("continue"),
            Then::NextRule => Some("next rule"),
            Then::Gather => Some("gather"),
        }
    }
}

/// A condition on the subject.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Who {
    /// True of everybody.
    Anyone,
    /// Nobody has authenticated.
    Anonymous,
    /// An identity has authenticated.
    Users,
    /// The identity of the server's administrator has authenticated.
    Administrator,
    /// The target is the subject's own entry.
    Own,
    /// The subject's name lies at or below this one.
    Below {
        /// How far from the name it lies.
        reach: Reach,
        /// The name, as spelled.
        dn: String,
    },
    /// The subject's name has this form; `$1` stands for what the first `*` of the target matched.
    Pattern(String),
    /// The subject belongs to a group.
    Group {
        /// The group's name, as spelled.
        dn: String,
        /// The attribute with its members; `None` for every kind of group.
        by: Option<String>,
    },
    /// The subject's name is a value of an attribute of the target.
    Named(String),
    /// The subject's name is a value of an attribute of the target's superior.
    NamedAbove(String),
    /// The subject's own entry matches a filter (RFC 4515).
    Having(String),
    /// The client has one of these addresses.
    From(Network),
    /// The client is on this machine: a Unix socket or a loopback address.
    FromLocal,
    /// The subject came this way.
    Via(Way),
    /// The present time is among these.
    At(Hours),
    /// The condition is true of the identity that authenticated, where an operation acts as
    /// another one.
    Real(Box<Who>),
    /// The condition is false.
    Not(Box<Who>),
    /// All are true. At least two.
    All(Vec<Who>),
    /// At least one is true. At least two.
    Any(Vec<Who>),
}

impl Who {
    /// Returns whether the text of the condition has at most `depth_max` conditions, parentheses
    /// counted, in each other.
    pub(super) fn is_within(&self, depth_max: u8) -> bool {
        let joined = |it: &Who| matches!(it, Who::All(_) | Who::Any(_));
        let below = depth_max.checked_sub(1);
        match self {
            Who::Real(inner) | Who::Not(inner) => below.is_some_and(|it| inner.part(it, joined)),
            Who::All(parts) => parts.iter().all(|it| it.part(depth_max, joined)),
            Who::Any(parts) => {
                let any = |it: &Who| matches!(it, Who::Any(_));
                parts.iter().all(|it| it.part(depth_max, any))
            }
            _ => below.is_some(),
        }
    }

    /// Returns the same for a part, which may stand in parentheses.
    fn part(&self, depth_max: u8, in_parentheses: impl Fn(&Who) -> bool) -> bool {
        let depth_max = depth_max.checked_sub(u8::from(in_parentheses(self)));
        depth_max.is_some_and(|it| self.is_within(it))
    }
}

/// A place in a set of rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Place {
    /// Number of the rule, from 0.
    pub rule: usize,
    /// Number of the clause in the rule, from 0; `None` for the end of the rule.
    pub clause: Option<usize>,
}
