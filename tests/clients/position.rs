//! Positions: a client reads its own writes on any connection.

use kit::client::Modification;
use kit::{ADMIN, Outcome, PASSWORD, Pando, SUFFIX};
use protocol::control::Position;
use protocol::{OwnedControl, ResultCode, Scope, oid};

fn asked(after: Option<&Position>) -> [OwnedControl; 1] {
    [match after {
        None => OwnedControl::new(oid::POSITION, true),
        Some(after) => OwnedControl::with_value(oid::POSITION, true, |out| after.encode(out)),
    }]
}

fn of(outcome: &Outcome) -> Position {
    let value = outcome.control(oid::POSITION).expect("a position");
    Position::decode(value).expect("it is one")
}

/// Writes, and returns the position of the write.
fn write(pando: &Pando, text: &str) -> Position {
    let change = [Modification::replace("description", &[text])];
    let outcome = pando.admin().modify_with(SUFFIX, &change, &asked(None));
    of(&outcome.expect_success())
}

/// Reads after a position.
fn read(pando: &Pando, after: &Position) -> Outcome {
    let scope = Scope::BaseObject;
    let filter = "(objectClass=*)";
    let mut client = pando.admin();
    let found = client.search_with(SUFFIX, scope, filter, &["1.1"], &asked(Some(after)), |_| {});
    found.outcome
}

#[test]
fn a_position_outlives_the_process_and_belongs_to_one_directory() {
    let mut pando = Pando::start();
    let first = write(&pando, "one");
    let second = write(&pando, "two");
    assert_eq!(
        (first.log, first.position + 1),
        (second.log, second.position)
    );
    assert_eq!(of(&read(&pando, &first).expect_success()), second);
    pando.kill();
    pando.serve();
    assert_eq!(of(&read(&pando, &second).expect_success()), second);
    assert_eq!(write(&pando, "three").position, second.position + 1);

    let other = Pando::start();
    let own = write(&other, "one");
    assert_ne!(own.log, first.log);
    let refused = read(&other, &first).expect(ResultCode::UNWILLING_TO_PERFORM);
    assert!(
        refused.diagnostic.contains("another directory"),
        "{refused}"
    );
    let ahead = Position {
        position: own.position + 1,
        ..own
    };
    let refused = read(&other, &ahead).expect(ResultCode::UNAVAILABLE);
    let words = format!("expected a position up to {}", own.position);
    assert!(refused.diagnostic.contains(&words), "{refused}");
}

/// A write that changes nothing is successful and has no position of its own.
#[test]
fn what_changes_nothing_is_where_the_directory_is() {
    let pando = Pando::start();
    let last = write(&pando, "one");
    let mut client = pando.client();
    client.bind(ADMIN, PASSWORD).expect_success();
    let permissive = OwnedControl::new(oid::PERMISSIVE_MODIFY, true);
    let again = [Modification::add("description", &["one"])];
    let [position] = asked(None);
    let outcome = client.modify_with(SUFFIX, &again, &[position, permissive]);
    let told = of(&outcome.expect_success());
    assert!(told.position >= last.position);
    assert_eq!(
        of(&read(&pando, &told).expect_success()).position,
        told.position
    );
}
