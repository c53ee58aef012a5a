//! Deleting an entry in very many groups, killed at any moment: all of the groups name it, or none,
//! and groups not changed before the crash are changed after the restart.

use std::collections::BTreeMap;

use kit::client::{Client, Event};
use kit::process::until;
use kit::{Pando, Random, SUFFIX, people};
use protocol::{DeleteRequest, Request, Scope};

/// Number of groups of the entry; some ten writes change them.
const GROUPS: usize = 3_000;
const ROUNDS: usize = 4;

/// Returns the `entryCSN` of each group, and the number of groups that name an entry.
fn groups(client: &mut Client, member: &str) -> (BTreeMap<String, String>, usize) {
    let filter = "(objectClass=groupOfEntries)";
    let base = format!("ou=Many,{SUFFIX}");
    let found = client.search(&base, Scope::WholeSubtree, filter, &["entryCSN", "member"]);
    let mut numbers = BTreeMap::new();
    let mut naming = 0;
    for entry in &found.entries {
        numbers.insert(entry.name.clone(), entry.texts("entryCSN").remove(0));
        naming += usize::from(entry.texts("member").iter().any(|it| it == member));
    }
    let filter = format!("(member={member})");
    let by_filter = client.search(&base, Scope::WholeSubtree, &filter, &["1.1"]);
    assert_eq!(by_filter.entries.len(), naming);
    (numbers, naming)
}

#[test]
fn an_entry_in_many_groups_deleted_under_kill_9_is_in_all_or_none() {
    let name = "an_entry_in_many_groups_deleted_under_kill_9_is_in_all_or_none";
    let mut random = Random::announced(name);
    let mut pando = Pando::init();
    let member = format!("uid=popular,ou=People,{SUFFIX}");
    let mut ldif = format!("dn: ou=Many,{SUFFIX}\nobjectClass: organizationalUnit\nou: Many\n");
    for at in 0..GROUPS {
        ldif.push_str(&format!(
            "\ndn: cn=g{at},ou=Many,{SUFFIX}\nobjectClass: groupOfEntries\ncn: g{at}\n\
             member: {member}\n"
        ));
    }
    let file = pando.folder.write("groups.ldif", ldif);
    pando
        .run_on_node(&["import"], &[&file.to_string_lossy()])
        .expect(0);
    pando.serve();
    pando.admin().add(&people::unit("People")).expect_success();
    for round in 0..ROUNDS {
        let mut client = pando.admin();
        if round == 0 {
            client.add(&people::person("popular")).expect_success();
        }
        let (before, naming) = groups(&mut client, &member);
        assert_eq!(naming, GROUPS);
        let entry = member.as_str();
        client.send(&Request::Delete(DeleteRequest { entry }), &[]);
        // Half of the rounds wait for the answer, so that work is left for certain.
        let acknowledged = round % 2 == 1;
        if acknowledged {
            match client.receive() {
                (_, Event::Done(outcome)) => drop(outcome.expect_success()),
                (_, event) => panic!("a write has one response, not {event:?}"),
            }
        }
        let ticks_before = pando.process().processor_ticks();
        let (ticks, mut looks) = (random.below(60), 0);
        until("the server is somewhere", || {
            looks += 1;
            let used = pando.process().processor_ticks() - ticks_before;
            (used >= ticks || looks > 400).then_some(())
        });
        pando.kill();
        pando.assert_clean();
        pando.serve();
        let mut client = pando.admin();
        let (_, naming) = groups(&mut client, &member);
        let deleted = client.read(&member).is_none();
        assert!(deleted || !acknowledged, "round {round}");
        assert_eq!(naming, if deleted { 0 } else { GROUPS }, "round {round}");
        if !deleted {
            continue;
        }
        until("each group has changed", || {
            let (after, naming) = groups(&mut client, &member);
            assert_eq!(naming, 0);
            let same = |(name, number): (&String, &String)| after.get(name) == Some(number);
            (!before.iter().any(same)).then_some(())
        });
        // For the next round the groups name the entry by a text, which it replaces when added.
        pando.kill();
        pando.serve();
        name_again(&mut pando.admin(), &member);
    }
    pando.stop();
    pando.assert_clean();
}

/// Makes the entry a member of all groups again, before it exists.
fn name_again(client: &mut Client, member: &str) {
    let change = kit::client::Modification::add("member", &[member]);
    let mut ids = Vec::new();
    for at in 0..GROUPS {
        let group = format!("cn=g{at},ou=Many,{SUFFIX}");
        let sent = client.try_send_modify(&group, std::slice::from_ref(&change), &[]);
        ids.push(sent.expect("the request is sent"));
    }
    for id in ids {
        let found = client.try_finish(id).expect("answered");
        found.outcome.expect_success();
    }
    client.add(&people::person("popular")).expect_success();
}
