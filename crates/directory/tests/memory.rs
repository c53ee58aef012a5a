//! Tests of the memory counted for a connection: updates that wait in transactions, too.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;

use directory::Options;
use kit::{ADMIN, Client, PASSWORD, options, success};
use protocol::{ChangeOperation, ExtendedRequest, OwnedControl, Request, ResultCode, oid};

const MIB: u64 = 1 << 20;

/// Starts a transaction; the control of its updates.
fn start(client: &mut Client) -> [OwnedControl; 1] {
    let request = Request::Extended(ExtendedRequest {
        name: oid::START_TRANSACTION,
        value: None,
    });
    let begun = client.call(&request, &[]);
    success(&begun.result);
    let identifier = begun.value.unwrap_or_default();
    let tells = |out: &mut Vec<u8>| out.extend_from_slice(&identifier);
    [OwnedControl::with_value(
        oid::TRANSACTION_SPECIFICATION,
        true,
        tells,
    )]
}

#[test]
fn updates_that_wait_in_a_transaction_are_counted() {
    let mut client = Client::admin().reopen_with(&Options {
        memory_each_bytes_max: MIB,
        ..options()
    });
    success(&client.bind(ADMIN, PASSWORD));
    client.add_person("ada");
    let long = "x".repeat(300 << 10);
    let change = [(ChangeOperation::Add, "description", &[&long[..]][..])];
    // The memory of an aborted transaction is given back.
    for _ in 0..2 {
        let inside = start(&mut client);
        for _ in 0..3 {
            let queued = client.modify_with("cn=ada,dc=example,dc=com", &change, &inside);
            success(&queued.result);
        }
        let refused = client.modify_with("cn=ada,dc=example,dc=com", &change, &inside);
        assert_eq!(refused.result.code, ResultCode::ADMIN_LIMIT_EXCEEDED);
        let text = &refused.result.diagnostic;
        assert!(text.contains("memory_each_mib_max"), "{text}");
    }
}
