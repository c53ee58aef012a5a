//! SSSD as an identity service of its own: unpacked by `tests/sssd/install`, not installed, and run
//! in mount and process namespaces, so that it has no part in the machine's users and log-ins.
//!
//! Its paths are compiled in. Inside the namespace its files lie over those of the machine, and
//! `/etc/sssd`, `/etc/nsswitch.conf`, its state and its sockets are the test's own. Needs root.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::Running;
use crate::tools::{self, Answer};
use crate::{ADMIN, Folder, PASSWORD, SUFFIX};

/// Mounts the files ($1 unpacked packages, $2 settings) and becomes SSSD.
const START: &str = "set -e
mount --make-rprivate /
mount -t overlay overlay -o lowerdir=\"$1/usr\":/usr /usr
mount -t overlay overlay -o lowerdir=\"$2\":/etc /etc
for folder in /var/lib /var/log /run; do mount -t tmpfs tmpfs $folder; done
cd /var/lib
mkdir -p sss/db sss/mc sss/pipes/private sss/pubconf/krb5.include.d sss/secrets /var/log/sssd
exec /usr/sbin/sssd --interactive --logger=stderr
";

/// A running SSSD. Dropping it ends all its processes.
pub struct Sssd {
    /// The process. It stands before `folder`: it must end before its files are removed.
    running: Running,
    _folder: Folder,
}

impl Sssd {
    /// Starts SSSD for the accounts below the suffix, with these servers in the form of `ldap_uri`.
    pub fn start(servers: &str) -> Self {
        let packages = packages();
        let folder = Folder::new();
        for name in ["etc", "etc/sssd", "etc/sssd/conf.d"] {
            fs::create_dir(folder.join(name)).expect("the folder is new");
        }
        folder.write("etc/nsswitch.conf", "passwd: files sss\ngroup: files sss\n");
        let settings = format!(
            "[sssd]\nservices = nss\ndomains = test\n[nss]\n[domain/test]\n\
             id_provider = ldap\nauth_provider = none\naccess_provider = permit\n\
             ldap_uri = {servers}\nldap_search_base = {SUFFIX}\n\
             ldap_default_bind_dn = {ADMIN}\nldap_default_authtok = {PASSWORD}\n\
             ldap_id_use_start_tls = false\n"
        );
        let file = folder.write("etc/sssd/sssd.conf", settings);
        let own = fs::Permissions::from_mode(0o600);
        fs::set_permissions(file, own).expect("our own file");
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]);
        command.args(["sh", "-c", START, "sh"]);
        command.arg(packages).arg(folder.join("etc"));
        let mut running = Running::start("sssd", &mut command);
        running.wait_for("the service for names", |line| {
            let is_it = line.contains("[nss]") && line.contains("Starting with debug level");
            is_it.then_some(())
        });
        Sssd {
            running,
            _folder: folder,
        }
    }

    /// Looks a name up as any program of the machine would: `getent DATABASE NAME`.
    pub fn getent(&self, database: &str, name: &str) -> Answer {
        let process = self.running.pid().to_string();
        let words = ["--target", &process, "--mount", "getent", "--service=sss"];
        tools::run("nsenter", &[&words[..], &[database, name]].concat(), "")
    }
}

/// The folder of the unpacked packages.
fn packages() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../target/sssd");
    let folder = fs::canonicalize(&folder);
    folder.expect("expected target/sssd: run tests/sssd/install, or .ci/run libraries")
}
