//! Dynamic entries (RFC 2589) end on all nodes, whichever node removes them.

use crate::nodes::{await_voters, cluster, require_equal};
use crate::settings::{SETTINGS, exchanged};
use kit::process::until;
use kit::{Entry, SUFFIX};

#[test]
fn an_entry_ends_whichever_node_is_killed() {
    let mut nodes = cluster(3);
    await_voters(&nodes[0], 3);
    let (long, short) = [86_400, 2]
        .map(|it| format!("dynamic_entries.ttl_default_s = {it}"))
        .into();
    let mut admin = nodes[0].admin();
    let changes = exchanged(&long, &short);
    admin.modify(SETTINGS, &changes).expect_success();
    for killed in 0..nodes.len() {
        let name = format!("cn=short {killed},{SUFFIX}");
        let attributes: [(&str, &[&str]); 1] = [("objectClass", &["device", "dynamicObject"])];
        let other = (killed + 1) % nodes.len();
        let mut admin = nodes[other].admin();
        admin.add(&Entry::of(&name, &attributes)).expect_success();
        nodes[killed].kill();
        until("the end of an entry", || {
            admin.read(&name).is_none().then_some(())
        });
        nodes[killed].serve();
        require_equal(&nodes);
    }
}
