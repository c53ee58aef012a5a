//! `ldapscripts`: shell scripts that manage Unix users and groups through OpenLDAP's tools.

use std::path::PathBuf;

use kit::tools::Answer;
use kit::{ADMIN, PASSWORD, Pando, SUFFIX};

use crate::{assert_holds, only, run, with_units};

/// A node, and the settings that direct the scripts to it.
struct Scripts {
    pando: Pando,
    config: PathBuf,
}

impl Scripts {
    fn new() -> Self {
        let pando = with_units();
        let (folder, url) = (&pando.folder, pando.url());
        let password = folder.write("password", PASSWORD);
        let generate = "echo secret-of-%u";
        let config = folder.write(
            "ldapscripts.conf",
            format!(
                "SERVER={url}\nSUFFIX={SUFFIX}\nBINDDN={ADMIN}\nBINDPWDFILE={}\n\
                 GSUFFIX=ou=Groups\nUSUFFIX=ou=People\nMSUFFIX=ou=Computers\nGCLASS=posixGroup\n\
                 GIDSTART=10000\nUIDSTART=10000\nMIDSTART=20000\nCREATEHOMES=no\n\
                 PASSWORDGEN='{generate}'\nRECORDPASSWORDS=no\nLOGTOFILE=yes\nLOGFILE={}\n\
                 LDAPSEARCHBIN=/usr/bin/ldapsearch\nLDAPADDBIN=/usr/bin/ldapadd\n\
                 LDAPDELETEBIN=/usr/bin/ldapdelete\nLDAPMODIFYBIN=/usr/bin/ldapmodify\n\
                 LDAPMODRDNBIN=/usr/bin/ldapmodrdn\nLDAPPASSWDBIN=/usr/bin/ldappasswd\n\
                 LDAPSEARCHOPTS='-o ldif-wrap=no'\n",
                password.display(),
                folder.join("log").display()
            ),
        );
        Scripts { pando, config }
    }

    #[track_caller]
    fn run(&self, script: &str, args: &[&str]) -> Answer {
        let script = format!("/usr/sbin/{script}");
        run(&script, args, &[("LDAPSCRIPTS_CONF", &*self.config)], "").expect(0)
    }
}

#[test]
fn groups_and_users_are_added_changed_and_deleted() {
    let scripts = Scripts::new();
    scripts
        .run("ldapaddgroup", &["poets"])
        .says("Successfully added group poets");
    let poets = only(&scripts.pando, "(cn=poets)");
    assert_eq!(poets.name, format!("cn=poets,ou=Groups,{SUFFIX}"));
    assert_holds(
        &poets,
        &[("objectClass", &["posixGroup"]), ("gidNumber", &["10000"])],
    );

    scripts
        .run("ldapadduser", &["ada", "poets"])
        .says("Successfully added user ada");
    scripts.run("ldapadduser", &["bob", "poets"]);
    assert_holds(
        &only(&scripts.pando, "(uid=bob)"),
        &[
            ("objectClass", &["account", "posixAccount"]),
            ("uidNumber", &["10001"]),
            ("gidNumber", &["10000"]),
            ("homeDirectory", &["/home/bob"]),
        ],
    );
    let ada = format!("uid=ada,ou=People,{SUFFIX}");
    let mut client = scripts.pando.client();
    client.bind(&ada, "secret-of-ada").expect_success();

    scripts.run("ldapaddgroup", &["painters"]);
    scripts.run("ldapaddusertogroup", &["ada", "painters"]);
    scripts.run("ldapaddusertogroup", &["bob", "painters"]);
    scripts.run("ldapdeleteuserfromgroup", &["ada", "painters"]);
    assert_holds(
        &only(&scripts.pando, "(cn=painters)"),
        &[("gidNumber", &["10001"]), ("memberUid", &["bob"])],
    );

    scripts.run("ldaprenamegroup", &["painters", "sculptors"]);
    scripts.run("ldapsetprimarygroup", &["ada", "sculptors"]);
    scripts.run("ldapdeleteuser", &["bob"]);
    assert_holds(
        &only(&scripts.pando, "(objectClass=posixAccount)"),
        &[("uid", &["ada"]), ("gidNumber", &["10001"])],
    );
    assert_holds(
        &only(&scripts.pando, "(cn=sculptors)"),
        &[("memberUid", &[])],
    );
    scripts.run("ldapdeletegroup", &["poets"]);
    assert_holds(
        &only(&scripts.pando, "(objectClass=posixGroup)"),
        &[("cn", &["sculptors"])],
    );
}
