//! `smbldap-tools`: Perl scripts that manage the users and groups of a Samba domain.

use std::path::PathBuf;

use kit::tools::Answer;
use kit::{ADMIN, PASSWORD, Pando, SUFFIX};
use protocol::Scope;

use crate::{assert_holds, only, run, with_units};

const DOMAIN: &str = "S-1-5-21-2252255531-4061614174-2474224977";

/// A node, and the settings that direct the scripts to it.
struct Smbldap {
    pando: Pando,
    /// Environment variables with the paths of the three settings files.
    environment: [(&'static str, PathBuf); 3],
}

impl Smbldap {
    /// Serves a node that `smbldap-populate` has filled with the accounts of every domain.
    fn populated() -> Self {
        let pando = with_units();
        let (folder, url) = (&pando.folder, pando.url());
        let settings = folder.write(
            "smbldap.conf",
            format!(
                "SID=\"{DOMAIN}\"\nsambaDomain=\"DOMAIN\"\nslaveLDAP=\"{url}/\"\n\
                 masterLDAP=\"{url}/\"\nldapTLS=\"0\"\nverify=\"none\"\nsuffix=\"{SUFFIX}\"\n\
                 usersdn=\"ou=People,${{suffix}}\"\ncomputersdn=\"ou=Computers,${{suffix}}\"\n\
                 groupsdn=\"ou=Groups,${{suffix}}\"\nidmapdn=\"ou=Idmap,${{suffix}}\"\n\
                 sambaUnixIdPooldn=\"sambaDomainName=${{sambaDomain}},${{suffix}}\"\n\
                 scope=\"sub\"\npassword_hash=\"SSHA\"\nuserLoginShell=\"/bin/bash\"\n\
                 userHome=\"/home/%U\"\nuserHomeDirectoryMode=\"700\"\n\
                 userGecos=\"System User\"\ndefaultUserGid=\"513\"\n\
                 defaultComputerGid=\"515\"\nskeletonDir=\"/etc/skel\"\nshadowAccount=\"1\"\n\
                 defaultMaxPasswordAge=\"45\"\nuserHomeDrive=\"H:\"\nlanmanPassword=\"0\"\n\
                 with_smbpasswd=\"0\"\nwith_slappasswd=\"0\"\n"
            ),
        );
        let bind = folder.write(
            "smbldap_bind.conf",
            format!(
                "slaveDN=\"{ADMIN}\"\nslavePw=\"{PASSWORD}\"\n\
                 masterDN=\"{ADMIN}\"\nmasterPw=\"{PASSWORD}\"\n"
            ),
        );
        let samba = folder.write("smb.conf", "[global]\nworkgroup = DOMAIN\n");
        let environment = [
            ("SMBLDAP_CONF", settings),
            ("SMBLDAP_BIND_CONF", bind),
            ("SMBLDAP_SMB_CONF", samba),
        ];
        let smbldap = Smbldap { pando, environment };
        let accounts = ["-a", "root", "-k", "0", "-m", "0"];
        smbldap.run("smbldap-populate", &accounts, "a password\na password\n");
        smbldap
    }

    /// Runs a script, which reads the administrator's password only for root.
    #[track_caller]
    fn run(&self, script: &str, args: &[&str], input: &str) -> Answer {
        let script = format!("/usr/sbin/{script}");
        let environment: Vec<_> = self.environment.iter().map(|(k, v)| (*k, &**v)).collect();
        let answer = if rustix::process::geteuid().is_root() {
            run(&script, args, &environment, input)
        } else {
            let all = [&["--user", "--map-root-user", &script], args].concat();
            run("/usr/bin/unshare", &all, &environment, input)
        };
        answer.expect(0)
    }
}

#[test]
fn a_domain_is_populated() {
    let smbldap = Smbldap::populated();
    let domain = only(&smbldap.pando, "(objectClass=sambaDomain)");
    assert_holds(
        &domain,
        &[("sambaDomainName", &["DOMAIN"]), ("sambaSID", &[DOMAIN])],
    );
    let mut admin = smbldap.pando.admin();
    let filter = "(&(objectClass=posixGroup)(objectClass=sambaGroupMapping))";
    let groups = admin.search(SUFFIX, Scope::WholeSubtree, filter, &[]);
    assert_eq!(groups.entries.len(), 9);
    let root = format!("uid=root,ou=People,{SUFFIX}");
    let mut client = smbldap.pando.client();
    client.bind(&root, "a password").expect_success();
}

#[test]
fn groups_and_users_are_added() {
    let smbldap = Smbldap::populated();
    smbldap.run("smbldap-groupadd", &["unix"], "");
    smbldap.run("smbldap-groupadd", &["-a", "windows"], "");
    assert_holds(
        &only(&smbldap.pando, "(cn=unix)"),
        &[
            ("objectClass", &["posixGroup", "top"]),
            ("gidNumber", &["1000"]),
        ],
    );
    assert_holds(
        &only(&smbldap.pando, "(cn=windows)"),
        &[
            ("objectClass", &["posixGroup", "sambaGroupMapping", "top"]),
            ("gidNumber", &["1001"]),
            ("sambaGroupType", &["2"]),
        ],
    );

    let full_name = ["-a", "-c", "Grace Hopper", "grace"];
    smbldap.run("smbldap-useradd", &full_name, "");
    smbldap.run("smbldap-passwd", &["grace"], "a password\na password\n");
    smbldap.run("smbldap-groupmod", &["-m", "grace", "unix"], "");
    let grace = only(&smbldap.pando, "(uid=grace)");
    assert_holds(
        &grace,
        &[
            ("cn", &["Grace Hopper"]),
            ("uidNumber", &["1000"]),
            ("gidNumber", &["513"]),
            ("sambaAcctFlags", &["[U]"]),
            ("sambaPrimaryGroupSID", &[&format!("{DOMAIN}-513")]),
        ],
    );
    assert_eq!(grace.text("sambaNTPassword").len(), 32);
    let mut client = smbldap.pando.client();
    client.bind(&grace.name, "a password").expect_success();
    assert_holds(
        &only(&smbldap.pando, "(cn=unix)"),
        &[("memberUid", &["grace"])],
    );
    // Only the administrator reads the hash of the Windows password.
    let seen = smbldap
        .pando
        .client()
        .search(SUFFIX, Scope::WholeSubtree, "(uid=grace)", &[]);
    assert_eq!(seen.entries[0].values("sambaNTPassword").len(), 0);

    smbldap
        .run("smbldap-usershow", &["grace"], "")
        .says("displayName: Grace Hopper");
    smbldap.run("smbldap-userdel", &["grace"], "");
    assert_holds(&only(&smbldap.pando, "(cn=unix)"), &[("memberUid", &[])]);
    smbldap.run("smbldap-groupdel", &["unix"], "");
    let mut admin = smbldap.pando.admin();
    let gone = admin.search(SUFFIX, Scope::WholeSubtree, "(|(uid=grace)(cn=unix))", &[]);
    assert_eq!(gone.entries.len(), 0);
}
