//! Debian's slapd as a second subject, so that tests of the protocol are also run on another
//! server.

use std::ffi::OsStr;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{Running, until};
use crate::{ADMIN, Client, Folder, PASSWORD, SUFFIX, ldif, people, tools};

/// Overlays loaded for the conformance clauses.
const OVERLAYS: [&str; 7] = [
    "sssvlv", "valsort", "dds", "collect", "deref", "syncprov", "ppolicy",
];

/// Controls that slapd supports but omits in its root DSE: permissive modify, relax rules, no-op,
/// sorting, virtual list view, proxied authorization, transactions.
pub const HIDDEN: [&str; 7] = [
    "1.2.840.113556.1.4.1413",
    "1.3.6.1.4.1.4203.666.5.12",
    "1.3.6.1.4.1.4203.666.5.2",
    "1.2.840.113556.1.4.473",
    "2.16.840.1.113730.3.4.9",
    "2.16.840.1.113730.3.4.18",
    "1.3.6.1.1.21.2",
];

/// A slapd on files of its own. Dropping it kills the process and removes the files.
pub struct Slapd {
    address: SocketAddr,
    slapd: PathBuf,
    config: PathBuf,
    /// The process. It stands before `folder`: it must end before its files are removed.
    pub process: Running,
    _folder: Folder,
}

impl Slapd {
    /// Starts slapd with back-mdb, the usual schema files, Debian's access rules, and the base
    /// entry.
    pub fn start() -> Self {
        Self::start_with(&[], "uid")
    }

    /// Starts slapd with further schema files and an equality index.
    pub fn start_with(schemas: &[&Path], indexed: &str) -> Self {
        Self::start_configured(schemas, indexed, "")
    }

    /// Starts slapd as a provider of content synchronisation, with further schema files and lines
    /// at the end of its configuration.
    pub fn provider(schemas: &[&Path], further: &str) -> Self {
        Self::start_configured(
            schemas,
            "uid,entryUUID",
            &format!("overlay syncprov\n{further}"),
        )
    }

    /// Starts slapd with every overlay of Debian that implements a standard.
    pub fn with_everything() -> Self {
        let schemas = ["collective", "dyngroup"].map(|it| format!("/etc/ldap/schema/{it}.schema"));
        let schemas: Vec<&Path> = schemas.iter().map(Path::new).collect();
        let mut overlays: String = OVERLAYS
            .iter()
            .map(|it| format!("overlay {it}\n"))
            .collect();
        // The last line makes slapd tell a client that its account is locked.
        overlays.push_str("ppolicy_use_lockout\n");
        Self::start_configured(&schemas, "uid", &overlays)
    }

    fn start_configured(schemas: &[&Path], indexed: &str, overlays: &str) -> Self {
        let folder = Folder::new();
        let slapd = folder.join("slapd");
        // The program is copied: AppArmor confines the one in /usr/sbin to the folders of Debian's
        // service. Another process copies it: a file that this process writes is busy while any
        // test starts a child.
        tools::run("cp", &["/usr/sbin/slapd".as_ref(), slapd.as_path()], "").expect(0);
        fs::create_dir(folder.join("database")).expect("the folder is new");
        let config = folder.write("slapd.conf", config(&folder, schemas, indexed) + overlays);
        let base = folder.write("base.ldif", ldif::print(&people::base()));
        let load: [&OsStr; 6] = [
            "-T".as_ref(),
            "add".as_ref(),
            "-f".as_ref(),
            config.as_ref(),
            "-l".as_ref(),
            base.as_ref(),
        ];
        tools::run(&slapd, &load, "").expect(0);

        let address = free_address();
        let process = serve(&slapd, &config, address);
        Slapd {
            address,
            slapd,
            config,
            process,
            _folder: folder,
        }
    }

    /// Loads LDIF into an empty database by `slapadd`, and returns the program's output.
    pub fn slapadd(ldif: &Path) -> tools::Answer {
        let folder = Folder::new();
        let slapd = folder.join("slapd");
        tools::run("cp", &["/usr/sbin/slapd".as_ref(), slapd.as_path()], "").expect(0);
        fs::create_dir(folder.join("database")).expect("the folder is new");
        let config = folder.write("slapd.conf", config(&folder, &[], "uid"));
        let words: [&OsStr; 6] = [
            "-T".as_ref(),
            "add".as_ref(),
            "-f".as_ref(),
            config.as_ref(),
            "-l".as_ref(),
            ldif.as_ref(),
        ];
        tools::run(&slapd, &words, "")
    }

    /// Stops slapd in an orderly way.
    pub fn stop(&mut self) {
        self.process.stop();
    }

    /// Starts slapd again at the same address.
    pub fn serve(&mut self) {
        self.process = serve(&self.slapd, &self.config, self.address);
    }

    /// Returns the address at which slapd listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Opens an anonymous connection.
    pub fn client(&self) -> Client {
        Client::connect(self.address)
    }
}

/// Starts the process and waits until it serves.
fn serve(slapd: &Path, config: &Path, address: SocketAddr) -> Running {
    let mut command = Command::new(slapd);
    command
        .arg("-f")
        .arg(config)
        .arg("-h")
        .arg(format!("ldap://{address}"));
    // `-d none` keeps slapd in the foreground and prints little but that it is ready.
    command.args(["-d", "none"]);
    let mut process = Running::start("slapd", &mut command);
    process.wait_for("slapd starting", |line| {
        line.contains("slapd starting").then_some(())
    });
    until("slapd accepts connections", || {
        std::net::TcpStream::connect(address).ok()
    });
    process
}

/// Returns a port that is free at present: slapd cannot listen on port 0.
pub(crate) fn free_address() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("loopback has free ports");
    listener
        .local_addr()
        .expect("a bound listener has an address")
}

fn config(folder: &Folder, further: &[&Path], indexed: &str) -> String {
    let schemas: String = ["core", "cosine", "inetorgperson", "nis", "openldap"]
        .iter()
        .map(|name| format!("/etc/ldap/schema/{name}.schema"))
        .chain(further.iter().map(|path| path.display().to_string()))
        .map(|path| format!("include {path}\n"))
        .collect();
    format!(
        "{schemas}\
         modulepath /usr/lib/ldap\n\
         moduleload back_mdb\n\
         {modules}\
         threads 4\n\
         sizelimit unlimited\n\
         sockbuf_max_incoming 16777215\n\
         conn_max_pending_auth 100000\n\
         database mdb\n\
         suffix \"{SUFFIX}\"\n\
         rootdn \"{ADMIN}\"\n\
         rootpw \"{PASSWORD}\"\n\
         directory {database}\n\
         maxsize 1073741824\n\
         dbnosync\n\
         index objectClass,{indexed} eq\n\
         access to attrs=userPassword by self write by anonymous auth by * none\n\
         access to * by * read\n",
        modules = OVERLAYS.map(|it| format!("moduleload {it}\n")).concat(),
        database = folder.join("database").display(),
    )
}
