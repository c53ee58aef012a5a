//! LDAP Account Manager and phpLDAPadmin, two web pages for accounts and groups in PHP.
//!
//! PHP's own server serves the pages of the Debian packages on a loopback port, from a copy with
//! settings of its own; a script of `web/` acts as the browser, which fills in forms and presses
//! buttons.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use kit::process::Running;
use kit::tools;
use kit::{ADMIN, PASSWORD, Pando, SUFFIX};

use crate::{assert_holds, only, run, unix_person, unpacked, with_units};

/// A PHP server with its pages.
struct Site {
    url: String,
    _process: Running,
}

impl Site {
    /// Serves a folder on a free port; sessions are stored in `sessions` beside the node.
    fn serve(pando: &Pando, root: &Path) -> Self {
        let sessions = pando.folder.join("sessions");
        fs::create_dir(&sessions).expect("the folder is empty");
        let mut command = Command::new("php");
        command
            .arg("-d")
            .arg(format!("session.save_path={}", sessions.display()))
            .args(["-S", "127.0.0.1:0", "-t"])
            .arg(root)
            .current_dir(root);
        let mut process = Running::start("PHP's server", &mut command);
        let url = process.wait_for("Development Server (http://…) started", |line| {
            let (_, rest) = line.split_once("Development Server (")?;
            let (url, _) = rest.split_once(')')?;
            Some(url.to_owned())
        });
        Site {
            url,
            _process: process,
        }
    }

    /// Runs a script of `web/`, which exits with 0 or prints the text that it expected of a page.
    #[track_caller]
    fn visit(&self, script: &str) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs/web");
        let script = folder.join(script).to_string_lossy().into_owned();
        let args = ["-B", &*script, &self.url, ADMIN, PASSWORD, SUFFIX];
        run("/usr/bin/python3", &args, &[], "").expect(0);
    }
}

/// Copies the folder of a package's pages to `pages` beside the node.
fn copy(pando: &Pando, pages: &Path) -> PathBuf {
    let root = pando.folder.join("pages");
    copy_into(pages, &root);
    root
}

/// Copies a folder and the targets of its links; broken links are left out.
fn copy_into(from: &Path, into: &Path) {
    let script =
        "mkdir -p \"$1\" && cp -R -L \"$0/.\" \"$1\" 2>/dev/null; test -n \"$(ls \"$1\")\"";
    let (from, into) = (from.to_string_lossy(), into.to_string_lossy());
    tools::run("sh", &["-c", script, &*from, &*into], "").expect(0);
}

fn write(path: &Path, text: String) {
    fs::write(path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// Serves LDAP Account Manager with its sample settings for Unix accounts, for the node.
fn account_manager(pando: &Pando) -> Site {
    let package = unpacked("ldap-account-manager");
    let root = copy(pando, &package.join("usr/share/ldap-account-manager"));
    let config = root.join("config");
    let kept = package.join("var/lib/ldap-account-manager");
    copy_into(&kept.join("config"), &config);
    // The package's own script puts the samples there on installation.
    for kind in ["profiles", "pdf"] {
        let samples = root.join("config-samples").join(kind);
        copy_into(&samples, &config.join("templates").join(kind));
    }
    for folder in ["sess", "tmp/internal"] {
        fs::create_dir_all(root.join(folder)).expect("the folder is ours");
    }
    let sample = |name: &str| {
        let path = config.join(name);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    };
    write(&config.join("config.cfg"), sample("config.cfg.sample"));
    let settings = sample("unix.sample.conf")
        .replace("ldap://localhost:389", &pando.url())
        .replace("cn=Manager,dc=my-domain,dc=com", ADMIN)
        .replace("ou=group,", "ou=Groups,")
        .replace("dc=my-domain,dc=com", SUFFIX);
    write(&config.join("lam.conf"), settings);
    Site::serve(pando, &root)
}

/// Serves phpLDAPadmin with minimal settings, for the node.
fn php_ldap_admin(pando: &Pando) -> Site {
    let package = unpacked("phpldapadmin");
    let root = copy(pando, &package.join("usr/share/phpldapadmin"));
    copy_into(
        &package.join("etc/phpldapadmin/templates"),
        &root.join("templates"),
    );
    let address: SocketAddr = pando.address();
    let settings = format!(
        "<?php\n$servers = new Datastore();\n$servers->newServer('ldap_pla');\n\
         $servers->setValue('server','name','Pando');\n\
         $servers->setValue('server','host','{}');\n\
         $servers->setValue('server','port',{});\n\
         $servers->setValue('login','auth_type','session');\n",
        address.ip(),
        address.port()
    );
    write(&root.join("config/config.php"), settings);
    Site::serve(pando, &root)
}

#[test]
fn ldap_account_manager_makes_unix_groups_and_users() {
    let pando = with_units();
    account_manager(&pando).visit("account_manager.py");
    let group = only(&pando, "(objectClass=posixGroup)");
    assert_eq!(group.name, format!("cn=printers,ou=Groups,{SUFFIX}"));
    assert_holds(
        &group,
        &[("objectClass", &["posixGroup"]), ("gidNumber", &["10000"])],
    );
    let person = only(&pando, "(objectClass=posixAccount)");
    assert_holds(
        &person,
        &[
            ("uid", &["grace"]),
            ("givenName", &["Grace"]),
            ("sn", &["Hopper"]),
            ("uidNumber", &["10000"]),
            ("gidNumber", &["10000"]),
            ("homeDirectory", &["/home/grace"]),
        ],
    );
}

#[test]
fn php_ldap_admin_makes_unix_groups_and_users() {
    let pando = with_units();
    pando.admin().add(&unix_person("ada")).expect_success();
    php_ldap_admin(&pando).visit("phpldapadmin.py");
    let group = only(&pando, "(objectClass=posixGroup)");
    assert_eq!(group.name, format!("cn=printers,ou=Groups,{SUFFIX}"));
    assert_holds(
        &group,
        &[
            ("objectClass", &["posixGroup", "top"]),
            ("memberUid", &["ada"]),
        ],
    );
    let number = group.text("gidNumber");
    let grace = only(&pando, "(uid=grace)");
    assert_eq!(grace.name, format!("cn=Grace Hopper,ou=People,{SUFFIX}"));
    assert_holds(
        &grace,
        &[
            ("objectClass", &["inetOrgPerson", "posixAccount", "top"]),
            ("gidNumber", &[&number]),
            ("homeDirectory", &["/home/grace"]),
        ],
    );
    let mut client = pando.client();
    client.bind(&grace.name, "a password").expect_success();
}
