//! Controls of writes, sent by `ldapmodify -e` and similar tools.

use kit::tools::{Answer, Tools};
use kit::{SUFFIX, Subject};

use super::{ADA, GRACE, code, read};

/// LDIF of a change that replaces one value of Ada's entry.
fn replace(attribute: &str, value: &str) -> String {
    format!("dn: {ADA}\nchangetype: modify\nreplace: {attribute}\n{attribute}: {value}\n")
}

fn modify(subject: &Subject, args: &[&str], ldif: &str) -> Answer {
    subject.tools().run("ldapmodify", args, ldif)
}

#[test]
fn assert_makes_a_modify_conditional() {
    let subject = Subject::with_people();
    let assert = |filter: &str, value: &str| {
        let control = format!("!assert={filter}");
        modify(&subject, &["-e", &control], &replace("title", value)).status
    };
    assert_eq!(assert("(!(title=*))", "first"), code::SUCCESS);
    assert_eq!(assert("(title=first)", "second"), code::SUCCESS);
    assert_eq!(assert("(title=first)", "third"), code::ASSERTION_FAILED);
    assert_eq!(read(&subject.tools(), ADA).text("title"), "second");
    let delete = |filter: &str| {
        let control = format!("!assert={filter}");
        let answer = subject
            .tools()
            .run("ldapdelete", &["-e", &control, GRACE], "");
        answer.status
    };
    assert_eq!(delete("(uid=ada)"), code::ASSERTION_FAILED);
    assert_eq!(delete("(uid=grace)"), code::SUCCESS);
}

#[test]
fn preread_and_postread_come_with_the_response() {
    let subject = Subject::with_people();
    let read = ["-e", "!preread=title", "-e", "!postread=title,entryDN"];
    modify(&subject, &read, &replace("title", "first")).expect(code::SUCCESS);
    let answer = modify(&subject, &read, &replace("title", "second")).expect(code::SUCCESS);
    let answer = answer.says("title: first").says("title: second");
    answer.says(&format!("entryDN: {ADA}"));
    let dn = format!("uid=alan,ou=People,{SUFFIX}");
    let alan = format!("dn: {dn}\nobjectClass: account\nuid: alan\n");
    let tools = subject.tools();
    let added = tools.run("ldapadd", &["-e", "!postread=uid,entryUUID"], &alan);
    added
        .expect(code::SUCCESS)
        .says("uid: alan")
        .says("entryUUID: ");
    let renamed = tools.run(
        "ldapmodrdn",
        &["-e", "!postread=entryDN", "-r", &dn, "uid=al"],
        "",
    );
    renamed
        .expect(code::SUCCESS)
        .says(&format!("entryDN: uid=al,ou=People,{SUFFIX}"));
}

#[test]
fn noop_says_what_would_happen() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    let tried = modify(&subject, &["-e", "!noop"], &replace("title", "never"));
    // The tool cuts the result code to a byte for its exit status.
    assert_ne!(tried.status, code::SUCCESS, "{tried:?}");
    tried.says("(16654)");
    assert_eq!(read(&tools, ADA).texts("title"), Vec::<String>::new());
    let people = format!("ou=People,{SUFFIX}");
    let refused = tools.run("ldapdelete", &["-e", "!noop", &people], "");
    refused.expect(code::NOT_ALLOWED_ON_NON_LEAF);
}

#[test]
fn relax_keeps_the_identity_of_a_moved_entry() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    let uuid = "597ae2f6-16a6-1027-98f4-d28b5365dc14";
    let dn = format!("uid=moved,ou=People,{SUFFIX}");
    let moved = format!("dn: {dn}\nobjectClass: account\nuid: moved\nentryUUID: {uuid}\n");
    tools.add(&moved).expect(code::CONSTRAINT_VIOLATION);
    tools
        .run("ldapadd", &["-e", "!relax"], &moved)
        .expect(code::SUCCESS);
    let found = tools
        .search(&["-b", &dn, "-s", "base", "entryUUID"])
        .entries();
    assert_eq!(found[0].text("entryUUID"), uuid);
    let ada = Tools::bound(&subject.url(), ADA, "ada");
    let password = replace("userPassword", "new");
    let refused = ada.run("ldapmodify", &["-e", "!relax"], &password);
    refused.expect(code::INSUFFICIENT_ACCESS_RIGHTS);
}

#[test]
fn a_proxy_acts_as_others() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    let who = |tools: &Tools, identity: &str| {
        tools.run("ldapwhoami", &["-e", &format!("!authzid={identity}")], "")
    };
    let as_ada = format!("dn:{ADA}");
    who(&tools, &as_ada).expect(code::SUCCESS).says(&as_ada);
    who(&tools, "u:ada").expect(code::SUCCESS).says(&as_ada);
    // The tool prints the result code as text and exits with 1.
    who(&tools, "u:nobody").expect(1).says("(123)");
    let grace = Tools::bound(&subject.url(), GRACE, "grace");
    who(&grace, &as_ada).expect(1).says("(123)");
    let authzid = format!("!authzid={as_ada}");
    let denied = grace.run("ldapcompare", &["-e", &authzid, ADA, "uid:ada"], "");
    denied.expect(code::AUTHORIZATION_DENIED);
    let grant =
        format!("dn: cn=config\nchangetype: modify\nadd: pandoProxy\npandoProxy: {GRACE}\n");
    tools.modify(&grant).expect(code::SUCCESS);
    who(&grace, &as_ada).expect(code::SUCCESS).says(&as_ada);
    let password = replace("userPassword", "new");
    let changed = grace.run("ldapmodify", &["-e", &authzid], &password);
    changed.expect(code::SUCCESS);
    let passwd = grace.run("ldappasswd", &["-e", &authzid, "-s", "newer"], "");
    passwd.expect(code::SUCCESS);
    Tools::bound(&subject.url(), ADA, "newer")
        .run("ldapwhoami", &[], "")
        .expect(code::SUCCESS);
    let found = grace.run(
        "ldapsearch",
        &["-LLL", "-e", &authzid, "-b", ADA, "userPassword"],
        "",
    );
    assert!(!found.expect(code::SUCCESS).out.contains("userPassword"));
}

#[test]
fn a_subtree_is_deleted_at_once() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    let people = format!("ou=People,{SUFFIX}");
    tools
        .run("ldapdelete", &[&people], "")
        .expect(code::NOT_ALLOWED_ON_NON_LEAF);
    let tree = "!1.2.840.113556.1.4.805";
    tools
        .run("ldapdelete", &["-e", tree, &people], "")
        .expect(code::SUCCESS);
    let left = tools
        .search(&["-b", SUFFIX, "(uid=*)", "1.1"])
        .expect(code::SUCCESS);
    assert_eq!(left.entries().len(), 0);
    let gone = tools.search(&["-b", &people, "-s", "base"]);
    gone.expect(code::NO_SUCH_OBJECT);
}

#[test]
fn permissive_modify_repeats_itself() {
    let subject = Subject::with_people();
    let add = format!("dn: {ADA}\nchangetype: modify\nadd: title\ntitle: first\n");
    modify(&subject, &[], &add).expect(code::SUCCESS);
    modify(&subject, &[], &add).expect(code::ATTRIBUTE_OR_VALUE_EXISTS);
    let permissive = ["-e", "!1.2.840.113556.1.4.1413"];
    modify(&subject, &permissive, &add).expect(code::SUCCESS);
    let delete = format!("dn: {ADA}\nchangetype: modify\ndelete: title\ntitle: second\n");
    modify(&subject, &[], &delete).expect(code::NO_SUCH_ATTRIBUTE);
    modify(&subject, &permissive, &delete).expect(code::SUCCESS);
}
