//! `kill -9` at random moments under writes: what was acknowledged is there, nothing is torn.
//!
//! Every writer works in a unit of its own, so the requests of one connection, executed in their
//! order, lead through a known row of states. After the crash its unit must be in one of the states
//! between the last acknowledged and the last sent request.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::thread;

use kit::client::{Client, Event, Modification};
use kit::{ADMIN, Entry, PASSWORD, Pando, Random, SUFFIX, people};
use protocol::{
    Authentication, BindRequest, DeleteRequest, ModifyDnRequest, Request, ResultCode, Scope,
};

const ROUNDS: u64 = 50;
const WRITERS: u64 = 4;
/// Requests a writer keeps in flight.
const IN_FLIGHT: usize = 16;

/// uid → description, and whether the entry is in the writer's group.
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

/// The next write after `state`, given its number.
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

/// What one writer did until the server was gone.
struct Account {
    unit: String,
    writes: Vec<Write>,
    acknowledged: usize,
}

/// Writes until the connection breaks; tells `progress` about each acknowledgement.
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

/// The unit's entries as the server shows them.
fn found_state(client: &mut Client, unit: &str) -> State {
    let found = client.search(
        unit,
        Scope::SingleLevel,
        "(objectClass=*)",
        &["uid", "description"],
    );
    found.outcome.clone().expect_success();
    // The group follows renames and deletions by itself.
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

/// The group of a writer, beside its unit.
fn group_of(unit: &str) -> String {
    unit.replacen("ou=", "cn=", 1)
}

/// The unit must be as some number of writes between acknowledged and sent has left it.
fn verify(client: &mut Client, account: &Account) {
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

#[test]
fn acknowledged_writes_survive_kill_9() {
    let mut random = Random::announced("acknowledged_writes_survive_kill_9");
    let mut pando = Pando::init();
    let mut total = 0;
    for round in 0..ROUNDS {
        pando.serve();
        let mut admin = pando.admin();
        let units: Vec<String> = (0..WRITERS)
            .map(|it| format!("round{round}writer{it}"))
            .collect();
        for unit in &units {
            admin.add(&people::unit(unit)).expect_success();
            let group = Entry::of(
                &format!("cn={unit},{SUFFIX}"),
                &[("objectClass", &["groupOfEntries"]), ("cn", &[unit])],
            );
            admin.add(&group).expect_success();
        }
        let (progress, acknowledgements) = mpsc::channel();
        let address = pando.address();
        let writers: Vec<_> = units
            .iter()
            .map(|unit| {
                let unit = format!("ou={unit},{SUFFIX}");
                let seed = Random::new(random.number());
                let progress = progress.clone();
                thread::spawn(move || write_until_the_end(address, unit, seed, &progress))
            })
            .collect();
        drop(progress);
        // The moment: after some acknowledgement, while others are on their way.
        let moment = 1 + random.below(600);
        let seen = acknowledgements.iter().take(moment as usize).count();
        assert_eq!(seen as u64, moment, "the writers stopped before the crash");
        pando.kill();
        let accounts: Vec<Account> = writers
            .into_iter()
            .map(|writer| writer.join().expect("a writer found something wrong"))
            .collect();
        total += accounts
            .iter()
            .map(|account| account.acknowledged)
            .sum::<usize>();

        pando.assert_clean();
        pando.serve();
        let mut admin = pando.admin();
        for account in &accounts {
            verify(&mut admin, account);
        }
        pando.kill();
    }
    eprintln!("{ROUNDS} crashes, {total} acknowledged writes, all of them found");
}

#[test]
fn crash_during_an_import_leaves_all_or_nothing() {
    let mut random = Random::announced("crash_during_an_import_leaves_all_or_nothing");
    let pando = Pando::init();
    let before = pando.export();
    let people: String = (0..40_000)
        .map(|number| {
            let mut person = people::person(&format!("p{number}"));
            person.name = format!("uid=p{number},{SUFFIX}");
            kit::ldif::print(&person)
        })
        .collect();
    let file = pando.folder.write("people.ldif", people);
    for _ in 0..5 {
        let mut command = std::process::Command::new(kit::pando::program());
        command.arg("import").arg(pando.node()).arg(&file);
        let mut import = kit::process::Running::start("pando import", &mut command);
        // Some moment of its work: the processor time it has used is the clock.
        let ticks = random.below(30);
        kit::process::until("the import works or ends", || {
            (import.processor_ticks() >= ticks || !import.is_alive()).then_some(())
        });
        import.kill();
        pando.assert_clean();
        let now = pando.export();
        if now != before {
            assert_eq!(
                kit::ldif::parse(&now).len(),
                40_001,
                "neither all nor nothing"
            );
            return;
        }
    }
    pando
        .run_on_node(&["import"], &[&file.to_string_lossy()])
        .expect(0);
    assert_eq!(kit::ldif::parse(&pando.export()).len(), 40_001);
}

#[test]
fn a_killed_import_goes_on_from_its_checkpoint() {
    let mut random = Random::announced("a_killed_import_goes_on_from_its_checkpoint");
    let pando = Pando::init();
    let template = "define suffix=dc=example,dc=com\n\nbranch: ou=Many,[suffix]\n\
        subordinateTemplate: person:60000\n\ntemplate: person\nrdnAttr: uid\n\
        objectClass: inetOrgPerson\nuid: user.<sequential:1>\ncn: <first> <last>\n\
        sn: <random:alpha:8>\nmail: {uid}@example.com\n";
    let template = pando.folder.write("many.template", template);
    let options = ["--resume", "--checkpoint", "0.1", "--memory", "1M"];
    for _ in 0..5 {
        let mut command = std::process::Command::new(kit::pando::program());
        command.arg("import").arg(pando.node()).args(options);
        command.arg("--template").arg(&template);
        let mut import = kit::process::Running::start("pando import", &mut command);
        let ticks = random.below(60);
        kit::process::until("the import works or ends", || {
            (import.processor_ticks() >= ticks || !import.is_alive()).then_some(())
        });
        import.kill();
    }
    let template = template.to_string_lossy();
    let arguments = [&options[..], &["--template", &template]].concat();
    // Unless one of them has come to its end already, when all entries are there.
    let last = pando.run_on_node(&["import"], &arguments);
    assert!(last.status <= 1, "{}", last.err);
    pando.assert_clean();
    assert_eq!(kit::ldif::parse(&pando.export()).len(), 60_002);
}

/// Writes without a pause until the server is gone or it is enough; counts what succeeded.
fn write_on(address: SocketAddr, enough: &AtomicBool, written: &AtomicU64) {
    let mut client = Client::connect(address);
    client.bind(ADMIN, PASSWORD);
    while !enough.load(Ordering::Relaxed) {
        let done = written.load(Ordering::Relaxed);
        let name = format!("uid=p{},{SUFFIX}", done % 1_000);
        let change = Modification::replace("sn", &[&format!("Other {done}")]);
        let Ok(id) = client.try_send_modify(&name, &[change], &[]) else {
            return;
        };
        match client.try_finish(id) {
            Ok(found) => assert_eq!(found.outcome.code, ResultCode::SUCCESS),
            Err(_) => return,
        }
        written.store(done + 1, Ordering::Relaxed);
    }
}

/// An index is built while writes never stop, goes on after a crash, and is right in the end.
#[test]
fn an_index_build_survives_crashes_and_writes() {
    let mut pando = Pando::init();
    let person = |n: u32| {
        format!("dn: uid=p{n},{SUFFIX}\nobjectClass: inetOrgPerson\ncn: p{n}\nsn: Family {n}\n\n")
    };
    let people: String = (0..12_000).map(person).collect();
    let file = pando.folder.write("people.ldif", people);
    let file = file.to_string_lossy().into_owned();
    pando.run_on_node(&["import"], &[&file]).expect(0);
    let state = |client: &mut Client| {
        let index = client.read("cn=sn,cn=indexes,cn=config").expect("defined");
        let values = index.texts("pandoIndexState");
        values
            .first()
            .map_or_else(String::new, |it| (*it).to_owned())
    };
    pando.serve();
    for round in 0..3 {
        let (enough, written) = (AtomicBool::new(false), AtomicU64::new(0));
        let address = pando.address();
        thread::scope(|scope| {
            scope.spawn(|| write_on(address, &enough, &written));
            kit::process::until("writes succeed", || {
                (written.load(Ordering::Relaxed) > 5).then_some(())
            });
            if round == 0 {
                let kinds = "equality,substring,ordering";
                pando
                    .run_on_node(&["index", "add"], &["sn", kinds])
                    .expect(0);
            }
            let mut admin = pando.admin();
            let begun = state(&mut admin);
            let moved = kit::process::until("the build goes on", || {
                let now = state(&mut admin);
                (now != begun || now == "ready").then_some(now)
            });
            if round < 2 {
                pando.kill();
            } else if moved != "ready" {
                kit::process::until("the index is ready", || {
                    (state(&mut admin) == "ready").then_some(())
                });
            }
            enough.store(true, Ordering::Relaxed);
        });
        if round < 2 {
            pando.serve();
        }
    }
    pando.stop();
    pando.assert_clean();
}
