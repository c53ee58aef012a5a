//! Writers that record their requests: acknowledged ones must be there after a crash.
//!
//! Every writer works in a unit of its own, so the requests of one connection, executed in order,
//! lead through a known sequence of states. After the crash its unit must be in one of the states
//! between the last acknowledged and the last sent request.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, JoinHandle};

use kit::client::{Client, Event, Modification};
use kit::{ADMIN, Entry, PASSWORD, Pando, Random, SUFFIX, people};
use protocol::{
    Authentication, BindRequest, DeleteRequest, ModifyDnRequest, Request, ResultCode, Scope,
};

const WRITERS: u64 = 4;
/// Number of requests that a writer keeps in flight.
const IN_FLIGHT: usize = 16;

/// The state of a unit: uid → description, and whether the entry is in the writer's group.
type State = BTreeMap<String, (String, bool)>;

#[derive(Debug, Clone)]
enum Write {
    Add(String),
    Describe(String, String),
    Join(String),
    Leave(String),
    Rename(String, String),
    Delete(String),
}

/// Returns the write after `state` with this number.
fn next_write(random: &mut Random, state: &State, number: usize) -> Write {
    let known: Vec<&String> = state.keys().collect();
    if known.len() < 3 || random.chance(40) {
        return Write::Add(format!("new{number}"));
    }
    let uid = (*random.pick(&known)).clone();
    match random.below(6) {
        0 => Write::Delete(uid),
        1 => Write::Rename(uid, format!("renamed{number}")),
        2 | 3 if state[&uid].1 => Write::Leave(uid),
        2 | 3 => Write::Join(uid),
        _ => Write::Describe(uid, format!("text {number}")),
    }
}

fn apply(state: &mut State, write: &Write) {
    match write {
        Write::Add(uid) => {
            state.insert(uid.clone(), ("none".to_owned(), false));
        }
        Write::Describe(uid, text) => {
            let entry = state.get_mut(uid).expect("a known entry is described");
            entry.0.clone_from(text);
        }
        Write::Join(uid) | Write::Leave(uid) => {
            let entry = state.get_mut(uid).expect("a known entry joins or leaves");
            entry.1 = matches!(write, Write::Join(_));
        }
        Write::Rename(old, new) => {
            let text = state.remove(old).expect("only known entries are renamed");
            state.insert(new.clone(), text);
        }
        Write::Delete(uid) => {
            state.remove(uid);
        }
    }
}

fn send(client: &mut Client, unit: &str, write: &Write) -> io::Result<()> {
    let name = |uid: &str| format!("uid={uid},{unit}");
    match write {
        Write::Add(uid) => {
            let mut entry = people::person(uid);
            entry.name = name(uid);
            entry.push("description", b"none".to_vec());
            client.try_send_add(&entry, &[])?;
        }
        Write::Describe(uid, text) => {
            let change = Modification::replace("description", &[text]);
            client.try_send_modify(&name(uid), &[change], &[])?;
        }
        Write::Join(uid) => {
            let change = Modification::add("member", &[&name(uid)]);
            client.try_send_modify(&group_of(unit), &[change], &[])?;
        }
        Write::Leave(uid) => {
            let change = Modification::delete("member", &[&name(uid)]);
            client.try_send_modify(&group_of(unit), &[change], &[])?;
        }
        Write::Rename(old, new) => {
            let request = ModifyDnRequest {
                entry: &name(old),
                new_rdn: &format!("uid={new}"),
                delete_old_rdn: true,
                new_superior: None,
            };
            client.try_send(&Request::ModifyDn(request), &[])?;
        }
        Write::Delete(uid) => {
            let entry = name(uid);
            client.try_send(&Request::Delete(DeleteRequest { entry: &entry }), &[])?;
        }
    }
    Ok(())
}

/// The writes of one writer until the server ended.
pub struct Account {
    unit: String,
    writes: Vec<Write>,
    pub acknowledged: usize,
}

/// Writes until the connection breaks; reports each acknowledgement to `progress`.
fn write_until_the_end(
    address: SocketAddr,
    unit: String,
    mut random: Random,
    progress: &Sender<()>,
) -> Account {
    let mut account = Account {
        unit,
        writes: Vec::new(),
        acknowledged: 0,
    };
    let mut state = State::new();
    let Ok(mut client) = Client::try_connect(address) else {
        return account;
    };
    let authentication = Authentication::Simple(PASSWORD.as_bytes());
    let bind = BindRequest {
        version: 3,
        name: ADMIN,
        authentication,
    };
    // The crash may come before the first write.
    let bound = client.try_send(&Request::Bind(bind), &[]);
    match bound.and_then(|id| client.try_finish(id)) {
        Ok(found) => drop(found.outcome.expect_success()),
        Err(_) => return account,
    }
    loop {
        while account.writes.len() - account.acknowledged < IN_FLIGHT {
            let write = next_write(&mut random, &state, account.writes.len());
            apply(&mut state, &write);
            account.writes.push(write);
            let last = account.writes.last().expect("just pushed");
            if send(&mut client, &account.unit, last).is_err() {
                return account;
            }
        }
        match client.try_receive() {
            Ok((_, Event::Done(outcome))) => {
                let write = &account.writes[account.acknowledged];
                assert!(
                    outcome.code == ResultCode::SUCCESS,
                    "{write:?}: {outcome:?}"
                );
                account.acknowledged += 1;
                progress.send(()).ok();
            }
            Ok((_, event)) => panic!("a write has one response, not {event:?}"),
            Err(_) => return account,
        }
    }
}

/// Returns the unit's entries as read from the server.
fn found_state(client: &mut Client, unit: &str) -> State {
    let found = client.search(
        unit,
        Scope::SingleLevel,
        "(objectClass=*)",
        &["uid", "description"],
    );
    found.outcome.clone().expect_success();
    // The server updates the group on renames and deletions.
    let every = "(objectClass=*)";
    let group = client.search(&group_of(unit), Scope::BaseObject, every, &["member"]);
    let members = group.only().texts("member");
    let is_member = |uid: &str| members.contains(&format!("uid={uid},{unit}"));
    let state: State = found
        .entries
        .iter()
        .map(|it| it.text("uid"))
        .zip(found.entries.iter().map(|it| it.text("description")))
        .map(|(uid, text)| (uid.clone(), (text, is_member(&uid))))
        .collect();
    let joined = state.values().filter(|it| it.1).count();
    assert_eq!(joined, members.len(), "{unit}: {members:?}");
    state
}

/// Returns the name of a writer's group, beside its unit.
fn group_of(unit: &str) -> String {
    unit.replacen("ou=", "cn=", 1)
}

/// Checks that the unit is in the state after some number of writes between acknowledged and sent.
pub fn verify(client: &mut Client, account: &Account) {
    let found = found_state(client, &account.unit);
    let mut state = State::new();
    for write in &account.writes[..account.acknowledged] {
        apply(&mut state, write);
    }
    for write in &account.writes[account.acknowledged..] {
        if state == found {
            return;
        }
        apply(&mut state, write);
    }
    assert_eq!(
        found,
        state,
        "{}: {} writes acknowledged, {} sent; no state in between",
        account.unit,
        account.acknowledged,
        account.writes.len()
    );
}

/// The threads of running writers.
pub struct Working {
    threads: Vec<JoinHandle<Account>>,
    /// Receives one message for each acknowledgement.
    pub acknowledgements: Receiver<()>,
}

impl Working {
    /// Starts writers in units of this round.
    pub fn begin(pando: &Pando, random: &mut Random, round: u64) -> Working {
        let mut admin = pando.admin();
        let (progress, acknowledgements) = mpsc::channel();
        let mut threads = Vec::new();
        for number in 0..WRITERS {
            let unit = format!("round{round}writer{number}");
            admin.add(&people::unit(&unit)).expect_success();
            let group = Entry::of(
                &format!("cn={unit},{SUFFIX}"),
                &[("objectClass", &["groupOfEntries"]), ("cn", &[&unit])],
            );
            admin.add(&group).expect_success();
            let (unit, address) = (format!("ou={unit},{SUFFIX}"), pando.address());
            let seed = Random::new(random.number());
            let progress = progress.clone();
            threads.push(thread::spawn(move || {
                write_until_the_end(address, unit, seed, &progress)
            }));
        }
        Working {
            threads,
            acknowledgements,
        }
    }

    /// Returns the writes of each writer, after the server has ended.
    pub fn end(self) -> Vec<Account> {
        let accounts = self.threads.into_iter();
        accounts
            .map(|it| it.join().expect("a writer found something wrong"))
            .collect()
    }
}
