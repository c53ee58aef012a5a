//! The present activities of a server in words.

use super::figures::{Figures, Shown};
use indicatif::HumanCount;

/// Seconds since the start.
pub fn uptime_s(figures: &Figures) -> u64 {
    figures
        .at("cn=Uptime,cn=Time")
        .number("monitoredInfo")
        .unwrap_or(0)
}

/// One text for each activity; empty if the server only waits.
pub fn now(figures: &Figures) -> Vec<String> {
    let mut texts = Vec::new();
    for (name, what) in [("Bind", "logins"), ("Search", "searches")] {
        // The search that reads this entry does not count.
        let own = u64::from(name == "Search");
        let count = under_way(figures.at(&format!("cn={name},cn=Operations")));
        if count > own {
            texts.push(format!("{} {what}", HumanCount(count - own)));
        }
    }
    let (database, writes) = (figures.at("cn=Database"), figures.at("cn=Writes"));
    let mut put = |it: &Shown, attribute: &str, what: &str| {
        let count = it.number(attribute).unwrap_or(0);
        if count > 0 {
            texts.push(format!("{} {what}", HumanCount(count)));
        }
    };
    put(writes, "pandoWritesWaiting", "writes waiting");
    put(database, "pandoFollowers", "searches following changes");
    put(
        database,
        "pandoDeletedSubtrees",
        "deleted subtrees being cleared away",
    );
    texts.extend(compaction(figures.at("cn=Compaction")));
    let indexes = figures.below("cn=Indexes");
    texts.extend(indexes.filter_map(|it| {
        let state = it.text("pandoIndexState");
        let attribute = it.text("pandoIndexAttribute");
        (state != "ready").then(|| format!("index of {attribute}: {state}{}", speed(it)))
    }));
    texts
}

fn compaction(it: &Shown) -> Option<String> {
    let state = it.texts("pandoCompactionState").first()?;
    if compaction_has_ended(state) {
        return None;
    }
    let number = |attribute: &str| it.number(attribute);
    let part = match (
        number("pandoCompactionDone"),
        number("pandoCompactionTotal"),
    ) {
        (Some(done), Some(total)) if total > 0 => {
            format!(", {} %", u128::from(done) * 100 / u128::from(total))
        }
        _ => String::new(),
    };
    Some(format!("compaction: {state}{part}"))
}

/// Whether a compaction's state is final.
pub fn compaction_has_ended(state: &str) -> bool {
    matches!(state, "done" | "cancelled") || state.starts_with("failed")
}

fn under_way(it: &Shown) -> u64 {
    let initiated = it.number("monitorOpInitiated").unwrap_or(0);
    initiated.saturating_sub(it.number("monitorOpCompleted").unwrap_or(0))
}

/// Rate of an index build, and its remaining time.
pub fn speed(it: &Shown) -> String {
    let number = |attribute: &str| it.number(attribute);
    let (Some(done), Some(total), Some(rate)) = (
        number("pandoIndexDone"),
        number("pandoIndexTotal"),
        number("pandoIndexRate").filter(|it| *it > 0),
    ) else {
        return String::new();
    };
    let left_s = total.saturating_sub(done) / rate;
    format!(", {} entries/s, {left_s} s left", HumanCount(rate))
}
