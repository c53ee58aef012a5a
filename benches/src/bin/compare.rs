//! Pando beside Debian's slapd and the null responder, in turns, with the same jobs.
//!
//! Makes the entries, loads both databases, measures every row in turns (slapd, Pando, null, again)
//! and writes a table with the ratios, which are what counts: a machine's speed drifts.
//! `--growth` measures one server, Pando unless left out, with small entries: a hundredth of
//! `--entries`, `--entries`, and ten times as many.

use std::env::temp_dir;
use std::io::{self, Write};
use std::path::PathBuf;

use clap::Parser;
use pando_benches::arguments::Tables;
use pando_benches::journal::Journal;
use pando_benches::process::{Server, beside, raise_open_files};
use pando_benches::row::{self, Data, Extent, ROWS, Row};
use pando_benches::subject::{Folder, Subject};
use pando_benches::table::{self, Results, Sum};

/// Measures Pando beside slapd and the null responder.
#[derive(Parser)]
struct Arguments {
    /// Users in the databases.
    #[arg(long, value_name = "N", default_value_t = 1_000_000)]
    entries: u64,
    /// Seconds of each measurement.
    #[arg(long, value_name = "S", default_value_t = 10.0)]
    seconds: f64,
    /// Measurements of each row.
    #[arg(long, value_name = "N", default_value_t = 2)]
    rounds: usize,
    /// Folder for databases.
    #[arg(long, value_name = "FOLDER", default_value_os_t = temp_dir().join("pando-compare"))]
    folder: PathBuf,
    /// The program `pando`.
    #[arg(long, value_name = "FILE", default_value_os_t = beside("pando"))]
    pando: PathBuf,
    /// Whether Pando is left out.
    #[arg(long)]
    without_pando: bool,
    /// Measures only rows whose name holds this text, without imports and exports.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    #[command(flatten)]
    tables: Tables,
    /// Measures one server with three numbers of small entries.
    #[arg(long)]
    growth: bool,
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    // Enough for 10,000 connections. slapd reserves memory for as many as it may open.
    raise_open_files(25_000)?;
    let folder = Folder::made(&arguments.folder, &arguments.pando)?;
    let pando = (!arguments.without_pando).then_some(&*folder.pando);
    let mut journal = Journal::default();
    let users = arguments.entries;
    let title = match arguments.growth {
        true => format!("Growth with small entries, around {users}"),
        false => format!("slapd, Pando and a null responder: {users} entries"),
    };
    journal.line(&format!("# {title}\n"))?;
    journal.line(&table::facts("compare", pando)?)?;
    if arguments.growth {
        growth(&arguments, &folder, &mut journal)?;
    } else {
        folder.make_entries(arguments.extent())?;
        databases(&arguments, &folder, &mut journal)?;
        rows(&arguments, &folder, &mut journal)?;
    }
    journal.record(arguments.tables.output.as_deref(), "")
}

impl Arguments {
    /// The size of the measurement.
    fn extent(&self) -> Extent {
        Extent {
            data: match self.growth {
                true => Data::Small,
                false => Data::Large,
            },
            entries: self.entries,
            seconds: self.seconds,
        }
    }

    /// The servers that are measured, in this order.
    fn subjects(&self) -> Vec<Subject> {
        let all = [Subject::Slapd, Subject::Pando, Subject::Null];
        let here = |subject: &Subject| *subject != Subject::Pando || !self.without_pando;
        all.into_iter().filter(here).collect()
    }
}

/// Imports, sizes and exports of the closed databases. Always imports; the rest with all rows only.
fn databases(arguments: &Arguments, folder: &Folder, journal: &mut Journal) -> io::Result<()> {
    let both: Vec<Subject> = arguments
        .subjects()
        .into_iter()
        .filter(|subject| *subject != Subject::Null)
        .collect();
    let mut import = [None; 2];
    let mut export = [None; 2];
    let mut size = [None; 2];
    let entries = arguments.entries as f64 + 2.0;
    for subject in &both {
        let at = table::position(*subject);
        folder.prepare(*subject)?;
        import[at] = Some(folder.import(*subject)?.as_secs_f64());
        size[at] = Some(folder.size(*subject)? as f64 / 1e6);
    }
    if arguments.only.is_some() {
        return Ok(());
    }
    for _ in 0..arguments.rounds {
        for subject in &both {
            folder.warm(*subject)?;
            let seconds = folder.export(*subject)?.as_secs_f64();
            keep_least(&mut export[table::position(*subject)], seconds);
        }
    }
    let us = |seconds: Option<f64>| seconds.map(|seconds| seconds * 1e6 / entries);
    journal.line("| whole database | slapd | Pando | slapd / Pando | must reach |")?;
    journal.line("|---|---|---|---|---|")?;
    let line = table::plain_line;
    journal.line(&line(
        "import of LDIF, seconds",
        import[0],
        import[1],
        "2.5",
    ))?;
    journal.line(&line(
        "export to LDIF, us for each entry",
        us(export[0]),
        us(export[1]),
        "2.5",
    ))?;
    journal.line(&line("database, MB", size[0], size[1], "1"))
}

fn rows(arguments: &Arguments, folder: &Folder, journal: &mut Journal) -> io::Result<()> {
    let mut servers = Vec::new();
    for subject in arguments.subjects() {
        servers.push((subject, folder.start(subject)?));
    }
    let all = arguments.only.is_none();
    if all {
        whole(arguments, folder, &servers, journal)?;
    }
    journal.line("")?;
    journal.line(table::HEAD)?;
    let chosen = |row: &&Row| {
        arguments
            .only
            .as_ref()
            .is_none_or(|only| row.name.contains(only))
    };
    // The delete after an add takes away its entries, so rounds go over pairs of rows.
    let (pair, others): (Vec<&Row>, Vec<&Row>) = ROWS
        .iter()
        .filter(chosen)
        .partition(|row| matches!(row.work, row::Work::Add | row::Work::Delete));
    let groups = others.iter().map(std::slice::from_ref).chain([&pair[..]]);
    for group in groups {
        let mut results: Vec<Results> = vec![[None; 3]; group.len()];
        for _ in 0..arguments.rounds {
            for (subject, server) in &servers {
                folder.warm(*subject)?;
                for (row, results) in group.iter().zip(&mut results) {
                    let report = row.run(*subject, server, arguments.extent())?;
                    warn(row, *subject, &report)?;
                    let sum = &mut results[table::position(*subject)];
                    sum.get_or_insert_with(Sum::default).add(&report);
                }
            }
        }
        for (row, results) in group.iter().zip(&results) {
            journal.line(&table::line(row, results))?;
        }
    }
    Ok(())
}

/// One server with three sizes of small entries, every row.
fn growth(arguments: &Arguments, folder: &Folder, journal: &mut Journal) -> io::Result<()> {
    let middle = arguments.entries;
    let sizes = [(middle / 100).max(100), middle, middle * 10];
    let subject = match arguments.without_pando {
        true => Subject::Slapd,
        false => Subject::Pando,
    };
    let mut cells = vec![String::new(); ROWS.len()];
    let mut imports = String::new();
    for entries in sizes {
        let extent = Extent {
            entries,
            ..arguments.extent()
        };
        folder.make_entries(extent)?;
        folder.prepare(subject)?;
        let import = folder.import(subject)?;
        imports += &format!(" {:.2} |", import.as_secs_f64() * 1e6 / entries as f64);
        let server = folder.start(subject)?;
        for (row, cell) in ROWS.iter().zip(&mut cells) {
            let mut sum = Sum::default();
            folder.warm(subject)?;
            let report = row.run(subject, &server, extent)?;
            warn(row, subject, &report)?;
            sum.add(&report);
            *cell += &format!(" {:.0} | {:.2} |", sum.rate(), sum.cpu());
        }
    }
    let heads = sizes
        .map(|size| format!(" {size}: ops/s | CPU us |"))
        .concat();
    journal.line(&format!(
        "| {} | connections x in flight |{heads}",
        subject.name()
    ))?;
    journal.line("|---|---|---|---|---|---|---|---|")?;
    for (row, cell) in ROWS.iter().zip(&cells) {
        journal.line(&format!(
            "| {} | {} x {} |{cell}",
            row.name, row.connections, row.depth
        ))?;
    }
    journal.line(&format!("\nImport, us for each entry, by size: |{imports}"))
}

fn warn(row: &Row, subject: Subject, report: &load::bench::Report) -> io::Result<()> {
    if report.is_clean() {
        return Ok(());
    }
    let text = report.text();
    writeln!(io::stderr(), "{} ({}): {text}", row.name, subject.name())
}

/// Memory and the export over LDAP, of the running servers.
fn whole(
    arguments: &Arguments,
    folder: &Folder,
    servers: &[(Subject, Server)],
    journal: &mut Journal,
) -> io::Result<()> {
    let extent = arguments.extent();
    let mut idle = [None; 3];
    let mut many = [None; 3];
    let mut export = [None; 3];
    let mut cpu = [None; 3];
    let both = || {
        servers
            .iter()
            .filter(|(subject, _)| *subject != Subject::Null)
    };
    for (subject, server) in both() {
        let memory = row::anonymous_bytes(server, 1, extent)?;
        idle[table::position(*subject)] = Some(memory as f64 / 1e6);
    }
    // The best round counts.
    for _ in 0..arguments.rounds.max(2) {
        for (subject, server) in both() {
            let at = table::position(*subject);
            folder.warm(*subject)?;
            // The suffix and the branch stand above the users.
            let report = row::export_over_ldap(server, extent.entries + 2)?;
            if !report.is_clean() {
                writeln!(
                    io::stderr(),
                    "export ({}): {}",
                    subject.name(),
                    report.text()
                )?;
            }
            let entries = report.jobs.iter().map(|job| job.entries).sum::<u64>() as f64;
            let used = report.server.map_or(0.0, |server| server.cpu_us);
            keep_least(&mut export[at], report.elapsed_s * 1e6 / entries);
            keep_least(&mut cpu[at], used / entries);
        }
    }
    for (subject, server) in both() {
        let memory = row::anonymous_bytes(server, 10_000, extent)?;
        many[table::position(*subject)] = Some(memory as f64 / 1e6);
    }
    let line = table::plain_line;
    journal.line(&line(
        "export over LDAP, us for each entry",
        export[0],
        export[1],
        "3.5",
    ))?;
    journal.line(&line("the same, server CPU us", cpu[0], cpu[1], ""))?;
    journal.line(&line(
        "memory beyond files, idle, MB",
        idle[0],
        idle[1],
        "Pando <= 30 MB",
    ))?;
    let what = "the same after the export, 10,000 connections, MB";
    journal.line(&line(what, many[0], many[1], "Pando <= 70 MB"))
}

fn keep_least(place: &mut Option<f64>, value: f64) {
    *place = Some(place.map_or(value, |before| before.min(value)));
}
