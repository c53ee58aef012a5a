//! The metrics as JSON. The names are an interface of the program and never change.

use super::doing;
use super::figures::{Figures, Shown};
use serde_json::{Map, Value, json};

/// The metrics of a server.
pub fn of(figures: &Figures) -> Map<String, Value> {
    let root = figures.at("");
    let mut all = Map::new();
    let mut put = |name: &str, value: Value| drop(all.insert(name.to_owned(), value));
    put("version", json!(root.text("monitoredInfo")));
    let started = figures.at("cn=Start,cn=Time").text("monitorTimestamp");
    put("started", json!(started));
    put("uptime_s", json!(doing::uptime_s(figures)));
    put("doing", json!(doing::now(figures)));
    put("connections", connections(figures));
    put("operations", operations(figures));
    put(
        "statistics",
        json!({
            "bytes_sent": figures.counter("cn=Bytes,cn=Statistics"),
            "bytes_received": figures.counter("cn=Bytes Received,cn=Statistics"),
            "entries": figures.counter("cn=Entries,cn=Statistics"),
            "references": figures.counter("cn=Referrals,cn=Statistics"),
            "refused_requests": figures.counter("cn=Refused Requests,cn=Statistics"),
        }),
    );
    put("database", database(figures.at("cn=Database")));
    put("compaction", compaction(figures.at("cn=Compaction")));
    put("scrub", scrub(figures.at("cn=Scrub")));
    put("audit", audit(figures.at("cn=Audit")));
    put("writes", writes(figures.at("cn=Writes")));
    put("indexes", figures.below("cn=Indexes").map(index).collect());
    all
}

fn connections(figures: &Figures) -> Value {
    let listeners = figures.below("cn=Listeners").map(|it| {
        json!({
            "url": it.text("labeledURI"),
            "current": it.number("monitorCounter"),
            "total": it.number("monitorTotalListenerConnections"),
        })
    });
    json!({
        "current": figures.counter("cn=Current,cn=Connections"),
        "total": figures.counter("cn=Total,cn=Connections"),
        "refused": figures.counter("cn=Refused,cn=Connections"),
        "max": figures.counter("cn=Max,cn=Connections"),
        "listeners": listeners.collect::<Vec<_>>(),
    })
}

fn operations(figures: &Figures) -> Value {
    let each = figures.below("cn=Operations").map(|it| {
        let name = it.text("cn").to_ascii_lowercase();
        let initiated = it.number("monitorOpInitiated");
        let completed = it.number("monitorOpCompleted");
        let counts = json!({ "initiated": initiated, "completed": completed });
        (name, counts)
    });
    Value::Object(each.collect())
}

fn database(it: &Shown) -> Value {
    json!({
        "entries": it.number("pandoEntries"),
        "file_bytes": it.number("pandoFileBytes"),
        "free_bytes": it.number("pandoFileBytesFree"),
        "readers": it.number("pandoReaders"),
        "oldest_reader_age_s": it.number("pandoOldestReaderAge"),
        "deleted_subtrees": it.number("pandoDeletedSubtrees"),
        "followers": it.number("pandoFollowers"),
        "digest": it.text("pandoStateDigest"),
        "damaged_entries": it.number("pandoDamagedEntries"),
    })
}

/// The last compaction since the start; null if there was none.
fn compaction(it: &Shown) -> Value {
    match it.texts("pandoCompactionState").first() {
        None => Value::Null,
        Some(state) => json!({
            "state": state,
            "done_bytes": it.number("pandoCompactionDone"),
            "total_bytes": it.number("pandoCompactionTotal"),
            "before_bytes": it.number("pandoCompactionBefore"),
            "after_bytes": it.number("pandoCompactionAfter"),
            "pause_us": it.number("pandoCompactionPause"),
        }),
    }
}

/// The progress of the scrub, which reads the whole database to find damage.
fn scrub(it: &Shown) -> Value {
    json!({
        "state": it.text("pandoScrubState"),
        "done": it.number("pandoScrubDone"),
        "total": it.number("pandoScrubTotal"),
        "ended": it.texts("pandoScrubEnd").first(),
        "damages": it.number("pandoScrubDamages"),
    })
}

/// How the files of the audit stand.
fn audit(it: &Shown) -> Value {
    json!({
        "state": it.text("pandoAuditState"),
        "line": it.number("pandoAuditLine"),
        "position": it.number("pandoAuditPosition"),
        "trouble": it.texts("pandoAuditTrouble").first(),
    })
}

fn writes(it: &Shown) -> Value {
    let sizes = it.texts("pandoCommitSizes").iter().filter_map(|text| {
        let (sizes, count) = text.split_once(": ")?;
        Some((sizes.to_owned(), json!(count.parse::<u64>().ok()?)))
    });
    json!({
        "waiting": it.number("pandoWritesWaiting"),
        "commits": it.number("pandoCommits"),
        "committed": it.number("pandoCommittedWrites"),
        "commit_sizes": sizes.collect::<Map<_, _>>(),
        "log_position": it.number("pandoLogPosition"),
        "log_bytes": it.number("pandoLogBytes"),
        "checkpoint_age_s": it.number("pandoCheckpointAge"),
    })
}

fn index(it: &Shown) -> Value {
    json!({
        "attribute": it.text("pandoIndexAttribute"),
        "kinds": it.texts("pandoIndexKind"),
        "state": it.text("pandoIndexState"),
        "done": it.number("pandoIndexDone"),
        "total": it.number("pandoIndexTotal"),
        "rate": it.number("pandoIndexRate"),
    })
}
