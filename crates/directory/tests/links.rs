//! Members as links: groups follow their members, whatever their size, and whatever happens to
//! members and groups, in whatever order.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod kit;
mod node;

use kit::groups::{BASE, dn, found, group, keep_deleted_members, names, read};
use kit::{Client, success};
use node::Node;
use proptest::prelude::*;
use protocol::{ChangeOperation, OwnedControl, ResultCode, Scope, oid};
use std::collections::{BTreeMap, BTreeSet};
use transfer::import::Format;

fn change(client: &mut Client, name: &str, how: ChangeOperation, members: &[&str]) -> ResultCode {
    let members: Vec<String> = members.iter().map(|it| dn(it)).collect();
    let members: Vec<&str> = members.iter().map(String::as_str).collect();
    client.modify(&dn(name), &[(how, "member", &members)]).code
}

fn is_member(client: &mut Client, group: &str, member: &str) -> bool {
    let compared = client.compare(&dn(group), "member", &dn(member));
    compared.result.code == ResultCode::COMPARE_TRUE
}

#[test]
fn a_group_follows_its_members() {
    let mut client = Client::admin();
    client.add_person("a");
    success(&client.add(
        "ou=x,dc=example,dc=com",
        &[("objectClass", &["organizationalUnit"])],
    ));
    let below = "cn=b,ou=x,dc=example,dc=com";
    success(&client.add(below, &[("objectClass", &["person"]), ("sn", &["b"])]));
    group(&mut client, "g", &["a", "nobody"]);
    success(&client.modify(&dn("g"), &[(ChangeOperation::Add, "member", &[below])]));
    let renamed = client.rename_with(&dn("a"), "cn=A Z", None, &[]);
    success(&renamed.result);
    let moved = client.rename_with("ou=x,dc=example,dc=com", "ou=y", None, &[]);
    success(&moved.result);
    let mut expected = names(&["A Z", "nobody"]);
    expected.insert("cn=b,ou=y,dc=example,dc=com".to_owned());
    assert_eq!(read(&mut client, "g", "member"), expected);
    assert_eq!(
        found(&mut client, "(member=cn=a z,dc=example,dc=com)"),
        names(&["g"])
    );
    assert_eq!(
        found(&mut client, "(member=cn=a,dc=example,dc=com)"),
        names(&[])
    );
    assert_eq!(read(&mut client, "A Z", "memberOf"), names(&["g"]));
    assert!(is_member(&mut client, "g", "a Z") && is_member(&mut client, "g", "Nobody"));
    assert!(!is_member(&mut client, "g", "a"));
    client.check();
}

#[test]
fn an_entry_takes_the_place_of_the_text_that_named_it() {
    let mut client = Client::admin();
    group(&mut client, "g", &["later", "g"]);
    client.add_person("Later");
    let renamed = client.rename_with(&dn("Later"), "cn=now", None, &[]);
    success(&renamed.result);
    assert_eq!(read(&mut client, "g", "member"), names(&["now", "g"]));
    assert_eq!(read(&mut client, "g", "isMemberOf"), names(&["g"]));
    client.check();
}

/// `cn=a` comes to a name that groups have as a text, with the unit it is in.
fn moved_onto_texts() -> Client {
    let mut client = Client::admin();
    let unit = [("objectClass", &["organizationalUnit"][..])];
    success(&client.add(&format!("ou=old,{BASE}"), &unit));
    client.add_person("a,ou=old");
    group(&mut client, "both", &["a,ou=old", "a,ou=new"]);
    group(&mut client, "text", &["a,ou=new", "b"]);
    let moved = client.rename_with(&format!("ou=old,{BASE}"), "ou=new", None, &[]);
    success(&moved.result);
    client
}

#[test]
fn a_text_is_the_entry_that_came_to_its_name_with_a_superior() {
    let mut client = moved_onto_texts();
    let (named, every) = (dn("a,ou=new"), "(objectClass=*)");
    let answer = client.search(&dn("both"), Scope::BaseObject, every, &["member"]);
    assert_eq!(answer.values("member"), [&named]);
    let groups = names(&["both", "text"]);
    assert_eq!(read(&mut client, "a,ou=new", "memberOf"), groups);
    assert_eq!(found(&mut client, &format!("(member={named})")), groups);
    let members = found(&mut client, &format!("(memberOf={})", dn("text")));
    assert_eq!(members, names(&["a,ou=new"]));
    for group in ["both", "text"] {
        use ChangeOperation::{Add, Delete};
        let mut change = |how| change(&mut client, group, how, &["A,ou=new"]);
        assert_eq!(change(Add), ResultCode::ATTRIBUTE_OR_VALUE_EXISTS);
        assert_eq!(change(Delete), ResultCode::SUCCESS);
        assert_eq!(change(Delete), ResultCode::NO_SUCH_ATTRIBUTE);
        assert!(!is_member(&mut client, group, "a,ou=new"));
    }
    assert!(read(&mut client, "both", "member").is_empty());
    client.check();
}

#[test]
fn a_text_moves_from_one_attribute_to_another() {
    use ChangeOperation::{Add, Delete, Replace};
    let mut client = Client::admin();
    client.add_person("a");
    let classes = &["groupOfEntries", "extensibleObject"][..];
    for (name, how) in [("deleted", Delete), ("replaced", Replace)] {
        let (a, b, c) = (dn("a"), dn("b"), dn("c"));
        let both = [a.as_str(), &b];
        success(&client.add(&dn(name), &[("objectClass", classes), ("member", &both)]));
        let (stays, leaves) = (&[a.as_str(), &c][..], &[b.as_str()][..]);
        let first = match how {
            Delete => (how, "member", leaves),
            _ => (how, "member", stays),
        };
        success(&client.modify(&dn(name), &[first, (Add, "uniqueMember", leaves)]));
        assert_eq!(read(&mut client, name, "uniqueMember"), names(&["b"]));
        let answer = client.search(&dn(name), Scope::BaseObject, "(uniqueMember=*)", &["1.1"]);
        assert_eq!(answer.entries.len(), 1, "{name}");
    }
    client.check();
}

#[test]
fn an_entry_leaves_groups_that_name_it_by_a_text() {
    let mut client = moved_onto_texts();
    let before = read(&mut client, "text", "entryCSN");
    success(&client.delete_with(&dn("a,ou=new"), &[]).result);
    assert!(read(&mut client, "both", "member").is_empty());
    assert_eq!(read(&mut client, "text", "member"), names(&["b"]));
    assert_ne!(read(&mut client, "text", "entryCSN"), before);
    client.check();
    let mut client = moved_onto_texts();
    keep_deleted_members(&mut client, "refuse");
    let left = change(&mut client, "both", ChangeOperation::Replace, &["b"]);
    assert_eq!(left, ResultCode::SUCCESS);
    let refused = client.delete_with(&dn("a,ou=new"), &[]).result;
    assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
    let renamed = client.rename_with(&dn("a,ou=new"), "cn=c", None, &[]);
    success(&renamed.result);
    assert_eq!(
        read(&mut client, "text", "member"),
        names(&["b", "c,ou=new"])
    );
    keep_deleted_members(&mut client, "keep");
    success(&client.delete_with(&dn("c,ou=new"), &[]).result);
    assert_eq!(
        read(&mut client, "text", "member"),
        names(&["b", "c,ou=new"])
    );
    client.check();
}

#[test]
fn a_deleted_member_leaves_its_groups() {
    let mut client = Client::admin();
    for name in ["a", "b"] {
        client.add_person(name);
    }
    group(&mut client, "g", &["a", "b"]);
    success(&client.add(
        &dn("u"),
        &[
            ("objectClass", &["groupOfUniqueNames"]),
            ("uniqueMember", &[&dn("a")]),
        ],
    ));
    let before = read(&mut client, "g", "entryCSN");
    success(&client.delete_with(&dn("a"), &[]).result);
    assert_eq!(read(&mut client, "g", "member"), names(&["b"]));
    assert!(read(&mut client, "u", "uniqueMember").is_empty());
    assert_ne!(read(&mut client, "g", "entryCSN"), before);
    // A new entry of the name is nobody's member.
    client.add_person("a");
    assert!(read(&mut client, "a", "memberOf").is_empty());
    client.check();
}

#[test]
fn a_setting_keeps_the_names_of_deleted_members_or_the_members() {
    let mut client = Client::admin();
    for name in ["a", "b"] {
        client.add_person(name);
    }
    group(&mut client, "g", &["a", "b"]);
    keep_deleted_members(&mut client, "keep");
    success(&client.delete_with(&dn("a"), &[]).result);
    assert_eq!(read(&mut client, "g", "member"), names(&["a", "b"]));
    client.add_person("a");
    assert_eq!(read(&mut client, "a", "memberOf"), names(&["g"]));
    keep_deleted_members(&mut client, "refuse");
    let refused = client.delete_with(&dn("b"), &[]).result;
    assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
    assert!(
        refused.diagnostic.contains(&dn("g")),
        "{}",
        refused.diagnostic
    );
    assert_eq!(
        change(&mut client, "g", ChangeOperation::Delete, &["b"]),
        ResultCode::SUCCESS
    );
    success(&client.delete_with(&dn("b"), &[]).result);
    let odd = (
        ChangeOperation::Replace,
        "pandoDeletedMember",
        &["burn"][..],
    );
    let refused = client.modify("cn=config", &[odd]);
    assert_eq!(refused.code, ResultCode::CONSTRAINT_VIOLATION);
    client.check();
}

#[test]
fn what_is_wrong_with_a_change_of_members_is_told() {
    let mut client = Client::admin();
    client.add_person("a");
    group(&mut client, "g", &["a", "text"]);
    use ChangeOperation::{Add, Delete, Replace};
    let exists = ResultCode::ATTRIBUTE_OR_VALUE_EXISTS;
    let missing = ResultCode::NO_SUCH_ATTRIBUTE;
    for (how, members, code) in [
        (Add, &["A"][..], exists),
        (Add, &["b", "TEXT"], exists),
        (Delete, &["b"], missing),
        (Delete, &["a", "b"], missing),
        (Delete, &["text"], ResultCode::SUCCESS),
        (Delete, &["text"], missing),
        (Delete, &[], ResultCode::SUCCESS),
        (Delete, &[], missing),
        (Replace, &["a", "c"], ResultCode::SUCCESS),
    ] {
        assert_eq!(
            change(&mut client, "g", how, members),
            code,
            "{how:?} {members:?}"
        );
    }
    assert_eq!(read(&mut client, "g", "member"), names(&["a", "c"]));
    // A class that needs a member keeps its last one.
    success(&client.add(
        &dn("n"),
        &[("objectClass", &["groupOfNames"]), ("member", &[&dn("a")])],
    ));
    let refused = change(&mut client, "n", Delete, &["a"]);
    assert_eq!(refused, ResultCode::OBJECT_CLASS_VIOLATION);
    client.check();
}

#[test]
fn a_large_set_is_replaced_at_once_and_cleared_away_afterwards() {
    let mut client = Client::admin();
    let many: Vec<String> = (0..3000).map(|at| format!("nobody {at}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    client.add_person("a");
    group(&mut client, "g", &many);
    assert_eq!(read(&mut client, "g", "member").len(), 3000);
    let code = change(
        &mut client,
        "g",
        ChangeOperation::Replace,
        &["a", "nobody 7"],
    );
    assert_eq!(code, ResultCode::SUCCESS);
    assert_eq!(read(&mut client, "g", "member"), names(&["a", "nobody 7"]));
    assert!(!is_member(&mut client, "g", "nobody 8"));
    group(&mut client, "h", &many);
    success(&client.delete_with(&dn("h"), &[]).result);
    assert_eq!(
        found(&mut client, "(member=cn=nobody 8,dc=example,dc=com)"),
        names(&[])
    );
    let mut client = client.reopen();
    success(&client.bind(kit::ADMIN, kit::PASSWORD));
    assert_eq!(read(&mut client, "g", "member"), names(&["a", "nobody 7"]));
    client.check();
}

#[test]
fn members_of_a_deleted_subtree_leave_their_groups() {
    let mut client = Client::admin();
    let top = "ou=x,dc=example,dc=com";
    success(&client.add(top, &[("objectClass", &["organizationalUnit"])]));
    let people: Vec<String> = (0..30).map(|at| format!("cn=p{at},{top}")).collect();
    for person in &people {
        success(&client.add(person, &[("objectClass", &["person"]), ("sn", &["p"])]));
    }
    let members: Vec<&str> = people.iter().map(String::as_str).collect();
    let attributes = [
        ("objectClass", &["groupOfEntries"][..]),
        ("member", &members),
    ];
    success(&client.add(&dn("g"), &attributes));
    success(&client.add(&format!("cn=inner,{top}"), &attributes));
    let tree = OwnedControl::new(oid::TREE_DELETE, true);
    success(&client.delete_with(top, &[tree]).result);
    assert!(read(&mut client, "g", "member").is_empty());
    assert_eq!(
        found(&mut client, &format!("(member={})", people[3])),
        names(&[])
    );
    client.check();
}

#[test]
fn an_import_makes_links_whatever_comes_first() {
    let node = Node::new(BASE, true);
    let mut ldif = format!("dn: cn=first,{BASE}\nobjectClass: groupOfNames\n");
    for at in [1, 3, 99] {
        ldif.push_str(&format!("member: UID=user.{at}, ou=people,{BASE}\n"));
    }
    // Below a superior that comes later.
    ldif.push_str(&format!(
        "\ndn: cn=deep,ou=groups,{BASE}\nobjectClass: groupOfUniqueNames\n\
         uniqueMember: uid=user.1,ou=people,{BASE}\nuniqueMember: cn=deep,ou=groups,{BASE}\n\
         uniqueMember: cn=x,{BASE}#'0101'B\n\n"
    ));
    ldif.push_str(node::people(5).strip_prefix("version: 1\n\n").unwrap());
    ldif.push_str(&format!(
        "\ndn: ou=groups,{BASE}\nobjectClass: organizationalUnit\n"
    ));
    node.import(&ldif);
    node.check();
    let expected = [
        format!("member: uid=user.1,ou=people,{BASE}"),
        format!("member: uid=user.3,ou=people,{BASE}"),
        format!("member: UID=user.99, ou=people,{BASE}"),
        format!("uniqueMember: cn=deep,ou=groups,{BASE}"),
        format!("uniqueMember: cn=x,{BASE}#'0101'B"),
    ];
    let before = node.export();
    for line in &expected {
        assert!(before.lines().any(|it| it == line), "{line}\n{before}");
    }
    // Once more, into a full node: what is there gets new ids.
    node.import(&format!(
        "dn: uid=user.99,ou=people,{BASE}\nobjectClass: account\n\n\
         dn: cn=second,{BASE}\nobjectClass: groupOfNames\nmember: cn=first,{BASE}\n"
    ));
    node.check();
    let after = node.export();
    for line in expected.iter().filter(|it| !it.contains("user.99")) {
        assert!(after.lines().any(|it| it == line), "{line}\n{after}");
    }
    let named = format!("member: uid=user.99,ou=people,{BASE}");
    assert!(after.lines().any(|it| it == named), "{after}");
    // An import of the export gives the groups again.
    let other = Node::new(BASE, true);
    let file = other.file("copy.ldif", after.as_bytes());
    other.import_files(vec![file], Format::Ldif).unwrap();
    other.check();
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
    let groups = |text: &str| {
        let kept = lines(text).into_iter();
        kept.filter(|it| it.to_lowercase().contains("member:"))
            .collect::<BTreeSet<_>>()
    };
    assert_eq!(groups(&other.export()), groups(&after));
}

/// A value of a group in the model.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Value {
    Entry(usize),
    Text(String),
}

#[derive(Debug, Clone)]
enum Step {
    AddPerson(usize),
    Rename(usize, usize),
    Delete(usize),
    Change(usize, bool, Vec<usize>),
    Replace(usize, Vec<usize>),
}

fn step() -> impl Strategy<Value = Step> {
    let person = 0..8_usize;
    let some = proptest::collection::btree_set(0..8_usize, 0..5);
    let some = some.prop_map(|it| it.into_iter().collect::<Vec<_>>());
    let change = (0..3_usize, any::<bool>(), some.clone());
    let change = change.prop_map(|(group, add, it)| Step::Change(group, add, it));
    prop_oneof![
        2 => person.clone().prop_map(Step::AddPerson),
        2 => (person.clone(), person.clone()).prop_map(|(a, b)| Step::Rename(a, b)),
        1 => person.prop_map(Step::Delete),
        4 => change,
        1 => (0..3_usize, some).prop_map(|(g, it)| Step::Replace(g, it)),
    ]
}

/// People by the number in their name, and groups.
#[derive(Debug, Default)]
struct Model {
    people: BTreeMap<usize, usize>,
    given: usize,
    groups: [BTreeSet<Value>; 3],
}

impl Model {
    fn value(&self, name: usize) -> Value {
        match self.people.get(&name) {
            Some(id) => Value::Entry(*id),
            None => Value::Text(format!("p{name}")),
        }
    }

    /// An entry of this name is there now.
    fn appear(&mut self, name: usize, id: usize) {
        self.people.insert(name, id);
        for group in &mut self.groups {
            if group.remove(&Value::Text(format!("p{name}"))) {
                group.insert(Value::Entry(id));
            }
        }
    }

    fn shown(&self, group: usize) -> BTreeSet<String> {
        let name = |it: &Value| match it {
            Value::Text(text) => dn(text),
            Value::Entry(id) => {
                let named = self.people.iter().find(|(_, it)| *it == id);
                dn(&format!("p{}", named.unwrap().0))
            }
        };
        self.groups[group].iter().map(name).collect()
    }

    fn apply(&mut self, step: &Step, client: &mut Client) {
        match step {
            Step::AddPerson(name) => {
                if !self.people.contains_key(name) {
                    client.add_person(&format!("p{name}"));
                    self.given += 1;
                    self.appear(*name, self.given);
                }
            }
            Step::Rename(old, new) => {
                if self.people.contains_key(new) {
                    return;
                }
                if let Some(id) = self.people.remove(old) {
                    let rdn = format!("cn=p{new}");
                    success(
                        &client
                            .rename_with(&dn(&format!("p{old}")), &rdn, None, &[])
                            .result,
                    );
                    self.appear(*new, id);
                }
            }
            Step::Delete(name) => {
                if let Some(id) = self.people.remove(name) {
                    success(&client.delete_with(&dn(&format!("p{name}")), &[]).result);
                    for group in &mut self.groups {
                        group.remove(&Value::Entry(id));
                    }
                }
            }
            Step::Change(group, add, members) => self.change(*group, *add, members, client),
            Step::Replace(group, members) => {
                let spelled: Vec<String> = members.iter().map(|it| format!("p{it}")).collect();
                let spelled: Vec<&str> = spelled.iter().map(String::as_str).collect();
                let code = change(
                    client,
                    &format!("g{group}"),
                    ChangeOperation::Replace,
                    &spelled,
                );
                assert_eq!(code, ResultCode::SUCCESS);
                self.groups[*group] = members.iter().map(|it| self.value(*it)).collect();
            }
        }
    }

    fn change(&mut self, group: usize, add: bool, members: &[usize], client: &mut Client) {
        if members.is_empty() {
            return;
        }
        let values: Vec<Value> = members.iter().map(|it| self.value(*it)).collect();
        let fits = |it: &Value| self.groups[group].contains(it) != add;
        let expected = match (values.iter().all(fits), add) {
            (true, _) => ResultCode::SUCCESS,
            (false, true) => ResultCode::ATTRIBUTE_OR_VALUE_EXISTS,
            (false, false) => ResultCode::NO_SUCH_ATTRIBUTE,
        };
        let spelled: Vec<String> = members.iter().map(|it| format!("P{it}")).collect();
        let spelled: Vec<&str> = spelled.iter().map(String::as_str).collect();
        let how = match add {
            true => ChangeOperation::Add,
            false => ChangeOperation::Delete,
        };
        assert_eq!(
            change(client, &format!("g{group}"), how, &spelled),
            expected
        );
        if expected == ResultCode::SUCCESS {
            for value in values {
                match add {
                    true => drop(self.groups[group].insert(value)),
                    false => drop(self.groups[group].remove(&value)),
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]
    #[test]
    fn random_changes_agree_with_a_model(steps in proptest::collection::vec(step(), 1..60)) {
        let mut client = Client::admin();
        for name in 0..3 {
            group(&mut client, &format!("g{name}"), &[]);
        }
        let mut model = Model::default();
        for step in &steps {
            model.apply(step, &mut client);
        }
        let lower = |it: BTreeSet<String>| -> BTreeSet<String> {
            it.into_iter().map(|it| it.to_lowercase()).collect()
        };
        for at in 0..3 {
            let shown = lower(read(&mut client, &format!("g{at}"), "member"));
            prop_assert_eq!(shown, model.shown(at), "{:?}", model);
        }
        for name in 0..8 {
            let filter = format!("(member=cn=P{name},{BASE})");
            let value = model.value(name);
            let holding = (0..3).filter(|it| model.groups[*it].contains(&value));
            let expected: BTreeSet<String> = holding.map(|it| dn(&format!("g{it}"))).collect();
            prop_assert_eq!(&found(&mut client, &filter), &expected);
            if model.people.contains_key(&name) {
                let groups = read(&mut client, &format!("p{name}"), "memberOf");
                prop_assert_eq!(groups, expected);
            }
        }
        client.check();
    }
}
