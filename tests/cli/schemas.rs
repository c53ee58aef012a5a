//! Every schema file of Debian's packages around LDAP is built in or can be added, in any order; a
//! contradiction excludes only the definition that makes it.
//!
//! The files come out of the packages, which `tests/schemas/install` fetches into the target
//! folder; the repository contains no text of theirs.

use std::collections::BTreeSet;
use std::path::Path;

use kit::Pando;
use kit::tools::Tools;

use super::{Shell, one_line};

/// Packages and the schema files in them.
const PACKAGES: [(&str, &[&str]); 10] = [
    (
        "slapd",
        &[
            "etc/ldap/schema/collective.schema",
            "etc/ldap/schema/corba.schema",
            "etc/ldap/schema/core.schema",
            "etc/ldap/schema/core.ldif",
            "etc/ldap/schema/cosine.schema",
            "etc/ldap/schema/cosine.ldif",
            "etc/ldap/schema/dsee.schema",
            "etc/ldap/schema/duaconf.schema",
            "etc/ldap/schema/dyngroup.schema",
            "etc/ldap/schema/inetorgperson.schema",
            "etc/ldap/schema/java.schema",
            "etc/ldap/schema/misc.schema",
            "etc/ldap/schema/msuser.schema",
            "etc/ldap/schema/namedobject.schema",
            "etc/ldap/schema/nis.schema",
            "etc/ldap/schema/nis.ldif",
            "etc/ldap/schema/openldap.schema",
            "etc/ldap/schema/pmi.schema",
        ],
    ),
    (
        "krb5-kdc-ldap",
        &[
            "usr/share/doc/krb5-kdc-ldap/kerberos.schema",
            "usr/share/doc/krb5-kdc-ldap/kerberos.openldap.ldif",
        ],
    ),
    (
        "freeradius",
        &[
            "usr/share/doc/freeradius/schemas/ldap/openldap/freeradius.schema",
            "usr/share/doc/freeradius/schemas/ldap/openldap/freeradius-clients.schema",
            "usr/share/doc/freeradius/schemas/ldap/openldap/freeradius-clients.ldif",
        ],
    ),
    ("samba", &["usr/share/doc/samba/examples/LDAP/samba.schema"]),
    (
        "sudo-ldap",
        &[
            "usr/share/doc/sudo-ldap/schema.OpenLDAP",
            "usr/share/doc/sudo-ldap/schema.olcSudo",
        ],
    ),
    ("autofs-ldap", &["etc/ldap/schema/autofs.schema"]),
    (
        "isc-dhcp-server-ldap",
        &["usr/share/doc/isc-dhcp-server-ldap/dhcp.schema"],
    ),
    (
        "pdns-backend-ldap",
        &[
            "etc/ldap/schema/dnsdomain2.schema",
            "etc/ldap/schema/pdns-domaininfo.schema",
        ],
    ),
    (
        "ldap-account-manager",
        &["usr/share/doc/ldap-account-manager/docs/schema/dhcp.schema"],
    ),
    (
        "gosa-schema",
        &[
            "etc/ldap/schema/gosa/gofax.schema",
            "etc/ldap/schema/gosa/gofon.schema",
            "etc/ldap/schema/gosa/gosa-samba3.schema",
            "etc/ldap/schema/gosa/goserver.schema",
            "etc/ldap/schema/gosa/gosystem.schema",
            "etc/ldap/schema/gosa/goto-mime.schema",
            "etc/ldap/schema/gosa/goto.schema",
            "etc/ldap/schema/gosa/rfc2307bis.schema",
            "etc/ldap/schema/gosa/samba3.schema",
            "etc/ldap/schema/gosa/trust.schema",
        ],
    ),
];

/// Definitions left out, each with the reason that the program gives.
const LEFT_OUT: [(&str, &str); 7] = [
    (
        "dsee.schema:96",
        "expected a schema directive, got \"attributeype\"",
    ),
    (
        "msuser.schema",
        "fRSDirectoryFilter (1.2.840.113556.1.4.484)",
    ),
    ("msuser.schema", "fRSUpdateTimeout (1.2.840.113556.1.4.485)"),
    ("msuser.schema", "fRSFileFilter (1.2.840.113556.1.4.483)"),
    ("msuser.schema", "defaultGroup (1.2.840.113556.1.4.480)"),
    ("msuser.schema", "schemaUpdate (1.2.840.113556.1.4.481)"),
    ("msuser.schema", "memberOf (1.2.840.113556.1.2.102)"),
];

/// All schema files. `smbldap-tools` has none of its own.
fn files() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/schemas");
    let of = |&(package, paths): &(&str, &'static [&'static str])| {
        let folder = folder.join(package);
        paths
            .iter()
            .map(move |it| folder.join(it).to_string_lossy().into_owned())
    };
    let files: Vec<String> = PACKAGES.iter().flat_map(of).collect();
    for file in &files {
        assert!(
            Path::new(file).exists(),
            "{file} is missing: run `tests/schemas/install` first (`.ci/run libraries` does)"
        );
    }
    files
}

/// Returns the published definitions, each as its words in order, since lists may be in any order.
fn published(shell: &Shell) -> BTreeSet<Vec<String>> {
    let shown = shell.pando(&["schema", "show", "node"]).expect(0).out;
    let words = |line: &str| {
        let mut words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
        words.sort();
        words
    };
    shown.lines().map(words).collect()
}

#[test]
fn every_schema_file_of_debian_is_built_in_or_added() {
    let files = files();
    let together = Shell::with_node();
    let mut args = vec!["schema", "add", "node"];
    args.extend(files.iter().map(String::as_str));
    let first = together.pando(&args).expect(1);
    let mut refused: Vec<&str> = first
        .err
        .lines()
        .filter(|it| it.starts_with("pando: "))
        .collect();
    for (file, reason) in LEFT_OUT {
        let at = refused
            .iter()
            .position(|it| it.contains(file) && it.contains(reason));
        let at = at.unwrap_or_else(|| panic!("{file}: {reason}: {}", first.err));
        refused.remove(at);
    }
    assert!(refused.is_empty(), "{refused:?}");
    assert!(
        first
            .err
            .contains("attributeCertificateExactMatch, which is not known here"),
        "{}",
        first.err
    );
    for built_in in [
        "nis",
        "kerberos",
        "freeradius",
        "samba",
        "autofs",
        "dhcp",
        "cosine",
    ] {
        let line = format!("/{built_in}.schema: nothing new\n");
        assert!(first.out.contains(&line), "{built_in}: {}", first.out);
    }
    let again = together.pando(&args).expect(1);
    assert!(
        again.out.lines().all(|it| it.ends_with(": nothing new")),
        "{}",
        again.out
    );

    // Files are added one at a time, backwards; those of GOsa need each other, so twice.
    let apart = Shell::with_node();
    let of_gosa = files.iter().filter(|it| it.contains("/gosa/"));
    for file in files.iter().rev().chain(of_gosa) {
        let answer = apart.pando(&["schema", "add", "node", file]);
        assert!(answer.status <= 1, "{file}: {answer:?}");
    }
    let (one, other) = (published(&together), published(&apart));
    let differing: Vec<_> = one.symmetric_difference(&other).collect();
    assert!(differing.is_empty(), "{differing:?}");
    apart.pando(&["check", "node"]).expect(0);
}

const TEXT: &str = "SYNTAX 1.3.6.1.4.1.1466.115.121.1.15";

#[test]
fn a_contradiction_costs_one_definition() {
    let shell = Shell::with_node();
    let file = format!(
        "attributetype ( 1.3.6.1.4.1.32473.7.1 NAME 'plate' {TEXT} )\n\
         attributetype ( 2.5.4.3 NAME 'cn' SUP name )\n\n\
         attributetype ( 2.5.4.4 NAME 'surname' SUP name\n COLLECTIVE )\n\
         objectclass ( 1.3.6.1.4.1.32473.7.2 NAME 'vehicle' AUXILIARY MAY plate )\n"
    );
    shell.folder.write("cars.schema", &file);
    let strict = shell.pando(&["schema", "add", "--strict", "node", "cars.schema"]);
    let strict = strict.expect(1);
    assert!(strict.err.contains("nothing was added"), "{strict:?}");
    shell
        .pando(&["schema", "show", "node", "'plate'"])
        .expect(1);
    let add = ["schema", "add", "node", "cars.schema"];
    let answer = shell.pando(&add);
    assert_eq!(
        answer.out,
        "cars.schema: definitions: 2 new, 1 known already\n"
    );
    let reason =
        "cars.schema:4: surname (2.5.4.4) contradicts the schema: no COLLECTIVE is in force";
    one_line(answer, 1, &[reason]);
    assert_eq!(
        shell.pando(&add).expect(1).out,
        "cars.schema: nothing new\n"
    );
    // The file changes the mark: it is replaced, and stays when the file no longer has one.
    let wider =
        format!("attributetype ( 1.3.6.1.4.1.32473.7.1 NAME ( 'plate' 'licencePlate' ) {TEXT} )\n");
    shell.folder.write("cars.schema", &wider);
    assert_eq!(
        shell.pando(&add).expect(0).out,
        "cars.schema: definitions: 1 changed\n"
    );
    shell
        .pando(&["schema", "show", "node", "licencePlate"])
        .expect(0);
    shell
        .pando(&["schema", "show", "node", "vehicle"])
        .expect(0);
    // Another file widens the definition of the first one.
    shell.folder.write(
        "more.schema",
        "objectclass ( 1.3.6.1.4.1.32473.7.2 NAME 'vehicle' AUXILIARY MAY ( plate $ owner ) )\n",
    );
    let widened = shell
        .pando(&["schema", "add", "node", "more.schema"])
        .expect(0);
    assert_eq!(widened.out, "more.schema: definitions: 1 widened\n");
    shell
        .pando(&["schema", "show", "node", "vehicle"])
        .expect(0)
        .says("owner");
}

#[test]
fn openldaps_ldif_sent_to_the_server_is_answered_with_the_way() {
    let pando = Pando::start();
    let ldif = format!(
        "dn: cn=cars,cn=schema,cn=config\nobjectClass: olcSchemaConfig\ncn: cars\n\
         olcAttributeTypes: ( 1.3.6.1.4.1.32473.7.1 NAME 'plate' {TEXT} )\n"
    );
    let tools = Tools::bound(&pando.url(), kit::ADMIN, kit::PASSWORD);
    let answer = tools.run("ldapadd", &[], &ldif).expect(17);
    let way = "add the file with \"pando schema add DIR FILE\"";
    assert!(answer.err.contains(way), "{answer:?}");
}
