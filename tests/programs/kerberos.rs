//! MIT Kerberos with its database in the directory: `kdb5_ldap_util` creates it, `kadmin.local`
//! fills it.

use std::path::PathBuf;

use kit::tools::Answer;
use kit::{ADMIN, PASSWORD, Pando, SUFFIX};
use protocol::Scope;

use crate::{assert_holds, only, run, unix_person, with_units};

/// DN of the container of realms.
const REALM: &str = "cn=EXAMPLE.COM,cn=kerberos,dc=example,dc=com";

/// A realm without a running KDC: its tools open the database themselves.
struct Realm {
    pando: Pando,
    config: PathBuf,
    profile: PathBuf,
}

impl Realm {
    /// Creates a realm `EXAMPLE.COM` in the tree of a new node.
    fn create() -> Self {
        let pando = with_units();
        let (folder, url) = (&pando.folder, pando.url());
        let keys = folder.join("service.keyfile");
        let (keys, stash) = (keys.display(), folder.join("stash"));
        let config = folder.write(
            "krb5.conf",
            format!(
                "[libdefaults]\n default_realm = EXAMPLE.COM\n dns_lookup_kdc = false\n\
                 [realms]\n EXAMPLE.COM = {{\n  database_module = directory\n }}\n\
                 [dbmodules]\n directory = {{\n  db_library = kldap\n\
                 \u{20} ldap_kerberos_container_dn = cn=kerberos,{SUFFIX}\n\
                 \u{20} ldap_kdc_dn = {ADMIN}\n  ldap_kadmind_dn = {ADMIN}\n\
                 \u{20} ldap_service_password_file = {keys}\n  ldap_servers = {url}\n }}\n"
            ),
        );
        let profile = folder.write(
            "kdc.conf",
            format!(
                "[realms]\n EXAMPLE.COM = {{\n  key_stash_file = {}\n }}\n",
                stash.display()
            ),
        );
        let keys = keys.to_string();
        let realm = Realm {
            pando,
            config,
            profile,
        };
        let twice = format!("{PASSWORD}\n{PASSWORD}\n");
        realm
            .util(&["stashsrvpw", "-f", &keys, ADMIN], &twice)
            .expect(0);
        let create = ["create", "-subtrees", SUFFIX, "-P", "master", "-s"];
        realm.util(&create, "").expect(0);
        realm
    }

    /// Runs `kdb5_ldap_util` as the administrator.
    fn util(&self, args: &[&str], input: &str) -> Answer {
        let url = self.pando.url();
        let mut all = vec!["-D", ADMIN, "-w", PASSWORD, "-H", &url, "-r", "EXAMPLE.COM"];
        all.extend(args);
        self.run("/usr/sbin/kdb5_ldap_util", &all, input)
    }

    /// Runs one request of `kadmin.local`.
    fn kadmin(&self, request: &str) -> Answer {
        self.run("/usr/sbin/kadmin.local", &["-q", request], "")
    }

    fn run(&self, program: &str, args: &[&str], input: &str) -> Answer {
        let environment = [
            ("KRB5_CONFIG", &*self.config),
            ("KRB5_KDC_PROFILE", &*self.profile),
        ];
        run(program, args, &environment, input)
    }
}

#[test]
fn a_realm_is_made_in_the_directory() {
    let realm = Realm::create();
    let container = only(&realm.pando, "(objectClass=krbRealmContainer)");
    assert_eq!(container.name, REALM);
    assert_holds(&container, &[("krbSubTrees", &[SUFFIX])]);
    for name in ["K/M", "krbtgt/EXAMPLE.COM", "kadmin/admin"] {
        let principal = only(
            &realm.pando,
            &format!("(krbPrincipalName={name}@EXAMPLE.COM)"),
        );
        assert_eq!(principal.values("krbPrincipalKey").len(), 1, "{name}");
    }
}

#[test]
fn policies_are_added_and_assigned() {
    let realm = Realm::create();
    realm
        .kadmin(
            "addpol -maxlife 90d -minlength 8 -maxfailure 3 -failurecountinterval 10m \
             -lockoutduration 1h -allowedkeysalts aes256-cts:normal strict",
        )
        .expect(0);
    let policy = only(&realm.pando, "(objectClass=krbPwdPolicy)");
    assert_eq!(policy.name, format!("cn=strict,{REALM}"));
    assert_holds(
        &policy,
        &[
            ("krbMaxPwdLife", &["7776000"]),
            ("krbPwdMinLength", &["8"]),
            ("krbPwdMaxFailure", &["3"]),
            ("krbPwdFailureCountInterval", &["600"]),
            ("krbPwdLockoutDuration", &["3600"]),
            ("krbPwdAllowedKeysalts", &["aes256-cts:normal"]),
        ],
    );

    realm
        .kadmin("addprinc -randkey host/a.example.com")
        .expect(0);
    let assigned = |realm: &Realm| {
        let host = "(krbPrincipalName=host/a.example.com@EXAMPLE.COM)";
        only(&realm.pando, host).texts("krbPwdPolicyReference")
    };
    assert!(assigned(&realm).is_empty());
    realm
        .kadmin("modprinc -policy strict host/a.example.com")
        .says("modified.");
    assert_eq!(assigned(&realm), [policy.name]);
    let shown = realm.kadmin("getprinc host/a.example.com").expect(0);
    assert!(shown.out.contains("\nPolicy: strict\n"), "{}", shown.out);

    realm
        .kadmin("addprinc -policy strict -pw short ada")
        .says("Password is too short");
    realm.kadmin("modpol -minlength 4 strict").expect(0);
    realm
        .kadmin("addprinc -policy strict -pw short ada")
        .says("Principal \"ada@EXAMPLE.COM\" created.");
    realm
        .kadmin("modprinc -clearpolicy host/a.example.com")
        .says("modified.");
    assert!(assigned(&realm).is_empty());
}

#[test]
fn principals_are_kept_in_entries_of_people() {
    let realm = Realm::create();
    realm
        .pando
        .admin()
        .add(&unix_person("ada"))
        .expect_success();
    realm
        .util(&["create_policy", "-maxtktlife", "1 day", "daily"], "")
        .expect(0);
    let add = format!("addprinc -x dn=uid=ada,ou=People,{SUFFIX} -pw long-enough ada");
    realm.kadmin(&add).says("created.");
    realm
        .kadmin("modprinc -x tktpolicy=daily ada")
        .says("modified.");
    realm
        .kadmin("set_string ada require_auth otp")
        .says("Attribute set");

    let ada = only(&realm.pando, "(uid=ada)");
    assert_holds(
        &ada,
        &[
            ("krbPrincipalName", &["ada@EXAMPLE.COM"]),
            ("krbPrincipalAuthInd", &["otp"]),
            ("krbTicketPolicyReference", &[&format!("cn=daily,{REALM}")]),
            (
                "objectClass",
                &[
                    "inetOrgPerson",
                    "krbTicketPolicyAux",
                    "krbprincipalaux",
                    "posixAccount",
                ],
            ),
        ],
    );
    // Only the administrator reads the key; other subjects do not learn that it exists.
    assert_eq!(ada.values("krbPrincipalKey").len(), 1);
    let mut anonymous = realm.pando.client();
    let seen = anonymous.search(SUFFIX, Scope::WholeSubtree, "(uid=ada)", &[]);
    assert_eq!(seen.entries[0].texts("krbPrincipalName").len(), 1);
    assert_eq!(seen.entries[0].values("krbPrincipalKey").len(), 0);

    realm.kadmin("delprinc -force ada").says("deleted.");
    assert_holds(
        &only(&realm.pando, "(uid=ada)"),
        &[("krbPrincipalName", &[]), ("krbPrincipalKey", &[])],
    );
}
