//! The standard schema: the definitions that every directory begins with.
//!
//! Definitions that came with a format level stand in files of that level: a database of a lower
//! level is without them, since programs that do not know them execute the same records.

use std::sync::OnceLock;

use super::Schema;
use crate::schema_file::read_schema_file;

/// The files of the standard schema at every level, with their names for error messages.
const STANDARD_FILES: &[(&str, &str)] = &[
    (
        "rfc4512.schema",
        include_str!("../../definitions/rfc4512.schema"),
    ),
    (
        "rfc4519.schema",
        include_str!("../../definitions/rfc4519.schema"),
    ),
    (
        "rfc2079.schema",
        include_str!("../../definitions/rfc2079.schema"),
    ),
    (
        "rfc4524.schema",
        include_str!("../../definitions/rfc4524.schema"),
    ),
    (
        "rfc1274.schema",
        include_str!("../../definitions/rfc1274.schema"),
    ),
    (
        "rfc4523.schema",
        include_str!("../../definitions/rfc4523.schema"),
    ),
    (
        "rfc2798.schema",
        include_str!("../../definitions/rfc2798.schema"),
    ),
    (
        "rfc2256.schema",
        include_str!("../../definitions/rfc2256.schema"),
    ),
    (
        "operational.schema",
        include_str!("../../definitions/operational.schema"),
    ),
    (
        "rfc3671.schema",
        include_str!("../../definitions/rfc3671.schema"),
    ),
    (
        "password_policy.schema",
        include_str!("../../definitions/password_policy.schema"),
    ),
    (
        "rfc3112.schema",
        include_str!("../../definitions/rfc3112.schema"),
    ),
    (
        "rfc2307bis.schema",
        include_str!("../../definitions/rfc2307bis.schema"),
    ),
    (
        "groups.schema",
        include_str!("../../definitions/groups.schema"),
    ),
    (
        "rfc4876.schema",
        include_str!("../../definitions/rfc4876.schema"),
    ),
    (
        "rfc2739.schema",
        include_str!("../../definitions/rfc2739.schema"),
    ),
    (
        "rfc7612.schema",
        include_str!("../../definitions/rfc7612.schema"),
    ),
    (
        "rfc2926.schema",
        include_str!("../../definitions/rfc2926.schema"),
    ),
    (
        "rfc4403.schema",
        include_str!("../../definitions/rfc4403.schema"),
    ),
    (
        "rfc2713.schema",
        include_str!("../../definitions/rfc2713.schema"),
    ),
    (
        "rfc2714.schema",
        include_str!("../../definitions/rfc2714.schema"),
    ),
    (
        "kerberos.schema",
        include_str!("../../definitions/kerberos.schema"),
    ),
    ("sudo.schema", include_str!("../../definitions/sudo.schema")),
    (
        "openssh_lpk.schema",
        include_str!("../../definitions/openssh_lpk.schema"),
    ),
    (
        "ldapns.schema",
        include_str!("../../definitions/ldapns.schema"),
    ),
    (
        "eduperson.schema",
        include_str!("../../definitions/eduperson.schema"),
    ),
    (
        "samba.schema",
        include_str!("../../definitions/samba.schema"),
    ),
    (
        "radius.schema",
        include_str!("../../definitions/radius.schema"),
    ),
    ("dhcp.schema", include_str!("../../definitions/dhcp.schema")),
    ("mail.schema", include_str!("../../definitions/mail.schema")),
    (
        "changelog.schema",
        include_str!("../../definitions/changelog.schema"),
    ),
    (
        "monitor.schema",
        include_str!("../../definitions/monitor.schema"),
    ),
    (
        "pando.schema",
        include_str!("../../definitions/pando.schema"),
    ),
];

/// Format level of the definitions in [`FILES_OF_LEVEL_3`].
const LEVEL_3: u32 = 3;

/// The files of definitions that came with format level 3.
const FILES_OF_LEVEL_3: &[(&str, &str)] = &[
    (
        "pando_candidate.schema",
        include_str!("../../definitions/pando_candidate.schema"),
    ),
    (
        "pando_identities.schema",
        include_str!("../../definitions/pando_identities.schema"),
    ),
    (
        "password_quality.schema",
        include_str!("../../definitions/password_quality.schema"),
    ),
];

/// The files of the standard schema at a format level.
pub(super) fn files_at(level: u32) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    let later: &[_] = match level >= LEVEL_3 {
        true => FILES_OF_LEVEL_3,
        false => &[],
    };
    STANDARD_FILES.iter().chain(later)
}

impl Schema {
    /// Returns the standard schema shipped with Pando, with an empty dictionary. Built once per
    /// process.
    pub fn standard() -> Schema {
        static STANDARD: OnceLock<Schema> = OnceLock::new();
        STANDARD
            .get_or_init(|| Schema::build_standard(u32::MAX))
            .clone()
    }

    /// Returns the standard schema of databases at a format level. Built once per process.
    pub fn standard_at(level: u32) -> Schema {
        static BEFORE_LEVEL_3: OnceLock<Schema> = OnceLock::new();
        match level >= LEVEL_3 {
            true => Schema::standard(),
            false => BEFORE_LEVEL_3
                .get_or_init(|| Schema::build_standard(level))
                .clone(),
        }
    }

    /// Builds the schema from the standard files of a format level.
    pub(super) fn build_standard(level: u32) -> Schema {
        let mut all = Vec::with_capacity(2048);
        for (file, text) in files_at(level) {
            match read_schema_file(text) {
                Ok(definitions) => all.extend(definitions),
                Err(error) => panic!("embedded schema file {file}: {error}"),
            }
        }
        match Schema::empty().extended(&all) {
            Ok(schema) => schema,
            Err(error) => panic!("embedded schema: {error}"),
        }
    }
}
