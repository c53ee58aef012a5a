//! The rows of the table: which job, and what Pando must reach against slapd in the same run.

use std::io;
use std::time::Duration;

use load::bench::{AddSource, JobKind, Mix, Options, Report, Scope, run};
use load::template::{Defines, Generator, Template};

use crate::process::Server;
use crate::subject::{ADMINISTRATOR, PASSWORD, Subject};

/// Kind of entries in the databases.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Data {
    /// Appendix C with a password: 2.7 KB each.
    Large,
    /// inetOrgPerson with one value of 8 octets, and a password so that every row can run.
    Small,
    /// inetOrgPerson with one value of 8 octets and nothing else.
    Plain,
}

const LARGE: &str = include_str!("../../examples/oid-with-password.template");
const SMALL: &str = include_str!("../../examples/small-entries.template");

impl Data {
    /// The generator of a database with so many users. Entry 0 is their branch, just below
    /// `dc=com`.
    pub fn generator(self, users: u64) -> io::Result<Generator> {
        let password = LARGE.lines().find(|line| line.starts_with("userPassword:"));
        let text = match self {
            Data::Large => LARGE.to_owned(),
            // The template of the users is the last thing in the file.
            Data::Small => format!("{SMALL}{}\n", password.unwrap_or_default()),
            Data::Plain => SMALL.to_owned(),
        };
        let mut defines = Defines::new();
        defines.set("NumUsers", &users.to_string());
        let template = Template::parse(&text, &defines).map_err(io::Error::other)?;
        Ok(Generator::new(template, 0))
    }

    /// The users' superior.
    pub fn base(self) -> &'static str {
        match self {
            Data::Large => "ou=oracle,dc=com",
            Data::Small | Data::Plain => "ou=people,dc=com",
        }
    }

    /// An attribute without an index.
    fn unindexed(self) -> &'static str {
        match self {
            Data::Large => "description",
            Data::Small | Data::Plain => "carLicense",
        }
    }
}

/// The result that a row must reach.
#[derive(Clone, Copy, Debug)]
pub enum Goal {
    /// The server's CPU for an operation at most this part of slapd's.
    Cpu(f64),
    /// The rate at least so many times slapd's.
    Rate(f64),
    /// Both.
    Both {
        /// As [`Goal::Rate`].
        rate: f64,
        /// As [`Goal::Cpu`].
        cpu: f64,
    },
}

/// Kind of work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Search by uid, no attributes.
    Equality,
    /// Search of an entry by its name, all attributes.
    Base,
    /// Search by uid and bind as the entry.
    Auth,
    /// Compare of `userPassword`.
    Compare,
    /// 65 % search, 16 % bind, 16 % compare, 3 % modify.
    Mixed,
    /// Modify of an attribute without an index.
    Modify,
    /// Add of whole entries.
    Add,
    /// Delete of what the row before has added.
    Delete,
}

/// One row.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// As written in the table.
    pub name: &'static str,
    /// Kind of work.
    pub work: Work,
    /// Connections.
    pub connections: usize,
    /// Requests in flight on each.
    pub depth: usize,
    /// The result that must be reached.
    pub goal: Goal,
}

/// The rows that are measured over LDAP.
pub const ROWS: &[Row] = &[
    row(
        "equality search, DN only",
        Work::Equality,
        32,
        1,
        Goal::Cpu(3.8),
    ),
    row(
        "equality search, DN only",
        Work::Equality,
        4,
        100,
        Goal::Cpu(10.0),
    ),
    row(
        "base search, all attributes",
        Work::Base,
        32,
        1,
        Goal::Cpu(3.3),
    ),
    row(
        "auth = search + bind, {SSHA}",
        Work::Auth,
        32,
        1,
        Goal::Cpu(3.0),
    ),
    row(
        "compare on userPassword",
        Work::Compare,
        32,
        1,
        Goal::Cpu(2.6),
    ),
    row(
        "mixed 65/16/16/3, durable",
        Work::Mixed,
        32,
        1,
        Goal::Rate(3.5),
    ),
    row(
        "modify, durable",
        Work::Modify,
        200,
        1,
        Goal::Both {
            rate: 10.0,
            cpu: 8.0,
        },
    ),
    row("modify, durable", Work::Modify, 4, 100, Goal::Rate(18.0)),
    row("modify, durable", Work::Modify, 10, 1000, Goal::Rate(35.0)),
    row(
        "add of whole entries, durable",
        Work::Add,
        32,
        1,
        Goal::Rate(6.0),
    ),
    row(
        "delete of whole entries, durable",
        Work::Delete,
        32,
        1,
        Goal::Rate(6.0),
    ),
];

const fn row(name: &'static str, work: Work, connections: usize, depth: usize, goal: Goal) -> Row {
    Row {
        name,
        work,
        connections,
        depth,
        goal,
    }
}

/// The size of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Extent {
    /// Which entries.
    pub data: Data,
    /// Users in the databases.
    pub entries: u64,
    /// Length of each run.
    pub seconds: f64,
}

impl Row {
    /// Runs the row once.
    pub fn run(&self, subject: Subject, server: &Server, extent: Extent) -> io::Result<Report> {
        let options = self.options(subject, server, extent)?;
        run(&options, &mut |_| {}).map_err(io::Error::other)
    }

    fn options(&self, subject: Subject, server: &Server, extent: Extent) -> io::Result<Options> {
        let last = extent.entries;
        let mix = match self.work {
            Work::Equality | Work::Base => "search",
            Work::Auth => "auth",
            Work::Compare => "compare",
            Work::Mixed => "mixed",
            Work::Modify => "modify",
            Work::Add => "add",
            Work::Delete => "delete",
        };
        let mut options = Options::new(&server.url, Mix::parse(mix).map_err(io::Error::other)?);
        options.connections = self.connections;
        options.depth = self.depth;
        options.duration = Some(Duration::from_secs_f64(extent.seconds));
        options.warm_up = Duration::from_secs_f64((extent.seconds / 5.0).min(1.0));
        options.drain = Duration::from_secs(120);
        options.server_pid = Some(server.pid());
        let base = extent.data.base();
        options.search.base = base.to_owned();
        options.search.filter = format!("(uid=user.[1-{last}])");
        options.dn = format!("uid=user.[1-{last}],{base}");
        options.password = PASSWORD.to_owned();
        options.attribute = extent.data.unindexed().to_owned();
        let who = match self.work {
            Work::Equality | Work::Base | Work::Auth => format!("uid=user.1,{base}"),
            _ => ADMINISTRATOR.to_owned(),
        };
        options.bind_as = Some((who, PASSWORD.to_owned()));
        match self.work {
            Work::Base => {
                options.search.base = options.dn.clone();
                options.search.scope = Scope::Base;
                options.search.filter = "(objectClass=*)".to_owned();
                options.search.attributes = vec!["*".to_owned()];
            }
            Work::Compare => {
                options.attribute = "userPassword".to_owned();
                options.value = PASSWORD.to_owned();
            }
            Work::Add | Work::Delete => set_extra(&mut options, self.work, subject, extent)?,
            _ => {}
        }
        Ok(options)
    }
}

/// Adds and deletes work on as many entries beyond the database's as a few seconds need. The
/// delete finds them all, since the add before it has ended with the last of them.
fn set_extra(
    options: &mut Options,
    work: Work,
    subject: Subject,
    extent: Extent,
) -> io::Result<()> {
    let each_second = if subject == Subject::Slapd {
        1_300.0
    } else {
        8_000.0
    };
    let count = (each_second * extent.seconds) as u64;
    let (first, last) = (extent.entries + 1, extent.entries + count);
    options.duration = None;
    options.operations = Some(count);
    options.warm_up = Duration::ZERO;
    if work == Work::Delete {
        options.dn = format!("uid=user.[{first}:{last}],{}", extent.data.base());
        return Ok(());
    }
    let generator = extent.data.generator(last)?;
    options.add = AddSource::Template {
        generator,
        from: first,
        to: last + 1,
    };
    Ok(())
}

/// One search for all entries with all attributes: the export over LDAP.
pub fn export_over_ldap(server: &Server, entries: u64) -> io::Result<Report> {
    let mut options = Options::new(&server.url, Mix::only(JobKind::Search));
    options.search.base = "dc=com".to_owned();
    options.search.attributes = vec!["*".to_owned()];
    options.search.expect_entries = Some(entries);
    options.bind_as = Some((ADMINISTRATOR.to_owned(), PASSWORD.to_owned()));
    options.connections = 1;
    options.duration = None;
    options.operations = Some(1);
    options.warm_up = Duration::ZERO;
    options.server_pid = Some(server.pid());
    run(&options, &mut |_| {}).map_err(io::Error::other)
}

/// Memory of the server that is no file, with so many connections that have each searched once.
pub fn anonymous_bytes(server: &Server, connections: usize, extent: Extent) -> io::Result<u64> {
    let mut options = Options::new(&server.url, Mix::only(JobKind::Search));
    options.search.base = extent.data.base().to_owned();
    options.search.filter = format!("(uid=user.[1-{}])", extent.entries);
    options.connections = connections;
    options.duration = None;
    options.operations = Some(connections as u64);
    options.warm_up = Duration::ZERO;
    options.server_pid = Some(server.pid());
    let report = run(&options, &mut |_| {}).map_err(io::Error::other)?;
    Ok(report.server.map_or(0, |server| server.anonymous_bytes))
}
