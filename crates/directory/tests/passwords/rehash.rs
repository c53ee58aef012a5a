//! Passwords that are stored in another form after a bind.

use super::{ADA, add_ada, change, set};
use crate::kit::{ADMIN, Client, PASSWORD, options, success};
use directory::Options;
use policy::PasswordSettings;
use policy::password::{Scheme, hash};
use protocol::ChangeOperation::{Add, Replace};
use protocol::{ResultCode, Scope};
use std::time::{Duration, Instant};

const POLICY: &str = "cn=policy,dc=example,dc=com";

/// The administrator of a directory that hashes passwords anew as {SSHA512}, and the account `ada`
/// with this stored password.
fn world(stored: &str) -> Client {
    let options = Options {
        passwords: PasswordSettings {
            scheme: Scheme::Ssha512,
            rehash_on_bind: true,
            ..PasswordSettings::default()
        },
        ..options()
    };
    let mut admin = Client::admin().reopen_with(&options);
    success(&admin.bind(ADMIN, PASSWORD));
    add_ada(&mut admin, stored);
    admin
}

/// A policy for everybody with these attributes.
fn police(admin: &mut Client, attributes: &[(&str, &[&str])]) {
    let entry = [
        ("objectClass", &["device", "pwdHashingPolicy"][..]),
        ("pwdAttribute", &["userPassword"]),
    ];
    success(&admin.add(POLICY, &[&entry, attributes].concat()));
    let all = [(Add, "pandoPasswordPolicy", &[POLICY][..])];
    success(&admin.modify("cn=config", &all));
}

fn values(admin: &mut Client, attribute: &str) -> Vec<String> {
    let found = admin.search(ADA, Scope::BaseObject, "(objectClass=*)", &[attribute]);
    found
        .values(attribute)
        .into_iter()
        .map(str::to_owned)
        .collect()
}

/// Waits until the stored password begins with this.
fn comes_to_begin(admin: &mut Client, scheme: &str) {
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let stored = values(admin, "userPassword");
        if stored.iter().all(|it| it.starts_with(scheme)) {
            return;
        }
        assert!(Instant::now() < until, "still {stored:?}");
        std::thread::yield_now();
    }
}

/// Binds as another account, whose password is hashed anew as well, and waits for that: by then
/// what came before it was hashed anew, if it was to be.
fn settle(admin: &mut Client) {
    let barrier = "cn=barrier,dc=example,dc=com";
    let entry = [
        ("objectClass", &["person"][..]),
        ("sn", &["barrier"]),
        ("userPassword", &["{SHA}L55TUjtiq8FBorTWAZ0jy6g129A="]),
        ("pwdPolicySubentry", &["cn=none"]),
    ];
    success(&admin.add(barrier, &entry));
    success(&admin.another().bind(barrier, "correct horse"));
    let until = Instant::now() + Duration::from_secs(20);
    loop {
        let found = admin.search(
            barrier,
            Scope::BaseObject,
            "(objectClass=*)",
            &["userPassword"],
        );
        if found.values("userPassword")[0].starts_with("{SSHA512}") {
            success(&admin.delete_with(barrier, &[]).result);
            return;
        }
        assert!(Instant::now() < until, "the barrier was not hashed anew");
        std::thread::yield_now();
    }
}

#[test]
fn a_right_password_is_stored_anew_once_and_ends_no_connection() {
    let ssha = hash(Scheme::Ssha, b"secret").unwrap();
    let mut admin = world(&ssha);
    let operational = ["entryCSN", "modifyTimestamp", "modifiersName"];
    let before = operational.map(|it| values(&mut admin, it));
    let mut early = admin.another();
    // A bind with a wrong password changes nothing, nor does a compare.
    assert_eq!(
        early.bind(ADA, "wrong").code,
        ResultCode::INVALID_CREDENTIALS
    );
    assert_eq!(
        admin.compare(ADA, "userPassword", "secret").result.code,
        ResultCode::COMPARE_TRUE
    );
    settle(&mut admin);
    assert_eq!(values(&mut admin, "userPassword"), [ssha]);
    success(&early.bind(ADA, "secret"));
    comes_to_begin(&mut admin, "{SSHA512}");
    let after = operational.map(|it| values(&mut admin, it));
    assert_ne!(before[0], after[0]);
    assert_eq!(before[1..], after[1..]);
    // A further bind finds nothing to do.
    let stored = values(&mut admin, "userPassword");
    success(&admin.another().bind(ADA, "secret"));
    settle(&mut admin);
    assert_eq!(values(&mut admin, "userPassword"), stored);
    // The connection that was bound before goes on, until the password changes.
    let own = [(Replace, "description", &["mine"][..])];
    let answered = early.search(ADA, Scope::BaseObject, "(objectClass=*)", &["cn"]);
    success(&answered.result);
    success(&set(&mut admin, &["other"]));
    let ended = early.modify(ADA, &own);
    assert_eq!(ended.code, ResultCode::STRONGER_AUTH_REQUIRED);
}

#[test]
fn neither_age_nor_history_nor_state_of_an_account_change() {
    let mut admin = world("{SHA}L55TUjtiq8FBorTWAZ0jy6g129A=");
    police(
        &mut admin,
        &[
            ("pwdInHistory", &["3"]),
            ("pwdMaxAge", &["86400"]),
            ("pwdMustChange", &["TRUE"]),
            ("pwdLockout", &["TRUE"]),
            ("pwdMaxFailure", &["5"]),
        ],
    );
    success(&set(&mut admin, &["{MD5}PLTnMmMfR+brlh80VUt83g=="]));
    let state = ["pwdChangedTime", "pwdHistory", "pwdReset", "pwdFailureTime"];
    let before = state.map(|it| values(&mut admin, it));
    assert_eq!(before[2], ["TRUE"]);
    success(&admin.another().bind(ADA, "correct horse"));
    comes_to_begin(&mut admin, "{SSHA512}");
    assert_eq!(state.map(|it| values(&mut admin, it)), before);
}

#[test]
fn a_policy_comes_before_the_setting() {
    let mut admin = world("{MD5}PLTnMmMfR+brlh80VUt83g==");
    police(&mut admin, &[("pwdRehashOnBind", &["FALSE"])]);
    success(&admin.another().bind(ADA, "correct horse"));
    settle(&mut admin);
    assert_eq!(
        values(&mut admin, "userPassword"),
        ["{MD5}PLTnMmMfR+brlh80VUt83g=="]
    );
    let told = [
        (Replace, "pwdRehashOnBind", &["TRUE"][..]),
        (Add, "pwdDefaultHash", &["{ARGON2ID} m=64,t=1,p=1"]),
    ];
    success(&admin.modify(POLICY, &told));
    success(&admin.another().bind(ADA, "correct horse"));
    comes_to_begin(&mut admin, "{ARGON2ID}$argon2id$v=19$m=64,t=1,p=1$");
    // More is asked for than the stored value costs.
    let told = [(Replace, "pwdDefaultHash", &["{ARGON2ID} m=128,t=1,p=1"][..])];
    success(&admin.modify(POLICY, &told));
    success(&admin.another().bind(ADA, "correct horse"));
    comes_to_begin(&mut admin, "{ARGON2ID}$argon2id$v=19$m=128,t=1,p=1$");
    // New passwords have that form as well, whoever sets them.
    success(&set(&mut admin, &["correct horse"]));
    comes_to_begin(&mut admin, "{ARGON2ID}$argon2id$v=19$m=128,t=1,p=1$");
    let mut user = admin.another();
    success(&user.bind(ADA, "correct horse"));
    success(&set(&mut user, &["second"]));
    success(&set(&mut user, &["correct horse"]));
    comes_to_begin(&mut admin, "{ARGON2ID}$argon2id$v=19$m=128,t=1,p=1$");
    let eve = "cn=eve,dc=example,dc=com";
    let person = [
        ("objectClass", &["person"][..]),
        ("sn", &["x"]),
        ("userPassword", &["first"]),
    ];
    success(&admin.add(eve, &person));
    let found = admin.search(eve, Scope::BaseObject, "(objectClass=*)", &["userPassword"]);
    let stored = found.values("userPassword")[0].to_owned();
    assert!(
        stored.starts_with("{ARGON2ID}$argon2id$v=19$m=128,"),
        "{stored}"
    );
    // A setting that cannot be met counts as none, and nothing becomes weaker.
    let told = [(Replace, "pwdDefaultHash", &["{MD5}"][..])];
    success(&admin.modify(POLICY, &told));
    success(&admin.another().bind(ADA, "correct horse"));
    settle(&mut admin);
    let stored = values(&mut admin, "userPassword");
    assert!(stored[0].starts_with("{ARGON2ID}"), "{stored:?}");
}

#[test]
fn checks_of_the_former_value_stay_right() {
    let slow = hash(
        "{PBKDF2-SHA256} rounds=1000"
            .parse::<policy::Hashing>()
            .unwrap(),
        b"old",
    );
    let slow = slow.unwrap();
    let meanwhile = |admin: &mut Client| {
        success(&admin.another().bind(ADA, "old"));
        comes_to_begin(admin, "{ARGON2ID}");
    };
    let world = || {
        let mut admin = world(&slow);
        police(
            &mut admin,
            &[("pwdDefaultHash", &["{ARGON2ID} m=64,t=1,p=1"])],
        );
        admin
    };
    let mut admin = world();
    let mut user = admin.another();
    success(&user.bind_late(ADA, "old", || meanwhile(&mut admin)));
    let mut admin = world();
    let mut user = admin.another();
    let wrong = user.bind_late(ADA, "wrong", || meanwhile(&mut admin));
    assert_eq!(wrong.code, ResultCode::INVALID_CREDENTIALS);
    let mut admin = world();
    let mut user = admin.another();
    success(&user.bind(ADA, "old"));
    comes_to_begin(&mut admin, "{ARGON2ID}");
    success(&change(&mut user, Some("old"), Some("newer"), &[]).result);
    assert_eq!(
        admin.another().bind(ADA, "old").code,
        ResultCode::INVALID_CREDENTIALS
    );
}

#[test]
fn des_is_right_only_where_the_settings_allow_it() {
    for allow_des in [false, true] {
        let options = Options {
            passwords: PasswordSettings {
                scheme: Scheme::Ssha512,
                allow_des,
                ..PasswordSettings::default()
            },
            ..options()
        };
        let mut admin = Client::admin().reopen_with(&options);
        success(&admin.bind(ADMIN, PASSWORD));
        add_ada(&mut admin, "{CRYPT}./17m29LFAflg");
        let bound = admin.another().bind(ADA, "secret").code == ResultCode::SUCCESS;
        assert_eq!(bound, allow_des);
        let compared = admin.compare(ADA, "userPassword", "secret").result.code;
        assert_eq!(compared == ResultCode::COMPARE_TRUE, allow_des);
        let changed = change(&mut admin, Some("secret"), Some("newer"), &[])
            .result
            .code;
        assert_eq!(changed == ResultCode::SUCCESS, allow_des);
    }
}
