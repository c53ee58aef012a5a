//! Clients that guess passwords: they are slowed down, and users log in meanwhile.

use std::fs;

use kit::client::Outcome;
use kit::{ADMIN, Client, PASSWORD, Pando};
use protocol::extended::PasswordModifyRequest;
use protocol::{ResultCode, Scope, oid};

const ADA: &str = "uid=ada,ou=People,dc=example,dc=com";
/// The password of ADA.
const OWN: &str = "ada";
const COUNTER: &str = "cn=Throttled Binds,cn=Statistics,cn=monitor";

/// Serves a node with people and these settings, whose password checks are fast.
fn served(settings: &str) -> Pando {
    let mut pando = Pando::init();
    let text = format!("{settings}\n[passwords]\nscheme = \"{{SSHA}}\"\n");
    fs::write(pando.node().join("pando.toml"), text).expect("our own folder");
    pando.serve();
    let mut admin = pando.admin();
    for entry in kit::people::sample() {
        admin.add(&entry).expect_success();
    }
    pando
}

/// Binds once on a new connection from an address of this machine.
fn bind(pando: &Pando, from: [u8; 4], name: &str, password: &str) -> Outcome {
    Client::connect_from(from, pando.address()).bind(name, password)
}

/// Tries wrong passwords until one is not looked at. Returns their number.
fn guess(pando: &Pando, from: [u8; 4], name: &str) -> usize {
    for count in 0..1_000 {
        let answer = bind(pando, from, name, &format!("wrong{count}"));
        match answer.code {
            ResultCode::INVALID_CREDENTIALS => {}
            ResultCode::BUSY => {
                let text = &answer.diagnostic;
                assert!(text.contains("too many wrong passwords"), "{text}");
                return count;
            }
            _ => panic!("{answer}"),
        }
    }
    panic!("guessing is not limited")
}

#[test]
fn guesses_are_limited_and_a_known_user_logs_in() {
    let pando = served("");
    let home = [127, 0, 0, 2];
    bind(&pando, home, ADA, OWN).expect_success();
    // One more may be tried after each six seconds.
    let first = guess(&pando, [127, 0, 0, 3], ADA);
    assert!((10..=11).contains(&first), "{first}");
    // However many addresses guess, and whether or not there is the account.
    for name in [ADA, "uid=nobody,ou=People,dc=example,dc=com"] {
        let tried: usize = (1..=60)
            .map(|last| guess(&pando, [127, 0, 1, last], name))
            .sum();
        assert!((85..=130).contains(&tried), "{name}: {tried}");
    }
    let late = bind(&pando, [127, 0, 0, 4], ADA, OWN);
    assert_eq!(
        late.code,
        ResultCode::BUSY,
        "the right password, at a new address"
    );
    bind(&pando, home, ADA, OWN).expect_success();
    let mut admin = pando.admin();
    let counted = admin.search(
        COUNTER,
        Scope::BaseObject,
        "(objectClass=*)",
        &["monitorCounter"],
    );
    let counted: usize = counted
        .only()
        .text("monitorCounter")
        .parse()
        .expect("a number");
    assert!(counted >= 122, "{counted}");
}

#[test]
fn one_address_cannot_try_all_accounts() {
    let pando = served("");
    let tried: usize = (0..40)
        .map(|at| {
            guess(
                &pando,
                [127, 0, 0, 5],
                &format!("uid=user{at},dc=example,dc=com"),
            )
        })
        .sum();
    assert!((100..=200).contains(&tried), "{tried}");
    bind(&pando, [127, 0, 0, 6], ADA, OWN).expect_success();
}

#[test]
fn limits_can_be_switched_off() {
    let pando = served("[connections]\nwrong_passwords_max = 0\n");
    for _ in 0..200 {
        let answer = bind(&pando, [127, 0, 0, 3], ADA, "wrong");
        assert_eq!(answer.code, ResultCode::INVALID_CREDENTIALS);
    }
    bind(&pando, [127, 0, 0, 3], ADA, OWN).expect_success();
}

#[test]
fn the_administrator_binds_from_where_the_settings_say() {
    let pando = served("");
    // 127.0.0.9 is an address of this machine.
    bind(&pando, [127, 0, 0, 9], ADMIN, PASSWORD).expect_success();
    let file = pando.node().join("pando.toml");
    let text = "administrator_from = [\"127.0.0.9\", \"10.0.0.0/8\"]\n";
    fs::write(&file, text).expect("our own folder");
    pando
        .run_on_node(&["reload"], &[])
        .expect(0)
        .says("administrator_from");
    bind(&pando, [127, 0, 0, 9], ADMIN, PASSWORD).expect_success();
    for password in [PASSWORD, "wrong"] {
        let answer = bind(&pando, [127, 0, 0, 1], ADMIN, password);
        assert_eq!(answer.code, ResultCode::UNWILLING_TO_PERFORM, "{password}");
        assert!(answer.diagnostic.contains("administrator_from"));
    }
    bind(&pando, [127, 0, 0, 1], ADA, OWN).expect_success();
    fs::write(&file, "administrator_from = [\"remote\"]\n").expect("our own folder");
    pando
        .run_on_node(&["reload"], &[])
        .expect(1)
        .says("got \"remote\"");
}

#[test]
fn a_relay_on_the_same_machine_need_not_be_trusted() {
    let pando = served("");
    let file = pando.node().join("pando.toml");
    fs::write(&file, "trust_local = false\n").expect("our own folder");
    pando
        .run_on_node(&["reload"], &[])
        .expect(0)
        .says("trust_local");
    let answer = bind(&pando, [127, 0, 0, 1], ADA, OWN);
    assert_eq!(answer.code, ResultCode::CONFIDENTIALITY_REQUIRED);
    fs::write(&file, "trust_local = false\nallow_cleartext_binds = true\n").expect("ours");
    pando.run_on_node(&["reload"], &[]).expect(0);
    bind(&pando, [127, 0, 0, 1], ADA, OWN).expect_success();
    let administrator = bind(&pando, [127, 0, 0, 1], ADMIN, PASSWORD);
    assert_eq!(administrator.code, ResultCode::UNWILLING_TO_PERFORM);
}

/// An attacker with a user's session learns the password no faster than by binds.
#[test]
fn compares_and_changes_of_a_password_are_guesses_too() {
    let pando = served("");
    let tries = |guess: &dyn Fn(&mut Client, &str) -> Outcome, from: [u8; 4]| -> usize {
        let mut ada = Client::connect_from(from, pando.address());
        ada.bind(ADA, OWN).expect_success();
        let wrong = (0..1_000).map(|number| format!("wrong{number}"));
        let mut codes = wrong.map(|it| guess(&mut ada, &it).code);
        let tried = codes.position(|it| it == ResultCode::BUSY);
        // The right one is not verified either.
        assert_eq!(guess(&mut ada, OWN).code, ResultCode::BUSY);
        tried.expect("guessing is limited")
    };
    let compare = |ada: &mut Client, password: &str| ada.compare(ADA, "userPassword", password);
    let change = |ada: &mut Client, password: &str| {
        let mut value = Vec::new();
        PasswordModifyRequest {
            user_identity: None,
            old_password: Some(password.as_bytes()),
            new_password: Some(OWN.as_bytes()),
        }
        .encode(&mut value);
        ada.extended(oid::PASSWORD_MODIFY, Some(&value))
    };
    for tried in [
        tries(&compare, [127, 0, 0, 2]),
        tries(&change, [127, 0, 0, 3]),
    ] {
        assert!((10..=11).contains(&tried), "{tried}");
    }
}
