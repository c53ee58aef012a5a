//! `pando cluster status`: every node's state, as this node is told by the others.

use super::identity;
use crate::cli::{ClusterStatus, Report};
use crate::report::{Problem, say};
use ::cluster::identity::Identity;
use ::cluster::overview::{Equality, Overview, Seen};
use protocol::counted;
use serde_json::{Value, json};
use std::io::IsTerminal;
use std::time::Duration;

/// Time between two looks with `--watch`.
const WATCH_EVERY: Duration = Duration::from_secs(2);
/// What clears a terminal and goes to its upper left corner.
const CLEAR: &str = "\x1b[2J\x1b[H";

/// Prints the state once, or until interrupted.
pub fn status(it: &ClusterStatus) -> Result<(), Problem> {
    let identity = identity(&it.dir)?;
    loop {
        let overview = Overview::look(&identity).map_err(Problem::failed)?;
        let clears = it.watch && it.format == Report::Text && std::io::stdout().is_terminal();
        let text = match it.format {
            Report::Text => lines(&identity, &overview).join("\n"),
            Report::Json if it.watch => json(&identity, &overview).to_string(),
            Report::Json => serde_json::to_string_pretty(&json(&identity, &overview))
                .map_err(Problem::failed)?,
        };
        say(format_args!("{}{text}", if clears { CLEAR } else { "" }))?;
        if !it.watch {
            return verdict(&overview);
        }
        std::thread::park_timeout(WATCH_EVERY);
    }
}

/// The exit status.
fn verdict(overview: &Overview) -> Result<(), Problem> {
    if overview
        .nodes
        .first()
        .is_some_and(|own| own.status.is_err())
    {
        return Err(Problem::NotServed);
    }
    let sound = |it: &Seen| {
        it.status.as_ref().is_ok_and(|status| {
            status.trouble.is_none() && overview.equality(status) != Equality::Different
        })
    };
    match overview.nodes.iter().all(sound) {
        true => Ok(()),
        false => Err(Problem::Reported),
    }
}

fn lines(identity: &Identity, overview: &Overview) -> Vec<String> {
    let membership = &identity.membership;
    let nodes = &overview.nodes;
    let width = nodes.iter().map(|it| it.member.address.to_string().len());
    let width = width.max().unwrap_or(0).max("address".len());
    let mut lines = vec![
        format!(
            "cluster {}, generation {}, {}",
            membership.cluster,
            membership.generation,
            counted(nodes.len() as u64, "node")
        ),
        format!(
            "{:<8}  {:<width$}  {:>12}  {:>20}  {:<9}  {:>11}  state",
            "node", "address", "position", "behind", "state is", "clock"
        ),
    ];
    lines.extend(nodes.iter().enumerate().map(|(number, it)| {
        let (id, address) = (it.member.node.to_string(), it.member.address.to_string());
        let own = if number == 0 { ", this node" } else { "" };
        let status = match &it.status {
            Ok(status) => status,
            Err(why) => return format!("{:.8}  {address:<width$}  {why}{own}", id),
        };
        let lag = overview.lag(status);
        let behind = match lag.records {
            0 => "0".to_owned(),
            records => format!("{records} ({:.1} s)", lag.us as f64 / 1e6),
        };
        let state = status.trouble.as_deref().unwrap_or("serves");
        format!(
            "{:.8}  {address:<width$}  {:>12}  {behind:>20}  {:<9}  {:>8.1} ms  {state}{own}",
            id,
            status.position,
            word(overview.equality(status)),
            it.clock_offset_us as f64 / 1e3,
        )
    }));
    lines
}

fn json(identity: &Identity, overview: &Overview) -> Value {
    let nodes = overview.nodes.iter().map(|it| {
        let mut node = json!({
            "node": it.member.node.to_string(),
            "address": it.member.address.to_string(),
            "answers": it.status.is_ok(),
        });
        match &it.status {
            Err(why) => node["problem"] = json!(why),
            Ok(status) => {
                let lag = overview.lag(status);
                node["version"] = json!(status.version);
                node["generation"] = json!(status.generation);
                node["place"] = json!(status.place);
                node["syncedPlace"] = json!(status.synced_place);
                node["head"] = json!(status.head);
                node["position"] = json!(status.position);
                node["lagRecords"] = json!(lag.records);
                node["lagMicroseconds"] = json!(lag.us);
                node["digest"] = json!(status.digest);
                node["digestPosition"] = json!(status.digest_position);
                node["equality"] = json!(word(overview.equality(status)).to_lowercase());
                node["clockOffsetMicroseconds"] = json!(it.clock_offset_us);
                node["trouble"] = json!(status.trouble);
            }
        }
        node
    });
    json!({
        "cluster": identity.membership.cluster.to_string(),
        "generation": identity.membership.generation,
        "node": identity.membership.node.to_string(),
        "nodes": nodes.collect::<Vec<_>>(),
    })
}

fn word(equality: Equality) -> &'static str {
    match equality {
        Equality::Equal => "equal",
        Equality::Behind => "behind",
        Equality::Different => "DIFFERENT",
    }
}
