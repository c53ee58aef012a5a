//! The entries below `cn=monitor`, computed when they are read.
//!
//! Names and attributes are those of OpenLDAP's monitor where it has them; others are Pando's own
//! (docs/reference/monitor.md).

use crate::directory_state::DirectoryState;
use crate::monitor::{Costs, Counters, OPERATIONS};
use policy::Limit;
use replica::Status;
use replica::failure::damaged_entries;
use schema::Schema;
use state::catalog::{Catalog, MONITOR_NAME, SUBSCHEMA_NAME};
use state::index_progress;
use state::stop::Failure;
use state::time::generalized_time;
use state::virtual_entry::VirtualEntry;
use store::{IndexKind, IndexState};

/// An entry that is not stored, with its name.
pub(crate) struct Node {
    pub name: String,
    pub entry: VirtualEntry,
}

/// All entries of the monitor, superiors first.
pub(crate) fn tree(shared: &DirectoryState, catalog: &Catalog) -> Result<Vec<Node>, Failure> {
    let mut tree = Tree {
        schema: &catalog.schema,
        nodes: Vec::new(),
    };
    let now_us = shared.clock.now_us();
    let version = concat!("Pando ", env!("CARGO_PKG_VERSION"));
    tree.put(MONITOR_NAME, "monitorServer", |entry| {
        entry.put("monitoredInfo", [version]);
    });
    put_time(&mut tree, shared.monitor.started_us, now_us);
    put_connections(&mut tree, shared);
    let counters = shared.monitor.total();
    put_operations(&mut tree, &counters);
    put_statistics(&mut tree, &counters);
    tree.counter("cn=Request Memory,cn=Statistics", shared.memory.taken());
    tree.counter("cn=Throttled Binds,cn=Statistics", shared.guesses.refused());
    put_limits(&mut tree);
    let status = shared.replica.status()?;
    put_database(&mut tree, shared, &status, now_us)?;
    put_compaction(&mut tree, shared);
    put_scrub(&mut tree, shared, &status);
    put_audit(&mut tree, &status);
    put_writes(&mut tree, shared, &status, now_us);
    put_indexes(&mut tree, shared, &status);
    put_searches(&mut tree, shared, &status);
    put_differences(&mut tree, shared, catalog);
    let of_front = shared.monitor.front().map(|it| it.shown());
    let of_others = shared.monitor.shown.get().map(|it| it());
    for shown in of_front.into_iter().chain(of_others).flatten() {
        tree.put(&below(&shown.name), "pandoMonitored", |entry| {
            let values = shown.values.into_iter();
            values.for_each(|(attribute, value)| entry.put(attribute, [value]));
        });
    }
    Ok(tree.nodes)
}

struct Tree<'t> {
    schema: &'t Schema,
    nodes: Vec<Node>,
}

impl Tree<'_> {
    /// Adds an entry; `rdn` is its name without `cn=monitor`.
    fn put(&mut self, name: &str, class: &str, fill: impl FnOnce(&mut VirtualEntry)) {
        let mut entry = VirtualEntry::new(self.schema);
        entry.put("objectClass", ["top", "monitor", class]);
        let (rdn, _) = name.split_once(',').unwrap_or((name, ""));
        entry.put("cn", [rdn.trim_start_matches("cn=")]);
        fill(&mut entry);
        entry.put("structuralObjectClass", [class]);
        entry.put("entryDN", [name]);
        entry.put("subschemaSubentry", [SUBSCHEMA_NAME]);
        self.nodes.push(Node {
            name: name.to_owned(),
            entry,
        });
    }

    fn container(&mut self, rdn: &str) {
        self.put(&below(rdn), "monitorContainer", |_| {});
    }

    fn counter(&mut self, rdns: &str, value: u64) {
        self.put(&below(rdns), "monitorCounterObject", |entry| {
            number(entry, "monitorCounter", value);
        });
    }
}

/// The DN of an entry below the monitor.
fn below(rdns: &str) -> String {
    format!("{rdns},{MONITOR_NAME}")
}

fn number(entry: &mut VirtualEntry, attribute: &str, value: u64) {
    entry.put(attribute, [value.to_string()]);
}

fn put_time(tree: &mut Tree<'_>, started_us: u64, now_us: u64) {
    tree.container("cn=Time");
    for (rdn, time_us) in [("cn=Start", started_us), ("cn=Current", now_us)] {
        tree.put(
            &below(&format!("{rdn},cn=Time")),
            "monitoredObject",
            |entry| {
                entry.put("monitorTimestamp", [generalized_time(time_us)]);
            },
        );
    }
    tree.put(&below("cn=Uptime,cn=Time"), "monitoredObject", |entry| {
        let uptime_s = now_us.saturating_sub(started_us) / 1_000_000;
        entry.put("monitoredInfo", [uptime_s.to_string()]);
    });
}

/// Adds the connections; nothing without a listener, when a command opened the directory.
fn put_connections(tree: &mut Tree<'_>, shared: &DirectoryState) {
    let Some(connections) = shared.monitor.connections() else {
        return;
    };
    tree.container("cn=Connections");
    tree.counter("cn=Current,cn=Connections", connections.current);
    tree.counter("cn=Total,cn=Connections", connections.accepted);
    tree.counter("cn=Refused,cn=Connections", connections.refused);
    tree.counter("cn=Max,cn=Connections", connections.max);
    tree.container("cn=Listeners");
    for (at, listener) in connections.listeners.iter().enumerate() {
        let name = below(&format!("cn=Listener {at},cn=Listeners"));
        tree.put(&name, "monitoredObject", |entry| {
            entry.put("labeledURI", [listener.url.as_str()]);
            number(entry, "monitorCounter", listener.current);
            number(entry, "monitorTotalListenerConnections", listener.accepted);
        });
    }
}

fn put_operations(tree: &mut Tree<'_>, counters: &Counters) {
    let both = |entry: &mut VirtualEntry, initiated: u64, completed: u64| {
        number(entry, "monitorOpInitiated", initiated);
        number(entry, "monitorOpCompleted", completed);
    };
    let each = OPERATIONS.map(|(operation, name)| {
        let initiated = counters.initiated(operation).value();
        (name, initiated, counters.completed(operation).value())
    });
    tree.put(&below("cn=Operations"), "monitorOperation", |entry| {
        let sum = |of: fn(&(&str, u64, u64)) -> u64| each.iter().map(of).sum();
        both(entry, sum(|it| it.1), sum(|it| it.2));
    });
    for (name, initiated, completed) in each {
        let name = below(&format!("cn={name},cn=Operations"));
        tree.put(&name, "monitorOperation", |entry| {
            both(entry, initiated, completed);
        });
    }
}

fn put_statistics(tree: &mut Tree<'_>, counters: &Counters) {
    tree.container("cn=Statistics");
    for (rdn, count) in [
        ("cn=Bytes", &counters.bytes_sent),
        ("cn=Bytes Received", &counters.bytes_received),
        ("cn=Entries", &counters.entries),
        ("cn=Referrals", &counters.references),
        ("cn=Refused Requests", &counters.refused),
    ] {
        tree.counter(&format!("{rdn},cn=Statistics"), count.value());
    }
}

/// Adds a counter for each limit: how often it was reached.
fn put_limits(tree: &mut Tree<'_>) {
    tree.container("cn=Limits");
    for limit in Limit::ALL {
        tree.counter(&format!("cn={},cn=Limits", limit.name()), limit.reached());
    }
}

fn put_database(
    tree: &mut Tree<'_>,
    shared: &DirectoryState,
    status: &Status,
    now_us: u64,
) -> Result<(), Failure> {
    let usage = shared.replica.usage()?;
    let age_s = match usage.oldest < usage.newest {
        true => shared.replica.commits.age_s(usage.oldest, now_us),
        // A reader of the newest state prevents no reuse of pages.
        false => 0,
    };
    tree.put(&below("cn=Database"), "pandoMonitored", |entry| {
        number(entry, "pandoEntries", status.entries);
        number(entry, "pandoFileBytes", usage.bytes);
        number(entry, "pandoFileBytesFree", usage.free_bytes);
        number(entry, "pandoReaders", usage.readers);
        number(entry, "pandoOldestReaderAge", age_s);
        number(entry, "pandoDeletedSubtrees", status.deleted_subtrees);
        number(entry, "pandoFollowers", shared.feed.followers());
        number(entry, "pandoDamagedEntries", damaged_entries());
        entry.put("pandoStateDigest", [status.digest.as_str()]);
    });
    Ok(())
}

/// Adds the last compaction; nothing if there was none since the start.
fn put_compaction(tree: &mut Tree<'_>, shared: &DirectoryState) {
    let Some(shown) = shared.replica.compaction() else {
        return;
    };
    tree.put(&below("cn=Compaction"), "pandoMonitored", |entry| {
        entry.put("pandoCompactionState", [shown.stage.text()]);
        number(entry, "pandoCompactionBefore", shown.before);
        if shown.total > 0 {
            number(entry, "pandoCompactionDone", shown.done.min(shown.total));
            number(entry, "pandoCompactionTotal", shown.total);
        }
        if shown.after > 0 {
            number(entry, "pandoCompactionAfter", shown.after);
            number(entry, "pandoCompactionPause", shown.pause_us);
        }
    });
}

/// Adds the progress of reading everything in search of damage.
fn put_scrub(tree: &mut Tree<'_>, shared: &DirectoryState, status: &Status) {
    let standing = shared.replica.scrub_standing();
    let part = standing.place.map(|(part, _)| part);
    let state = match part {
        None if shared.replica.scrubs() => "waiting",
        None => "off",
        Some(1) => "reading entries",
        Some(2) => "reading names",
        Some(_) => "reading links",
    };
    tree.put(&below("cn=Scrub"), "pandoMonitored", |entry| {
        entry.put("pandoScrubState", [state]);
        if let Some((1, id)) = standing.place {
            number(entry, "pandoScrubDone", id.min(status.last_id));
            number(entry, "pandoScrubTotal", status.last_id);
        }
        if let Some(ended_us) = standing.ended_us {
            entry.put("pandoScrubEnd", [generalized_time(ended_us)]);
        }
        number(entry, "pandoScrubDamages", standing.damages);
    });
}

/// Adds how the files of the audit stand.
fn put_audit(tree: &mut Tree<'_>, status: &Status) {
    let shown = &status.audit;
    let state = match (shown.is_on, &shown.trouble) {
        (false, _) => "off",
        (true, None) => "writing",
        (true, Some(_)) if shown.refuses => "refusing writes",
        (true, Some(_)) => "waiting for room",
    };
    tree.put(&below("cn=Audit"), "pandoMonitored", |entry| {
        entry.put("pandoAuditState", [state]);
        if shown.is_on {
            number(entry, "pandoAuditLine", shown.line);
            number(entry, "pandoAuditPosition", shown.position);
        }
        if let Some(trouble) = &shown.trouble {
            entry.put("pandoAuditTrouble", [trouble.as_str()]);
        }
    });
}

fn put_writes(tree: &mut Tree<'_>, shared: &DirectoryState, status: &Status, now_us: u64) {
    let commits = &shared.replica.commits;
    tree.put(&below("cn=Writes"), "pandoMonitored", |entry| {
        number(entry, "pandoWritesWaiting", status.waiting_writes as u64);
        let (transactions, writes) = commits.totals();
        number(entry, "pandoCommits", transactions);
        number(entry, "pandoCommittedWrites", writes);
        entry.put("pandoCommitSizes", commits.sizes());
        number(entry, "pandoLogPosition", status.position);
        if let Some((bytes, age_s)) = commits.log(now_us) {
            number(entry, "pandoLogBytes", bytes);
            number(entry, "pandoCheckpointAge", age_s);
        }
    });
}

fn put_indexes(tree: &mut Tree<'_>, shared: &DirectoryState, status: &Status) {
    tree.container("cn=Indexes");
    let build = shared.replica.commits.build();
    for state in &status.indexes {
        let name = below(&format!("cn={},cn=Indexes", state.attribute));
        tree.put(&name, "pandoMonitored", |entry| {
            put_index(entry, state, status.last_id);
            let own = build.as_ref().filter(|it| it.attribute == state.attribute);
            if let Some(build) = own {
                number(entry, "pandoIndexRate", build.rate());
            }
        });
    }
}

fn put_index(entry: &mut VirtualEntry, state: &IndexState, last_id: u64) {
    entry.put("pandoIndexAttribute", [state.attribute.as_str()]);
    let wanted = state.ready | state.building | state.pending;
    entry.put("pandoIndexKind", wanted.iter().map(IndexKind::name));
    entry.put("pandoIndexState", [index_progress::text(state, last_id)]);
    if !state.building.is_empty() {
        number(
            entry,
            "pandoIndexDone",
            index_progress::done(state, last_id),
        );
        number(entry, "pandoIndexTotal", last_id);
    }
}

fn put_searches(tree: &mut Tree<'_>, shared: &DirectoryState, status: &Status) {
    tree.container("cn=Searches");
    for (at, (shape, costs)) in shared.monitor.searches.all().into_iter().enumerate() {
        let name = below(&format!("cn=Search {},cn=Searches", at + 1));
        tree.put(&name, "pandoMonitored", |entry| {
            entry.put("pandoSearchFilter", [shape]);
            number(entry, "pandoSearchCount", costs.searches);
            number(entry, "pandoSearchUnindexed", costs.unindexed);
            number(entry, "pandoSearchExamined", costs.examined);
            number(entry, "pandoSearchReturned", costs.returned);
            number(entry, "pandoSearchMicroseconds", costs.took_us);
            entry.put("monitorTimestamp", [generalized_time(costs.last_us)]);
            entry.put("pandoIndexAdvice", advice(&costs, &status.indexes));
        });
    }
}

/// Adds the decisions in which a candidate for the access rules differs; nothing without one.
fn put_differences(tree: &mut Tree<'_>, shared: &DirectoryState, catalog: &Catalog) {
    let pair = catalog.candidate.as_ref().map(|it| it.pair);
    let shown = pair.map(|it| shared.monitor.differences.shown(it));
    for it in shown.into_iter().flatten() {
        tree.put(&below(&it.name), it.class, |entry| {
            let values = it.values.into_iter();
            values.for_each(|(attribute, values)| entry.put(attribute, values));
        });
    }
}

/// The advised indexes that do not exist yet.
fn advice(costs: &Costs, indexes: &[IndexState]) -> Vec<String> {
    let is_there = |attribute: &str, kind: IndexKind| {
        let own = indexes.iter().find(|it| it.attribute == attribute);
        own.is_some_and(|it| (it.ready | it.building | it.pending).contains(kind))
    };
    let missing = costs.advice.iter().filter(|it| !is_there(&it.0, it.1));
    missing
        .map(|(attribute, kind)| format!("{attribute} {}", kind.name()))
        .collect()
}
