//! Proxied authorization (RFC 4370).

use crate::kit::{ADMIN, Client};
use crate::{ADA, BASE, with_ada};
use protocol::extended::PasswordModifyRequest;
use protocol::{
    ChangeOperation, CompareRequest, ExtendedRequest, OwnedControl, Request, ResultCode, Scope, oid,
};

const APP: &str = "uid=app,dc=example,dc=com";
const EVE: &str = "uid=eve,dc=example,dc=com";
const DENIED: ResultCode = ResultCode::AUTHORIZATION_DENIED;

fn acting_as(identity: &str) -> [OwnedControl; 1] {
    let value = identity.as_bytes().to_vec();
    [OwnedControl::with_value(
        oid::PROXIED_AUTHORIZATION,
        true,
        |out| out.extend(value),
    )]
}

/// The answer to "Who am I?", or the code of its refusal.
fn who(client: &mut Client, identity: &str) -> Result<String, ResultCode> {
    let request = ExtendedRequest {
        name: oid::WHO_AM_I,
        value: None,
    };
    let answer = client.call(&Request::Extended(request), &acting_as(identity));
    match answer.result.code {
        ResultCode::SUCCESS => Ok(String::from_utf8(answer.value.unwrap()).unwrap()),
        code => Err(code),
    }
}

/// Ada, and two accounts, of which `app` may act as others.
fn with_app() -> (Client, Client, Client) {
    let mut admin = with_ada();
    for (dn, uid) in [(APP, "app"), (EVE, "eve")] {
        let account: [(&str, &[&str]); 3] = [
            ("objectClass", &["account", "simpleSecurityObject"]),
            ("uid", &[uid]),
            ("userPassword", &[uid]),
        ];
        assert_eq!(admin.add(dn, &account).code, ResultCode::SUCCESS);
    }
    let grant = (ChangeOperation::Add, "pandoProxy", &[APP][..]);
    assert_eq!(
        admin.modify("cn=config", &[grant]).code,
        ResultCode::SUCCESS
    );
    let (mut app, mut eve) = (admin.another(), admin.another());
    assert_eq!(app.bind(APP, "app").code, ResultCode::SUCCESS);
    assert_eq!(eve.bind(EVE, "eve").code, ResultCode::SUCCESS);
    (admin, app, eve)
}

#[test]
fn identities_in_all_their_forms() {
    let (mut admin, mut app, mut eve) = with_app();
    let ada = Ok(format!("dn:{ADA}"));
    for client in [&mut admin, &mut app] {
        assert_eq!(who(client, "dn:CN=ada,dc=example,DC=com"), ada);
        assert_eq!(who(client, "u:EVE"), Ok(format!("dn:{EVE}")));
        assert_eq!(who(client, "U:eve"), Ok(format!("dn:{EVE}")));
        assert_eq!(who(client, &format!("Dn:{ADA}")), ada);
        assert_eq!(who(client, ""), Ok(String::new()));
        assert_eq!(who(client, "dn:"), Ok(String::new()));
        for unknown in [
            "u:nobody",
            "u:",
            "dn:cn=nobody,dc=example,dc=com",
            "dn:x",
            "eve",
        ] {
            assert_eq!(who(client, unknown), Err(DENIED), "{unknown}");
        }
    }
    let admin_too = format!("dn:{ADMIN}");
    assert_eq!(who(&mut admin, &admin_too), Ok(admin_too.clone()));
    assert_eq!(who(&mut app, &admin_too), Err(DENIED));
    assert_eq!(who(&mut eve, &format!("dn:{ADA}")), Err(DENIED));
    assert_eq!(who(&mut eve, "u:eve"), Ok(format!("dn:{EVE}")));
    assert_eq!(who(&mut eve, ""), Err(DENIED));
    let mut nobody = eve.another();
    assert_eq!(who(&mut nobody, "u:eve"), Err(DENIED));
    // A user id of two entries is nobody's.
    let twin: [(&str, &[&str]); 2] = [("objectClass", &["account"]), ("uid", &["eve"])];
    let dn = format!("uid=eve,{ADA}");
    assert_eq!(admin.add(&dn, &twin).code, ResultCode::SUCCESS);
    assert_eq!(who(&mut app, "u:eve"), Err(DENIED));
}

#[test]
fn a_password_is_changed_by_an_identity_in_any_form() {
    let (mut admin, _, mut eve) = with_app();
    let change = |client: &mut Client, identity: &str, new: &str| {
        let asked = PasswordModifyRequest {
            user_identity: Some(identity),
            new_password: Some(new.as_bytes()),
            ..PasswordModifyRequest::default()
        };
        let mut value = Vec::new();
        asked.encode(&mut value);
        let request = ExtendedRequest {
            name: oid::PASSWORD_MODIFY,
            value: Some(&value),
        };
        client.call(&Request::Extended(request), &[]).result.code
    };
    let forms = [
        EVE,
        "u:eve",
        "U:EVE",
        &format!("DN:{EVE}"),
        &format!("dn:{EVE}"),
    ];
    for (number, identity) in forms.into_iter().enumerate() {
        let new = format!("new {number}");
        assert_eq!(
            change(&mut admin, identity, &new),
            ResultCode::SUCCESS,
            "{identity}"
        );
        assert_eq!(eve.bind(EVE, &new).code, ResultCode::SUCCESS, "{identity}");
    }
    assert_eq!(change(&mut eve, "u:eve", "own"), ResultCode::SUCCESS);
    assert_eq!(eve.bind(EVE, "own").code, ResultCode::SUCCESS);
    let refused = change(&mut eve, "u:app", "stolen");
    assert_eq!(refused, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    let nobody = change(&mut admin, "u:nobody", "new");
    assert_eq!(nobody, ResultCode::NO_SUCH_OBJECT);
}

#[test]
fn operations_have_the_rights_of_the_other() {
    let (mut admin, mut app, _) = with_app();
    let asked = acting_as(&format!("dn:{ADA}"));
    let password = (ChangeOperation::Replace, "userPassword", &["new"][..]);
    assert_eq!(
        app.modify(ADA, &[password]).code,
        ResultCode::INSUFFICIENT_ACCESS_RIGHTS
    );
    assert_eq!(
        app.modify_with(ADA, &[password], &asked).result.code,
        ResultCode::SUCCESS
    );
    assert_eq!(app.bind(ADA, "new").code, ResultCode::SUCCESS);
    // Ada is named as the one who modified the entry.
    let found = admin.search(ADA, Scope::BaseObject, "(cn=*)", &["modifiersName"]);
    assert_eq!(found.values("modifiersName"), [ADA]);
    // The administrator gives rights up by acting as somebody.
    let sn = (ChangeOperation::Replace, "sn", &["King"][..]);
    let refused = admin.modify_with(ADA, &[sn], &asked).result.code;
    assert_eq!(refused, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
    let entry = (ADA, Scope::BaseObject, "(cn=*)");
    let mut reads = |identity: &str| {
        let asked = acting_as(identity);
        let found = admin.search_with(entry.0, entry.1, entry.2, &["userPassword"], |_| (), &asked);
        found.entries[0].1.len()
    };
    assert_eq!(reads(""), 0);
    assert_eq!(reads(&format!("dn:{ADMIN}")), 1);
    let compare = CompareRequest {
        entry: ADA,
        attribute: "userPassword",
        value: b"new",
    };
    let compared = admin.call(&Request::Compare(compare), &acting_as("u:eve"));
    assert_eq!(compared.result.code, ResultCode::INSUFFICIENT_ACCESS_RIGHTS);
}

#[test]
fn a_long_search_stays_the_others_to_its_end() {
    let (mut admin, ..) = with_app();
    // Three slices of output.
    let long = "x".repeat(16 << 10);
    for number in 0..50 {
        let dn = format!("cn=p{number},dc=example,dc=com");
        let person: [(&str, &[&str]); 4] = [
            ("objectClass", &["person"]),
            ("sn", &["p"]),
            ("description", &[&long]),
            ("userPassword", &["{SSHA}x"]),
        ];
        assert_eq!(admin.add(&dn, &person).code, ResultCode::SUCCESS);
    }
    let asked = acting_as("u:eve");
    let wanted = ["description", "userPassword"];
    let found = admin.search_with(BASE, Scope::WholeSubtree, "(sn=p)", &wanted, |_| (), &asked);
    assert_eq!(found.result.code, ResultCode::SUCCESS);
    assert_eq!(found.entries.len(), 50);
    assert!(
        found
            .entries
            .iter()
            .all(|(_, attributes)| attributes.len() == 1)
    );
}

#[test]
fn carelessness_is_refused() {
    let (mut admin, ..) = with_app();
    let search = |client: &mut Client, controls: &[OwnedControl]| {
        let found = client.search_with(ADA, Scope::BaseObject, "(cn=*)", &[], |_| (), controls);
        found.result.code
    };
    let [mut control] = acting_as("u:eve");
    let twice = [control.clone(), control.clone()];
    assert_eq!(search(&mut admin, &twice), ResultCode::PROTOCOL_ERROR);
    control.critical = false;
    assert_eq!(
        search(&mut admin, &[control.clone()]),
        ResultCode::PROTOCOL_ERROR
    );
    control.critical = true;
    control.value = Some(vec![0xFF]);
    assert_eq!(
        search(&mut admin, &[control.clone()]),
        ResultCode::PROTOCOL_ERROR
    );
    control.value = None;
    assert_eq!(search(&mut admin, &[control]), ResultCode::PROTOCOL_ERROR);
    let wrong = (ChangeOperation::Add, "pandoProxy", &["no name"][..]);
    let refused = admin.modify("cn=config", &[wrong]).code;
    assert_eq!(refused, ResultCode::INVALID_ATTRIBUTE_SYNTAX);
}
