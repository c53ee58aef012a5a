//! Controls of writes, as `ldapmodify -e` and its siblings send them.

use kit::tools::Answer;
use kit::{SUFFIX, Subject};

use super::{ADA, GRACE, code, read};

/// The LDIF of a change that replaces one value of Ada's entry.
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
