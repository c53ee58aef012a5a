//! Rights to read: secrets under any of their names, and a directory closed to anonymous clients.

use super::{ADA, SUFFIX, code};
use kit::Subject;
use kit::tools::Tools;

const NT_HASH: &str = "773C49B7E67F4858C6D550A5CF24719C";

#[test]
fn an_nt_hash_is_for_the_administrator() {
    let subject = Subject::with_people();
    let admin = subject.tools();
    let samba = format!(
        "dn: {ADA}\nchangetype: modify\nadd: objectClass\nobjectClass: sambaSamAccount\n-\n\
         add: sambaSID\nsambaSID: S-1-5-21-1\n-\nadd: sambaNTPassword\nsambaNTPassword: {NT_HASH}\n"
    );
    admin.modify(&samba).expect(code::SUCCESS);
    let anonymous = Tools::anonymous(&subject.url());
    let ada = Tools::bound(&subject.url(), ADA, "ada");
    let by_hash = format!("(sambaNTPassword={NT_HASH})");
    for (tools, sees) in [(&anonymous, false), (&ada, false), (&admin, true)] {
        let shown = tools.search(&["-b", ADA, "*", "+"]).expect(code::SUCCESS);
        assert_eq!(shown.out.contains(NT_HASH), sees);
        let found = tools.search(&["-b", SUFFIX, &by_hash, "uid"]);
        assert_eq!(found.expect(code::SUCCESS).out.contains("uid: ada"), sees);
        let compared = tools.run(
            "ldapcompare",
            &[ADA, &format!("sambaNTPassword:{NT_HASH}")],
            "",
        );
        compared.expect(match sees {
            true => code::COMPARE_TRUE,
            false => code::INSUFFICIENT_ACCESS_RIGHTS,
        });
    }
}

#[test]
fn strangers_are_asked_to_bind() {
    let subject = Subject::with_people();
    let closed = "dn: cn=config\nchangetype: modify\nadd: pandoRequireAuthentication\n\
                  pandoRequireAuthentication: TRUE\n";
    subject.tools().modify(closed).expect(code::SUCCESS);
    let anonymous = Tools::anonymous(&subject.url());
    for base in [SUFFIX, "cn=Subschema", "dc=nowhere"] {
        let refused = anonymous.search(&["-b", base]);
        refused.expect(code::STRONGER_AUTH_REQUIRED);
    }
    let root = anonymous.search(&["-b", "", "-s", "base", "+"]);
    root.expect(code::SUCCESS)
        .says("namingContexts: dc=example,dc=com");
    anonymous.run("ldapwhoami", &[], "").expect(code::SUCCESS);
    let ada = Tools::bound(&subject.url(), ADA, "ada");
    ada.search(&["-b", ADA])
        .expect(code::SUCCESS)
        .says("uid: ada");
}
