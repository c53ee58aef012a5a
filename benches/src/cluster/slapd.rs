//! Three slapd that take writes and replicate changes to each other: delta-syncrepl with an access
//! log on each, syncing.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::fleet::{Fleet, NODES};
use super::process::{Process, Role, free_ports};
use crate::process::finish;
use crate::subject::{ADMINISTRATOR, Folder, PASSWORD};

const SLAPD: &str = "/usr/sbin/slapd";
const SLAPADD: &str = "/usr/sbin/slapadd";
const SLAPCAT: &str = "/usr/sbin/slapcat";

/// Makes three servers with the same entries: loaded into the first with `slapadd -w`, read from it
/// with `slapcat`, and loaded into the others. They do not run yet.
pub fn make(folder: &Folder) -> io::Result<Fleet> {
    let port = free_ports(NODES as u16)?;
    let urls: Vec<String> = (0..NODES as u16)
        .map(|it| format!("ldap://127.0.0.1:{}", port + it))
        .collect();
    let configuration = |number: usize| folder.path.join(format!("slapd{number}.conf"));
    for number in 0..NODES {
        for database in ["data", "log"] {
            let path = database_folder(&folder.path, number, database);
            if path.exists() {
                fs::remove_dir_all(&path)?;
            }
            fs::create_dir_all(path)?;
        }
        fs::write(configuration(number), settings(&folder.path, &urls, number))?;
    }
    let copy = folder.path.join("slapcat.ldif");
    // The first one writes the numbers of the changes, and the others have to have the same.
    let serial = ["-w", "-S", "1", "-q", "-l"].as_slice();
    load(&configuration(0), serial, &folder.ldif())?;
    let mut slapcat = Command::new(SLAPCAT);
    slapcat
        .arg("-f")
        .arg(configuration(0))
        .args(["-b", "dc=com", "-l"]);
    finish(slapcat.arg(&copy))?;
    for number in 1..NODES {
        load(&configuration(number), &["-q", "-l"], &copy)?;
    }
    let nodes = urls.iter().enumerate().map(|(number, url)| {
        let mut command = Command::new(SLAPD);
        command
            .args(["-d", "0", "-h", url, "-f"])
            .arg(configuration(number));
        let log = folder.path.join(format!("slapd{number}.log"));
        Process::new(Role::Node, url, command, log)
    });
    Ok(Fleet {
        name: "slapd",
        nodes: nodes.collect(),
        log: Vec::new(),
        etcd: None,
        hosts: Vec::new(),
    })
}

fn database_folder(folder: &Path, number: usize, database: &str) -> PathBuf {
    folder.join(format!("slapd{number}")).join(database)
}

/// Loads an LDIF into the directory of a server.
fn load(configuration: &Path, flags: &[&str], ldif: &Path) -> io::Result<()> {
    let mut command = Command::new(SLAPADD);
    command.arg("-f").arg(configuration).args(["-b", "dc=com"]);
    finish(command.args(flags).arg(ldif))
}

/// The settings of one server.
fn settings(folder: &Path, urls: &[String], number: usize) -> String {
    let mut numbers = String::new();
    let mut consumers = String::new();
    for (other, url) in urls.iter().enumerate() {
        numbers.push_str(&format!("serverID {} {url}\n", other + 1));
        if other != number {
            consumers.push_str(&consumer(other + 1, url));
        }
    }
    format!(
        "include /etc/ldap/schema/core.schema\n\
         include /etc/ldap/schema/cosine.schema\n\
         include /etc/ldap/schema/inetorgperson.schema\n\
         modulepath /usr/lib/ldap\n\
         moduleload back_mdb\n\
         moduleload syncprov\n\
         moduleload accesslog\n\
         pidfile {folder}/slapd{number}.pid\n\
         {numbers}\
         threads 16\n\
         tool-threads 2\n\
         loglevel none\n\
         sizelimit unlimited\n\
         sockbuf_max_incoming_auth 67108863\n\
         conn_max_pending_auth 10000\n\
         database mdb\n\
         suffix cn=accesslog\n\
         rootdn {ADMINISTRATOR}\n\
         directory {log}\n\
         maxsize 68719476736\n\
         index objectClass,entryCSN,reqEnd,reqResult,reqStart,reqDN eq\n\
         overlay syncprov\n\
         syncprov-nopresent TRUE\n\
         syncprov-reloadhint TRUE\n\
         database mdb\n\
         suffix dc=com\n\
         rootdn {ADMINISTRATOR}\n\
         rootpw {PASSWORD}\n\
         directory {data}\n\
         maxsize 68719476736\n\
         index objectClass,uid,entryCSN,entryUUID eq\n\
         {consumers}\
         multiprovider TRUE\n\
         access to attrs=userPassword by self write by anonymous auth by * none\n\
         access to * by * read\n\
         overlay syncprov\n\
         overlay accesslog\n\
         logdb cn=accesslog\n\
         logops writes\n\
         logsuccess TRUE\n",
        folder = folder.display(),
        log = database_folder(folder, number, "log").display(),
        data = database_folder(folder, number, "data").display(),
    )
}

/// The part of the settings that follows another server.
fn consumer(identifier: usize, url: &str) -> String {
    format!(
        "syncrepl rid={identifier:03} provider={url} bindmethod=simple binddn={ADMINISTRATOR} \
         credentials={PASSWORD} searchbase=dc=com logbase=cn=accesslog \
         logfilter=\"(&(objectClass=auditWriteObject)(reqResult=0))\" syncdata=accesslog \
         type=refreshAndPersist retry=\"1 +\" schemachecking=on\n"
    )
}
