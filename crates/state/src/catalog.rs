//! What every operation needs to know beside the entries: schema, indexes, access rules, limits,
//! naming contexts. Immutable; the writer publishes a new one before the commit that needs it, so
//! that no reader meets an attribute number it cannot name.

use crate::account::Policing;
use crate::bounds::Bounds;
use crate::execute::DeletedMembers;
use crate::knowledge::{Computed, Knowledge};
use crate::rules::Rules;
use arc_swap::ArcSwap;
use policy::{Access, LimitSettings, Sight, Subject};
use schema::{Name, NumberSet, Schema, TypeId};
use smallvec::SmallVec;
use store::{EntryId, IndexSet};

/// The name of the subschema subentry (RFC 4512 §4.2).
pub const SUBSCHEMA_NAME: &str = "cn=Subschema";
/// The base of what an operator watches, which is not stored.
pub const MONITOR_NAME: &str = "cn=monitor";
/// The base of the configuration kept in the directory.
pub const CONFIG_NAME: &str = "cn=config";

/// Puts a catalog made from the entries in force. The limits are not in entries, and stay as they
/// were set last.
pub fn publish(in_force: &ArcSwap<Catalog>, next: Catalog) {
    in_force.rcu(|now| Catalog {
        limits: now.limits.clone(),
        ..next.clone()
    });
}

/// One consistent set of rules under which operations run.
#[derive(Debug, Clone)]
pub struct Catalog {
    /// The schema in force.
    pub schema: Schema,
    /// Stored definitions that contradict the schema, in words: they are not in force. A change
    /// that would add one is refused; those of earlier builds wait for their removal.
    pub schema_conflicts: Vec<String>,
    /// The indexes, ready or being built.
    pub indexes: IndexSet,
    /// Rows of indexes are still to be added or removed.
    pub indexing: bool,
    /// The marks of indexes that were built anew, with the attributes: another mark, once more.
    pub index_marks: Vec<(String, String)>,
    /// The first snapshot that has everything `indexes` calls ready.
    pub least_version: u64,
    /// The access rules.
    pub access: Access,
    /// Anonymous clients may neither read nor change entries.
    pub requires_authentication: bool,
    /// Numbers of the attributes that others than the administrator do not see: those that
    /// `access` hides, by `schema`. See [`Catalog::with_schema`].
    pub hidden: NumberSet,
    /// The limits of searches by subject, a setting of the node.
    pub limits: LimitSettings,
    /// How much one write does at once, and how much is kept.
    pub bounds: Bounds,
    /// Attribute types that the program uses by itself.
    pub known: Knowledge,
    /// Attribute types whose values are computed when they are read.
    pub computed: Computed,
    /// Naming contexts (RFC 4512 §5.1), as resolved and as spelled. `cn=config` is the last.
    pub contexts: Vec<NamingContext>,
    /// The administrator; `None` where the configuration names none.
    pub administrator: Option<Administrator>,
    /// The name of the configuration, `cn=config`.
    pub config: Name,
    /// The name of the subschema subentry (RFC 4512 §4.2).
    pub subschema: Name,
    /// The name of the monitor, `cn=monitor`.
    pub monitor: Name,
    /// Some entry of this database is, or once was, an alias.
    pub has_aliases: bool,
    /// Some entry of this database is, or once was, a referral object.
    pub has_referrals: bool,
    /// URLs of servers that know of names this directory does not hold.
    pub superior_referrals: Vec<String>,
    /// Some entry of this database is, or was lately, a dynamic group.
    pub has_dynamic_groups: bool,
    /// Some entry of this database lends, or lent lately, collective attributes.
    pub has_collective: bool,
    /// Which attributes tell an entry's groups when all operational attributes are asked for.
    pub shown_memberships: SmallVec<[TypeId; 2]>,
    /// What becomes of values that name an entry which is deleted.
    pub deleted_members: DeletedMembers,
    /// Some entry of this database is, or once was, a subentry.
    pub has_subentries: bool,
    /// Which values no two entries share, and which numbers new entries get.
    pub rules: Rules,
    /// How the password policy of an entry is found.
    pub policing: Policing,
}

/// A subtree this node holds.
#[derive(Debug, Clone)]
pub struct NamingContext {
    /// The name, resolved.
    pub name: Name,
    /// The name as it was spelled.
    pub spelled: String,
}

/// Who may do everything.
#[derive(Debug, Clone)]
pub struct Administrator {
    /// The name, resolved.
    pub name: Name,
    /// The name as it was spelled.
    pub spelled: String,
    /// The entry below `cn=config` that keeps the password.
    pub entry: EntryId,
}

/// The numbers of attributes that the rules hide from subjects who are not the administrator.
pub fn hidden_numbers(access: &Access, schema: &Schema) -> NumberSet {
    match access.sight(&Subject::anonymous(None, false)) {
        Sight::Everything => NumberSet::new(),
        Sight::AllBut(types) => {
            let numbers = types.iter().flat_map(|it| schema.numbers_of(*it));
            numbers.copied().collect()
        }
    }
}

impl Catalog {
    /// This catalog with a schema that has more attribute numbers.
    pub fn with_schema(mut self, schema: Schema) -> Catalog {
        self.hidden = hidden_numbers(&self.access, &schema);
        self.indexes.schema = schema.clone();
        self.schema = schema;
        self
    }

    /// The naming context a name lies in.
    pub fn context_of(&self, name: &Name) -> Option<&NamingContext> {
        self.contexts
            .iter()
            .find(|context| name.is_within(&context.name))
    }

    /// Whether the name is that of a naming context.
    pub fn is_context(&self, name: &Name) -> bool {
        self.contexts.iter().any(|context| context.name == *name)
    }
}
