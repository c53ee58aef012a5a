//! A resolved change: names and values under the schema, access decided, passwords hashed.
//!
//! Execution checks conditions on the entry's present state: whether it exists, whether it has a
//! value, whether the result obeys the object classes. The record that orders the write has
//! position and time.

use crate::grant::Grant;
use policy::quality::AskedLists;
use policy::{Attempt, Hashing};
use protocol::ChangeOperation;
use schema::{Description, Name, ResolvedRdn, Schema, TypeId};

/// A resolved change of the directory, ready to be ordered.
#[derive(Debug, Clone)]
pub struct Write {
    /// Permission for the change: the subject and the entry's name.
    pub grant: Grant,
    /// The entry's name as the client spelled it.
    pub spelled: String,
    /// Whether referral objects are treated as ordinary entries (ManageDsaIT, RFC 3296).
    pub manage_dsa_it: bool,
    /// Controls that execution must know; `None` for a plain write.
    pub options: Option<Box<WriteOptions>>,
    /// The change.
    pub change: Change,
}

/// Controls that execution must know, as bytes and flags that do not depend on where and when the
/// write is executed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Whether the subject is the administrator; with `Write::by` this decides which attributes are
    /// visible.
    pub administrator: bool,
    /// A filter in BER that the entry must match (RFC 4528).
    pub assertion: Option<Vec<u8>>,
    /// Attributes to return of the entry before the write, as an AttributeSelection in BER (RFC
    /// 4527 §3.1).
    pub pre_read: Option<Vec<u8>>,
    /// Attributes to return of the entry after the write, as an AttributeSelection in BER (RFC 4527
    /// §3.2).
    pub post_read: Option<Vec<u8>>,
    /// Whether the write is only checked (draft-zeilenga-ldap-noop).
    pub no_operation: bool,
    /// Whether adding an existing value and deleting a missing one succeed.
    pub permissive: bool,
    /// Whether rules of the model are relaxed (draft-zeilenga-ldap-relax).
    pub relaxed: bool,
    /// Whether the whole subtree is deleted (draft-armijo-ldap-treedelete).
    pub tree: bool,
    /// Whether the entry's passwords are counted: at most eight, one under a policy, and deleting
    /// one does not make the others new. False in records of earlier builds, which are executed as
    /// they were.
    pub counts_passwords: bool,
    /// Whether the change gives a stored password another form, and has none of the effects of a
    /// new password.
    pub rehashes: bool,
    /// Position of the state in which the client's node took the write, if the write is executed
    /// only while the entry is as it was then: the first of two competing writes wins at this name,
    /// or access was decided by what the entry has. `None` if it is executed in any case.
    pub seen: Option<u64>,
    /// Former passwords, with which a new one is compared before it is hashed. Not logged, because
    /// execution does not need them.
    pub former: Option<Box<Former>>,
    /// Scheme and cost of new passwords; `None` for the setting. Not logged, because passwords are
    /// hashed before.
    pub hashing: Option<Hashing>,
    /// Lists in which new passwords may not stand. Not logged, as they are asked before.
    pub lists: AskedLists,
}

/// The present and former passwords of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Former {
    /// The present values of userPassword.
    pub stored: Vec<Vec<u8>>,
    /// The former passwords, as stored.
    pub history: Vec<Vec<u8>>,
    /// Whether former passwords must not be used again.
    pub keeps_history: bool,
    /// Whether the change must delete a present password, given in the clear.
    pub wants_old: bool,
}

impl Write {
    /// A write of the server itself: it reaches entries of any kind, and has no controls.
    pub fn of_server(grant: Grant, spelled: String, change: Change) -> Write {
        Write {
            grant,
            spelled,
            manage_dsa_it: true,
            options: None,
            change,
        }
    }

    /// A write of the server itself that is about no entry, as reclaiming is.
    pub fn of_no_entry(change: Change) -> Write {
        let grant = Grant::of_server(String::new(), Name::root());
        Write::of_server(grant, String::new(), change)
    }

    /// The subject's DN, stored as creatorsName and modifiersName.
    pub fn by(&self) -> &str {
        self.grant.by()
    }

    /// Name of the entry to change.
    pub fn name(&self) -> &Name {
        self.grant.name()
    }

    /// Returns whether the write is only checked (No-Op).
    pub fn is_rehearsal(&self) -> bool {
        self.has(|options| options.no_operation)
    }

    /// Returns whether the write stores the results of password checks.
    pub fn is_of_attempts(&self) -> bool {
        matches!(self.change, Change::Attempts(_))
    }

    /// Returns whether the write changes what other writes are resolved under: an entry of the
    /// configuration, whose name is given, the format level, or whether changes are audited. It
    /// shares its record with none.
    pub fn configures(&self, config: &Name) -> bool {
        matches!(self.change, Change::Level(_) | Change::Audit(_)) || self.name().is_within(config)
    }

    /// Returns whether an option is set.
    pub fn has(&self, option: impl Fn(&WriteOptions) -> bool) -> bool {
        self.options.as_deref().is_some_and(option)
    }
}

impl Write {
    /// Returns the attribute types of the write's values.
    fn types(&self) -> impl Iterator<Item = TypeId> {
        let (given, changes, rdn): (&[Given], &[Modification], Option<&ResolvedRdn>) =
            match &self.change {
                Change::Add(addition) => (&addition.attributes, &[], Some(&addition.rdn)),
                Change::Modify(changes) => (&[], changes, None),
                Change::Rename(renaming) => (&[], &[], Some(&renaming.rdn)),
                Change::Delete
                | Change::Reclaim(_)
                | Change::Attempts(_)
                | Change::Level(_)
                | Change::Audit(_) => (&[], &[], None),
            };
        let given = given.iter().chain(changes.iter().map(|it| &it.given));
        let naming = rdn.into_iter().flat_map(|it| &it.values);
        let descriptions = given.map(|it| &it.description);
        let descriptions = descriptions.chain(naming.map(|(description, _)| description));
        descriptions.map(|it| it.type_id)
    }

    /// An attribute type that was removed or redefined since the write was resolved; `None` if
    /// there is none.
    pub fn outdated_type(&self, schema: &Schema) -> Option<TypeId> {
        self.types().find(|it| !schema.is_in_force(*it))
    }
}

impl WriteOptions {
    /// Returns the options in a box; `None` if no control sets any.
    pub fn if_any(self) -> Option<Box<WriteOptions>> {
        let plain = WriteOptions {
            administrator: self.administrator,
            ..WriteOptions::default()
        };
        (self != plain).then(|| Box::new(self))
    }
}

/// The kind of change.
#[derive(Debug, Clone)]
pub enum Change {
    /// A new entry.
    Add(Addition),
    /// Changes of values, in their order.
    Modify(Vec<Modification>),
    /// The entry is deleted.
    Delete,
    /// A new name.
    Rename(Renaming),
    /// Removes at most this many entries of detached subtrees; a write of the server itself,
    /// without a name.
    Reclaim(u32),
    /// Results of password checks of the entry, in order of time.
    Attempts(Vec<Attempt>),
    /// Raises the format level of the database; a write of the server itself, without a name.
    Level(u32),
    /// Begins or ends the audit; a write of the server itself, without a name.
    Audit(bool),
}

/// A new entry.
#[derive(Debug, Clone)]
pub struct Addition {
    /// The entry's own RDN (for a naming context its whole DN), as the client spelled it.
    pub rdn_spelled: String,
    /// The RDN, resolved.
    pub rdn: ResolvedRdn,
    /// The attributes of the new entry.
    pub attributes: Vec<Given>,
    /// The entryUUID of the new entry.
    pub uuid: [u8; 16],
}

/// An attribute with the values that a client gave.
#[derive(Debug, Clone)]
pub struct Given {
    /// The attribute description.
    pub description: Description,
    /// The values as the client gave them.
    pub values: Vec<Vec<u8>>,
}

/// One change of a modify request (RFC 4511 §4.6, RFC 4525).
#[derive(Debug, Clone)]
pub struct Modification {
    /// Add, delete, replace or increment.
    pub operation: ChangeOperation,
    /// The attribute and its values.
    pub given: Given,
}

/// A new name (RFC 4511 §4.9).
#[derive(Debug, Clone)]
pub struct Renaming {
    /// The new RDN as the client spelled it.
    pub rdn_spelled: String,
    /// The RDN, resolved.
    pub rdn: ResolvedRdn,
    /// Whether the values of the old RDN are removed.
    pub delete_old_rdn: bool,
    /// The new superior; `None` when the entry keeps its own.
    pub new_superior: Option<Name>,
}

impl Write {
    /// Approximate memory in bytes.
    pub fn bytes(&self) -> usize {
        let given = |it: &Given| -> usize {
            let values = it.values.iter().map(|value| VALUE_BYTES + value.len());
            VALUE_BYTES + values.sum::<usize>()
        };
        let change = match &self.change {
            Change::Add(addition) => addition.attributes.iter().map(given).sum(),
            Change::Modify(changes) => changes.iter().map(|it| given(&it.given)).sum(),
            Change::Delete
            | Change::Reclaim(_)
            | Change::Attempts(_)
            | Change::Level(_)
            | Change::Audit(_) => 0,
            Change::Rename(renaming) => 2 * renaming.rdn_spelled.len(),
        };
        size_of::<Write>() + self.by().len() + 2 * self.spelled.len() + change
    }
}

/// Memory of a value beside its bytes: the vector and the allocator's overhead.
const VALUE_BYTES: usize = 40;

/// Writes applied as a whole or not at all: one ordinary write, or the writes of a transaction.
pub type Unit<'w> = &'w [Write];

/// Units that share one place in the order, with all data that execution must not look up.
#[derive(Debug)]
pub struct Record<'w> {
    /// Place in the order, from 1.
    pub position: u64,
    /// Microseconds since 1970, not before the time of the previous record.
    pub time_us: u64,
    /// The units, in the order of execution.
    pub units: Vec<Unit<'w>>,
}

impl<'w> Record<'w> {
    /// Returns all writes of all units.
    pub fn writes(&self) -> impl Iterator<Item = &'w Write> {
        self.units.iter().copied().flatten()
    }
}
