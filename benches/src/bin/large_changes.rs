//! Large changes: how long one of them takes, and how long the small writes of others wait beside it.
//!
//! ```text
//! large_changes [--values 700000] [--groups 100000] [--folder F] [--pando P] [--output FILE]
//! ```
//!
//! One entry has so many values of one attribute, and another is in so many groups. Beside each
//! change two clients write one value of a small entry again and again, durably. The folder is made
//! anew, and stays.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use pando_benches::client::Client;
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

struct Arguments {
    values: usize,
    groups: usize,
    folder: PathBuf,
    pando: PathBuf,
    output: Option<PathBuf>,
}

fn main() -> io::Result<()> {
    let arguments = Arguments::read()?;
    let folder = Folder {
        path: arguments.folder.clone(),
        pando: arguments.pando.clone(),
    };
    if folder.path.exists() {
        fs::remove_dir_all(&folder.path)?;
    }
    fs::create_dir_all(&folder.path)?;
    folder.prepare(Subject::Pando)?;
    write_entries(&folder, &arguments)?;
    folder.import(Subject::Pando)?;
    let server = folder.start(Subject::Pando)?;
    let mut text = String::new();
    let mut line = |line: &str| {
        text.push_str(line);
        text.push('\n');
        writeln!(io::stdout(), "{line}")
    };
    line("| change | s | small writes beside it | p99 ms | worst ms |")?;
    line("|---|---|---|---|---|")?;
    for step in steps(&arguments) {
        line(&measured(&server.url, &step)?)?;
    }
    drop(server);
    folder.check()?;
    if let Some(place) = &arguments.output {
        fs::write(place, &text)?;
    }
    Ok(())
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
    let all = arguments.values;
    let some = |name: &str, from: usize, print: &dyn Fn(usize) -> String| {
        let values: Vec<String> = (from..=all).map(print).collect();
        attribute(name, &values)
    };
    let plain: &dyn Fn(usize) -> String = &|it| format!("value number {it}");
    let person: &dyn Fn(usize) -> String = &|it| format!("uid={it},dc=com");
    let absent: &dyn Fn(usize) -> String = &|it| format!("uid=n{it},dc=com");
    let class = |name: &str| attribute("objectClass", &[name.to_owned()]);
    let step = |name, what| Step { name, what };
    let (add, delete) = (What::Add, ChangeOperation::Delete);
    let replace = ChangeOperation::Replace;
    let half = all / 2 + 1;
    let mut steps = vec![step("none", What::Nothing)];
    let many = "uid=many,dc=com";
    let values = vec![class("account"), some("description", 1, plain)];
    steps.push(step(
        "add with all values of `description`",
        add(many, values),
    ));
    let (group, texts) = ("cn=group,dc=com", "cn=texts,dc=com");
    let members = vec![class("groupOfEntries"), some("member", 1, person)];
    let named = vec![class("groupOfEntries"), some("member", 1, absent)];
    let changes = [
        (
            "delete half of them by name",
            many,
            delete,
            some("description", half, plain),
        ),
        (
            "replace all of them",
            many,
            replace,
            some("description", 1, plain),
        ),
    ];
    let of_group = [
        (
            "delete half of them by name",
            group,
            delete,
            some("member", half, person),
        ),
        (
            "replace all of them",
            group,
            replace,
            some("member", 1, person),
        ),
    ];
    let modify =
        |(name, entry, operation, values)| step(name, What::Modify(entry, operation, values));
    steps.extend(changes.map(modify));
    steps.push(step("add with all values of `member`", add(group, members)));
    steps.extend(of_group.map(modify));
    steps.push(step(
        "add with all values of `member`, names of nobody",
        add(texts, named),
    ));
    let half_named = some("member", half, absent);
    steps.push(modify((
        "delete half of them by name",
        texts,
        delete,
        half_named,
    )));
    let popular = "uid=popular,dc=com";
    let renamed = What::Rename(popular, "uid=known");
    steps.push(step("rename an entry of all groups", renamed));
    steps.push(step("delete it", What::Delete("uid=known,dc=com")));
    let later = add("uid=later,dc=com", vec![class("account")]);
    steps.push(step("add an entry that all groups name", later));
    steps
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

impl Arguments {
    fn read() -> io::Result<Arguments> {
        let mut arguments = Arguments {
            values: 700_000,
            groups: 100_000,
            folder: std::env::temp_dir().join("pando-large-changes"),
            pando: beside("pando").unwrap_or_default(),
            output: None,
        };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let value = words
                .next()
                .ok_or_else(|| usage(&format!("{word} needs a value")))?;
            let wrong = || usage(&format!("{word}: expected a number, got {value}"));
            match word.as_str() {
                "--values" => arguments.values = value.parse().map_err(|_| wrong())?,
                "--groups" => arguments.groups = value.parse().map_err(|_| wrong())?,
                "--folder" => arguments.folder = PathBuf::from(value),
                "--pando" => arguments.pando = fs::canonicalize(value)?,
                "--output" => arguments.output = Some(PathBuf::from(value)),
                _ => return Err(usage(&format!("there is no {word}"))),
            }
        }
        Ok(arguments)
    }
}

fn usage(problem: &str) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("{problem}; see the top of large_changes.rs"),
    )
}
