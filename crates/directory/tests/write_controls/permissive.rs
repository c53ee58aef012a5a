//! Permissive modify: adding what is there and deleting what is not is no mistake.

use crate::{ADA, ada, with_ada};
use protocol::ChangeOperation::{Add, Delete};
use protocol::{OwnedControl, ResultCode, oid};

#[test]
fn what_is_so_already_stays_so() {
    let mut client = with_ada();
    let permissive = [OwnedControl::new(oid::PERMISSIVE_MODIFY, true)];
    let add = (Add, "description", &["one", "two"][..]);
    let mut modify = |changes: &[(_, &str, &[&str])]| {
        let answer = client.modify_with(ADA, changes, &permissive);
        answer.result.code
    };
    assert_eq!(modify(&[add]), ResultCode::SUCCESS);
    assert_eq!(
        modify(&[(Add, "description", &["TWO", "three"])]),
        ResultCode::SUCCESS
    );
    assert_eq!(
        modify(&[(Delete, "description", &["one", "never"])]),
        ResultCode::SUCCESS
    );
    assert_eq!(modify(&[(Delete, "title", &[])]), ResultCode::SUCCESS);
    assert_eq!(modify(&[(Delete, "title", &["x"])]), ResultCode::SUCCESS);
    // Other rules hold as ever.
    assert_eq!(
        modify(&[(Delete, "sn", &[])]),
        ResultCode::OBJECT_CLASS_VIOLATION
    );
    assert_eq!(
        modify(&[(Delete, "cn", &["ada"])]),
        ResultCode::NOT_ALLOWED_ON_RDN
    );
    let twice = modify(&[(Add, "description", &["x", "X"])]);
    assert_eq!(twice, ResultCode::ATTRIBUTE_OR_VALUE_EXISTS);
    assert_eq!(ada(&mut client, "description"), ["two", "three"]);
    let strict = client.modify(ADA, &[add]);
    assert_eq!(strict.code, ResultCode::ATTRIBUTE_OR_VALUE_EXISTS);
    let strict = client.modify(ADA, &[(Delete, "title", &[])]);
    assert_eq!(strict.code, ResultCode::NO_SUCH_ATTRIBUTE);
    let valued = OwnedControl::with_value(oid::PERMISSIVE_MODIFY, false, |out| out.push(1));
    let junk = client.modify_with(ADA, &[add], &[valued]);
    assert_eq!(junk.result.code, ResultCode::PROTOCOL_ERROR);
}
