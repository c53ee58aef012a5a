//! Large changes: how long one of them takes, and how long small writes of others wait beside it.
//!
//! One entry has so many values of one attribute, and another is in so many groups. Beside each
//! change two clients write one value of a small entry again and again, durably. The folder is made
//! anew, and stays.

use std::env::temp_dir;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::Parser;
use pando_benches::arguments::Tables;
use pando_benches::client::Client;
use pando_benches::journal::Journal;
use pando_benches::process::beside;
use pando_benches::subject::{Folder, Subject};
use protocol::{
    AddRequest, Change, ChangeOperation, DeleteRequest, ModifyDnRequest, ModifyRequest,
    PartialAttribute, Request, put_partial_attribute,
};

/// Writers beside the large change.
const WRITERS: usize = 2;
/// For how long they write before it and after it, so that what it left is among it.
const QUIET: Duration = Duration::from_secs(2);

const HALF: &str = "delete half of them by name";
const ALL: &str = "replace all of them";

/// Measures large changes and small ones beside them.
#[derive(Parser)]
struct Arguments {
    /// Values of one attribute of one entry.
    #[arg(long, value_name = "N", default_value_t = 700_000)]
    values: usize,
    /// Groups of one entry.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    groups: usize,
    /// Folder for databases.
    #[arg(long, value_name = "FOLDER", default_value_os_t = temp_dir().join("pando-large-changes"))]
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
    folder.prepare(Subject::Pando)?;
    write_entries(&folder, &arguments)?;
    folder.import(Subject::Pando)?;
    let server = folder.start(Subject::Pando)?;
    let mut journal = Journal::default();
    journal.line("| change | s | small writes beside it | p99 ms | worst ms |")?;
    journal.line("|---|---|---|---|---|")?;
    for step in steps(&arguments) {
        journal.line(&measured(&server.url, &step)?)?;
    }
    drop(server);
    folder.check()?;
    arguments.tables.keep(&journal, "large-changes")
}

/// People who are members, groups of one more, and the small entries of the writers.
fn write_entries(folder: &Folder, arguments: &Arguments) -> io::Result<()> {
    let mut file = BufWriter::with_capacity(1 << 20, File::create(folder.ldif())?);
    writeln!(file, "dn: dc=com\nobjectClass: domain\ndc: com\n")?;
    let own = (0..WRITERS).map(|it| format!("own{it}"));
    let people = (1..=arguments.values).map(|it| it.to_string());
    for uid in people.chain(own).chain(["popular".to_owned()]) {
        writeln!(
            file,
            "dn: uid={uid},dc=com\nobjectClass: account\nuid: {uid}\n"
        )?;
    }
    for group in 1..=arguments.groups {
        writeln!(
            file,
            "dn: cn={group},dc=com\nobjectClass: groupOfEntries\nmember: uid=popular,dc=com\n\
             member: UID=later,dc=com\n"
        )?;
    }
    file.flush()
}

/// A large change.
struct Step {
    name: &'static str,
    what: What,
}

enum What {
    Nothing,
    Add(&'static str, Vec<Vec<u8>>),
    Modify(&'static str, ChangeOperation, Vec<u8>),
    Delete(&'static str),
    Rename(&'static str, &'static str),
}

fn steps(arguments: &Arguments) -> Vec<Step> {
    let mut steps = vec![step("none", What::Nothing)];
    steps.extend(steps_of_values(arguments.values));
    steps.extend(steps_of_members(arguments.values));
    let popular = "uid=popular,dc=com";
    let renamed = What::Rename(popular, "uid=known");
    steps.push(step("rename an entry of all groups", renamed));
    steps.push(step("delete it", What::Delete("uid=known,dc=com")));
    let later = What::Add("uid=later,dc=com", vec![class("account")]);
    steps.push(step("add an entry that all groups name", later));
    steps
}

/// Changes of so many values of an attribute that no link is made of.
fn steps_of_values(all: usize) -> Vec<Step> {
    let some = |from| numbered("description", from..=all, "value number ", "");
    let entry = "uid=many,dc=com";
    let (delete, replace) = (ChangeOperation::Delete, ChangeOperation::Replace);
    vec![
        step(
            "add with all values of `description`",
            What::Add(entry, vec![class("account"), some(1)]),
        ),
        step(HALF, What::Modify(entry, delete, some(all / 2 + 1))),
        step(ALL, What::Modify(entry, replace, some(1))),
    ]
}

/// Changes of so many members, who are entries or nobody.
fn steps_of_members(all: usize) -> Vec<Step> {
    let some = |from| numbered("member", from..=all, "uid=", ",dc=com");
    let absent = |from| numbered("member", from..=all, "uid=n", ",dc=com");
    let (group, texts) = ("cn=group,dc=com", "cn=texts,dc=com");
    let (delete, replace) = (ChangeOperation::Delete, ChangeOperation::Replace);
    vec![
        step(
            "add with all values of `member`",
            What::Add(group, vec![class("groupOfEntries"), some(1)]),
        ),
        step(HALF, What::Modify(group, delete, some(all / 2 + 1))),
        step(ALL, What::Modify(group, replace, some(1))),
        step(
            "add with all values of `member`, names of nobody",
            What::Add(texts, vec![class("groupOfEntries"), absent(1)]),
        ),
        step(HALF, What::Modify(texts, delete, absent(all / 2 + 1))),
    ]
}

fn step(name: &'static str, what: What) -> Step {
    Step { name, what }
}

fn class(name: &str) -> Vec<u8> {
    attribute("objectClass", &[name.to_owned()])
}

/// An attribute whose values are numbers between two texts.
fn numbered(name: &str, numbers: RangeInclusive<usize>, before: &str, behind: &str) -> Vec<u8> {
    let values: Vec<String> = numbers.map(|it| format!("{before}{it}{behind}")).collect();
    attribute(name, &values)
}

fn attribute(name: &str, values: &[String]) -> Vec<u8> {
    let mut out = Vec::new();
    put_partial_attribute(&mut out, name, values.iter().map(|it| it.as_bytes()));
    out
}

/// Makes a change beside the writers; the row of the table.
fn measured(url: &str, step: &Step) -> io::Result<String> {
    let done = AtomicBool::new(false);
    let mut client = Client::bound(url)?;
    let (taken, mut waits) = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|number| {
                let done = &done;
                scope.spawn(move || write_on(url, number, done))
            })
            .collect();
        let taken = change(&mut client, step);
        done.store(true, Ordering::Relaxed);
        let mut waits = Vec::new();
        for writer in writers {
            let own = writer
                .join()
                .map_err(|_| io::Error::other("a writer panicked"))?;
            waits.extend(own?);
        }
        Ok::<_, io::Error>((taken?, waits))
    })?;
    waits.sort_unstable();
    let ms = |it: Option<&Duration>| it.map_or(0.0, |it| it.as_secs_f64() * 1e3);
    let p99 = waits.get((waits.len() * 99).div_ceil(100).saturating_sub(1));
    Ok(format!(
        "| {} | {:.2} | {} | {:.1} | {:.1} |",
        step.name,
        taken.as_secs_f64(),
        waits.len(),
        ms(p99),
        ms(waits.last())
    ))
}

/// Writes one value of a small entry again and again; how long each time.
fn write_on(url: &str, number: usize, done: &AtomicBool) -> io::Result<Vec<Duration>> {
    let mut client = Client::bound(url)?;
    let object = format!("uid=own{number},dc=com");
    let mut waits = Vec::new();
    while !done.load(Ordering::Relaxed) {
        let value = attribute("description", &[waits.len().to_string()]);
        let request = modification(&object, ChangeOperation::Replace, &value)?;
        let begin = Instant::now();
        client.call(&request, &[])?;
        waits.push(begin.elapsed());
    }
    Ok(waits)
}

/// The change, between two times in which the writers have the server to themselves; how long it
/// took.
fn change(client: &mut Client, step: &Step) -> io::Result<Duration> {
    let wait = || std::thread::park_timeout(QUIET);
    wait();
    let begin = Instant::now();
    let request = match &step.what {
        What::Nothing => return Ok(Duration::ZERO),
        What::Add(entry, attributes) => {
            let attributes = attributes.iter().map(|it| checked(it));
            Request::Add(AddRequest {
                entry,
                attributes: attributes.collect::<io::Result<_>>()?,
            })
        }
        What::Modify(entry, operation, values) => modification(entry, *operation, values)?,
        What::Delete(entry) => Request::Delete(DeleteRequest { entry }),
        What::Rename(entry, new_rdn) => Request::ModifyDn(ModifyDnRequest {
            entry,
            new_rdn,
            delete_old_rdn: true,
            new_superior: None,
        }),
    };
    client.call(&request, &[])?;
    let taken = begin.elapsed();
    wait();
    Ok(taken)
}

fn modification<'r>(
    object: &'r str,
    operation: ChangeOperation,
    values: &'r [u8],
) -> io::Result<Request<'r>> {
    let attribute = checked(values)?;
    let changes = vec![Change {
        operation,
        attribute,
    }];
    Ok(Request::Modify(ModifyRequest { object, changes }))
}

fn checked(values: &[u8]) -> io::Result<PartialAttribute<'_>> {
    let attribute = PartialAttribute::from_checked(values);
    attribute.ok_or_else(|| io::Error::other("expected an attribute in BER"))
}
