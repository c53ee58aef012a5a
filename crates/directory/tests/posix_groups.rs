//! Groups of RFC 2307, where `posixGroup` is structural, and of its successor, where it is
//! auxiliary, in one directory.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;
mod node;

use kit::{Client, success};
use node::Node;
use protocol::{ChangeOperation, ResultCode, Scope};

/// Entries of both worlds, as programs and migrated directories have them.
const MIXTURE: &str = "\
dn: cn=old,dc=example,dc=com
objectClass: top
objectClass: posixGroup
structuralObjectClass: posixGroup
cn: old
gidNumber: 5000
memberUid: ada
memberUid: bob

dn: cn=samba,dc=example,dc=com
objectClass: posixGroup
objectClass: sambaGroupMapping
cn: samba
gidNumber: 5001
sambaSID: S-1-5-21-1-2-3-11003
sambaGroupType: 2

dn: cn=new,dc=example,dc=com
objectClass: groupOfNames
objectClass: posixGroup
structuralObjectClass: groupOfNames
cn: new
gidNumber: 5002
member: dc=example,dc=com

dn: cn=mended,dc=example,dc=com
objectClass: posixGroup
objectClass: namedObject
structuralObjectClass: posixGroup
cn: mended
gidNumber: 5003

dn: ou=auto.home,dc=example,dc=com
objectClass: automountMap
ou: auto.home

dn: cn=ada,ou=auto.home,dc=example,dc=com
objectClass: automount
cn: ada
automountInformation: host:/home/ada

dn: automountMapName=auto_home,dc=example,dc=com
objectClass: automountMap
automountMapName: auto_home

dn: automountKey=ada,automountMapName=auto_home,dc=example,dc=com
objectClass: automount
automountKey: ada
automountInformation: host:/home/ada
";

fn structural(client: &mut Client, dn: &str) -> String {
    let answer = client.search(dn, Scope::BaseObject, "(objectClass=*)", &["+"]);
    success(&answer.result);
    answer.values("structuralObjectClass").join(" ")
}

fn found(client: &mut Client, filter: &str) -> Vec<String> {
    let answer = client.search("dc=example,dc=com", Scope::WholeSubtree, filter, &["1.1"]);
    success(&answer.result);
    answer.names().into_iter().map(str::to_owned).collect()
}

#[test]
fn a_mixture_is_imported() {
    let node = Node::new("dc=example,dc=com", true);
    let imported = node.import(MIXTURE);
    assert_eq!(imported.rejected, 0, "{}", node.rejects());
    node.check();
    let export = node.export();
    let class = |dn: &str| {
        let entry = export
            .split(&format!("dn: {dn},dc=example,dc=com\n"))
            .nth(1);
        let entry = entry.unwrap().split("\n\n").next().unwrap().to_owned();
        let line = entry
            .lines()
            .find_map(|it| it.strip_prefix("structuralObjectClass: "));
        line.unwrap().to_owned()
    };
    for (dn, expected) in [
        ("cn=old", "posixGroup"),
        ("cn=samba", "posixGroup"),
        ("cn=new", "groupOfNames"),
        // The LDIF names `posixGroup`.
        ("cn=mended", "namedObject"),
        ("ou=auto.home", "automountMap"),
        ("cn=ada,ou=auto.home", "automount"),
    ] {
        assert_eq!(class(dn), expected, "{dn}");
    }
}

/// Requests of ldapscripts, smbldap-tools, phpLDAPadmin, LAM, django-auth-ldap and ruby's net-ldap.
#[test]
fn programs_make_and_change_groups() {
    let mut client = Client::admin();
    let group = "cn=staff,dc=example,dc=com";
    success(&client.add(
        group,
        &[
            ("objectClass", &["top", "posixGroup"]),
            ("cn", &["staff"]),
            ("gidNumber", &["10000"]),
            ("description", &["Group account"]),
        ],
    ));
    assert_eq!(structural(&mut client, group), "posixGroup");
    let add = ChangeOperation::Add;
    success(&client.modify(group, &[(add, "memberUid", &["ada", "bob"])]));
    assert_eq!(
        found(&mut client, "(&(objectClass=posixGroup)(memberUid=ada))"),
        [group]
    );
    assert_eq!(found(&mut client, "(memberUid=a*)"), [group]);
    // net groupmap add, smbldap-groupadd -a.
    let mapping: [(ChangeOperation, &str, &[&str]); 3] = [
        (add, "objectClass", &["sambaGroupMapping"]),
        (add, "sambaSID", &["S-1-5-21-1-2-3-21001"]),
        (add, "sambaGroupType", &["2"]),
    ];
    success(&client.modify(group, &mapping));
    assert_eq!(structural(&mut client, group), "posixGroup");
    success(&client.modify(group, &[(ChangeOperation::Delete, "memberUid", &["bob"])]));
    client.check();
}

/// The way from the one world to the other, which no slapd has.
#[test]
fn a_group_gets_a_structural_class_of_its_own_and_keeps_it() {
    let mut client = Client::admin();
    client.add_person("ada");
    let group = "cn=staff,dc=example,dc=com";
    let classes: &[&str] = &["posixGroup"];
    success(&client.add(
        group,
        &[("objectClass", classes), ("gidNumber", &["10000"])],
    ));
    let add = ChangeOperation::Add;
    let changes: [(ChangeOperation, &str, &[&str]); 2] = [
        (add, "objectClass", &["groupOfNames"]),
        (add, "member", &["cn=ada,dc=example,dc=com"]),
    ];
    success(&client.modify(group, &changes));
    assert_eq!(structural(&mut client, group), "groupOfNames");
    let back: [(ChangeOperation, &str, &[&str]); 2] = [
        (ChangeOperation::Delete, "objectClass", &["groupOfNames"]),
        (ChangeOperation::Delete, "member", &[]),
    ];
    let refused = client.modify(group, &back);
    assert_eq!(refused.code, ResultCode::OBJECT_CLASS_MODS_PROHIBITED);
    let person = "cn=ada,dc=example,dc=com";
    let other = client.modify(person, &[(add, "objectClass", &["device"])]);
    assert_eq!(other.code, ResultCode::OBJECT_CLASS_VIOLATION);
    client.check();
}

/// No auxiliary class but `posixGroup` and its kind becomes structural.
#[test]
fn an_entry_still_needs_a_structural_class() {
    let mut client = Client::admin();
    let refused = client.add(
        "uid=ada,dc=example,dc=com",
        &[
            ("objectClass", &["posixAccount"]),
            ("cn", &["ada"]),
            ("uidNumber", &["1"]),
            ("gidNumber", &["1"]),
            ("homeDirectory", &["/home/ada"]),
        ],
    );
    assert_eq!(refused.code, ResultCode::OBJECT_CLASS_VIOLATION);
}

/// A definition that was widened cannot become narrow again under an entry that needs it wide.
#[test]
fn a_widened_class_stays_while_an_entry_needs_it() {
    let mut client = Client::admin();
    let own = "cn=mine,cn=schema,cn=config";
    let class = "( 1.3.6.1.1.1.2.6 NAME 'ipHost' SUP top STRUCTURAL MUST cn MAY ipHostNumber )";
    let kind: &[&str] = &["pandoSchema"];
    success(&client.add(own, &[("objectClass", kind), ("objectClasses", &[class])]));
    let host = "cn=host,dc=example,dc=com";
    success(&client.add(host, &[("objectClass", &["ipHost"])]));
    assert_eq!(structural(&mut client, host), "ipHost");
    let refused = client.delete_with(own, &[]).result;
    assert_eq!(
        refused.code,
        ResultCode::CONSTRAINT_VIOLATION,
        "{}",
        refused.diagnostic
    );
    success(&client.delete_with(host, &[]).result);
    success(&client.delete_with(own, &[]).result);
    client.check();
}

/// `kadmin addpol`, `modprinc -policy`, `set_string require_auth`, and a client of FreeRADIUS 3.
#[test]
fn policies_of_kerberos_and_clients_of_radius_are_kept() {
    let mut client = Client::admin();
    let policy = "cn=users,dc=example,dc=com";
    success(&client.add(
        policy,
        &[
            ("cn", &["users"]),
            ("objectClass", &["krbPwdPolicy"]),
            ("krbMaxPwdLife", &["0"]),
            ("krbMinPwdLife", &["0"]),
            ("krbPwdMinDiffChars", &["1"]),
            ("krbPwdMinLength", &["8"]),
            ("krbPwdHistoryLength", &["1"]),
            ("krbPwdMaxFailure", &["3"]),
            ("krbPwdFailureCountInterval", &["60"]),
            ("krbPwdLockoutDuration", &["300"]),
            ("krbPwdAttributes", &["0"]),
            ("krbPwdMaxLife", &["0"]),
            ("krbPwdMaxRenewableLife", &["0"]),
            ("krbPwdAllowedKeysalts", &["aes256-cts:normal"]),
        ],
    ));
    client.add_person("ada");
    let add = ChangeOperation::Add;
    let changes: [(ChangeOperation, &str, &[&str]); 6] = [
        (
            add,
            "objectClass",
            &["krbPrincipalAux", "krbTicketPolicyAux"],
        ),
        (add, "krbPrincipalName", &["ada@EXAMPLE.COM"]),
        (add, "krbCanonicalName", &["ada@EXAMPLE.COM"]),
        (add, "krbPwdPolicyReference", &[policy]),
        (add, "krbPrincipalAuthInd", &["otp"]),
        (
            add,
            "krbAllowedToDelegateTo",
            &["host/a.example.com@EXAMPLE.COM"],
        ),
    ];
    success(&client.modify("cn=ada,dc=example,dc=com", &changes));
    let radius = "radiusClientIdentifier=10.0.0.1,dc=example,dc=com";
    success(&client.add(
        radius,
        &[
            ("objectClass", &["radiusClient"]),
            ("radiusClientSecret", &["secret"]),
            ("radiusClientShortname", &["switch"]),
        ],
    ));
    assert_eq!(structural(&mut client, radius), "radiusClient");
    client.check();
}

/// `smbldap-populate`, `smbldap-useradd -a` and `smbldap-groupadd -a`.
#[test]
fn accounts_of_samba_are_made_as_its_tools_make_them() {
    let mut client = Client::admin();
    success(&client.add(
        "sambaDomainName=EXAMPLE,dc=example,dc=com",
        &[
            ("objectClass", &["top", "sambaDomain", "sambaUnixIdPool"]),
            ("sambaDomainName", &["EXAMPLE"]),
            ("sambaSID", &["S-1-5-21-1-2-3"]),
            ("uidNumber", &["10000"]),
            ("gidNumber", &["10000"]),
        ],
    ));
    success(&client.add(
        "cn=Domain Users,dc=example,dc=com",
        &[
            ("objectClass", &["top", "posixGroup", "sambaGroupMapping"]),
            ("gidNumber", &["513"]),
            ("cn", &["Domain Users"]),
            ("description", &["Netbios Domain Users"]),
            ("sambaSID", &["S-1-5-21-1-2-3-513"]),
            ("sambaGroupType", &["2"]),
            ("displayName", &["Domain Users"]),
        ],
    ));
    let user = "uid=bob,dc=example,dc=com";
    success(&client.add(
        user,
        &[
            (
                "objectclass",
                &[
                    "top",
                    "person",
                    "organizationalPerson",
                    "posixAccount",
                    "shadowAccount",
                    "inetOrgPerson",
                ],
            ),
            ("cn", &["bob"]),
            ("sn", &["bob"]),
            ("givenName", &["bob"]),
            ("uid", &["bob"]),
            ("uidNumber", &["10000"]),
            ("gidNumber", &["513"]),
            ("homeDirectory", &["/home/bob"]),
            ("loginShell", &["/bin/bash"]),
            ("gecos", &["System User"]),
            ("userPassword", &["{crypt}x"]),
        ],
    ));
    let add = ChangeOperation::Add;
    let changes: [(ChangeOperation, &str, &[&str]); 3] = [
        (add, "objectClass", &["sambaSAMAccount"]),
        (add, "sambaSID", &["S-1-5-21-1-2-3-21000"]),
        (add, "sambaAcctFlags", &["[UX]"]),
    ];
    success(&client.modify(user, &changes));
    assert_eq!(structural(&mut client, user), "inetOrgPerson");
    client.check();
}
