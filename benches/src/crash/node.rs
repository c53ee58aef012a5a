//! The node that is killed: many people, some of whom are written to all the time.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use super::members::{GROUP, Members};
use crate::process::Server;
use crate::subject::{Folder, Subject};

/// The superior of all people.
pub const PEOPLE: &str = "ou=people,dc=com";
/// People who are written to, and are in no group.
pub const SPARES: u64 = 1_000;

/// The name of one of them.
pub fn spare(number: u64) -> String {
    format!("uid=spare.{},{PEOPLE}", number % SPARES)
}

/// A node with so many people beside the spare ones.
pub struct Node {
    /// Where it is.
    pub folder: Folder,
    /// How many.
    pub people: u64,
}

impl Node {
    /// Entries with all people in it, and no group.
    pub fn entries(&self) -> u64 {
        self.people + SPARES + 2
    }

    /// An empty database, which takes messages of any length.
    pub fn prepare(&self) -> io::Result<()> {
        self.folder.prepare(Subject::Pando)?;
        let settings = self.folder.database(Subject::Pando).join("pando.toml");
        fs::write(settings, "[connections]\nmessage_bytes_max = 0\n")
    }

    /// Writes the LDIF of all people.
    pub fn write_people(&self) -> io::Result<()> {
        let mut file = self.ldif()?;
        writeln!(file, "dn: dc=com\nobjectClass: domain\ndc: com\n")?;
        writeln!(
            file,
            "dn: {PEOPLE}\nobjectClass: organizationalUnit\nou: people\n"
        )?;
        let spares = (0..SPARES).map(|number| format!("spare.{number}"));
        let users = (1..=self.people).map(|number| format!("user.{number}"));
        for uid in spares.chain(users) {
            writeln!(
                file,
                "dn: uid={uid},{PEOPLE}\nobjectClass: account\nuid: {uid}\n"
            )?;
        }
        file.flush()
    }

    /// Writes the LDIF of a group of all of them.
    pub fn write_group(&self) -> io::Result<()> {
        let mut file = self.ldif()?;
        writeln!(
            file,
            "dn: ou=groups,dc=com\nobjectClass: organizationalUnit\nou: groups\n"
        )?;
        writeln!(file, "dn: {GROUP}\nobjectClass: groupOfEntries")?;
        for number in 1..=self.people {
            writeln!(file, "member: {}", Members::name(number))?;
        }
        writeln!(file)?;
        file.flush()
    }

    fn ldif(&self) -> io::Result<BufWriter<File>> {
        let file = File::create(self.folder.ldif())?;
        Ok(BufWriter::with_capacity(1 << 20, file))
    }

    /// Begins a command on the node.
    pub fn begin(&self, subcommand: &[&str], arguments: &[&str]) -> io::Result<Child> {
        let log = self.folder.path.join("command.log");
        let mut command = self.command(subcommand, arguments);
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(log)?);
        command.spawn()
    }

    /// Runs a command on the node to its end, which must be good; how long it took.
    pub fn run(&self, subcommand: &[&str], arguments: &[&str]) -> io::Result<Duration> {
        let begin = Instant::now();
        self.say(&mut self.command(subcommand, arguments))?;
        Ok(begin.elapsed())
    }

    /// `pando check`: the entries there are.
    pub fn check(&self) -> io::Result<u64> {
        let said = self.say(&mut self.command(&["check"], &[]))?;
        let count = said
            .split_whitespace()
            .next()
            .and_then(|it| it.replace(',', "").parse().ok());
        count.ok_or_else(|| io::Error::other(format!("expected a number of entries, came {said}")))
    }

    /// `pando verify` of a backup.
    pub fn verify(&self, backup: &str) -> io::Result<()> {
        let mut command = Command::new(&self.folder.pando);
        self.say(command.args(["verify", backup])).map(drop)
    }

    /// The members of the groups there are, by name of the group.
    pub fn groups(&self) -> io::Result<Vec<(String, Members)>> {
        let options = [
            "ou=groups,dc=com",
            "--attributes=member",
            "--no-operational",
            "--fold=0",
        ];
        let mut command = self.command(&["export"], &options);
        let mut child = command
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let output = child.stdout.take();
        let output = output.ok_or_else(|| io::Error::other("no standard output"))?;
        let groups = Members::read(output, self.people);
        match child.wait()?.success() {
            true => groups,
            false => Err(io::Error::other("the groups cannot be exported")),
        }
    }

    /// Serves the node.
    pub fn serve(&self) -> io::Result<Server> {
        self.folder.start(Subject::Pando)
    }

    fn command(&self, subcommand: &[&str], arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.folder.pando);
        command
            .args(subcommand)
            .arg(self.folder.database(Subject::Pando))
            .args(arguments);
        command
    }

    /// Standard output of a command; an error with its standard error unless it ended well.
    fn say(&self, command: &mut Command) -> io::Result<String> {
        let output = command.stdin(Stdio::null()).output()?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let status = output.status;
        Err(io::Error::other(format!("{command:?}: {status}: {said}")))
    }
}
