//! A resolved change: names and values under the schema, access decided, passwords hashed.
//!
//! What needs the entry's present state (does it exist, is the value there, does the result obey
//! the object classes) is left to execution. Position and time come with the record that orders it.

use crate::grant::Grant;
use policy::Attempt;
use protocol::ChangeOperation;
use schema::{Description, Name, ResolvedRdn, Schema, TypeId};

/// One change to the directory, ready to be ordered.
#[derive(Debug, Clone)]
pub struct Write {
    /// Leave to change the entry concerned: by whom, and its name.
    pub grant: Grant,
    /// The entry's name as the client spelled it.
    pub spelled: String,
    /// Treat referral objects as ordinary entries (ManageDsaIT, RFC 3296).
    pub manage_dsa_it: bool,
    /// What controls ask of its execution; nothing for a plain write.
    pub options: Option<Box<WriteOptions>>,
    /// The change.
    pub change: Change,
}

/// What controls ask of the execution of a write, as bytes and flags that mean the same wherever
/// and whenever the write is executed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteOptions {
    /// Who asked is the administrator; with `Write::by` this says what may be seen of the entry.
    pub administrator: bool,
    /// A filter in BER that the entry must match (RFC 4528).
    pub assertion: Option<Vec<u8>>,
    /// An AttributeSelection in BER: what to return of the entry as it was (RFC 4527 §3.1).
    pub pre_read: Option<Vec<u8>>,
    /// The same of the entry as it is afterwards (RFC 4527 §3.2).
    pub post_read: Option<Vec<u8>>,
    /// Say what would happen and change nothing (draft-zeilenga-ldap-noop).
    pub no_operation: bool,
    /// Adding what is there and deleting what is not is no mistake.
    pub permissive: bool,
    /// Rules of the model are relaxed (draft-zeilenga-ldap-relax).
    pub relaxed: bool,
    /// Delete the whole subtree (draft-armijo-ldap-treedelete).
    pub tree: bool,
    /// Passwords of the entry are counted: a few in all, one under a policy, and taking one away is
    /// no new password. Absent in records of earlier versions, which are executed as they were.
    pub counts_passwords: bool,
    /// What a new password is held against before it is hashed. Never logged: execution has no use
    /// for it.
    pub former: Option<Box<Former>>,
}

/// The passwords of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Former {
    /// The present values.
    pub stored: Vec<Vec<u8>>,
    /// Those before, as they were stored.
    pub history: Vec<Vec<u8>>,
    /// None of them may come again.
    pub keeps_history: bool,
    /// A value to be deleted must be one of the present passwords, in the clear.
    pub wants_old: bool,
}

impl Write {
    /// Who asked: becomes creatorsName and modifiersName.
    pub fn by(&self) -> &str {
        self.grant.by()
    }

    /// The entry concerned.
    pub fn name(&self) -> &Name {
        self.grant.name()
    }

    /// Whether the write is only to be tried.
    pub fn is_rehearsal(&self) -> bool {
        self.has(|options| options.no_operation)
    }

    /// Whether an option is set.
    pub fn has(&self, option: impl Fn(&WriteOptions) -> bool) -> bool {
        self.options.as_deref().is_some_and(option)
    }
}

impl Write {
    /// The attribute types that it has values of.
    fn types(&self) -> impl Iterator<Item = TypeId> {
        let (given, changes, rdn): (&[Given], &[Modification], Option<&ResolvedRdn>) =
            match &self.change {
                Change::Add(addition) => (&addition.attributes, &[], Some(&addition.rdn)),
                Change::Modify(changes) => (&[], changes, None),
                Change::Rename(renaming) => (&[], &[], Some(&renaming.rdn)),
                Change::Delete | Change::Reclaim(_) | Change::Attempts(_) => (&[], &[], None),
            };
        let given = given.iter().chain(changes.iter().map(|it| &it.given));
        let naming = rdn.into_iter().flat_map(|it| &it.values);
        let descriptions = given.map(|it| &it.description);
        let descriptions = descriptions.chain(naming.map(|(description, _)| description));
        descriptions.map(|it| it.type_id)
    }

    /// An attribute type that is not, or not any more, what it was when the write was resolved.
    pub fn outdated_type(&self, schema: &Schema) -> Option<TypeId> {
        self.types().find(|it| !schema.is_in_force(*it))
    }
}

impl WriteOptions {
    /// Boxed, or nothing when no control asks for anything.
    pub fn if_any(self) -> Option<Box<WriteOptions>> {
        let plain = WriteOptions {
            administrator: self.administrator,
            ..WriteOptions::default()
        };
        (self != plain).then(|| Box::new(self))
    }
}

/// What is to be done.
#[derive(Debug, Clone)]
pub enum Change {
    /// A new entry.
    Add(Addition),
    /// Changes of values, in their order.
    Modify(Vec<Modification>),
    /// The entry goes.
    Delete,
    /// A new name.
    Rename(Renaming),
    /// Removes entries of detached subtrees, at most so many: the writer's own, about no entry that
    /// has a name.
    Reclaim(u32),
    /// What came of checking the entry's password, in the order of time.
    Attempts(Vec<Attempt>),
}

/// A new entry.
#[derive(Debug, Clone)]
pub struct Addition {
    /// The entry's own RDN (for a naming context: its whole DN), as the client spelled it.
    pub rdn_spelled: String,
    /// The RDN, resolved.
    pub rdn: ResolvedRdn,
    /// The attributes of the new entry.
    pub attributes: Vec<Given>,
    /// The entryUUID to give it.
    pub uuid: [u8; 16],
}

/// An attribute with the values a client gave.
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
    /// Whether the values of the old RDN go.
    pub delete_old_rdn: bool,
    /// The new superior; `None` when the entry keeps its own.
    pub new_superior: Option<Name>,
}

impl Write {
    /// About how many bytes of memory it takes.
    pub fn bytes(&self) -> usize {
        let given = |it: &Given| -> usize {
            let values = it.values.iter().map(|value| VALUE_BYTES + value.len());
            VALUE_BYTES + values.sum::<usize>()
        };
        let change = match &self.change {
            Change::Add(addition) => addition.attributes.iter().map(given).sum(),
            Change::Modify(changes) => changes.iter().map(|it| given(&it.given)).sum(),
            Change::Delete | Change::Reclaim(_) | Change::Attempts(_) => 0,
            Change::Rename(renaming) => 2 * renaming.rdn_spelled.len(),
        };
        size_of::<Write>() + self.by().len() + 2 * self.spelled.len() + change
    }
}

/// What a value takes beside its bytes: a vector and what the allocator adds.
const VALUE_BYTES: usize = 40;

/// Writes that are applied wholly or not at all: one ordinary write, or those of a transaction.
pub type Unit<'w> = &'w [Write];

/// Units that share one place in the order, with everything that execution must not look up.
#[derive(Debug)]
pub struct Record<'w> {
    /// Place in the order, from 1.
    pub position: u64,
    /// Microseconds since 1970, never before the time of the record before it.
    pub time_us: u64,
    /// What is to be done, in the order of execution.
    pub units: Vec<Unit<'w>>,
}

impl<'w> Record<'w> {
    /// All writes, whatever unit they belong to.
    pub fn writes(&self) -> impl Iterator<Item = &'w Write> {
        self.units.iter().copied().flatten()
    }
}
