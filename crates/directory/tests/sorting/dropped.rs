//! Sorted searches whose index is dropped while they go on.

use crate::kit::{ADMIN, PASSWORD};
use crate::{BASE, EVERYBODY, imported, index, sort};
use protocol::{ResultCode, Scope};

/// More than one slice looks at.
const PEOPLE: usize = 5_000;

#[test]
fn a_search_along_an_index_that_is_dropped_does_not_look_complete() {
    let person =
        |n: usize| format!("dn: cn={n},{BASE}\nobjectClass: person\ncn: {n}\nsn: Family {n}\n\n");
    let people: String = (0..PEOPLE).map(person).collect();
    let mut client = imported(&people);
    index(&mut client, "sn");
    let mut other = client.another();
    assert_eq!(other.bind(ADMIN, PASSWORD).code, ResultCode::SUCCESS);
    let mut dropped = false;
    client.between = Some(Box::new(move || {
        if dropped {
            return;
        }
        dropped = true;
        let gone = other.delete_with("cn=sn,cn=indexes,cn=config", &[]);
        assert_eq!(gone.result.code, ResultCode::SUCCESS);
        // Until all rows are gone.
        let is_left = || {
            let status = other.directory.status().unwrap();
            status.indexes.iter().any(|it| it.attribute == "sn")
        };
        while is_left() {
            std::thread::yield_now();
        }
    }));
    // A limit so small that walking the index is less work than sorting all entries.
    let some = |request: &mut protocol::SearchRequest<'_>| request.size_limit = 4_000;
    let controls = [sort("sn")];
    let scope = Scope::WholeSubtree;
    let answer = client.search_with(BASE, scope, EVERYBODY, &["1.1"], some, &controls);
    assert!(answer.entries.len() < 4_000);
    assert_eq!(
        (answer.result.code, answer.result.diagnostic.as_str()),
        (
            ResultCode::BUSY,
            "the ordering index that this sorted search went along was dropped meanwhile; search \
             again"
        )
    );
}
