//! Dovecot verifies passwords in both of its ways: by the stored hash, and by a bind as the user.

use std::path::PathBuf;
use std::process::Command;

use kit::process::Running;
use kit::tools::{self, Answer};
use kit::{ADMIN, PASSWORD, Pando, SUFFIX};

use crate::{only, run, unix_person, with_units};

/// The way in which Dovecot verifies a password.
enum Check {
    /// Dovecot reads `userPassword` as the administrator.
    LookUp,
    /// Dovecot binds as the user.
    Bind,
}

/// A Dovecot without mail protocols: only its authentication service, on sockets in a folder.
struct Dovecot {
    config: PathBuf,
    process: Running,
}

impl Dovecot {
    fn start(pando: &Pando, check: Check) -> Self {
        let (folder, url) = (&pando.folder, pando.url());
        let check = match check {
            Check::LookUp => format!("dn = {ADMIN}\ndnpass = {PASSWORD}\nauth_bind = no\n"),
            Check::Bind => {
                format!("auth_bind = yes\nauth_bind_userdn = uid=%n,ou=People,{SUFFIX}\n")
            }
        };
        let directory = folder.write(
            "dovecot-ldap.conf.ext",
            format!(
                "uris = {url}\nbase = ou=People,{SUFFIX}\n{check}\
                 pass_filter = (&(objectClass=posixAccount)(uid=%n))\n\
                 pass_attrs = uid=user,userPassword=password\n\
                 user_filter = (&(objectClass=posixAccount)(uid=%n))\n\
                 user_attrs = homeDirectory=home,uidNumber=uid,gidNumber=gid\n"
            ),
        );
        let (user, group) = (me("-un"), me("-gn"));
        let (run, state) = (folder.join("run"), folder.join("state"));
        let config = folder.write(
            "dovecot.conf",
            format!(
                "base_dir = {}\nstate_dir = {}\nlog_path = /dev/stderr\nprotocols =\nssl = no\n\
                 default_internal_user = {user}\ndefault_internal_group = {group}\n\
                 default_login_user = {user}\n\
                 service anvil {{\n  chroot =\n}}\n\
                 passdb {{\n  driver = ldap\n  args = {directory}\n}}\n\
                 userdb {{\n  driver = ldap\n  args = {directory}\n}}\n",
                run.display(),
                state.display(),
                directory = directory.display()
            ),
        );
        let mut command = Command::new("/usr/sbin/dovecot");
        command.arg("-F").arg("-c").arg(&config);
        let mut process = Running::start("Dovecot", &mut command);
        process.wait_for("starting up", |line| {
            line.contains("starting up").then_some(())
        });
        Dovecot { config, process }
    }

    fn doveadm(&self, args: &[&str]) -> Answer {
        let config = self.config.to_string_lossy();
        let all = [&["-c", &*config], args].concat();
        run("/usr/bin/doveadm", &all, &[], "")
    }

    /// Logs in through the authentication service.
    fn log_in(&self, user: &str, password: &str) -> Answer {
        self.doveadm(&["auth", "test", user, password])
    }

    fn stop(mut self) {
        assert!(self.process.stop().success());
    }
}

/// Returns the name of this process's user or group, as printed by `id`.
fn me(option: &str) -> String {
    let answer = tools::run("id", &[option], "").expect(0);
    answer.out.trim().to_owned()
}

/// Serves a node with ada, whose password was set by Password Modify under the default scheme.
fn with_ada() -> Pando {
    let pando = with_units();
    pando.admin().add(&unix_person("ada")).expect_success();
    let ada = format!("uid=ada,ou=People,{SUFFIX}");
    let args = ["-s", "ada's password", &ada];
    pando.tools().run("ldappasswd", &args, "").expect(0);
    pando
}

/// Logs in with right and wrong passwords, in the given way.
fn check_logins(dovecot: &Dovecot) {
    dovecot
        .log_in("ada", "ada's password")
        .expect(0)
        .says("auth succeeded");
    dovecot
        .log_in("ada", "another password")
        .expect(77)
        .says("auth failed");
    dovecot.log_in("bob", "ada's password").expect(77);
    let ada = dovecot.doveadm(&["user", "ada"]).expect(0);
    for line in ["uid\t10000", "gid\t10000", "home\t/home/ada"] {
        assert!(ada.out.contains(line), "{line:?} is missing:\n{}", ada.out);
    }
}

#[test]
fn passwords_of_the_default_scheme_are_looked_up() {
    let pando = with_ada();
    let stored = only(&pando, "(uid=ada)").text("userPassword");
    assert!(stored.starts_with("{ARGON2ID}$argon2id$"), "{stored}");
    let dovecot = Dovecot::start(&pando, Check::LookUp);
    check_logins(&dovecot);
    dovecot.stop();
}

#[test]
fn passwords_are_checked_by_binds() {
    let pando = with_ada();
    let dovecot = Dovecot::start(&pando, Check::Bind);
    check_logins(&dovecot);
    dovecot.stop();
}
