//! Format levels: one number for everything that the execution of records does. All nodes of a
//! cluster execute at the same level, which a record of the log raises, so that each of them
//! changes its behaviour at the same place.
//!
//! - 1: that of the first release.
//! - 2: in a cluster, the database keeps a sum of the texts that are members, so that nodes which
//!   compare their states compare these too.
//! - 3: the state of accounts is hidden from others by the built-in access rules, `cn=config` may
//!   set conditions on every request (`pandoRequire`), and rules below `cn=identities,cn=config`
//!   map identities of other systems to entries; a write can store a password in another form,
//!   without the effects of a new password, and subtrees have password policies; an entry with a
//!   password policy may have the hash of its password and keys of SCRAM of the same password, and
//!   nodes share the setting for these; access rules can be `within` an area,
//!   and others be judged beside them; changes can be
//!   audited: records say how their authors came in, and the database keeps the end of a chain of
//!   lines about what they changed.
//!
//! A new behaviour of execution, a change of the built-in schema, of the tables of Unicode or of a
//! constant that execution uses takes a new level: the code asks for the level in force, and a
//! golden log (`crates/replica/golden/`) keeps what each released level does.

use crate::meta::{META_CLUSTER, META_LEVEL};
use crate::stop::Failure;
use store::{Batch, Snapshot};

/// The lowest level that this program executes.
pub const LOWEST: u32 = 1;
/// The highest level that this program executes.
pub const HIGHEST: u32 = 3;
/// Level from which on the database of a cluster keeps a sum of its texts.
const SUMS_TEXTS: u32 = 2;
/// Level from which on changes can be audited.
pub const AUDITS: u32 = 3;
/// Level from which on nodes share the settings of which
/// [`SharedSettings`](policy::SharedSettings) says that they came with it.
pub const SHARES_FURTHER: u32 = 3;
/// Level from which on keys of SCRAM may stand beside the hash of a password.
pub const KEEPS_VERIFIERS: u32 = 3;
/// Level from which on the built-in access rules hide the state of accounts.
pub const GUARDS_ACCOUNTS: u32 = 3;
/// Level from which on passwords are hashed anew after binds.
pub const REHASHES: u32 = 3;
/// Level from which on subtrees have password policies.
pub(crate) const POLICES_SUBTREES: u32 = 3;
/// Level from which on access rules can be `within` an area.
pub const DELEGATES: u32 = 3;
/// Attribute types of the built-in schema that begin a level, by name. Below it there may be
/// programs in a cluster that do not know them.
const LATER_TYPES: [(&str, u32); 1] = [("pandoRequire", 3)];

/// The level that begins an attribute type of this name.
pub fn begins(type_name: &str) -> u32 {
    let later = LATER_TYPES.iter().find(|it| it.0 == type_name);
    later.map_or(LOWEST, |it| it.1)
}

/// The highest level of the program that tests want this one to be.
#[cfg(debug_assertions)]
static PRETENDED: std::sync::OnceLock<u32> = std::sync::OnceLock::new();

/// Makes this process know levels up to `highest` only, like an earlier program. For tests: a
/// release does not have it.
#[cfg(debug_assertions)]
pub fn pretend_to_be_older(highest: u32) {
    PRETENDED.get_or_init(|| highest.clamp(LOWEST, HIGHEST));
}

/// The highest level that this process executes: [`HIGHEST`], but for tests of older programs.
pub fn highest() -> u32 {
    #[cfg(debug_assertions)]
    if let Some(highest) = PRETENDED.get() {
        return *highest;
    }
    HIGHEST
}

/// Refuses a level that this program does not execute, and returns any other.
///
/// # Errors
/// [`Failure::Level`].
pub fn require_known(level: u32) -> Result<u32, Failure> {
    match (LOWEST..=highest()).contains(&level) {
        true => Ok(level),
        false => Err(Failure::Level(Unknown { level })),
    }
}

/// The level of a database. One without a row has the first.
///
/// # Errors
/// The store cannot be read, or the row is damaged.
pub fn of(snapshot: &Snapshot<'_>) -> Result<u32, Failure> {
    let row = snapshot.meta(META_LEVEL)?.map(TryInto::try_into);
    let level = row.transpose().map_err(|_| store::Error::Corrupt {
        table: "meta",
        detail: "the format level cannot be read: restore the database from a backup (pando \
                 restore)"
            .to_owned(),
    })?;
    Ok(level.map_or(LOWEST, u32::from_be_bytes))
}

/// Stores the level of a new database.
///
/// # Errors
/// Writing the store failed.
pub fn put(batch: &mut Batch<'_>, level: u32) -> Result<(), Failure> {
    Ok(batch.put_meta(META_LEVEL, &level.to_be_bytes())?)
}

/// Raises the level of a database, and brings the database into the form that the level needs.
///
/// # Errors
/// The store cannot be read or written.
pub(crate) fn raise(batch: &mut Batch<'_>, to: u32) -> Result<(), Failure> {
    put(batch, to)?;
    keep_sums(batch)
}

/// Makes the database of a cluster keep the sums that its level asks for, computed anew; that of a
/// node alone keeps none.
///
/// # Errors
/// The store cannot be read or written.
pub fn keep_sums(batch: &mut Batch<'_>) -> Result<(), Failure> {
    let (level, is_of_cluster) = {
        let snapshot = batch.snapshot();
        (of(&snapshot)?, snapshot.meta(META_CLUSTER)?.is_some())
    };
    match is_of_cluster && level >= SUMS_TEXTS {
        true => Ok(batch.sum_texts()?),
        false => Ok(batch.forget_texts_sum()?),
    }
}

/// A level that this program does not execute.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "expected a format level from {LOWEST} to {}, which pando {} executes, found {level}: {}",
    highest(), store::VERSION, self.way_out()
)]
pub struct Unknown {
    /// The level.
    pub level: u32,
}

impl Unknown {
    fn way_out(self) -> &'static str {
        match self.level < LOWEST {
            true => "run `pando cluster upgrade` with the former pando first",
            false => "install a newer pando and start it again; nothing is lost",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_of_a_later_program_is_refused_with_the_way_out() {
        assert!(require_known(LOWEST).is_ok() && require_known(HIGHEST).is_ok());
        let later = require_known(HIGHEST + 1).expect_err("a later level");
        let text = later.to_string();
        let expected = format!("found {}: install a newer pando", HIGHEST + 1);
        assert!(text.contains(&expected), "{text}");
        let earlier = require_known(LOWEST - 1).expect_err("an earlier level");
        assert!(earlier.to_string().contains("former pando first"));
    }
}
