//! The state of a cluster as lines of text.

use ::cluster::identity::Identity;
use ::cluster::overview::{Equality, Overview};
use ::cluster::peer::Surveyed;
use ::cluster::peer::{LogStatus, NodeStatus};
use indicatif::{HumanBytes, HumanCount};
use protocol::counted;

/// The lines: the cluster, its log and voters, then a row for each node.
pub fn lines(identity: &Identity, overview: &Overview) -> Vec<String> {
    let membership = &identity.membership;
    let mut lines = vec![format!(
        "cluster {}, generation {}, {}",
        membership.cluster,
        membership.generation,
        counted(overview.nodes.len() as u64, "node")
    )];
    if let Some(status) = overview.teller() {
        lines.extend(log_lines(status, overview));
        lines.extend(voter_lines(&status.log, overview));
    }
    let outlook = overview.outlook(identity);
    lines.push(format!("next failure  {outlook}"));
    lines.extend(node_lines(overview));
    lines
}

/// Window and fullness of the log, and the format of its records.
fn log_lines(status: &NodeStatus, overview: &Overview) -> Vec<String> {
    let log = &status.log;
    let fill = match log.fill {
        Some(fill) => format!(
            "{} used of {}, ",
            HumanBytes(fill.used_bytes),
            HumanBytes(fill.quota_bytes)
        ),
        None => String::new(),
    };
    vec![
        format!(
            "log           {fill}places {} to {}",
            HumanCount(log.floor),
            HumanCount(status.head)
        ),
        format!("format level  {}", format_level(log, overview)),
    ]
}

/// The format level in force, and what becomes of it.
fn format_level(log: &LogStatus, overview: &Overview) -> String {
    let Some(level) = log.format_level else {
        return "unknown".to_owned();
    };
    if let Some(agreed) = log.format_agreed.filter(|it| *it > level) {
        return format!("{level}, being raised to {agreed}");
    }
    let told = overview.nodes.iter().map(|it| it.status.as_ref());
    let known = told.map(|it| it.map_or(0, |it| it.log.format_max));
    let known: Vec<u32> = known.collect();
    let most = known.iter().copied().max().unwrap_or(level);
    let count = known.iter().filter(|it| **it == most).count();
    match most > level {
        false => level.to_string(),
        true if count == known.len() => {
            format!("{level}; every node knows {most}: pando cluster upgrade")
        }
        true => format!("{level}; {count} of {} nodes know {most}", known.len()),
    }
}

/// The voters with their nodes, and the quorum.
fn voter_lines(log: &LogStatus, overview: &Overview) -> Vec<String> {
    let voters = log.voters.iter().map(|it| {
        let place = overview.place_of(it);
        match (it.is_learner, it.answers) {
            (true, _) => format!("{place} (learns)"),
            (false, true) => place,
            (false, false) => format!("{place} (does not answer)"),
        }
    });
    let voters = voters.collect::<Vec<_>>().join(", ");
    let quorum = overview.quorum();
    let mut lines = vec![
        format!("voters        {voters}"),
        format!(
            "quorum        {} of {} answer, {} needed",
            quorum.answering,
            quorum.voters,
            quorum.needed()
        ),
    ];
    if let Some(waiting) = &log.waiting {
        lines.push(format!("voters wait   {waiting}"));
    }
    lines
}

fn node_lines(overview: &Overview) -> Vec<String> {
    let nodes = &overview.nodes;
    let width = nodes.iter().map(|it| it.member.address.to_string().len());
    let width = width.max().unwrap_or(0).max("address".len());
    let mut lines = vec![format!(
        "{:<8}  {:<width$}  {:>12}  {:>20}  {:<9}  {:>11}  {:<11}  state",
        "node", "address", "position", "behind", "state is", "clock", "knows level"
    )];
    let rows = nodes.iter().enumerate();
    lines.extend(rows.map(|(number, it)| {
        let own = if number == 0 { ", this node" } else { "" };
        node_line(overview, it, width) + own
    }));
    lines
}

/// The row of a node; its address takes `width` columns.
fn node_line(overview: &Overview, it: &Surveyed, width: usize) -> String {
    let (id, address) = (it.member.node.to_string(), it.member.address.to_string());
    let status = match &it.status {
        Ok(status) => status,
        Err(why) => return format!("{id:.8}  {address:<width$}  {why}"),
    };
    let lag = overview.lag(status);
    let behind = match lag.records {
        0 => "0".to_owned(),
        records => format!("{records} ({:.1} s)", lag.us as f64 / 1e6),
    };
    let serves = match status.volatile {
        true => "serves from memory",
        false => "serves",
    };
    let state = status.trouble.as_deref().unwrap_or(serves);
    let equality = match overview.equality(status) {
        Equality::Different => Equality::Different.to_string().to_uppercase(),
        equality => equality.to_string(),
    };
    format!(
        "{id:.8}  {address:<width$}  {:>12}  {behind:>20}  {equality:<9}  {:>8.1} ms  {:>11}  \
         {state}",
        status.position,
        it.clock_offset_us as f64 / 1e3,
        status.log.format_max,
    )
}
