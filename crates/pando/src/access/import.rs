//! `pando access import`: rules of slapd and of 389 Directory Server as rules of this server, with
//! a report about each clause.

use super::ground::Ground;
use crate::cli::AccessImport;
use crate::report::{Problem, note};
use policy::access::import::{Fate, Import, aci, slapd};
use policy::access::print::print;
use protocol::ldif::LdifWriter;
use std::io::Write;
use std::path::Path;
use store::private;

/// Files in files that are read at most.
const INCLUDED_MAX: u8 = 8;
/// Exit status if a clause gives less here.
const APPROXIMATED: u8 = 3;
/// Exit status if a clause cannot be said here.
const IMPOSSIBLE: u8 = 4;

/// Prints the rules, and the report on standard error.
pub fn import(it: &AccessImport) -> Result<(), Problem> {
    let ground = Ground::of_folder(it.schema.as_deref())?;
    let Ground { schema, secrets } = &ground;
    let import = if let Some(path) = &it.slapd {
        let text = with_included(path, &read(path)?, INCLUDED_MAX);
        let whole = conf_with_suffix(path, &text, &it.suffix)?;
        slapd::of_conf(schema, secrets, &whole)
    } else if let Some(path) = &it.olc {
        let text = config_with_suffix(&read(path)?, &it.suffix);
        slapd::of_config(schema, secrets, &text).map_err(|error| Problem::file(path, error))?
    } else if let Some(path) = &it.aci {
        aci::of_entries(schema, secrets, &read(path)?)
            .map_err(|error| Problem::file(path, error))?
    } else {
        return Err(Problem::usage("expected --slapd, --olc or --aci"));
    };
    write(it.output.as_deref(), &print(&import.rules))?;
    report(&import)
}

/// Reads a file, of which comments may be in Latin-1.
fn read(path: &Path) -> Result<String, Problem> {
    let text = std::fs::read(path).map_err(|error| Problem::file(path, error))?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

fn write(output: Option<&Path>, rules: &str) -> Result<(), Problem> {
    match output {
        Some(path) => private::write(path, rules).map_err(|error| Problem::file(path, error)),
        None => Ok(std::io::stdout().lock().write_all(rules.as_bytes())?),
    }
}

/// Prints what became of each clause.
fn report(import: &Import) -> Result<(), Problem> {
    for line in &import.report {
        note(line);
    }
    let count = |fate: Fate| import.report.iter().filter(|it| it.fate == fate).count();
    let [carried, approximated, impossible] =
        [Fate::Carried, Fate::Approximated, Fate::Impossible].map(count);
    note(format_args!(
        "clauses: {carried} carried, {approximated} approximated, {impossible} impossible"
    ));
    match (import.report.is_empty(), approximated, impossible) {
        (true, ..) => Err(Problem::failed("expected access rules, found none")),
        (_, 0, 0) => Ok(()),
        (_, _, 0) => Err(Problem::Told(APPROXIMATED)),
        _ => Err(Problem::Told(IMPOSSIBLE)),
    }
}

/// A slapd.conf with the text of the files that it includes, as far as they can be read here.
/// Schema files have no access rules and are left out.
fn with_included(path: &Path, text: &str, depth_max: u8) -> String {
    let mut whole = String::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let begins = !line.starts_with(char::is_whitespace);
        let is_include = words
            .next()
            .is_some_and(|it| begins && it.eq_ignore_ascii_case("include"));
        let file = words.next().unwrap_or_default().trim_matches('"');
        if !is_include || file.is_empty() {
            whole.push_str(line);
        } else if !file.ends_with(".schema") {
            let included = path.parent().unwrap_or(Path::new("")).join(file);
            match read(&included) {
                Ok(text) if depth_max > 0 => {
                    whole.push_str(&with_included(&included, &text, depth_max - 1));
                }
                // The import reports it, and gives nothing behind it.
                _ => whole.push_str(line),
            }
        }
        whole.push('\n');
    }
    whole
}

/// A slapd.conf without databases as the part of a database with these suffixes.
fn conf_with_suffix(path: &Path, text: &str, suffixes: &[String]) -> Result<String, Problem> {
    if suffixes.is_empty() {
        return Ok(text.to_owned());
    }
    let is_database = |line: &&str| {
        let word = line.split_whitespace().next().unwrap_or_default();
        ["database", "suffix"]
            .iter()
            .any(|it| word.eq_ignore_ascii_case(it))
    };
    if let Some(line) = text.lines().find(is_database) {
        return Err(Problem::usage(format_args!(
            "--suffix: expected a file that names no database, got {}: {line}",
            path.display()
        )));
    }
    let mut whole = String::from("database mdb\n");
    for suffix in suffixes {
        let quoted = suffix.replace('"', "\\\"");
        whole.push_str(&format!("suffix \"{quoted}\"\n"));
    }
    Ok(whole + text)
}

/// LDIF in which each record with `olcAccess` and without `olcSuffix` has these suffixes.
fn config_with_suffix(text: &str, suffixes: &[String]) -> String {
    if suffixes.is_empty() {
        return text.to_owned();
    }
    let (text, mut whole) = (text.replace("\r\n", "\n"), String::new());
    for record in text.split("\n\n").filter(|it| !it.trim().is_empty()) {
        whole.push_str(record.trim_end_matches('\n'));
        whole.push('\n');
        let has = |name: &str| {
            let begins = |line: &str| {
                let (word, _) = line.split_once(':').unwrap_or_default();
                word.eq_ignore_ascii_case(name)
            };
            record.lines().any(begins)
        };
        if has("olcAccess") && !has("olcSuffix") {
            let mut lines = Vec::new();
            for suffix in suffixes {
                LdifWriter::new(0).put_value(&mut lines, "olcSuffix", suffix.as_bytes());
            }
            whole.push_str(&String::from_utf8_lossy(&lines));
        }
        whole.push('\n');
    }
    whole
}
