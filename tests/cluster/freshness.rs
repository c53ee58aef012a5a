//! Reads on one node that must show writes of another: Don't Use Copy (RFC 6171), and positions.

use crate::nodes::{founder, joined};
use kit::client::Modification;
use kit::{Client, Pando, SUFFIX};
use protocol::control::Position;
use protocol::{OwnedControl, ResultCode, Scope, oid};

/// Number of writes, each read on another node.
const ROUNDS: usize = 200;

/// The description of the suffix, as one client sees it who asks with a control.
fn description(client: &mut Client, control: OwnedControl) -> Option<String> {
    let filter = "(objectClass=*)";
    let found = client.search_with(
        SUFFIX,
        Scope::BaseObject,
        filter,
        &["description"],
        &[control],
        |_| {},
    );
    found.outcome.expect_success();
    let values = found.entries[0].values("description").to_vec();
    values
        .into_iter()
        .next()
        .map(|it| String::from_utf8(it).expect("text"))
}

fn change(text: &str) -> [Modification; 1] {
    [Modification::replace("description", &[text])]
}

#[test]
fn a_read_that_insists_shows_what_another_node_acknowledged() {
    let mut first = founder();
    let second = joined(&first);
    let (mut writer, mut reader) = (first.admin(), second.admin());
    for round in 0..ROUNDS {
        let text = format!("round {round}");
        writer.modify(SUFFIX, &change(&text)).expect_success();
        let insists = OwnedControl::new(oid::DONT_USE_COPY, true);
        assert_eq!(description(&mut reader, insists), Some(text));
    }
    for round in 0..ROUNDS {
        let text = format!("position {round}");
        let asked = [OwnedControl::new(oid::POSITION, true)];
        let written = writer.modify_with(SUFFIX, &change(&text), &asked);
        let value = written
            .expect_success()
            .control(oid::POSITION)
            .expect("one")
            .to_vec();
        let after = OwnedControl::with_value(oid::POSITION, true, |out| out.extend(value));
        assert_eq!(description(&mut reader, after), Some(text));
    }
    without_the_log(&mut first, &second, &mut reader);
}

/// Without etcd nobody knows what other nodes acknowledged.
fn without_the_log(first: &mut Pando, second: &Pando, reader: &mut Client) {
    first.stop();
    let ask = |client: &mut Client, control| {
        let scope = Scope::BaseObject;
        let filter = "(objectClass=*)";
        client.search_with(SUFFIX, scope, filter, &["1.1"], &[control], |_| {})
    };
    let insists = OwnedControl::new(oid::DONT_USE_COPY, true);
    let refused = ask(reader, insists).outcome.expect(ResultCode::UNAVAILABLE);
    assert!(!refused.diagnostic.is_empty());
    let wishes = OwnedControl::new(oid::DONT_USE_COPY, false);
    ask(reader, wishes).outcome.expect_success();
    // A position that nobody has given.
    let asked = [OwnedControl::new(oid::POSITION, true)];
    let known = ask(&mut second.admin(), asked[0].clone())
        .outcome
        .expect_success();
    let known = Position::decode(known.control(oid::POSITION).expect("one")).expect("decoded");
    let ahead = Position {
        position: known.position + 1,
        ..known
    };
    let after = OwnedControl::with_value(oid::POSITION, true, |out| ahead.encode(out));
    let refused = ask(reader, after).outcome.expect(ResultCode::UNAVAILABLE);
    assert!(
        refused.diagnostic.contains("how far this server has come"),
        "{refused}"
    );
}
