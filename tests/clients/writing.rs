//! The tools `ldapadd`, `ldapmodify`, `ldapdelete` and `ldapmodrdn`.

use std::time::{Duration, Instant};

use kit::client::Modification;
use kit::tools::Tools;
use kit::{SUFFIX, Subject, ldif, people};
use protocol::ResultCode;

use super::{ADA, EDSGER, GRACE, code, names, read};

const PERSON: &str = "objectClass: inetOrgPerson\nsn: Turing\ncn: Alan Turing\n";

#[test]
fn add() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    let alan = format!("dn: uid=alan,ou=People,{SUFFIX}\nuid: alan\n{PERSON}");
    tools
        .add(&alan)
        .expect(code::SUCCESS)
        .says("adding new entry");
    let entry = read(&tools, &format!("uid=alan,ou=People,{SUFFIX}"));
    assert_eq!(entry.text("cn"), "Alan Turing");
    tools.add(&alan).expect(code::ENTRY_ALREADY_EXISTS);
    let spelled_otherwise = alan.replace("uid=alan,ou=People", "UID=ALAN, ou=people");
    tools
        .add(&spelled_otherwise)
        .expect(code::ENTRY_ALREADY_EXISTS);
}

#[test]
fn add_several_and_values_of_all_sorts() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    let bytes: Vec<u8> = (0..=255).collect();
    let mut odd = people::person("odd");
    odd.push(
        "jpegPhoto",
        [&[0xFF, 0xD8, 0xFF, 0xE0, 0, 16][..], b"JFIF", &bytes].concat(),
    );
    odd.push("description", " leading and trailing ".as_bytes().to_vec());
    odd.push("description", "Ünïcödé ✓".as_bytes().to_vec());
    odd.push("cn;lang-de", "Seltsam".as_bytes().to_vec());
    let group = format!(
        "dn: cn=All,ou=Groups,{SUFFIX}\nobjectClass: groupOfNames\ncn: All\nmember: {ADA}\n\
         member: {GRACE}\n"
    );
    tools
        .add(&format!("{}{group}", ldif::print(&odd)))
        .expect(code::SUCCESS);
    let read_back = read(&tools, &odd.name);
    assert_eq!(ldif::content(&[read_back]), ldif::content(&[odd]));
    let member = format!("(member={})", ADA.to_uppercase());
    assert_eq!(
        names(&tools, &member),
        [format!("cn=All,ou=Groups,{SUFFIX}")]
    );
}

#[test]
fn names_with_special_characters() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    let name = format!(r"cn=Smith\, John \+ Sons \<old\> \#1,ou=People,{SUFFIX}");
    let entry =
        format!("dn: {name}\nobjectClass: person\ncn: Smith, John + Sons <old> #1\nsn: Smith\n");
    tools.add(&entry).expect(code::SUCCESS);
    let found = tools
        .search(&["-b", &name, "-s", "base"])
        .expect(code::SUCCESS)
        .entries();
    assert_eq!(found[0].text("cn"), "Smith, John + Sons <old> #1");
    let hexadecimal = name.replace(r"\,", r"\2c").replace(r"\+", r"\2B");
    tools
        .search(&["-b", &hexadecimal, "-s", "base"])
        .expect(code::SUCCESS);
    let two = format!("cn=Two+sn=Fold,ou=People,{SUFFIX}");
    tools
        .add(&format!(
            "dn: {two}\nobjectClass: person\ncn: Two\nsn: Fold\n"
        ))
        .expect(code::SUCCESS);
    let turned = format!("SN=fold + cn=two,ou=People,{SUFFIX}");
    tools
        .search(&["-b", &turned, "-s", "base"])
        .expect(code::SUCCESS);
    tools
        .run("ldapdelete", &[&name, &turned], "")
        .expect(code::SUCCESS);
}

#[test]
fn adds_that_fail() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    let check = |name: &str, lines: &str, expected: i32| {
        let name = format!("{name},{SUFFIX}");
        tools.add(&format!("dn: {name}\n{lines}")).expect(expected);
        tools
            .search(&["-b", &name, "-s", "base"])
            .expect(code::NO_SUCH_OBJECT);
    };
    let alan = format!("uid: alan\n{PERSON}");
    check("uid=alan,ou=Nowhere", &alan, code::NO_SUCH_OBJECT);
    check(
        "uid=alan,ou=People",
        &format!("{alan}noSuchType: 1\n"),
        code::UNDEFINED_ATTRIBUTE_TYPE,
    );
    check(
        "uid=alan,ou=People",
        &format!("{alan}uidNumber: 1\n"),
        code::OBJECT_CLASS_VIOLATION,
    );
    check(
        "uid=alan,ou=People",
        "objectClass: person\nuid: alan\n",
        code::OBJECT_CLASS_VIOLATION,
    );
    check(
        "uid=alan,ou=People",
        "uid: alan\ncn: x\nsn: x\n",
        code::OBJECT_CLASS_VIOLATION,
    );
    check(
        "uid=alan,ou=People",
        &format!("{alan}objectClass: noSuchClass\n"),
        code::INVALID_ATTRIBUTE_SYNTAX,
    );
    check(
        "uid=alan,ou=People",
        &format!("{alan}seeAlso: no name\n"),
        code::INVALID_ATTRIBUTE_SYNTAX,
    );
    check(
        "uid=alan,ou=People",
        &format!("{alan}preferredLanguage: de\npreferredLanguage: en\n"),
        code::CONSTRAINT_VIOLATION,
    );
    check(
        "uid=alan,ou=People",
        &format!("{alan}entryUUID: 5e0b3a9e-6f2c-4d58-8f5e-0d8c1b1f8a11\n"),
        code::CONSTRAINT_VIOLATION,
    );
    let anonymous = Tools::anonymous(&subject.url());
    let refused = anonymous.add(&format!("dn: uid=alan,ou=People,{SUFFIX}\n{alan}"));
    // RFC 4511 leaves the code to the server: stronger authentication required, or insufficient
    // rights.
    assert!(
        [8, code::INSUFFICIENT_ACCESS_RIGHTS].contains(&refused.status),
        "{refused:?}"
    );
    let ada = Tools::bound(&subject.url(), ADA, "ada");
    ada.add(&format!("dn: uid=alan,ou=People,{SUFFIX}\n{alan}"))
        .expect(code::INSUFFICIENT_ACCESS_RIGHTS);
}

#[test]
fn modify() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    let change = |lines: &str| tools.modify(&format!("dn: {ADA}\nchangetype: modify\n{lines}"));
    change("add: title\ntitle: Countess\ntitle: Programmer\n-\n").expect(code::SUCCESS);
    assert_eq!(read(&tools, ADA).texts("title"), ["Countess", "Programmer"]);
    change("delete: title\ntitle: COUNTESS\n-\n").expect(code::SUCCESS);
    assert_eq!(read(&tools, ADA).texts("title"), ["Programmer"]);
    change("replace: title\ntitle: Analyst\n-\nadd: title\ntitle: Poet\n-\n").expect(code::SUCCESS);
    assert_eq!(read(&tools, ADA).texts("title"), ["Analyst", "Poet"]);
    change("delete: title\n-\nreplace: description\n-\n").expect(code::SUCCESS);
    let entry = read(&tools, ADA);
    assert!(!entry.has("title") && !entry.has("description"));
    assert_eq!(names(&tools, "(title=*)"), [""; 0]);
    assert_eq!(names(&tools, "(description=*)"), [EDSGER]);
    let before = tools
        .search(&["-b", ADA, "-s", "base", "entryUUID", "+"])
        .entries()
        .remove(0);
    change("replace: sn\nsn: King\n-\n").expect(code::SUCCESS);
    let after = tools
        .search(&["-b", ADA, "-s", "base", "entryUUID", "+"])
        .entries()
        .remove(0);
    assert_eq!(before.text("entryUUID"), after.text("entryUUID"));
    assert_ne!(before.text("entryCSN"), after.text("entryCSN"));
    assert_eq!(after.text("modifiersName"), kit::ADMIN);
}

#[test]
fn modifies_that_fail_change_nothing() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    let before = tools.search(&["-b", ADA, "-s", "base", "*", "+"]).out;
    let check = |lines: &str, expected: i32| {
        // A change that would succeed alone precedes the mistake.
        let change = format!("add: title\ntitle: Countess\n-\n{lines}");
        tools
            .modify(&format!("dn: {ADA}\nchangetype: modify\n{change}"))
            .expect(expected);
        assert_eq!(
            tools.search(&["-b", ADA, "-s", "base", "*", "+"]).out,
            before,
            "{lines}"
        );
    };
    check(
        "add: mail\nmail: ada@example.com\n-\n",
        code::ATTRIBUTE_OR_VALUE_EXISTS,
    );
    check(
        "delete: mail\nmail: other@example.com\n-\n",
        code::NO_SUCH_ATTRIBUTE,
    );
    check("delete: pager\n-\n", code::NO_SUCH_ATTRIBUTE);
    check("delete: sn\n-\n", code::OBJECT_CLASS_VIOLATION);
    check(
        "add: uidNumber\nuidNumber: 1\n-\n",
        code::OBJECT_CLASS_VIOLATION,
    );
    // slapd 2.5 returns namingViolation where RFC 4511 §4.6 prescribes notAllowedOnRDN.
    let on_rdn = if subject.is_pando() {
        code::NOT_ALLOWED_ON_RDN
    } else {
        64
    };
    check("delete: uid\nuid: ada\n-\n", on_rdn);
    check("replace: uid\nuid: other\n-\n", on_rdn);
    check(
        "add: noSuchType\nnoSuchType: 1\n-\n",
        code::UNDEFINED_ATTRIBUTE_TYPE,
    );
    check(
        "add: employeeNumber\nemployeeNumber: 2\n-\n",
        code::CONSTRAINT_VIOLATION,
    );
    check(
        "replace: createTimestamp\ncreateTimestamp: 20200101000000Z\n-\n",
        19,
    );
    check(
        "add: seeAlso\nseeAlso: no name\n-\n",
        code::INVALID_ATTRIBUTE_SYNTAX,
    );
    let nobody = format!("uid=nobody,ou=People,{SUFFIX}");
    tools
        .modify(&format!(
            "dn: {nobody}\nchangetype: modify\nadd: title\ntitle: x\n-\n"
        ))
        .expect(code::NO_SUCH_OBJECT);
    let ada = Tools::bound(&subject.url(), ADA, "ada");
    ada.modify(&format!(
        "dn: {GRACE}\nchangetype: modify\nadd: title\ntitle: x\n-\n"
    ))
    .expect(code::INSUFFICIENT_ACCESS_RIGHTS);
}

#[test]
fn increment() {
    let subject = Subject::with_people();
    let mut account = people::person("counter");
    account.push("objectClass", b"posixAccount".to_vec());
    account.push("uidNumber", b"1000".to_vec());
    account.push("gidNumber", b"1000".to_vec());
    account.push("homeDirectory", b"/home/counter".to_vec());
    subject.add(&[account]);
    let tools = subject.tools();
    let name = format!("uid=counter,ou=People,{SUFFIX}");
    let increment = |attribute: &str, by: &str| {
        let lines = format!("increment: {attribute}\n{attribute}: {by}\n-\n");
        tools
            .modify(&format!("dn: {name}\nchangetype: modify\n{lines}"))
            .status
    };
    assert_eq!(increment("uidNumber", "5"), code::SUCCESS);
    assert_eq!(increment("uidNumber", "-10"), code::SUCCESS);
    assert_eq!(read(&tools, &name).text("uidNumber"), "995");
    assert_ne!(increment("pager", "1"), code::SUCCESS);
    // A telephone number looks like a number and is not an integer (RFC 4525 §2).
    tools
        .modify(&format!(
            "dn: {name}\nchangetype: modify\nadd: pager\npager: 1\n-\n"
        ))
        .expect(code::SUCCESS);
    assert_eq!(increment("pager", "1"), code::CONSTRAINT_VIOLATION);
    assert_eq!(increment("sn", "1"), code::CONSTRAINT_VIOLATION);
}

#[test]
fn delete() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    let people = format!("ou=People,{SUFFIX}");
    tools
        .run("ldapdelete", &[&people], "")
        .expect(code::NOT_ALLOWED_ON_NON_LEAF);
    tools.run("ldapdelete", &[ADA], "").expect(code::SUCCESS);
    tools
        .run("ldapdelete", &[ADA], "")
        .expect(code::NO_SUCH_OBJECT)
        .says("matched DN");
    tools
        .search(&["-b", ADA, "-s", "base"])
        .expect(code::NO_SUCH_OBJECT);
    tools
        .run("ldapdelete", &["no name"], "")
        .expect(code::INVALID_DN_SYNTAX);
    let grace = Tools::bound(&subject.url(), GRACE, "grace");
    grace
        .run("ldapdelete", &[EDSGER], "")
        .expect(code::INSUFFICIENT_ACCESS_RIGHTS);
    // `-r` deletes from the leaves up, by searches and single deletes.
    tools
        .run("ldapdelete", &["-r", &people], "")
        .expect(code::SUCCESS);
    assert_eq!(names(&tools, "(objectClass=person)"), [""; 0]);
    tools
        .add(&ldif::print(&people::unit("People")))
        .expect(code::SUCCESS);
}

#[test]
fn modrdn() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    let rename = |args: &[&str]| tools.run("ldapmodrdn", args, "").status;
    let countess = format!("uid=countess,ou=People,{SUFFIX}");
    assert_eq!(rename(&[ADA, "uid=countess"]), code::SUCCESS);
    assert_eq!(read(&tools, &countess).texts("uid"), ["ada", "countess"]);
    tools
        .search(&["-b", ADA, "-s", "base"])
        .expect(code::NO_SUCH_OBJECT);
    assert_eq!(names(&tools, "(uid=ada)"), [countess.as_str()]);
    let lady = format!("uid=lady,ou=People,{SUFFIX}");
    assert_eq!(rename(&["-r", &countess, "uid=lady"]), code::SUCCESS);
    assert_eq!(read(&tools, &lady).texts("uid"), ["ada", "lady"]);
    // Only the spelling of the name changes.
    assert_eq!(rename(&["-r", &lady, "uid=Lady"]), code::SUCCESS);
    assert_eq!(read(&tools, &lady).texts("uid"), ["Lady", "ada"]);
    // A whole subtree moves.
    let groups = format!("ou=Groups,{SUFFIX}");
    let people = format!("ou=People,{SUFFIX}");
    assert_eq!(
        rename(&["-s", &groups, &people, "ou=People"]),
        code::SUCCESS
    );
    let moved = format!("uid=grace,ou=People,{groups}");
    assert_eq!(names(&tools, "(uid=grace)"), [moved.as_str()]);
    let operational = tools
        .search(&["-b", &moved, "-s", "base", "entryDN"])
        .entries()
        .remove(0);
    assert_eq!(operational.text("entryDN"), moved);
    assert_eq!(
        names(&tools, &format!("(entryDN={moved})")),
        [moved.as_str()]
    );
}

#[test]
fn renames_that_fail_change_nothing() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    let before = tools.search(&["-b", SUFFIX, "-s", "sub", "*", "+"]).out;
    let check = |args: &[&str], expected: i32| {
        tools.run("ldapmodrdn", args, "").expect(expected);
        assert_eq!(
            tools.search(&["-b", SUFFIX, "-s", "sub", "*", "+"]).out,
            before,
            "{args:?}"
        );
    };
    let nobody = format!("uid=nobody,ou=People,{SUFFIX}");
    let nowhere = format!("ou=Nowhere,{SUFFIX}");
    check(&[ADA, "uid=grace"], code::ENTRY_ALREADY_EXISTS);
    check(&[&nobody, "uid=x"], code::NO_SUCH_OBJECT);
    check(&["-s", &nowhere, ADA, "uid=ada"], code::NO_SUCH_OBJECT);
    check(&[ADA, "no rdn"], code::INVALID_DN_SYNTAX);
    check(&[ADA, "noSuchType=1"], code::INVALID_DN_SYNTAX);
    check(&[ADA, "uidNumber=1"], code::OBJECT_CLASS_VIOLATION);
    // The new superior lies below the entry.
    let people = format!("ou=People,{SUFFIX}");
    let answer = tools.run("ldapmodrdn", &["-s", ADA, &people, "ou=People"], "");
    assert_ne!(answer.status, code::SUCCESS, "{answer:?}");
    assert_eq!(
        tools.search(&["-b", SUFFIX, "-s", "sub", "*", "+"]).out,
        before
    );
    let grace = Tools::bound(&subject.url(), GRACE, "grace");
    grace
        .run("ldapmodrdn", &[ADA, "uid=x"], "")
        .expect(code::INSUFFICIENT_ACCESS_RIGHTS);
}

#[test]
fn many_values_are_deleted_by_name_in_one_request() {
    let subject = Subject::with_people();
    let mut admin = subject.admin();
    let values: Vec<String> = (0..150_000).map(|it| format!("value {it:06}")).collect();
    let values: Vec<&str> = values.iter().map(String::as_str).collect();
    let all = Modification::replace("description", &values);
    admin.modify(ADA, &[all]).expect_success();
    // Looked up one by one among all remaining values, these deletes took a minute.
    let started = Instant::now();
    let (first, rest) = values.split_at(75_000);
    let backwards: Vec<&str> = rest.iter().rev().copied().collect();
    let half = Modification::delete("description", &backwards);
    admin.modify(ADA, &[half]).expect_success();
    assert!(
        started.elapsed() < Duration::from_secs(20),
        "{:?}",
        started.elapsed()
    );
    let left = admin.read(ADA).expect("she is there");
    assert_eq!(left.values("description").len(), first.len());
    // Values in other spellings are equal, and either all or none are deleted.
    let otherwise = Modification::delete("description", &["VALUE 000001", "value  000002"]);
    admin.modify(ADA, &[otherwise]).expect_success();
    let missing = Modification::delete("description", &["value 000003", "value 149999"]);
    let refused = admin.modify(ADA, &[missing]);
    assert_eq!(refused.code, ResultCode::NO_SUCH_ATTRIBUTE);
    let twice = Modification::delete("description", &["value 000003", "VALUE 000003"]);
    let refused = admin.modify(ADA, &[twice]);
    assert_eq!(refused.code, ResultCode::NO_SUCH_ATTRIBUTE);
    let left = admin.read(ADA).expect("she is there");
    assert_eq!(left.values("description").len(), first.len() - 2);
}

#[test]
fn refusals_name_what_is_missing() {
    let subject = Subject::with_people();
    let anonymous = Tools::anonymous(&subject.url());
    let change = format!("dn: {ADA}\nchangetype: modify\nreplace: sn\nsn: Byron\n");
    let refused = anonymous.modify(&change);
    refused
        .expect(code::INSUFFICIENT_ACCESS_RIGHTS)
        .says("an anonymous client has no write access to sn of this entry");
    let alone = format!("dn: cn=alone,{SUFFIX}\nobjectClass: shadowAccount\nuid: alone\n");
    let refused = subject.tools().add(&alone);
    refused
        .expect(code::OBJECT_CLASS_VIOLATION)
        .says("no structural object class: beside shadowAccount it needs one, such as person");
}
