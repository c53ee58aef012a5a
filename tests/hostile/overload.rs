//! More requests than a serving thread can answer in time: those of anonymous clients are refused,
//! others go on.

use kit::client::Event;
use kit::process::until;
use kit::{ADMIN, Client, Entry, PASSWORD, Pando, SUFFIX};
use protocol::{Filter, Request, ResultCode, Scope, SearchRequest};

use crate::crowds::sockets_max;
use crate::slow::reached;

/// Clients that always have requests waiting: several full rounds of a thread.
const CROWD: usize = 400;
/// Searches that each of them sends together, so that the server has more to do than they.
const TOGETHER: i32 = 30;
/// Entries that each search looks at: few enough for one slice.
const PEOPLE: usize = 70;
const LIMIT: &str = "connections.queue_delay_ms_max";

/// Searches that look at all people and find none.
fn searches() -> Vec<u8> {
    let mut bytes = Vec::new();
    for id in 1_000..1_000 + TOGETHER {
        let filter = Filter::Equality {
            attribute: "description",
            value: b"nothing",
        };
        let search = SearchRequest::new(SUFFIX, Scope::WholeSubtree, filter);
        protocol::write_request(&mut bytes, id, &Request::Search(search), &[]);
    }
    bytes
}

/// Receives the results of the searches. Returns the number of those that were refused.
fn refused(client: &mut Client) -> u64 {
    let is_refused = |(_, event)| match event {
        Event::Done(outcome) if outcome.code == ResultCode::BUSY => {
            assert!(outcome.diagnostic.contains(LIMIT), "{outcome:?}");
            1
        }
        Event::Done(outcome) => {
            outcome.expect_success();
            0
        }
        other => panic!("{other:?}"),
    };
    (0..TOGETHER).map(|_| is_refused(client.receive())).sum()
}

/// Serves a node with people by one thread, which may keep requests waiting for a millisecond.
fn served() -> Pando {
    let mut pando = Pando::init();
    let person = |at| format!("dn: cn=p{at},{SUFFIX}\nobjectClass: person\ncn: p{at}\nsn: p\n\n");
    let people: String = (0..PEOPLE).map(person).collect();
    let file = pando.folder.write("people.ldif", people);
    let file = file.to_string_lossy().into_owned();
    pando.run_on_node(&["import"], &[&file]).expect(0);
    let settings = "listen = [\"ldap://127.0.0.1:0\"]\n[threads]\nserving = 1\n\
                    [connections]\nqueue_delay_ms_max = 1\n";
    std::fs::write(pando.node().join("pando.toml"), settings).expect("our own folder");
    pando.serve_as_configured();
    pando
}

#[test]
fn anonymous_searches_are_refused_while_requests_wait_too_long() {
    let mut pando = served();
    let mut admin = pando.admin();
    let mut crowd: Vec<Client> = (0..sockets_max(CROWD)).map(|_| pando.client()).collect();
    let searches = searches();
    let ask = |it: &mut Client| it.send_raw(&searches).expect("it is open");
    crowd.iter_mut().for_each(ask);
    let mut sum = 0;
    until("some are refused", || {
        // Each asks again as soon as it is answered, so that others always wait.
        for client in &mut crowd {
            sum += refused(client);
            ask(client);
        }
        ask(&mut admin);
        assert_eq!(refused(&mut admin), 0);
        (sum > 0).then_some(())
    });
    sum += crowd.iter_mut().map(refused).sum::<u64>();
    assert_eq!(reached(&mut admin, LIMIT), sum);
    // Whoever binds is served, and so are writes.
    let mut late = pando.client();
    late.bind(ADMIN, PASSWORD).expect_success();
    let unit = Entry::of(
        &format!("ou=new,{SUFFIX}"),
        &[("objectClass", &["organizationalUnit"]), ("ou", &["new"])],
    );
    late.add(&unit).expect_success();
    // The crowd has been answered: nobody waits.
    let mut one = pando.client();
    let found = one.search(SUFFIX, Scope::BaseObject, "(objectClass=*)", &["1.1"]);
    found.outcome.expect_success();
    pando.process().wait_for("requests wait too long", |line| {
        line.contains("requests wait too long").then_some(())
    });
}
