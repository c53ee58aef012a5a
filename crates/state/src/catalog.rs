//! The catalog, the data other than entries that operations need: schema, indexes, access rules,
//! limits, naming contexts. A catalog is immutable; the writer publishes a new one before the
//! commit that needs it, so that no reader meets an attribute number without a name.

use crate::account::Policing;
use crate::bounds::Bounds;
use crate::knowledge::{Computed, Knowledge};
use crate::level;
use crate::rules::Rules;
use arc_swap::ArcSwap;
use policy::access::candidate::Candidate;
use policy::access::compile::RuleSet;
use policy::mapping::Mapping;
use policy::requirements::Requirements;
use policy::{Access, LimitSettings, PasswordSettings, Scheme, Sight, Subject};
use schema::{Name, NumberSet, Schema, TypeId};
use smallvec::SmallVec;
use std::sync::Arc;
use store::{EntryId, IndexSet};

/// Text of the name of the subschema subentry (RFC 4512 §4.2).
pub const SUBSCHEMA_NAME: &str = "cn=Subschema";
/// Base of the monitor's entries, which are not stored.
pub const MONITOR_NAME: &str = "cn=monitor";
/// Base of the configuration entries.
pub const CONFIG_NAME: &str = "cn=config";

/// Publishes a catalog read from entries. Of a node alone, limits come from its file, so those set
/// last are kept.
pub fn publish(in_force: &ArcSwap<Catalog>, next: Catalog) {
    in_force.rcu(|now| {
        let mut next = next.clone();
        next.keep_settings_of(now);
        next
    });
}

/// One consistent set of rules under which operations run.
#[derive(Debug, Clone)]
pub struct Catalog {
    /// The schema in force.
    pub schema: Schema,
    /// Stored definitions that contradict the schema and are not in force, as text. A change that
    /// would add one is refused; definitions stored by earlier builds remain until they are
    /// removed.
    pub schema_conflicts: Vec<String>,
    /// The indexes, ready or being built.
    pub indexes: IndexSet,
    /// Whether rows of indexes are still to be added or removed.
    pub indexing: bool,
    /// Values of `pandoIndexRebuild` by attribute; another value requests another rebuild.
    pub index_marks: Vec<(String, String)>,
    /// Version of the first snapshot that is complete for all indexes in `indexes` marked as ready.
    pub least_version: u64,
    /// The built-in access rules.
    pub access: Access,
    /// The rules below `cn=access,cn=config`, which replace the built-in ones for all entries but
    /// those of the configuration and the monitor; `None` if there are none.
    pub access_rules: Option<RuleSet>,
    /// Rules that judge requests beside those in force, and change no answer; `None` if there are
    /// none.
    pub candidate: Option<Arc<Candidate>>,
    /// Conditions on every request.
    pub requirements: Requirements,
    /// The rules below `cn=identities,cn=config` that map identities of other systems to entries.
    pub identities: Arc<Mapping>,
    /// Numbers of the attributes hidden from all subjects but the administrator, derived from
    /// `access` and `schema`. See [`Catalog::with_schema`].
    pub hidden: NumberSet,
    /// Numbers of those that are shown to the subject whose own entry it is.
    pub shown_to_owner: NumberSet,
    /// Whether limits and the treatment of passwords stand in the directory: in a cluster. Else
    /// they are settings of the node.
    pub shares_settings: bool,
    /// The limits of requests by subject.
    pub limits: LimitSettings,
    /// The treatment of passwords.
    pub passwords: PasswordSettings,
    /// Bounds of one write and of the history.
    pub bounds: Bounds,
    /// Attribute types that the server uses itself.
    pub known: Knowledge,
    /// Attribute types whose values are computed when they are read.
    pub computed: Computed,
    /// Naming contexts (RFC 4512 §5.1), as resolved and as spelled. `cn=config` is the last.
    pub contexts: Vec<NamingContext>,
    /// The administrator; `None` where the configuration names none.
    pub administrator: Option<Administrator>,
    /// The name of the configuration, `cn=config`.
    pub config: Name,
    /// The name of the container of access rules, `cn=access,cn=config`.
    pub rule_container: Name,
    /// The resolved name of the subschema subentry (RFC 4512 §4.2).
    pub subschema: Name,
    /// The name of the monitor, `cn=monitor`.
    pub monitor: Name,
    /// Whether some entry of this database is, or once was, an alias.
    pub has_aliases: bool,
    /// Whether some entry of this database is, or once was, a referral object.
    pub has_referrals: bool,
    /// URLs of superior servers, which know names that this directory does not hold.
    pub superior_referrals: Vec<String>,
    /// Whether some entry of this database is, or recently was, a dynamic group.
    pub has_dynamic_groups: bool,
    /// Whether some entry of this database lends, or recently lent, collective attributes.
    pub has_collective: bool,
    /// Attribute types for the groups of an entry that a request for all operational attributes
    /// (`+`) returns.
    pub shown_memberships: SmallVec<[TypeId; 2]>,
    /// Handling of values that name a deleted entry.
    pub deleted_members: DeletedMembers,
    /// Whether some entry of this database is, or once was, a subentry.
    pub has_subentries: bool,
    /// Rules for unique values and for numbers given to new entries.
    pub rules: Rules,
    /// Data for finding the password policy of an entry.
    pub policing: Policing,
    /// Roots of the subtrees in which the first of two competing writes wins:
    /// `pandoFirstWriterWins`.
    pub first_writer_wins: Vec<Name>,
    /// The format level at which records are executed.
    pub level: u32,
    /// Whether changes are audited.
    pub audits: bool,
}

/// The root of a subtree that this node holds.
#[derive(Debug, Clone)]
pub struct NamingContext {
    /// The name, resolved.
    pub name: Name,
    /// Name of the naming context, as spelled.
    pub spelled: String,
}

/// The administrator's identity, which every access rule lets pass.
#[derive(Debug, Clone)]
pub struct Administrator {
    /// The name, resolved.
    pub name: Name,
    /// Name of the administrator, as spelled.
    pub spelled: String,
    /// The entry below `cn=config` that holds the password.
    pub entry: EntryId,
}

/// Numbers of the attributes that access rules hide from subjects other than the administrator.
pub fn hidden_numbers(access: &Access, schema: &Schema) -> NumberSet {
    match access.sight(&Subject::anonymous(None, false)) {
        Sight::Everything => NumberSet::new(),
        Sight::AllBut(types) => {
            let numbers = types.iter().flat_map(|it| schema.numbers_of(*it));
            numbers.copied().collect()
        }
    }
}

/// Numbers of the hidden attributes that are shown to the subject whose own entry it is.
pub fn owner_numbers(access: &Access, schema: &Schema) -> NumberSet {
    let types = access.accounts().shown_to_owner().iter();
    types
        .flat_map(|it| schema.numbers_of(*it))
        .copied()
        .collect()
}

impl Catalog {
    /// Returns the scheme of the keys that are stored beside the hash of a new password; `None` for
    /// none, because the settings want none, the hash has such keys, or the format level is below
    /// the one that knows them.
    pub fn verifiers(&self) -> Option<Scheme> {
        let scheme = self.passwords.verifiers.scheme();
        let is_known = self.level >= level::KEEPS_VERIFIERS;
        scheme.filter(|it| is_known && *it != self.passwords.scheme)
    }

    /// Takes the settings of the node from the catalog in force, unless the directory has them.
    pub fn keep_settings_of(&mut self, in_force: &Catalog) {
        if !self.shares_settings {
            self.limits = in_force.limits.clone();
            self.passwords = in_force.passwords;
        }
    }

    /// Returns this catalog with a schema that has additional attribute numbers.
    pub fn with_schema(mut self, schema: Schema) -> Catalog {
        self.hidden = hidden_numbers(&self.access, &schema);
        self.shown_to_owner = owner_numbers(&self.access, &schema);
        self.access_rules = self.access_rules.map(|it| {
            // The types of a schema remain when its dictionary grows, so the rules mean something
            // under it; if they did not, nobody but the administrator would have any right.
            let rules: Vec<_> = it.rules().cloned().collect();
            let secrets = self.access.secrets();
            let compile = |rules| RuleSet::compile(&schema, secrets, rules);
            compile(&rules).unwrap_or_else(|_| compile(&[]).expect("no rules are never wrong"))
        });
        self.candidate = self.candidate.and_then(|it| {
            let (secrets, in_force) = (self.access.secrets(), self.access_rules.as_ref());
            it.under(&schema, secrets, in_force).map(Arc::new)
        });
        self.indexes.schema = schema.clone();
        self.schema = schema;
        self
    }

    /// Returns the naming context of a name; `None` if the name is in none.
    pub fn context_of(&self, name: &Name) -> Option<&NamingContext> {
        self.contexts
            .iter()
            .find(|context| name.is_within(&context.name))
    }

    /// Returns whether a write to an entry of this name is refused if another write changed the
    /// entry after the client's node took this one.
    pub fn first_writer_wins(&self, name: &Name) -> bool {
        let mut roots = self.first_writer_wins.iter();
        roots.any(|root| name.is_within(root))
    }

    /// Returns whether the name is that of a naming context.
    pub fn is_context(&self, name: &Name) -> bool {
        self.contexts.iter().any(|context| context.name == *name)
    }
}

/// Treatment of values that name a deleted entry: `pandoDeletedMember`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DeletedMembers {
    /// The values are removed.
    #[default]
    Remove,
    /// The values stay, as texts.
    Keep,
    /// Deleting the entry is refused.
    Refuse,
}
