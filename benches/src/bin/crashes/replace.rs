//! The replacement of all members of a very large group, in three ways: by one request that leaves
//! one member, by one request with all the new ones, and by another group that is made in slices
//! and takes the place of the first in a transaction. The group has its old members or the new.

use std::io;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use pando_benches::client::Client;
use pando_benches::crash::{GROUP, Members, NEXT, Slices, Writer};
use pando_benches::process::Server;
use protocol::extended::EndTransactionRequest;
use protocol::{
    AddRequest, Change, ChangeOperation, DeleteRequest, ExtendedRequest, ModifyDnRequest,
    ModifyRequest, OwnedAttribute, OwnedControl, PartialAttribute, Request, oid,
};

use crate::{Site, Tally, wrong};

/// Members in one request of the way in slices.
const SLICE: usize = 20_000;
/// A transaction of the client's own name.
const TRANSACTION: &[u8] = b"\0exchange";

/// How the members are replaced.
#[derive(Clone, Copy)]
enum Way {
    ByOne,
    AtOnce,
    InSlices,
}

/// How far a replacement was acknowledged.
#[derive(Clone, Copy, Default)]
struct Progress {
    sent: usize,
    slices: usize,
    done: bool,
}

/// Replaces and kills.
pub fn replace(site: &mut Site) -> io::Result<Tally> {
    site.node.write_group()?;
    let ldif = site.node.folder.ldif().to_string_lossy().into_owned();
    site.node.run(&["import"], &[&ldif])?;
    let people = site.node.people;
    let mut now = Members::of(people, |_| true);
    let whole = lengths(site, &mut now)?;
    let mut tally = Tally {
        whole: whole[Way::InSlices as usize],
        ..Tally::default()
    };
    for round in 0..site.rounds {
        let way = [Way::InSlices, Way::ByOne, Way::AtOnce][round as usize % 3];
        let wanted = wanted(way, &now, people);
        let moment = site.moment(round, whole[way as usize]);
        let server = site.node.serve()?;
        let writer = Writer::start(&server, site.last)?;
        let progress = killed_after(server, moment, way, &wanted)?;
        let wrote = writer.end()?;
        site.recover(wrote)?;
        if judge(site, &mut tally, progress, (&now, &wanted))? {
            now = wanted;
        }
    }
    Ok(tally)
}

/// How long each way takes, clearing away among it: it goes on behind the answer.
fn lengths(site: &Site, now: &mut Members) -> io::Result<[Duration; 3]> {
    let people = site.node.people;
    let clearing = Duration::from_micros(people / 4);
    let mut whole = [Duration::ZERO; 3];
    for way in [Way::InSlices, Way::AtOnce, Way::ByOne] {
        let server = site.node.serve()?;
        let wanted = wanted(way, now, people);
        let begin = Instant::now();
        if let (_, Some(error)) = perform(&server.url, way, &wanted) {
            return Err(error);
        }
        whole[way as usize] = begin.elapsed() + clearing;
        drop(server);
        *now = wanted;
        expect(&site.node.groups()?, &[now])?;
    }
    Ok(whole)
}

/// Checks the groups after a crash; whether the new members have taken the place of the old.
fn judge(
    site: &Site,
    tally: &mut Tally,
    progress: Progress,
    (now, wanted): (&Members, &Members),
) -> io::Result<bool> {
    let groups = site.node.groups()?;
    let is_new = expect(&groups, &[now, wanted])? == 1;
    if progress.done && !is_new {
        return wrong("a replacement that was acknowledged is lost".to_owned());
    }
    match (is_new, of(&groups, NEXT)) {
        (true, None) => tally.new += 1,
        (false, None) => tally.old += 1,
        (false, Some(next)) => {
            let whole = Slices::of(wanted, SLICE).whole(next);
            if whole.is_none_or(|it| it < progress.slices || it > progress.sent) {
                return wrong(format!("{} members of a new group", next.count));
            }
            tally.part += 1;
            let server = site.node.serve()?;
            let request = Request::Delete(DeleteRequest { entry: NEXT });
            Client::bound(&server.url)?.call(&request, &[])?;
        }
        (true, Some(_)) => return wrong("both groups are there".to_owned()),
    }
    Ok(is_new)
}

/// The members after a replacement, which differ from those there are.
fn wanted(way: Way, now: &Members, people: u64) -> Members {
    let only = |one: u64| Members::of(people, |number| number == one);
    match way {
        Way::ByOne if *now == only(1) => only(2),
        Way::ByOne => only(1),
        _ if now.count == people => Members::of(people, |number| number % 3 != 0),
        _ => Members::of(people, |_| true),
    }
}

/// Which of these members the group has.
fn expect(groups: &[(String, Members)], either: &[&Members]) -> io::Result<usize> {
    let found = of(groups, GROUP);
    let found = found.ok_or_else(|| io::Error::other("the group is not there"))?;
    let at = either.iter().position(|it| *it == found);
    let counts: Vec<u64> = either.iter().map(|it| it.count).collect();
    at.ok_or_else(|| {
        io::Error::other(format!(
            "{} members, expected those of {counts:?}",
            found.count
        ))
    })
}

fn of<'g>(groups: &'g [(String, Members)], name: &str) -> Option<&'g Members> {
    let found = groups.iter().find(|it| it.0 == name);
    found.map(|it| &it.1)
}

/// Replaces the members, and kills the server after a time; how far it was acknowledged.
fn killed_after(
    server: Server,
    moment: Duration,
    way: Way,
    wanted: &Members,
) -> io::Result<Progress> {
    let (url, wanted) = (server.url.clone(), wanted.clone());
    let (tell, ended) = mpsc::channel();
    let thread = thread::spawn(move || {
        let (progress, error) = perform(&url, way, &wanted);
        // Nobody may listen any more.
        let _ = tell.send(());
        (progress, error)
    });
    let begin = Instant::now();
    // Ended early, what is cleared away behind it is killed.
    let _ = ended.recv_timeout(moment);
    thread::park_timeout(moment.saturating_sub(begin.elapsed()));
    server.kill()?;
    let (progress, error) = thread
        .join()
        .map_err(|_| io::Error::other("the client ended"))?;
    match error {
        Some(error) if error.to_string().starts_with("refused") => Err(error),
        _ => Ok(progress),
    }
}

/// Replaces the members; how far it was acknowledged, and what ended it before.
fn perform(url: &str, way: Way, wanted: &Members) -> (Progress, Option<io::Error>) {
    let mut progress = Progress::default();
    let ended = Client::bound(url).and_then(|mut client| match way {
        Way::ByOne | Way::AtOnce => {
            let numbers: Vec<u64> = wanted.numbers().collect();
            change(&mut client, GROUP, ChangeOperation::Replace, &numbers)
        }
        Way::InSlices => exchange(&mut client, wanted, &mut progress),
    });
    progress.done = ended.is_ok();
    (progress, ended.err())
}

fn change(
    client: &mut Client,
    object: &str,
    operation: ChangeOperation,
    numbers: &[u64],
) -> io::Result<()> {
    let attribute = Members::attribute(numbers);
    let attribute = PartialAttribute::from_checked(&attribute);
    let changes = attribute.map(|attribute| Change {
        operation,
        attribute,
    });
    let changes = changes.into_iter().collect();
    let request = Request::Modify(ModifyRequest { object, changes });
    client.call(&request, &[]).map(drop)
}

/// Makes the other group and puts it into the place of the first.
fn exchange(client: &mut Client, wanted: &Members, progress: &mut Progress) -> io::Result<()> {
    let attributes = [("objectClass", "groupOfEntries"), ("cn", "next")];
    let attributes = attributes.map(|(name, value)| OwnedAttribute::new(name, [value]));
    let attributes = attributes.iter().map(OwnedAttribute::as_partial);
    let add = Request::Add(AddRequest {
        entry: NEXT,
        attributes: attributes.collect(),
    });
    client.call(&add, &[])?;
    for slice in Slices::of(wanted, SLICE).each() {
        progress.sent += 1;
        change(client, NEXT, ChangeOperation::Add, slice)?;
        progress.slices += 1;
    }
    let start = Request::Extended(ExtendedRequest {
        name: oid::START_TRANSACTION,
        value: Some(TRANSACTION),
    });
    client.call(&start, &[])?;
    let part = [OwnedControl {
        oid: oid::TRANSACTION_SPECIFICATION.into(),
        critical: true,
        value: Some(TRANSACTION.to_vec()),
    }];
    let before = "cn=before,ou=groups,dc=com";
    for (entry, new_rdn) in [(GROUP, "cn=before"), (NEXT, "cn=big")] {
        let rename = ModifyDnRequest {
            entry,
            new_rdn,
            delete_old_rdn: true,
            new_superior: None,
        };
        client.call(&Request::ModifyDn(rename), &part)?;
    }
    client.call(&Request::Delete(DeleteRequest { entry: before }), &part)?;
    let mut value = Vec::new();
    let identifier = TRANSACTION;
    EndTransactionRequest {
        commit: true,
        identifier,
    }
    .encode(&mut value);
    let commit = Request::Extended(ExtendedRequest {
        name: oid::END_TRANSACTION,
        value: Some(&value),
    });
    client.call(&commit, &[]).map(drop)
}
