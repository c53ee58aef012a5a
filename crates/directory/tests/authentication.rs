//! `pandoRequireAuthentication`: nothing is answered without a bind but what a bind needs.

mod kit;

use kit::{ADMIN, Client, PASSWORD, success};
use protocol::control::PersistentSearch;
use protocol::{
    ChangeOperation, ExtendedRequest, OwnedControl, Request, ResultCode, Scope, extended, oid,
};

const BASE: &str = "dc=example,dc=com";
const REFUSED: ResultCode = ResultCode::STRONGER_AUTH_REQUIRED;
const ALL: &str = "(objectClass=*)";

fn switch(admin: &mut Client, value: &str) {
    let change = (
        ChangeOperation::Replace,
        "pandoRequireAuthentication",
        &[value][..],
    );
    success(&admin.modify("cn=config", &[change]));
}

fn extended(client: &mut Client, name: &str, value: Option<&[u8]>) -> ResultCode {
    let request = Request::Extended(ExtendedRequest { name, value });
    client.call(&request, &[]).result.code
}

#[test]
fn nothing_is_answered_without_a_bind() {
    let mut admin = Client::admin();
    admin.add_person("ada");
    let mut nobody = admin.another();
    success(&nobody.search(BASE, Scope::BaseObject, ALL, &["*"]).result);
    switch(&mut admin, "TRUE");
    // Also after an anonymous bind.
    for _ in 0..2 {
        for (base, scope) in [
            (BASE, Scope::BaseObject),
            ("dc=nowhere", Scope::BaseObject),
            ("", Scope::SingleLevel),
            ("", Scope::WholeSubtree),
            ("cn=Subschema", Scope::BaseObject),
            ("cn=config", Scope::BaseObject),
            ("cn=monitor", Scope::WholeSubtree),
        ] {
            let answer = nobody.search(base, scope, ALL, &["*"]);
            let told = (
                answer.result.code,
                answer.entries.len(),
                &*answer.result.matched,
            );
            assert_eq!(told, (REFUSED, 0, ""), "{base}");
        }
        let ada = format!("cn=ada,{BASE}");
        assert_eq!(nobody.compare(&ada, "sn", "ada").result.code, REFUSED);
        assert_eq!(
            nobody.compare("", "vendorName", "Pando").result.code,
            REFUSED
        );
        assert_eq!(nobody.modify(&ada, &[]).code, REFUSED);
        let classes = ("objectClass", &["person"][..]);
        assert_eq!(nobody.add("cn=eve", &[classes]).code, REFUSED);
        assert_eq!(nobody.delete_with(&ada, &[]).result.code, REFUSED);
        assert_eq!(
            nobody.rename_with(&ada, "cn=eve", None, &[]).result.code,
            REFUSED
        );
        let mut value = Vec::new();
        extended::PasswordModifyRequest {
            user_identity: Some(&ada),
            old_password: Some(b"a"),
            new_password: Some(b"b"),
        }
        .encode(&mut value);
        assert_eq!(
            extended(&mut nobody, oid::PASSWORD_MODIFY, Some(&value)),
            REFUSED
        );
        // Operations that a client needs to bind.
        assert_eq!(
            nobody
                .search("", Scope::BaseObject, ALL, &["+"])
                .entries
                .len(),
            1
        );
        assert_eq!(
            extended(&mut nobody, oid::WHO_AM_I, None),
            ResultCode::SUCCESS
        );
        assert_ne!(extended(&mut nobody, oid::START_TLS, None), REFUSED);
        success(&nobody.bind("", ""));
    }
    success(&nobody.bind(ADMIN, PASSWORD));
    success(&nobody.search(BASE, Scope::BaseObject, ALL, &["*"]).result);
    switch(&mut admin, "FALSE");
    success(&nobody.bind("", ""));
    success(&nobody.search(BASE, Scope::BaseObject, ALL, &["*"]).result);
}

#[test]
fn a_search_that_stays_ends_when_authentication_is_required() {
    let mut admin = Client::admin();
    admin.add_person("ada");
    let mut nobody = admin.another();
    let value = PersistentSearch {
        change_types: 15,
        changes_only: true,
        return_entry_changes: false,
    };
    let stays = OwnedControl::with_value(oid::PERSISTENT_SEARCH, true, |out| value.encode(out));
    let scope = Scope::WholeSubtree;
    nobody.search_with(BASE, scope, ALL, &["*"], |_| (), &[stays]);
    switch(&mut admin, "TRUE");
    admin.add_person("eve");
    let (news, _) = nobody.news();
    assert_eq!((news.entries.len(), news.result.code), (0, REFUSED));
}
