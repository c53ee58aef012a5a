//! The state of a cluster as JSON.

use ::cluster::identity::Identity;
use ::cluster::overview::Overview;
use ::cluster::peer::NodeStatus;
use ::cluster::peer::Surveyed;
use serde_json::{Value, json};

/// The state as one object.
pub fn of(identity: &Identity, overview: &Overview) -> Value {
    let membership = &identity.membership;
    let nodes: Vec<Value> = overview.nodes.iter().map(|it| node(overview, it)).collect();
    let mut all = json!({
        "cluster": membership.cluster.to_string(),
        "generation": membership.generation,
        "node": membership.node.to_string(),
        "nodes": nodes,
        "next_failure": overview.outlook(identity),
    });
    if let Some(status) = overview.teller() {
        let log = &status.log;
        all["log"] = json!({
            "floor": log.floor,
            "head": status.head,
            "used_bytes": log.fill.map(|it| it.used_bytes),
            "quota_bytes": log.fill.map(|it| it.quota_bytes),
        });
        all["format_level"] = json!(log.format_level);
        all["format_level_agreed"] = json!(log.format_agreed);
        let voters = log.voters.iter().map(|it| {
            json!({
                "name": it.name,
                "url": it.url,
                "learns": it.is_learner,
                "answers": it.answers,
            })
        });
        all["voters"] = voters.collect();
        all["voters_wait_for"] = json!(log.waiting);
        let quorum = overview.quorum();
        all["quorum"] = json!({
            "voters": quorum.voters,
            "answering": quorum.answering,
            "needed": quorum.needed(),
            "spare": quorum.spare(),
        });
    }
    all
}

fn node(overview: &Overview, it: &Surveyed) -> Value {
    let mut node = json!({
        "node": it.member.node.to_string(),
        "address": it.member.address.to_string(),
        "answers": it.status.is_ok(),
    });
    match &it.status {
        Err(why) => node["problem"] = json!(why),
        Ok(status) => {
            node["clock_offset_us"] = json!(it.clock_offset_us);
            add(&mut node, overview, status);
        }
    }
    node
}

/// Adds what a node says of itself.
fn add(node: &mut Value, overview: &Overview, status: &NodeStatus) {
    let lag = overview.lag(status);
    node["version"] = json!(status.version);
    node["generation"] = json!(status.generation);
    node["place"] = json!(status.place);
    node["synced_place"] = json!(status.synced_place);
    node["head"] = json!(status.head);
    node["position"] = json!(status.position);
    node["lag_records"] = json!(lag.records);
    node["lag_us"] = json!(lag.us);
    node["digest"] = json!(status.digest);
    node["digest_position"] = json!(status.digest_position);
    node["equality"] = json!(overview.equality(status).to_string());
    node["format_level"] = json!(status.log.format_level);
    node["format_level_max"] = json!(status.log.format_max);
    node["trouble"] = json!(status.trouble);
}
