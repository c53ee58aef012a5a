//! The facts about a cluster, in `pando cluster status` and in `cn=monitor`.

use crate::nodes::{await_voters, cluster, status, write};
use kit::client::Entry;
use kit::process::until;
use protocol::Scope;
use serde_json::Value;

/// The first value of an attribute.
fn value(entry: &Entry, attribute: &str) -> String {
    let values = entry.values(attribute);
    let value = values.first().cloned().unwrap_or_default();
    String::from_utf8_lossy(&value).into_owned()
}

#[test]
fn status_and_monitor_tell_the_same() {
    let nodes = cluster(3);
    await_voters(&nodes[0], 3);
    write(&mut nodes[0].admin(), 0);
    let said = until("reports of all nodes", || {
        let said = status(&nodes[1]);
        let nodes = said["nodes"].as_array()?;
        let position = &nodes[0]["position"];
        let is_equal = |it: &Value| it["equality"] == "equal" && it["position"] == *position;
        nodes.iter().all(is_equal).then(|| said.clone())
    });
    assert_eq!(said["format_level"], 3, "{said:#}");
    assert_eq!(said["quorum"]["needed"], 2);
    assert_eq!(said["voters"].as_array().map(Vec::len), Some(3));
    assert!(said["log"]["used_bytes"].as_u64() > Some(0), "{said:#}");
    assert!(said["log"]["quota_bytes"].as_u64() > said["log"]["used_bytes"].as_u64());
    assert!(said["log"]["floor"].as_u64() <= said["log"]["head"].as_u64());
    let text = nodes[1].run_on_node(&["cluster", "status"], &[]).expect(0);
    let text = text.says("3 of 3 answer, 2 needed");
    text.says("1 of 3 voters may fail: writes go on");

    let mut client = nodes[1].admin();
    let mut found = client.search(
        "cn=Cluster,cn=monitor",
        Scope::WholeSubtree,
        "(objectClass=*)",
        &["+"],
    );
    found.outcome.expect_success();
    assert_eq!(found.entries.len(), 4, "the cluster and its nodes");
    let cluster = found.entries.remove(0);
    assert_eq!(value(&cluster, "pandoCluster"), said["cluster"]);
    assert_eq!(value(&cluster, "pandoClusterQuorum"), "2");
    assert_eq!(value(&cluster, "pandoClusterVotersAnswering"), "3");
    assert_eq!(value(&cluster, "pandoClusterFormatLevel"), "2");
    assert_eq!(value(&cluster, "pandoClusterOutlook"), said["next_failure"]);
    for node in &found.entries {
        assert_eq!(value(node, "pandoNodeVote"), "voter");
        assert_eq!(value(node, "pandoNodeFormatLevel"), "2");
        assert_eq!(value(node, "pandoNodeEquality"), "equal");
        let address = value(node, "pandoNodeAddress");
        assert!(said.to_string().contains(&address), "{address}");
    }
}
