//! The standard schema: the definitions that every directory begins with.

use std::sync::OnceLock;

use super::Schema;
use crate::schema_file::read_schema_file;

/// The files of the standard schema, with their names for error messages.
pub(super) const STANDARD_FILES: &[(&str, &str)] = &[
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

/// The file of the definitions that format level 3 begins. A directory at a lower level does not
/// have them: in its cluster there may be programs that do not know them.
pub(super) const LEVEL_3: (&str, &str) = (
    "level_3.schema",
    include_str!("../../definitions/level_3.schema"),
);

impl Schema {
    /// Returns the standard schema shipped with Pando, with an empty dictionary. Built once per
    /// process.
    pub fn standard() -> Schema {
        static STANDARD: OnceLock<Schema> = OnceLock::new();
        STANDARD.get_or_init(Schema::build_standard).clone()
    }

    /// Returns the standard schema of a directory at this format level, with an empty dictionary.
    pub fn standard_at(level: u32) -> Schema {
        static BEFORE_3: OnceLock<Schema> = OnceLock::new();
        match level {
            0..3 => BEFORE_3.get_or_init(|| build(STANDARD_FILES)).clone(),
            3.. => Schema::standard(),
        }
    }

    /// Builds the schema from all standard files.
    pub(super) fn build_standard() -> Schema {
        build(&[STANDARD_FILES, &[LEVEL_3]].concat())
    }
}

fn build(files: &[(&str, &str)]) -> Schema {
    let mut all = Vec::with_capacity(2048);
    for (file, text) in files {
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
