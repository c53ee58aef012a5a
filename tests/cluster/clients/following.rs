//! Content synchronisation (RFC 4533) goes on at another node by a cookie of the first.

use super::{HeldUp, bystander, served, with_sites};
use crate::nodes::content;
use kit::client::{Client, Modification};
use kit::following::{ALL, Asked, Said, cookie, next, short, sync, until};
use kit::router::Network;
use kit::{Pando, SUFFIX, people};
use protocol::control::{SyncMode, SyncState};
use protocol::{ResultCode, Scope};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

const PEOPLE: usize = 20;
/// Writes of each client while another follows.
const WRITES: usize = 120;

fn name(number: usize) -> String {
    format!("uid=person{number:03},ou=People,{SUFFIX}")
}

fn change(text: &str) -> [Modification; 1] {
    [Modification::replace("description", &[text])]
}

#[test]
fn a_cookie_of_one_node_is_good_at_another() {
    with_sites(PEOPLE, |network, nodes| {
        let mut clients: Vec<Client> = nodes.iter().map(Pando::admin).collect();
        let said = ALL.poll(&mut clients[0], None);
        assert_eq!(said.len(), PEOPLE + 3);
        let held = changes_are_told(&mut clients, cookie(&said));
        let held = a_node_behind_waits(network, nodes, held);
        nodes[0].kill_with_etcd();
        let said = ALL.poll(&mut clients[2], Some(&held));
        assert_eq!(short(&said), ["success true"]);
    });
}

/// Changes at one node are told at another, from a cookie of a third on. Returns the last cookie.
fn changes_are_told(clients: &mut [Client], mut held: String) -> String {
    for (number, at) in [1, 2, 0, 1].into_iter().enumerate() {
        let writer = &mut clients[(at + 1) % 3];
        let changed = writer.modify(&name(number), &change("changed"));
        changed.expect_success();
        writer.delete(&name(10 + number)).expect_success();
        // What the writer's node has seen, the other one comes to see before it answers.
        let seen = cookie(&ALL.poll(writer, Some(&held)));
        let nothing = ALL.poll(&mut clients[at], Some(&seen));
        assert_eq!(short(&nothing), ["success true"]);
        let mut told = short(&ALL.poll(&mut clients[at], Some(&held)));
        told.sort();
        let added = format!("add uid=person{number:03}");
        let gone = format!("delete uid=person{:03}", 10 + number);
        assert_eq!(told, [added, gone, "success true".to_owned()]);
        held = seen;
    }
    held
}

/// A node that has not come to the cookie's moment waits for it: it answers neither with everything
/// nor that the cookie is unknown. Returns the last cookie.
fn a_node_behind_waits(network: &Network, nodes: &[Pando], mut held: String) -> String {
    let other = bystander(nodes);
    let (mut first, mut second) = (nodes[0].admin(), nodes[other].admin());
    for reload_hint in [false, true] {
        let held_up = HeldUp::of(network, other);
        first.modify(SUFFIX, &change("ahead")).expect_success();
        held = cookie(&ALL.poll(&mut first, Some(&held)));
        let control = sync(SyncMode::RefreshOnly, Some(&held), reload_hint);
        let id = ALL.send(&mut second, &control);
        drop(held_up);
        let said = until(&mut second, id, |it| matches!(it, Said::Done(..)));
        assert_eq!(short(&said), ["success true"]);
        assert_eq!(cookie(&said), held);
    }
    // Where nobody knows whether it will come there, it refuses to say anything.
    let held_up = HeldUp::of(network, other);
    first.modify(SUFFIX, &change("too far")).expect_success();
    held = cookie(&ALL.poll(&mut first, Some(&held)));
    let said = ALL.poll(&mut second, Some(&held));
    let [Said::Done(outcome, _, None)] = &said[..] else {
        panic!("{said:?}");
    };
    assert_eq!(outcome.code, ResultCode::UNAVAILABLE, "{outcome:?}");
    let text = "the cookie is of a state that this server has yet to reach: ";
    assert!(outcome.diagnostic.starts_with(text), "{outcome:?}");
    drop(held_up);
    kit::process::until("it answers again", || {
        (short(&ALL.poll(&mut second, Some(&held))) == ["success true"]).then_some(())
    });
    held
}

/// A client's copy of the people: descriptions by identifier.
#[derive(Default)]
struct Copy {
    people: BTreeMap<[u8; 16], (String, Option<String>)>,
    cookie: Option<String>,
}

impl Copy {
    fn take(&mut self, said: &Said) {
        let given = match said {
            Said::Entry(SyncState::Add | SyncState::Modify, id, entry, cookie) => {
                let text = entry.texts("description").first().cloned();
                self.people.insert(*id, (entry.name.to_lowercase(), text));
                cookie
            }
            Said::Entry(SyncState::Delete, id, _, cookie) => {
                self.people.remove(id);
                cookie
            }
            Said::Ids(true, ids) => {
                ids.iter().for_each(|it| drop(self.people.remove(it)));
                return;
            }
            Said::Refreshed(_, cookie) | Said::Cookie(cookie) => {
                self.cookie = Some(cookie.clone());
                return;
            }
            unexpected => panic!("{unexpected:?}"),
        };
        if given.is_some() {
            self.cookie.clone_from(given);
        }
    }

    /// The same as what a search finds.
    fn equals(&self, client: &mut Client) -> bool {
        let found = client.search(
            SUFFIX,
            Scope::WholeSubtree,
            PERSONS.filter,
            &["description"],
        );
        let entries = found.entries.iter();
        let mut there: Vec<_> = entries
            .map(|it| {
                (
                    it.name.to_lowercase(),
                    it.texts("description").first().cloned(),
                )
            })
            .collect();
        there.sort();
        let mut here: Vec<_> = self.people.values().cloned().collect();
        here.sort();
        here == there
    }
}

const PERSONS: Asked<'static> = Asked {
    filter: "(uid=*)",
    ..ALL
};

/// Adds, changes and deletes people.
fn write(mut client: Client, number: usize) {
    for round in 0..WRITES {
        let mut person = people::person(&format!("w{number}r{round}"));
        person.name = format!("uid=w{number}r{round},ou=People,{SUFFIX}");
        client.add(&person).expect_success();
        let text = format!("writer {number}, round {round}");
        client
            .modify(&name(round % PEOPLE), &change(&text))
            .expect_success();
        if round % 3 == 0 {
            client.delete(&person.name).expect_success();
        }
    }
}

#[test]
fn a_follower_misses_nothing_when_its_node_dies() {
    let mut nodes = served(PEOPLE);
    let mut copy = Copy::default();
    let mut client = nodes[0].admin();
    let (mut id, said) = PERSONS.follow(&mut client, None);
    said.iter().for_each(|it| copy.take(it));
    let (first, others) = nodes.split_at_mut(1);
    let admins: Vec<Client> = others.iter().map(Pando::admin).collect();
    let mut last = others[0].admin();
    let is_done = &AtomicBool::new(false);
    std::thread::scope(|scope| {
        let writers = scope.spawn(move || {
            std::thread::scope(|scope| {
                for (number, client) in admins.into_iter().enumerate() {
                    scope.spawn(move || write(client, number));
                }
            });
            is_done.store(true, Ordering::Release);
            last.modify(&name(0), &change("the end")).expect_success();
        });
        for _ in 0..WRITES / 4 {
            copy.take(&next(&mut client, id));
        }
        first[0].kill_with_etcd();
        // What the dead node had sent counts; the rest comes from the next node, and from the one
        // after that.
        let mut turns = 0;
        loop {
            let mut again = others[turns % 2].admin();
            turns += 1;
            let said;
            (id, said) = PERSONS.follow(&mut again, copy.cookie.as_deref());
            let told_of_deletions = said.last();
            assert!(
                matches!(told_of_deletions, Some(Said::Refreshed(true, _))),
                "{said:?}"
            );
            said.iter().for_each(|it| copy.take(it));
            let is_over = is_done.load(Ordering::Acquire);
            for _ in 0..WRITES / 4 {
                let has_ended = |it: &Copy| it.people.values().any(is_the_end);
                if has_ended(&copy) {
                    break;
                }
                copy.take(&next(&mut again, id));
            }
            if is_over && copy.people.values().any(is_the_end) {
                break;
            }
        }
        writers.join().expect("written");
    });
    assert!(copy.equals(&mut others[0].admin()), "{:#?}", copy.people);
    nodes[0].serve();
    kit::process::until("equal nodes", || {
        let contents: Vec<_> = nodes.iter().map(|it| content(&mut it.admin())).collect();
        contents.windows(2).all(|it| it[0] == it[1]).then_some(())
    });
}

fn is_the_end(person: &(String, Option<String>)) -> bool {
    person.1.as_deref() == Some("the end")
}
