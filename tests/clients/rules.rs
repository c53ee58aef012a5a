//! Rules for values, configured and used with OpenLDAP's tools.

use kit::{SUFFIX, Subject};

use super::{ADA, code, read};

const RULES: &str = "\
dn: cn=mail,cn=rules,cn=config
objectClass: pandoUnique
pandoUniqueAttribute: mail

dn: cn=uidNumber,cn=rules,cn=config
objectClass: pandoNumbers
pandoNumberAttribute: uidNumber
pandoNumberClass: posixAccount
pandoNumberRange: 10000-59999
pandoNumberRequest: -1
";

fn account(uid: &str, more: &str) -> String {
    format!(
        "dn: uid={uid},ou=People,{SUFFIX}\nobjectClass: account\nobjectClass: posixAccount\n\
         cn: x\ngidNumber: 100\nhomeDirectory: /home/{uid}\n{more}"
    )
}

#[test]
fn numbers_are_given_and_read_back() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    tools.run("ldapadd", &[], RULES).expect(code::SUCCESS);
    let post_read = ["-e", "postread=uidNumber"];
    for (uid, number) in [("new1", "10000"), ("new2", "10001")] {
        tools
            .run("ldapadd", &post_read, &account(uid, ""))
            .expect(code::SUCCESS)
            .says(&format!("uidNumber: {number}"));
    }
    let asked = account("new3", "uidNumber: -1\n");
    tools.run("ldapadd", &[], &asked).expect(code::SUCCESS);
    let name = format!("uid=new3,ou=People,{SUFFIX}");
    assert_eq!(read(&tools, &name).text("uidNumber"), "10002");
}

#[test]
fn a_held_value_is_refused_with_its_holder() {
    let subject = Subject::with_people();
    let tools = subject.tools();
    tools.run("ldapadd", &[], RULES).expect(code::SUCCESS);
    let add = format!("dn: {ADA}\nchangetype: modify\nadd: mail\nmail: one@example.com\n");
    tools.modify(&add).expect(code::SUCCESS);
    let taken = "objectClass: extensibleObject\nmail: One@example.com\n";
    tools
        .run("ldapadd", &[], &account("new", taken))
        .expect(code::CONSTRAINT_VIOLATION)
        .says(&format!("is held by \"{ADA}\""));
}
