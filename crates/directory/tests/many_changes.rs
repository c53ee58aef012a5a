//! Requests of very many changes: their work is linear in what they bring and what is there.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use kit::{Client, success};
use protocol::{ChangeOperation, ResultCode, Scope};
use std::time::{Duration, Instant};

const NAME: &str = "cn=many,dc=example,dc=com";
/// Work that grows with the square of these numbers takes minutes.
const ENOUGH: Duration = Duration::from_secs(30);

fn with_values(count: usize) -> Client {
    let mut client = Client::admin();
    let values: Vec<String> = (0..count).map(|n| format!("Value {n}")).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let entry = [
        ("objectClass", &["extensibleObject", "device"] as &[&str]),
        ("cn", &["many"]),
        ("description", &values),
    ];
    success(&client.add(NAME, &entry));
    client
}

fn descriptions(client: &mut Client) -> Vec<String> {
    let found = client.search(NAME, Scope::BaseObject, "(objectClass=*)", &["description"]);
    success(&found.result);
    let values = found.values("description").into_iter();
    values.map(str::to_owned).collect()
}

#[test]
fn values_are_deleted_and_added_each_in_a_change_of_its_own() {
    const COUNT: usize = 60_000;
    let mut client = with_values(COUNT);
    // Half of them as spelled or otherwise, and others in their place, one by one.
    let texts: Vec<(String, String)> = (0..COUNT / 2)
        .map(|n| (format!("value  {}", 2 * n), format!("Other {n}")))
        .collect();
    let values: Vec<([&str; 1], [&str; 1])> = texts
        .iter()
        .map(|(old, new)| ([old.as_str()], [new.as_str()]))
        .collect();
    let changes: Vec<(ChangeOperation, &str, &[&str])> = values
        .iter()
        .flat_map(|(old, new)| {
            let old = (ChangeOperation::Delete, "description", &old[..]);
            [old, (ChangeOperation::Add, "description", &new[..])]
        })
        .collect();
    let began = Instant::now();
    success(&client.modify(NAME, &changes));
    let took = began.elapsed();
    assert!(took < ENOUGH, "{took:?}");
    let left = descriptions(&mut client);
    assert_eq!(left.len(), COUNT);
    assert_eq!(left[..2], ["Value 1", "Value 3"]);
    assert_eq!(left[COUNT - 1], format!("Other {}", COUNT / 2 - 1));
    // One that is not there any more, and one that is there: all or nothing.
    for (operation, value, code) in [
        (
            ChangeOperation::Delete,
            "Value 4",
            ResultCode::NO_SUCH_ATTRIBUTE,
        ),
        (
            ChangeOperation::Add,
            "other 5",
            ResultCode::ATTRIBUTE_OR_VALUE_EXISTS,
        ),
    ] {
        let wrong = [value];
        let mut again = vec![(operation, "description", &wrong[..])];
        let fresh: Vec<String> = (0..100).map(|n| format!("New {n}")).collect();
        let fresh: Vec<[&str; 1]> = fresh.iter().map(|it| [it.as_str()]).collect();
        again.splice(
            0..0,
            fresh
                .iter()
                .map(|it| (ChangeOperation::Add, "description", &it[..])),
        );
        assert_eq!(client.modify(NAME, &again).code, code);
        assert_eq!(descriptions(&mut client).len(), COUNT);
    }
    client.check();
}

#[test]
fn very_many_new_descriptions_come_in_one_change() {
    const COUNT: usize = 20_000;
    let mut client = with_values(1);
    let names: Vec<String> = (0..COUNT).map(|n| format!("description;x-{n}")).collect();
    let changes: Vec<(ChangeOperation, &str, &[&str])> = names
        .iter()
        .map(|it| (ChangeOperation::Add, it.as_str(), &["a"] as &[&str]))
        .collect();
    let began = Instant::now();
    success(&client.modify(NAME, &changes));
    let took = began.elapsed();
    assert!(took < ENOUGH, "{took:?}");
    client.check();
}
