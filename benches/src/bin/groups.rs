//! Large groups: bytes for each member, and how fast members are found, tested, added and deleted.
//!
//! `--more 50x1000000` adds as many groups with as many members each. Every fifth person is in no
//! group, so that ids of members do not follow each other; those are the members that are added and
//! deleted. `--slapd 1000000` measures Debian's slapd with one group of so many members as well,
//! adding and deleting over one connection. The folder is made anew, and stays.

use std::env::temp_dir;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Parser;
use load::bench::{JobKind, Mix, Options, Report, Scope, run};
use pando_benches::arguments::Tables;
use pando_benches::journal::Journal;
use pando_benches::process::{Server, beside};
use pando_benches::subject::{ADMINISTRATOR, Folder, PASSWORD, Subject};

const PEOPLE: &str = "ou=people,dc=com";
const GROUP: &str = "cn=big,ou=groups,dc=com";
/// Of so many people one is in no group.
const SPARE_EVERY: u64 = 5;
/// Members that are added and deleted at most.
const CHANGES_MAX: u64 = 300_000;

/// Measures large groups.
#[derive(Clone, Parser)]
struct Arguments {
    /// Members of the group that is measured.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    members: u64,
    /// Number and size of further groups, such as `50x1000000`.
    #[arg(long, value_name = "NxM", default_value = "0x0", value_parser = times)]
    more: (u64, u64),
    /// Members of a group of slapd, which is measured too; 0 for none.
    #[arg(long, value_name = "N", default_value_t = 0)]
    slapd: u64,
    /// Seconds of each operation.
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    seconds: f64,
    /// Folder for databases.
    #[arg(long, value_name = "FOLDER", default_value_os_t = temp_dir().join("pando-groups"))]
    folder: PathBuf,
    /// The program `pando`.
    #[arg(long, value_name = "FILE", default_value_os_t = beside("pando"))]
    pando: PathBuf,
    #[command(flatten)]
    tables: Tables,
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    let folder = Folder::anew(&arguments.folder, &arguments.pando)?;
    let mut out = Journal::default();
    out.line("| what | figure | |")?;
    out.line("|---|---|---|")?;
    load(&folder, &arguments, &mut out)?;
    measure_all(&folder, Subject::Pando, &arguments, &mut out)?;
    folder.check()?;
    if arguments.slapd > 0 {
        beside_slapd(&folder, &arguments, &mut out)?;
    }
    arguments.tables.keep(&out, "groups")
}

/// Every operation on a server.
fn measure_all(
    folder: &Folder,
    subject: Subject,
    arguments: &Arguments,
    out: &mut Journal,
) -> io::Result<()> {
    out.line("")?;
    out.line("| operation | connections | rate/s | us | p99 us |")?;
    out.line("|---|---|---|---|---|")?;
    let server = folder.start(subject)?;
    for row in rows(arguments).iter().filter(|it| it.is_for(subject)) {
        let report = measure(&server, arguments, row, subject)?;
        let used = report.server.map_or(0.0, |it| it.us_per_operation);
        let connections = row.connections(subject);
        out.line(&format!(
            "| {} | {connections} | {:.1} | {used:.2} | {:.0} |",
            row.name, report.rate, report.latency.p99_us
        ))?;
    }
    Ok(())
}

/// Measures slapd with one group.
fn beside_slapd(folder: &Folder, arguments: &Arguments, out: &mut Journal) -> io::Result<()> {
    let arguments = Arguments {
        members: arguments.slapd,
        more: (0, 0),
        ..arguments.clone()
    };
    folder.prepare(Subject::Slapd)?;
    write_people(&folder.ldif(), arguments.people())?;
    let took = folder.import(Subject::Slapd)?;
    let before = folder.size(Subject::Slapd)?;
    out.line("\nslapd\n")?;
    out.line("| what | figure | |")?;
    out.line("|---|---|---|")?;
    out.line(&row_of("people", arguments.people() as f64, "entries"))?;
    out.line(&row_of("import of the people", took.as_secs_f64(), "s"))?;
    let members = write_groups(&folder.ldif(), &arguments)?;
    out.line(&row_of("members of the group", members as f64, "values"))?;
    let took = folder.import(Subject::Slapd)?;
    let after = folder.size(Subject::Slapd)?;
    out.line(&row_of("import of the group", took.as_secs_f64(), "s"))?;
    let grown = after.saturating_sub(before) as f64 / members as f64;
    out.line(&row_of("database for each member", grown, "bytes"))?;
    fs::remove_file(folder.ldif())?;
    measure_all(folder, Subject::Slapd, &arguments, out)
}

/// Imports people, then groups.
fn load(folder: &Folder, arguments: &Arguments, out: &mut Journal) -> io::Result<()> {
    folder.prepare(Subject::Pando)?;
    write_people(&folder.ldif(), arguments.people())?;
    let took = folder.import(Subject::Pando)?;
    let before = folder.size(Subject::Pando)?;
    out.line(&row_of("people", arguments.people() as f64, "entries"))?;
    out.line(&row_of("import of the people", took.as_secs_f64(), "s"))?;
    let begin = Instant::now();
    let members = write_groups(&folder.ldif(), arguments)?;
    out.line(&row_of("members of all groups", members as f64, "values"))?;
    out.line(&row_of(
        "writing the LDIF",
        begin.elapsed().as_secs_f64(),
        "s",
    ))?;
    let octets = fs::metadata(folder.ldif())?.len();
    let took = folder.import(Subject::Pando)?;
    let after = folder.size(Subject::Pando)?;
    let each = |octets: u64| octets as f64 / members as f64;
    out.line(&row_of("LDIF for each member", each(octets), "bytes"))?;
    let words = "import of the groups, beside the people";
    out.line(&row_of(words, took.as_secs_f64(), "s"))?;
    let grown = each(after.saturating_sub(before));
    out.line(&row_of("database for each member", grown, "bytes"))?;
    fs::remove_file(folder.ldif())
}

/// Every fifth person is a spare one.
fn write_people(path: &Path, people: u64) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    for (dn, name) in [("dc=com", "dc: com"), (PEOPLE, "ou: people")] {
        let class = match name.starts_with("dc") {
            true => "domain",
            false => "organizationalUnit",
        };
        writeln!(file, "dn: {dn}\nobjectClass: {class}\n{name}\n")?;
    }
    let (mut member, mut spare) = (0, 0);
    for at in 1..=people {
        let uid = match at % SPARE_EVERY {
            0 => {
                spare += 1;
                format!("spare.{spare}")
            }
            _ => {
                member += 1;
                format!("user.{member}")
            }
        };
        writeln!(
            file,
            "dn: uid={uid},{PEOPLE}\nobjectClass: account\nuid: {uid}\n"
        )?;
    }
    file.flush()
}

/// Returns how many values there are.
fn write_groups(path: &Path, arguments: &Arguments) -> io::Result<u64> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    writeln!(
        file,
        "dn: ou=groups,dc=com\nobjectClass: organizationalUnit\n"
    )?;
    writeln!(file, "dn: {GROUP}\nobjectClass: groupOfNames")?;
    for member in 1..=arguments.members {
        writeln!(file, "member: uid=user.{member},{PEOPLE}")?;
    }
    let (groups, each) = arguments.more;
    for group in 1..=groups {
        writeln!(
            file,
            "\ndn: cn=group {group},ou=groups,dc=com\nobjectClass: groupOfNames"
        )?;
        for at in 0..each {
            // Spread over all of them, in each group from another one on.
            let member = (at * arguments.members / each + group) % arguments.members + 1;
            writeln!(file, "member: uid=user.{member},{PEOPLE}")?;
        }
    }
    writeln!(file)?;
    file.flush()?;
    Ok(arguments.members + groups * each)
}

/// A kind of operation.
struct Row {
    name: &'static str,
    kind: JobKind,
    connections: usize,
    filter: String,
    base: String,
    wanted: &'static str,
    /// Over one value each, and no others.
    once: bool,
}

impl Row {
    /// slapd has no ranges of values, and `memberOf` takes an overlay.
    fn is_for(&self, subject: Subject) -> bool {
        subject == Subject::Pando || !["memberOf", "member;range=0-99"].contains(&self.wanted)
    }

    /// slapd rewrites the group with each change, so that more at once only wait.
    fn connections(&self, subject: Subject) -> usize {
        match subject == Subject::Slapd && self.once {
            true => 1,
            false => self.connections,
        }
    }
}

fn rows(arguments: &Arguments) -> Vec<Row> {
    let user = format!("[1-{}]", arguments.members);
    let row = |name, kind, connections, filter: String| Row {
        name,
        kind,
        connections,
        filter,
        base: "dc=com".to_owned(),
        wanted: "1.1",
        once: false,
    };
    let search = JobKind::Search;
    let every = "(objectClass=*)".to_owned();
    let changes = |name, kind| Row {
        once: true,
        ..row(name, kind, 200, every.clone())
    };
    vec![
        row(
            "search (uid=…), name only",
            search,
            32,
            format!("(uid=user.{user})"),
        ),
        row(
            "search (member=…), names only",
            search,
            32,
            format!("(member=uid=user.{user},{PEOPLE})"),
        ),
        Row {
            base: GROUP.to_owned(),
            ..row("read the group, name only", search, 32, every.clone())
        },
        Row {
            base: GROUP.to_owned(),
            wanted: "member;range=0-99",
            ..row("read 100 of its members", search, 32, every.clone())
        },
        Row {
            base: format!("uid=user.{user},{PEOPLE}"),
            wanted: "memberOf",
            ..row("read memberOf", search, 32, every.clone())
        },
        row("compare member", JobKind::Compare, 32, every.clone()),
        changes("add a member, durable", JobKind::AddValue),
        changes("delete a member, durable", JobKind::DeleteValue),
    ]
}

fn measure(
    server: &Server,
    arguments: &Arguments,
    row: &Row,
    subject: Subject,
) -> io::Result<Report> {
    let mut options = Options::new(&server.url, Mix::only(row.kind));
    options.connections = row.connections(subject);
    options.duration = Some(Duration::from_secs_f64(arguments.seconds));
    options.warm_up = Duration::from_secs_f64((arguments.seconds / 5.0).min(1.0));
    options.drain = Duration::from_secs(60);
    options.server_pid = Some(server.pid());
    options.bind_as = Some((ADMINISTRATOR.to_owned(), PASSWORD.to_owned()));
    options.search.base = row.base.clone();
    if row.base != "dc=com" {
        options.search.scope = Scope::Base;
    }
    options.search.filter = row.filter.clone();
    options.search.attributes = vec![row.wanted.to_owned()];
    options.dn = GROUP.to_owned();
    options.attribute = "member".to_owned();
    options.value = format!("uid=user.[1-{}],{PEOPLE}", arguments.members);
    options.expect_compare = Some(true);
    // As many as there are groups of the member.
    options.search.expect_entries = None;
    if row.once {
        let last = (arguments.people() / SPARE_EVERY).min(CHANGES_MAX);
        options.value = format!("uid=spare.[1:{last}],{PEOPLE}");
        if subject == Subject::Pando {
            options.duration = None;
            options.operations = Some(last);
        }
        options.warm_up = Duration::ZERO;
    }
    let report = run(&options, &mut |_| {}).map_err(io::Error::other)?;
    match report.is_clean() {
        true => Ok(report),
        false => Err(io::Error::other(format!("{}: {}", row.name, report.text()))),
    }
}

fn row_of(what: &str, figure: f64, unit: &str) -> String {
    match figure.fract() == 0.0 {
        true => format!("| {what} | {figure:.0} | {unit} |"),
        false => format!("| {what} | {figure:.2} | {unit} |"),
    }
}

impl Arguments {
    /// Four of five are members.
    fn people(&self) -> u64 {
        self.members.div_ceil(SPARE_EVERY - 1) * SPARE_EVERY
    }
}

/// Parses a number of groups and of members of each, such as `50x1000000`.
fn times(text: &str) -> Result<(u64, u64), String> {
    let (groups, each) = text.split_once('x').ok_or("expected GROUPSxMEMBERS")?;
    let number = |text: &str| {
        text.parse()
            .map_err(|_| format!("expected a number, got {text}"))
    };
    Ok((number(groups)?, number(each)?))
}
