//! The servers that are compared, each on a database of its own in the work folder.

use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use load::output::{Format, Outputs, write_range};
use load::template::Generator;

use crate::process::{Server, free_port};
use crate::row::Extent;

/// The administrator of both servers.
pub const ADMINISTRATOR: &str = "cn=admin,dc=com";
/// The password of everybody.
pub const PASSWORD: &str = "password";
/// How long a server may take until it answers; after a crash it executes its log first.
const START_TIME_MAX: Duration = Duration::from_secs(600);

/// The server measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// Debian's slapd.
    Slapd,
    /// This repository's program.
    Pando,
    /// The null responder.
    Null,
}

impl Subject {
    /// As written in tables.
    pub fn name(self) -> &'static str {
        match self {
            Subject::Slapd => "slapd",
            Subject::Pando => "Pando",
            Subject::Null => "null",
        }
    }
}

/// Where everything lives.
#[derive(Clone, Debug)]
pub struct Folder {
    /// The work folder.
    pub path: PathBuf,
    /// The program `pando`.
    pub pando: PathBuf,
}

impl Folder {
    /// The work folder at `path`, made if it does not exist; `pando` is the program to measure.
    pub fn made(path: &Path, pando: &Path) -> io::Result<Folder> {
        fs::create_dir_all(path)?;
        Ok(Folder {
            path: fs::canonicalize(path)?,
            pando: std::path::absolute(pando)?,
        })
    }

    /// An empty work folder at `path`.
    pub fn anew(path: &Path, pando: &Path) -> io::Result<Folder> {
        if path.exists() {
            fs::remove_dir_all(path)?;
        }
        Folder::made(path, pando)
    }

    /// The entries of both databases.
    pub fn ldif(&self) -> PathBuf {
        self.path.join("entries.ldif")
    }

    /// Writes the LDIF, unless it is there from an earlier run with as many entries.
    pub fn make_entries(&self, extent: Extent) -> io::Result<()> {
        let template = extent.data.generator(extent.entries)?.template().clone();
        let template = template
            .with_suffix_entries(&[])
            .map_err(io::Error::other)?;
        let total = template.total_entries();
        let done = self.path.join("entries.done");
        let content = format!("{:?} {total}", extent.data);
        if fs::read_to_string(&done).is_ok_and(|text| text == content) {
            return Ok(());
        }
        // It may never have been there.
        let _ = fs::remove_file(&done);
        let mut file = fs::File::create(self.ldif())?;
        let format = Format::Ldif { fold_columns: 76 };
        let outputs = Outputs {
            entries: Some((format, &mut file)),
            ..Outputs::default()
        };
        write_range(
            &Generator::new(template, 0),
            0,
            total,
            2,
            outputs,
            &mut |_| {},
        )?;
        file.sync_all()?;
        fs::write(done, content)
    }

    /// The settings of slapd and of its tools.
    pub fn slapd_configuration(&self) -> PathBuf {
        self.path.join("slapd.conf")
    }

    /// The database of a server.
    pub fn database(&self, subject: Subject) -> PathBuf {
        self.path.join(subject.name().to_lowercase())
    }

    /// Makes an empty database and the settings to go with it.
    pub fn prepare(&self, subject: Subject) -> io::Result<()> {
        let database = self.database(subject);
        if database.exists() {
            fs::remove_dir_all(&database)?;
        }
        match subject {
            Subject::Null => Ok(()),
            Subject::Slapd => {
                fs::create_dir_all(&database)?;
                fs::write(self.path.join("cosine.schema"), cosine_schema()?)?;
                fs::write(self.slapd_configuration(), self.slapd_settings())
            }
            Subject::Pando => {
                let password = self.path.join("password");
                fs::write(&password, format!("{PASSWORD}\n"))?;
                let mut command = Command::new(&self.pando);
                command
                    .arg("init")
                    .arg(&database)
                    .args(["--suffix", "dc=com", "--no-base"]);
                command.arg("--admin-password-file").arg(&password);
                command.args(["--index", "objectClass,uid,member"]);
                self.finish(subject, &mut command)
            }
        }
    }

    /// slapd as an administrator who wants it fast and durable would set it up.
    fn slapd_settings(&self) -> String {
        format!(
            "include /etc/ldap/schema/core.schema\n\
             include {folder}/cosine.schema\n\
             include /etc/ldap/schema/inetorgperson.schema\n\
             modulepath /usr/lib/ldap\n\
             moduleload back_mdb\n\
             pidfile {folder}/slapd.pid\n\
             threads 16\n\
             tool-threads 2\n\
             loglevel none\n\
             sockbuf_max_incoming 4194303\n\
             sockbuf_max_incoming_auth 67108863\n\
             conn_max_pending 10000\n\
             conn_max_pending_auth 10000\n\
             database mdb\n\
             suffix dc=com\n\
             rootdn {ADMINISTRATOR}\n\
             rootpw {PASSWORD}\n\
             directory {database}\n\
             maxsize 68719476736\n\
             index objectClass,uid,member eq\n\
             access to attrs=userPassword by self write by anonymous auth by * none\n\
             access to * by * read\n",
            folder = self.path.display(),
            database = self.database(Subject::Slapd).display(),
        )
    }

    /// Loads the LDIF into an empty database; how long it took.
    pub fn import(&self, subject: Subject) -> io::Result<Duration> {
        let begin = Instant::now();
        match subject {
            Subject::Null => {}
            Subject::Slapd => {
                let mut command = Command::new("/usr/sbin/slapadd");
                command.arg("-q").arg("-f").arg(self.slapd_configuration());
                self.finish(subject, command.arg("-l").arg(self.ldif()))?;
            }
            Subject::Pando => {
                let mut command = Command::new(&self.pando);
                command
                    .arg("import")
                    .arg(self.database(subject))
                    .arg(self.ldif());
                self.finish(subject, &mut command)?;
            }
        }
        Ok(begin.elapsed())
    }

    /// Writes all entries as LDIF to nowhere; how long it took.
    pub fn export(&self, subject: Subject) -> io::Result<Duration> {
        let mut command = match subject {
            Subject::Pando => {
                let mut command = Command::new(&self.pando);
                command.arg("export").arg(self.database(subject));
                command
            }
            _ => {
                let mut command = Command::new("/usr/sbin/slapcat");
                command.arg("-f").arg(self.slapd_configuration());
                command
            }
        };
        let begin = Instant::now();
        self.finish(subject, &mut command)?;
        Ok(begin.elapsed())
    }

    /// Compares all tables of Pando's database.
    pub fn check(&self) -> io::Result<()> {
        let mut command = Command::new(&self.pando);
        command.arg("check").arg(self.database(Subject::Pando));
        self.finish(Subject::Pando, &mut command)
    }

    /// The file with the log of a server's last command.
    fn log(&self, subject: Subject) -> PathBuf {
        self.path.join(format!("{}.log", subject.name()))
    }

    /// Runs a command to its end, its output to nowhere.
    fn finish(&self, subject: Subject, command: &mut Command) -> io::Result<()> {
        let log = self.log(subject);
        let status = command
            .stdout(Stdio::null())
            .stderr(fs::File::create(&log)?)
            .status()?;
        match status.success() {
            true => Ok(()),
            false => {
                let said = fs::read_to_string(&log)?;
                Err(io::Error::other(format!("{command:?}: {status}: {said}")))
            }
        }
    }

    /// Octets that a database takes on disk.
    pub fn size(&self, subject: Subject) -> io::Result<u64> {
        octets_below(&self.database(subject))
    }

    /// Reads the whole database once. Machines that take memory back from their guests let go of
    /// pages that nobody read for a minute, and then a row measures the disk.
    pub fn warm(&self, subject: Subject) -> io::Result<()> {
        if subject == Subject::Null {
            return Ok(());
        }
        for file in files_below(&self.database(subject))? {
            // slapd's file is as long as its map may become, and only its beginning is there.
            let there = octets_on_disk(&file)?;
            let mut file = fs::File::open(file)?.take(there);
            io::copy(&mut file, &mut io::sink())?;
        }
        Ok(())
    }

    /// Starts a server and waits until the administrator can bind.
    pub fn start(&self, subject: Subject) -> io::Result<Server> {
        if subject == Subject::Null {
            return Server::null(2_500);
        }
        let url = format!("ldap://127.0.0.1:{}", free_port()?);
        let mut command = match subject {
            Subject::Pando => {
                let mut command = Command::new(&self.pando);
                command
                    .arg("serve")
                    .arg(self.database(subject))
                    .args(["--listen", &url]);
                command
            }
            _ => {
                let mut command = Command::new("/usr/sbin/slapd");
                command
                    .args(["-d", "0", "-h", &url])
                    .arg("-f")
                    .arg(self.slapd_configuration());
                command
            }
        };
        command
            .stdout(Stdio::null())
            .stderr(fs::File::create(self.log(subject))?);
        let mut server = Server::start(&mut command, &url)?;
        let begin = Instant::now();
        while !load::bench::can_bind(&url, ADMINISTRATOR, PASSWORD) {
            if let Some(status) = server.ended()? {
                let message = format!("{} ended: {status}", subject.name());
                return Err(io::Error::other(message));
            }
            if begin.elapsed() > START_TIME_MAX {
                return Err(io::Error::other(format!(
                    "{} does not answer",
                    subject.name()
                )));
            }
            // Nothing tells from outside when a server begins to listen.
            thread::park_timeout(Duration::from_millis(20));
        }
        Ok(server)
    }
}

/// Debian's schema file with another syntax for `photo`: slapd has no validator for its own one
/// and would reject every entry of the template.
fn cosine_schema() -> io::Result<String> {
    let text = fs::read_to_string("/etc/ldap/schema/cosine.schema")?;
    let fax = "1.3.6.1.4.1.1466.115.121.1.23";
    let octet_string = "1.3.6.1.4.1.1466.115.121.1.40";
    Ok(text.replace(fax, octet_string))
}

/// Octets that the files in a folder, and in the folders in it, take on disk.
pub fn octets_below(folder: &Path) -> io::Result<u64> {
    let mut octets = 0;
    for file in files_below(folder)? {
        octets += octets_on_disk(&file)?;
    }
    Ok(octets)
}

/// Without what was never written.
fn octets_on_disk(file: &Path) -> io::Result<u64> {
    use std::os::unix::fs::MetadataExt;
    Ok(fs::metadata(file)?.blocks() * 512)
}

/// The files in a folder and the folders in it; sockets are none.
fn files_below(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() {
            files.append(&mut files_below(&entry.path())?);
        } else if kind.is_file() {
            files.push(entry.path());
        }
    }
    Ok(files)
}
