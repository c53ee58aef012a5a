//! Assured replication (Ping Identity) reports what is true of the other nodes.

use super::served;
use kit::client::{Client, Modification};
use kit::{Outcome, Pando, SUFFIX};
use protocol::control::{
    AssuredReplicationRequest, AssuredReplicationResponse, LocalLevel, RemoteLevel,
};
use protocol::{MessageId, OwnedControl, oid};
use rustix::process::Signal;
use std::time::{Duration, Instant};

/// Writes whose assurance is compared with what other nodes show.
const ROUNDS: usize = 60;
/// Time for which an answer is held for a node that does not answer.
const SHORT_MS: u32 = 700;
const LONG_MS: u32 = 30_000;

/// The report on a write: whether its level is reached, and the reason if not.
struct Report {
    is_reached: bool,
    reason: String,
    took: Duration,
}

fn asking(level: LocalLevel, timeout_ms: u32) -> AssuredReplicationRequest {
    AssuredReplicationRequest {
        local_min: Some(level),
        timeout_ms: Some(timeout_ms),
        ..AssuredReplicationRequest::default()
    }
}

fn report(outcome: &Outcome, begun: Instant) -> Report {
    let value = outcome.control(oid::ASSURED_REPLICATION_RESPONSE);
    let said = AssuredReplicationResponse::decode(value.expect("a report")).expect("it decodes");
    assert_eq!(said.local_satisfied, said.local_message.is_none());
    Report {
        is_reached: said.local_satisfied,
        reason: said.local_message.unwrap_or_default().to_owned(),
        took: begun.elapsed(),
    }
}

/// Gives the suffix a text, and asks for an assurance.
fn write(client: &mut Client, text: &str, asked: &AssuredReplicationRequest) -> Report {
    let request = oid::ASSURED_REPLICATION_REQUEST;
    let control = OwnedControl::with_value(request, true, |out| asked.encode(out));
    let begun = Instant::now();
    let change = [Modification::replace("description", &[text])];
    let outcome = client.modify_with(SUFFIX, &change, &[control]);
    report(&outcome.expect_success(), begun)
}

/// Whether a node shows the text of the suffix.
fn shows(node: &mut Client, text: &str) -> bool {
    node.read(SUFFIX).expect("the suffix").texts("description") == [text]
}

const ALL: LocalLevel = LocalLevel::ProcessedAllServers;
const ANY: LocalLevel = LocalLevel::ReceivedAnyServer;

#[test]
fn an_assurance_is_true() {
    let mut nodes = served(0);
    let mut clients: Vec<Client> = nodes.iter().map(Pando::admin).collect();
    for round in 0..ROUNDS {
        let text = format!("round {round}");
        let (own, one, other) = (round % 3, (round + 1) % 3, (round + 2) % 3);
        let level = if round % 2 == 0 { ALL } else { ANY };
        let said = write(&mut clients[own], &text, &asking(level, LONG_MS));
        assert!(said.is_reached, "{}", said.reason);
        let shown = [one, other].map(|it| shows(&mut clients[it], &text));
        match level {
            LocalLevel::ProcessedAllServers => assert_eq!(shown, [true, true], "{text}"),
            _ => assert!(shown[0] || shown[1], "{text}"),
        }
    }
    elsewhere(&mut clients[0]);
    nodes[2].process().signal(Signal::STOP);
    a_node_that_stands_still(&mut clients[0]);
    let (held, begun) = (hold(&mut clients[0], "held"), Instant::now());
    // The write itself is done and seen.
    kit::process::until("the second node shows it", || {
        shows(&mut clients[1], "held").then_some(())
    });
    nodes[2].process().signal(Signal::CONT);
    let answer = clients[0].try_finish(held).expect("an answer").outcome;
    let said = report(&answer.expect_success(), begun);
    assert!(said.is_reached, "{}", said.reason);
    assert!(shows(&mut clients[2], "held"));

    // A dead node is missing until it is taken out.
    nodes[2].kill_with_etcd();
    let said = write(&mut clients[1], "dead", &asking(ALL, SHORT_MS));
    assert!(!said.is_reached, "a dead node has processed nothing");
    let third = address(&nodes[0], 2);
    let removed = nodes[0].run_on_node(&["cluster", "remove"], &[&third]);
    removed.expect(0);
    kit::process::until("all are two", || {
        let said = write(&mut clients[1], "two", &asking(ALL, SHORT_MS));
        said.is_reached.then_some(())
    });
    assert!(shows(&mut clients[0], "two"));

    // A node that stops does not wait for answers that are held.
    nodes[0].process().signal(Signal::STOP);
    hold(&mut clients[1], "stopped");
    let begun = Instant::now();
    nodes[1].stop();
    let longest = Duration::from_millis(u64::from(LONG_MS)) / 2;
    assert!(begun.elapsed() < longest, "{:?}", begun.elapsed());
    nodes[0].process().signal(Signal::CONT);
}

/// A stopped node has processed nothing, and nobody says so; the other one is enough for the lower
/// level.
fn a_node_that_stands_still(client: &mut Client) {
    let said = write(client, "without the third", &asking(ALL, SHORT_MS));
    assert!(!said.is_reached);
    let expected = format!("1 of 2 other servers have said within {SHORT_MS} ms");
    assert!(said.reason.starts_with(&expected), "{}", said.reason);
    let shortest = Duration::from_millis(u64::from(SHORT_MS));
    assert!(said.took >= shortest, "{:?}", said.took);
    let said = write(client, "one is enough", &asking(ANY, LONG_MS));
    assert!(said.is_reached, "{}", said.reason);
    let at_once = AssuredReplicationRequest {
        at_once: true,
        ..asking(ALL, LONG_MS)
    };
    let said = write(client, "at once", &at_once);
    assert!(
        !said.is_reached && said.reason.contains("at once"),
        "{}",
        said.reason
    );
}

/// Sends a write whose answer is held until all nodes have it.
fn hold(client: &mut Client, text: &str) -> MessageId {
    let asked = asking(ALL, LONG_MS);
    let request = oid::ASSURED_REPLICATION_REQUEST;
    let control = OwnedControl::with_value(request, true, |out| asked.encode(out));
    let change = [Modification::replace("description", &[text])];
    let sent = client.try_send_modify(SUFFIX, &change, &[control]);
    sent.expect("sent")
}

/// Levels of other locations are never reached: there are none.
fn elsewhere(client: &mut Client) {
    let asked = AssuredReplicationRequest {
        remote_min: Some(RemoteLevel::ReceivedAnyRemoteLocation),
        ..AssuredReplicationRequest::default()
    };
    let request = oid::ASSURED_REPLICATION_REQUEST;
    let control = OwnedControl::with_value(request, true, |out| asked.encode(out));
    let change = [Modification::replace("description", &["elsewhere"])];
    let outcome = client
        .modify_with(SUFFIX, &change, &[control])
        .expect_success();
    let value = outcome
        .control(oid::ASSURED_REPLICATION_RESPONSE)
        .expect("a report");
    let said = AssuredReplicationResponse::decode(value).expect("it decodes");
    assert!(!said.remote_satisfied && said.local_satisfied, "{said:?}");
}

/// Address of the node that joined at this place, counted from 0.
fn address(node: &Pando, place: usize) -> String {
    let said = crate::nodes::status(node);
    let address = said["nodes"][place]["address"].as_str();
    address.expect("an address").to_owned()
}
