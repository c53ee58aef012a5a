//! The metrics as text.

use super::doing;
use super::figures::{Figures, Shown};
use indicatif::{HumanBytes, HumanCount};
use protocol::counted;

/// The metrics of a server as lines.
pub fn of(figures: &Figures) -> Vec<String> {
    let mut lines = vec![heading(figures)];
    lines.push(match doing::now(figures).as_slice() {
        [] => line("doing", "nothing: it waits for requests"),
        doing => line("doing", &doing.join("; ")),
    });
    lines.extend(connections(figures));
    lines.extend(operations(figures));
    let count = |rdns: &str| figures.counter(&format!("{rdns},cn=Statistics"));
    lines.push(line(
        "traffic",
        &format!(
            "{} and {} in {} sent, {} received, {} refused",
            counted(count("cn=Entries"), "entry"),
            counted(count("cn=Referrals"), "reference"),
            HumanBytes(count("cn=Bytes")),
            HumanBytes(count("cn=Bytes Received")),
            counted(count("cn=Refused Requests"), "request"),
        ),
    ));
    lines.push(database(figures.at("cn=Database")));
    lines.extend(damage(figures));
    lines.extend(audit(figures));
    lines.extend(compaction(figures.at("cn=Compaction")));
    lines.extend(writes(figures.at("cn=Writes")));
    lines.push(indexes(figures));
    lines
}

/// One line with its heading.
pub fn line(about: &str, text: &str) -> String {
    format!("{about:<12} {text}")
}

fn heading(figures: &Figures) -> String {
    let version = figures.at("").text("monitoredInfo");
    let started = figures.at("cn=Start,cn=Time").text("monitorTimestamp");
    let since = moment(started).unwrap_or_else(|| started.to_owned());
    let uptime = duration(doing::uptime_s(figures));
    line("serves", &format!("{version}, since {since}, for {uptime}"))
}

/// A generalized time as people write it, in whole seconds; `None` if it is malformed.
fn moment(time: &str) -> Option<String> {
    let part = |from: usize, to: usize| time.get(from..to);
    Some(format!(
        "{}-{}-{} {}:{}:{} UTC",
        part(0, 4)?,
        part(4, 6)?,
        part(6, 8)?,
        part(8, 10)?,
        part(10, 12)?,
        part(12, 14)?
    ))
}

fn duration(seconds: u64) -> String {
    let (days, hours, minutes) = (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{seconds} s"),
        (0, 0, _) => format!("{minutes} min"),
        (0, ..) => format!("{hours} h {minutes} min"),
        _ => format!("{days} d {hours} h"),
    }
}

fn connections(figures: &Figures) -> Vec<String> {
    let count = |rdn: &str| figures.counter(&format!("cn={rdn},cn=Connections"));
    let most = match count("Max") {
        0 => "without limit".to_owned(),
        max => format!("{} at most", HumanCount(max)),
    };
    let mut lines = vec![line(
        "connections",
        &format!(
            "{} now, {most}; {} since the start, {} refused",
            HumanCount(count("Current")),
            HumanCount(count("Total")),
            HumanCount(count("Refused"))
        ),
    )];
    lines.extend(figures.below("cn=Listeners").map(|it| {
        let number = |attribute: &str| HumanCount(it.number(attribute).unwrap_or(0));
        let url = it.text("labeledURI");
        let (now, total) = (
            number("monitorCounter"),
            number("monitorTotalListenerConnections"),
        );
        line("", &format!("{url}: {now} now, {total} since the start"))
    }));
    lines
}

/// Lines about operations; kinds of operations that did not occur are left out.
fn operations(figures: &Figures) -> Vec<String> {
    let all = figures.at("cn=Operations");
    let completed = all.number("monitorOpCompleted").unwrap_or(0);
    let mut lines = vec![line("operations", &HumanCount(completed).to_string())];
    for it in figures.below("cn=Operations") {
        let count = it.number("monitorOpCompleted").unwrap_or(0);
        if count > 0 {
            let name = it.text("cn").to_ascii_lowercase();
            lines.push(line("", &format!("{name:<9} {}", HumanCount(count))));
        }
    }
    lines
}

fn database(it: &Shown) -> String {
    let number = |attribute: &str| it.number(attribute).unwrap_or(0);
    let text = format!(
        "{} in {}, {} of it free; {}, the oldest {} behind",
        counted(number("pandoEntries"), "entry"),
        HumanBytes(number("pandoFileBytes")),
        HumanBytes(number("pandoFileBytesFree")),
        counted(number("pandoReaders"), "reader"),
        duration(number("pandoOldestReaderAge")),
    );
    line("database", &text)
}

/// Lines about damage found, and about the progress of searching for it.
fn damage(figures: &Figures) -> Vec<String> {
    let scrub = figures.at("cn=Scrub");
    let met = figures.at("cn=Database").number("pandoDamagedEntries");
    let mut lines = Vec::new();
    if let Some(met) = met.filter(|it| *it > 0) {
        let text = format!(
            "{} met; see the log, and run `pando check`",
            counted(met, "damaged entry")
        );
        lines.push(line("damage", &text));
    }
    let found = scrub.number("pandoScrubDamages").unwrap_or(0);
    let ended = moment(scrub.text("pandoScrubEnd"));
    let text = match (scrub.text("pandoScrubState"), ended) {
        ("" | "off", _) => return lines,
        ("waiting", None) => "not everything has been read yet in search of damage".to_owned(),
        ("waiting", Some(ended)) => {
            format!("everything was read by {ended}, {found} damages found since the start")
        }
        (state, _) => format!("{state} in search of damage, {found} damages found"),
    };
    lines.push(line("scrub", &text));
    lines
}

/// A line about the audit; `None` if this node writes no lines of it.
fn audit(figures: &Figures) -> Option<String> {
    let it = figures.at("cn=Audit");
    let last = it.number("pandoAuditLine").unwrap_or(0);
    let text = match (it.text("pandoAuditState"), it.text("pandoAuditTrouble")) {
        ("" | "off", _) => return None,
        (state, "") => format!("{state}, {} so far", counted(last, "line")),
        (state, trouble) => format!("{state} after line {last}: {trouble}"),
    };
    Some(line("audit", &text))
}

/// A line about the last compaction since the start; `None` if there was none.
fn compaction(it: &Shown) -> Option<String> {
    let state = it.texts("pandoCompactionState").first()?;
    let text = match it.number("pandoCompactionAfter") {
        None => state.clone(),
        Some(after) => format!(
            "{state}: {} instead of {}",
            HumanBytes(after),
            HumanBytes(it.number("pandoCompactionBefore").unwrap_or(0))
        ),
    };
    Some(line("compaction", &text))
}

fn writes(it: &Shown) -> Vec<String> {
    let number = |attribute: &str| it.number(attribute).unwrap_or(0);
    let mut text = format!(
        "{} in {}, {} waiting",
        HumanCount(number("pandoCommittedWrites")),
        counted(number("pandoCommits"), "transaction"),
        HumanCount(number("pandoWritesWaiting")),
    );
    let sizes = it.texts("pandoCommitSizes");
    if !sizes.is_empty() {
        text.push_str(&format!("; by size {}", sizes.join(", ")));
    }
    let log = match it.number("pandoLogBytes") {
        None => "empty: all changes are in the database".to_owned(),
        Some(bytes) => format!(
            "{}, checkpoint {} old",
            HumanBytes(bytes),
            duration(number("pandoCheckpointAge"))
        ),
    };
    let position = HumanCount(number("pandoLogPosition"));
    vec![
        line("writes", &text),
        line("log", &format!("position {position}; {log}")),
    ]
}

fn indexes(figures: &Figures) -> String {
    let is_ready = |it: &&Shown| it.text("pandoIndexState").starts_with("ready");
    let ready = figures.below("cn=Indexes").filter(is_ready).count();
    let others = figures.below("cn=Indexes").count() - ready;
    match others {
        0 => line("indexes", &format!("{ready} ready")),
        _ => line("indexes", &format!("{ready} ready, {others} not")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_for_people() {
        let written = moment("20261121090507Z");
        assert_eq!(written.as_deref(), Some("2026-11-21 09:05:07 UTC"));
        assert_eq!(moment("2026"), None);
        let texts = [7, 61, 3_660, 90_000].map(duration);
        assert_eq!(texts, ["7 s", "1 min", "1 h 1 min", "1 d 1 h"]);
    }
}
