//! `pandoRequire` and `pandoRequireAuthentication`: who does not meet the conditions is answered
//! nothing but what serves to meet them.

mod kit;

use kit::{ADMIN, Client, PASSWORD, success};
use protocol::control::PersistentSearch;
use protocol::{
    Authentication, BindRequest, ChangeOperation, ExtendedRequest, OwnedControl, Request,
    ResultCode, Scope, extended, oid,
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

fn require(admin: &mut Client, words: &[&str]) -> ResultCode {
    let change = (ChangeOperation::Replace, "pandoRequire", words);
    admin.modify("cn=config", &[change]).code
}

fn reads(client: &mut Client) -> ResultCode {
    let found = client.search(BASE, Scope::BaseObject, ALL, &["1.1"]);
    found.result.code
}

/// Binds by PLAIN, under TLS.
fn plain(client: &mut Client) {
    let request = Request::Bind(BindRequest {
        version: 3,
        name: "",
        authentication: Authentication::Sasl {
            mechanism: "PLAIN",
            credentials: Some(b"\0ada\0ada"),
        },
    });
    success(&client.call(&request, &[]).result);
}

#[test]
fn a_bind_of_some_kind_is_required() {
    const SUCCESS: ResultCode = ResultCode::SUCCESS;
    let mut admin = Client::admin().secured();
    success(&admin.bind(ADMIN, PASSWORD));
    admin.add_person("ada");
    let ada = format!("cn=ada,{BASE}");
    let names = [
        (ChangeOperation::Replace, "userPassword", &["ada"][..]),
        (ChangeOperation::Add, "objectClass", &["extensibleObject"]),
        (ChangeOperation::Add, "uid", &["ada"]),
    ];
    success(&admin.modify(&ada, &names));
    let (mut unbound, mut nobody) = (admin.another(), admin.another());
    success(&nobody.bind("", ""));
    let (mut simple, mut protected) = (admin.another(), admin.secured());
    success(&simple.bind(&ada, "ada"));
    success(&protected.bind(&ada, "ada"));
    let mut by_sasl = admin.secured();
    plain(&mut by_sasl);
    for (words, expected) in [
        (&["LDAPv3"][..], [SUCCESS; 5]),
        (&["bind"], [REFUSED, SUCCESS, SUCCESS, SUCCESS, SUCCESS]),
        (&["authc"], [REFUSED, REFUSED, SUCCESS, SUCCESS, SUCCESS]),
        (&["strong"], [REFUSED, REFUSED, REFUSED, SUCCESS, SUCCESS]),
        (&["none"], [SUCCESS; 5]),
        (&[], [SUCCESS; 5]),
    ] {
        assert_eq!(require(&mut admin, words), SUCCESS);
        let all = [
            &mut unbound,
            &mut nobody,
            &mut simple,
            &mut protected,
            &mut by_sasl,
        ];
        assert_eq!(all.map(reads), expected, "{words:?}");
    }
    for wrong in [&["krbv4"][..], &["none", "authc"]] {
        let refused = require(&mut admin, wrong);
        assert_eq!(refused, ResultCode::CONSTRAINT_VIOLATION, "{wrong:?}");
    }
    // Last: the administrator has not bound by SASL, and shuts itself out.
    assert_eq!(require(&mut admin, &["SASL"]), SUCCESS);
    let all = [&mut protected, &mut by_sasl, &mut admin];
    assert_eq!(all.map(reads), [REFUSED, SUCCESS, REFUSED]);
    // A bind that fails leaves nobody behind.
    assert_ne!(by_sasl.bind(&ada, "wrong").code, SUCCESS);
    assert_eq!(reads(&mut by_sasl), REFUSED);
}

#[test]
fn protection_is_required() {
    const UNPROTECTED: ResultCode = ResultCode::CONFIDENTIALITY_REQUIRED;
    let mut admin = Client::admin().secured();
    success(&admin.bind(ADMIN, PASSWORD));
    let mut open = admin.another();
    success(&open.bind(ADMIN, PASSWORD));
    let value = PersistentSearch {
        change_types: 15,
        changes_only: true,
        return_entry_changes: false,
    };
    let stays = OwnedControl::with_value(oid::PERSISTENT_SEARCH, true, |out| value.encode(out));
    let scope = Scope::WholeSubtree;
    open.search_with(BASE, scope, ALL, &["*"], |_| (), &[stays]);
    assert_eq!(require(&mut admin, &["tls"]), ResultCode::SUCCESS);
    let (news, _) = open.news();
    assert_eq!((news.entries.len(), news.result.code), (0, UNPROTECTED));
    assert_eq!(reads(&mut open), UNPROTECTED);
    assert_eq!(extended(&mut open, oid::WHO_AM_I, None), UNPROTECTED);
    for (name, password) in [("", ""), (ADMIN, PASSWORD), ("cn=nobody", "guess")] {
        assert_eq!(open.bind(name, password).code, UNPROTECTED, "{name}");
    }
    assert_ne!(extended(&mut open, oid::START_TLS, None), UNPROTECTED);
    let root = open.search("", Scope::BaseObject, ALL, &["+"]);
    assert_eq!(root.entries.len(), 1);
    let mut secured = admin.secured();
    assert_eq!(reads(&mut secured), ResultCode::SUCCESS);
}
