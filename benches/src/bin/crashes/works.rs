//! Imports, index builds, compactions and backups that are killed.

use std::fs;
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

use pando_benches::client::{Client, decoded};
use pando_benches::crash::{Writer, end, works_for};
use pando_benches::process::Server;
use protocol::{DerefAliases, Filter, Request, Response, Scope, SearchRequest};

use crate::{Site, Tally, wrong};

/// An import into an empty database: nothing, or everything.
pub fn import(site: &mut Site) -> io::Result<Tally> {
    let ldif = site.node.folder.ldif().to_string_lossy().into_owned();
    site.node.prepare()?;
    // Entries of the configuration are there from the beginning.
    let none = site.node.check()?;
    let total = none + site.node.entries();
    let mut tally = Tally {
        whole: site.node.run(&["import"], &[&ldif])?,
        ..Tally::default()
    };
    let mut there = site.node.check()?;
    for round in 0..site.rounds {
        if there == total {
            site.node.prepare()?;
        }
        let moment = site.moment(round, tally.whole);
        let mut child = site.node.begin(&["import"], &[&ldif])?;
        works_for(&mut child, moment)?;
        end(child)?;
        there = site.node.check()?;
        match there {
            nobody if nobody == none => tally.old += 1,
            all if all == total => tally.new += 1,
            some => return wrong(format!("{some} of {total} entries after {moment:?}")),
        }
    }
    if there != total {
        site.node.run(&["import"], &[&ldif])?;
    }
    Ok(tally)
}

/// A backup of a served node: the backup is killed in one round, the server in the next. What has
/// the name of a backup is one.
pub fn backup(site: &mut Site) -> io::Result<Tally> {
    let to = site.node.folder.path.join("backup");
    let text = to.to_string_lossy().into_owned();
    let server = site.node.serve()?;
    let mut tally = Tally {
        whole: site.node.run(&["backup"], &[&text])?,
        ..Tally::default()
    };
    drop(server);
    remove(&to)?;
    for round in 0..site.rounds {
        let moment = site.moment(round, tally.whole);
        let server = site.node.serve()?;
        let writer = Writer::start(&server, site.last)?;
        let mut child = site.node.begin(&["backup"], &[&text])?;
        works_for(&mut child, moment)?;
        let is_servers_turn = round % 2 == 1;
        if is_servers_turn {
            server.kill()?;
            // It may go on with what it has, or fail.
            child.wait()?;
        } else {
            end(child)?;
            server.kill()?;
        }
        let wrote = writer.end()?;
        site.recover(wrote)?;
        if to.exists() {
            site.node.verify(&text)?;
            tally.new += 1;
        } else {
            tally.old += 1;
        }
        remove(&to)?;
    }
    Ok(tally)
}

/// A compaction of a served node.
pub fn compaction(site: &mut Site) -> io::Result<Tally> {
    let server = site.node.serve()?;
    let mut tally = Tally {
        whole: site.node.run(&["compact"], &[])?,
        ..Tally::default()
    };
    drop(server);
    let before = site.node.check()?;
    for round in 0..site.rounds {
        let moment = site.moment(round, tally.whole);
        let server = site.node.serve()?;
        let writer = Writer::start(&server, site.last)?;
        let mut child = site.node.begin(&["compact"], &[])?;
        let works = works_for(&mut child, moment)?;
        server.kill()?;
        end(child)?;
        let wrote = writer.end()?;
        let entries = site.recover(wrote)?;
        if entries != before {
            return wrong(format!("{entries} entries instead of {before}"));
        }
        match works {
            true => tally.old += 1,
            false => tally.new += 1,
        }
    }
    Ok(tally)
}

/// An index that is built on a served node: it goes on after the crash, and is right in the end.
pub fn index(site: &mut Site) -> io::Result<Tally> {
    let (few, more) = ("equality", "equality,substring");
    let server = site.node.serve()?;
    let begin = Instant::now();
    site.node.run(&["index", "add"], &["uid", more])?;
    until_ready(&server)?;
    let mut tally = Tally {
        whole: begin.elapsed(),
        ..Tally::default()
    };
    site.node.run(&["index", "add"], &["uid", few])?;
    until_ready(&server)?;
    drop(server);
    for round in 0..site.rounds {
        let moment = site.moment(round, tally.whole);
        let server = site.node.serve()?;
        let writer = Writer::start(&server, site.last)?;
        site.node.run(&["index", "add"], &["uid", more])?;
        let begin = Instant::now();
        while begin.elapsed() < moment {
            thread::park_timeout(moment.saturating_sub(begin.elapsed()));
        }
        server.kill()?;
        let wrote = writer.end()?;
        site.recover(wrote)?;
        let server = site.node.serve()?;
        match state(&server)?.as_str() {
            "ready" => tally.new += 1,
            _ => tally.part += 1,
        }
        until_ready(&server)?;
        drop(server);
        site.node.check()?;
        let server = site.node.serve()?;
        site.node.run(&["index", "add"], &["uid", few])?;
        until_ready(&server)?;
    }
    Ok(tally)
}

/// Waits until nothing is built or removed.
fn until_ready(server: &Server) -> io::Result<()> {
    while state(server)? != "ready" {
        thread::park_timeout(Duration::from_millis(50));
    }
    Ok(())
}

/// How far the index of `uid` is.
fn state(server: &Server) -> io::Result<String> {
    let answers = Client::bound(&server.url)?.call(
        &Request::Search(SearchRequest {
            base: "cn=uid,cn=Indexes,cn=monitor",
            scope: Scope::BaseObject,
            deref_aliases: DerefAliases::Never,
            size_limit: 0,
            time_limit_s: 0,
            types_only: false,
            filter: Filter::Present("objectClass"),
            attributes: vec!["pandoIndexState"],
        }),
        &[],
    )?;
    let first = answers.first().map(|it| decoded(it)).transpose()?;
    let Some(Response::SearchEntry { attributes, .. }) = first.map(|it| it.response) else {
        return wrong("expected the index of uid in cn=monitor".to_owned());
    };
    let value = attributes.first().and_then(|it| it.values.iter().next());
    Ok(String::from_utf8_lossy(value.unwrap_or_default()).into_owned())
}

/// A backup, and what is left of one.
fn remove(backup: &Path) -> io::Result<()> {
    let mut partial = backup.as_os_str().to_owned();
    partial.push(".partial");
    for place in [backup, Path::new(&partial)] {
        if place.exists() {
            fs::remove_dir_all(place)?;
        }
    }
    Ok(())
}
