//! Replacing and deleting all members of a very large group, killed at any moment: the group has
//! the old members or the new ones, never a mixture, and no unused rows stay in the end.

use std::collections::HashSet;

use kit::client::{Client, Event, Modification};
use kit::process::until;
use kit::{Pando, Random, SUFFIX};
use protocol::Scope;

const PEOPLE: usize = 150_000;
const ROUNDS: usize = 6;
const GROUP: &str = "cn=all,dc=example,dc=com";

fn person(number: usize) -> String {
    format!("uid=user.{number},ou=Many,{SUFFIX}")
}

/// Makes a node with many people, all of them in one group.
fn with_a_large_group() -> Pando {
    let pando = Pando::init();
    let template = format!(
        "define suffix={SUFFIX}\n\nbranch: ou=Many,[suffix]\n\
         subordinateTemplate: person:{PEOPLE}\n\n\
         template: person\nrdnAttr: uid\nobjectClass: account\nuid: user.<sequential:1>\n"
    );
    let template = pando.folder.write("people.template", template);
    pando
        .run_on_node(&["import"], &["--template", &template.to_string_lossy()])
        .expect(0);
    let mut group = format!("dn: {GROUP}\nobjectClass: groupOfEntries\ncn: all\n");
    for number in 1..=PEOPLE {
        group.push_str(&format!("member: {}\n", person(number)));
    }
    let group = pando.folder.write("group.ldif", group);
    pando
        .run_on_node(&["import"], &[&group.to_string_lossy()])
        .expect(0);
    pando
}

fn members(client: &mut Client) -> HashSet<String> {
    let every = "(objectClass=*)";
    let found = client.search(GROUP, Scope::BaseObject, every, &["member"]);
    let members = found.only().texts("member");
    let count = members.len();
    let members: HashSet<String> = members.into_iter().collect();
    assert_eq!(members.len(), count, "a member stands there twice");
    members
}

/// Returns the members after a replacement: all people, every third one, or none.
fn wanted(random: &mut Random) -> HashSet<String> {
    match random.below(3) {
        0 => (1..=PEOPLE).map(person).collect(),
        1 => (1..=PEOPLE).step_by(3).map(person).collect(),
        _ => HashSet::new(),
    }
}

#[test]
fn a_large_group_replaced_under_kill_9_is_the_old_or_the_new_one() {
    let name = "a_large_group_replaced_under_kill_9_is_the_old_or_the_new_one";
    let mut random = Random::announced(name);
    let mut pando = with_a_large_group();
    pando.serve();
    let mut before = members(&mut pando.admin());
    assert_eq!(before.len(), PEOPLE);
    let mut replaced = 0;
    for round in 0..ROUNDS {
        let after = wanted(&mut random);
        let mut client = pando.admin();
        let values: Vec<&str> = after.iter().map(String::as_str).collect();
        let change = Modification::replace("member", &values);
        let ticks_before = pando.process().processor_ticks();
        client
            .try_send_modify(GROUP, &[change], &[])
            .expect("the request is sent");
        // The kill comes during execution, while the old members are removed, or after both. Two
        // rounds wait for the answer, so that members remain to be removed for certain.
        let acknowledged = round % 4 == 1;
        if acknowledged {
            match client.receive() {
                (_, Event::Done(outcome)) => drop(outcome.expect_success()),
                (_, event) => panic!("a write has one response, not {event:?}"),
            }
        }
        let ticks = random.below(400);
        let mut looks = 0;
        until("the server is somewhere", || {
            looks += 1;
            let used = pando.process().processor_ticks() - ticks_before;
            (used >= ticks || looks > 400).then_some(())
        });
        pando.kill();
        pando.assert_clean();
        pando.serve();
        let found = members(&mut pando.admin());
        let is_new = found == after;
        assert!(
            is_new || (found == before && !acknowledged),
            "round {round}: {} members, expected {} or {}",
            found.len(),
            before.len(),
            after.len()
        );
        replaced += usize::from(is_new && before != after);
        before = found;
        // Links are checked in both directions.
        let is_in = before.contains(&person(2));
        let of = pando.admin().search(
            &person(2),
            Scope::BaseObject,
            "(objectClass=*)",
            &["memberOf"],
        );
        assert_eq!(of.only().texts("memberOf").len(), usize::from(is_in));
    }
    eprintln!("{ROUNDS} crashes, {replaced} replacements whole");
    pando.stop();
    pando.assert_clean();
}
