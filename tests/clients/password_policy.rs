//! Password policies, used with OpenLDAP's tools.

use kit::process::until;
use kit::tools::{Answer, Tools};
use kit::{SUFFIX, Subject};
use protocol::{ResultCode, oid};
use std::time::{Duration, Instant};

use super::{ADA, GRACE, code, read};

const POLICY: &str = "cn=default,ou=Policies,dc=example,dc=com";
/// Option that requests the response control.
const ASK: [&str; 2] = ["-e", "ppolicy"];

/// Starts a server whose default policy has these settings, and two people with passwords.
fn with_policy(settings: &str) -> Subject {
    let subject = Subject::with_people();
    let policy = format!(
        "dn: ou=Policies,{SUFFIX}\nobjectClass: organizationalUnit\n\n\
         dn: {POLICY}\nobjectClass: device\nobjectClass: pwdPolicy\n\
         pwdAttribute: userPassword\n{settings}"
    );
    let tools = subject.tools();
    tools.run("ldapadd", &[], &policy).expect(code::SUCCESS);
    let all = format!(
        "dn: cn=config\nchangetype: modify\nadd: pandoPasswordPolicy\n\
         pandoPasswordPolicy: {POLICY}\n"
    );
    tools.modify(&all).expect(code::SUCCESS);
    subject
}

/// Sets a password as the administrator, with a fast hash so that many attempts cost little.
fn set(subject: &Subject, dn: &str, password: &str) {
    let change =
        format!("dn: {dn}\nchangetype: modify\nreplace: userPassword\nuserPassword: {password}\n");
    subject.tools().modify(&change).expect(code::SUCCESS);
}

fn bind(subject: &Subject, dn: &str, password: &str) -> Answer {
    Tools::bound(&subject.url(), dn, password).run("ldapwhoami", &ASK, "")
}

#[test]
fn failures_lock_an_account_and_the_administrator_unlocks_it() {
    let subject = with_policy("pwdLockout: TRUE\npwdMaxFailure: 3\n");
    set(&subject, ADA, "right");
    bind(&subject, ADA, "right").expect(code::SUCCESS);
    for guess in ["a", "b"] {
        bind(&subject, ADA, guess).expect(code::INVALID_CREDENTIALS);
    }
    // A success resets the count.
    bind(&subject, ADA, "right").expect(code::SUCCESS);
    for guess in ["c", "d", "e"] {
        bind(&subject, ADA, guess).expect(code::INVALID_CREDENTIALS);
    }
    let locked = bind(&subject, ADA, "right").expect(code::INVALID_CREDENTIALS);
    assert!(!locked.err.contains("locked"), "{}", locked.err);
    bind(&subject, GRACE, "wrong").expect(code::INVALID_CREDENTIALS);
    noted(&subject, ADA, ("pwdFailureTime", 3));
    noted(&subject, ADA, ("pwdAccountLockedTime", 1));
    let unlock = format!("dn: {ADA}\nchangetype: modify\ndelete: pwdAccountLockedTime\n");
    subject.tools().modify(&unlock).expect(code::SUCCESS);
    bind(&subject, ADA, "wrong").expect(code::INVALID_CREDENTIALS);
    bind(&subject, ADA, "right").expect(code::SUCCESS);
}

#[test]
fn many_guesses_at_once_are_not_more_guesses() {
    let subject = with_policy("pwdLockout: TRUE\npwdMaxFailure: 3\n");
    set(&subject, ADA, "right");
    let address = subject.address();
    let guess = move |number| kit::Client::connect(address).bind(ADA, &format!("wrong{number}"));
    // Fewer than one address may try at once.
    let guesses = (0..8).map(|number| std::thread::spawn(move || guess(number)));
    for guess in guesses.collect::<Vec<_>>() {
        let outcome = guess.join().expect("a bind is answered");
        outcome.expect(ResultCode::INVALID_CREDENTIALS);
    }
    bind(&subject, ADA, "right").expect(code::INVALID_CREDENTIALS);
    noted(&subject, ADA, ("pwdFailureTime", 3));
}

#[test]
fn the_same_wrong_password_counts_once() {
    let subject = with_policy("pwdLockout: TRUE\npwdMaxFailure: 2\n");
    set(&subject, ADA, "right");
    for _ in 0..5 {
        bind(&subject, ADA, "old").expect(code::INVALID_CREDENTIALS);
        compare(&subject, ADA, "old").expect(ResultCode::COMPARE_FALSE);
    }
    bind(&subject, ADA, "right").expect(code::SUCCESS);
    noted(&subject, ADA, ("pwdFailureTime", 0));
    // The password is one of the wrong ones tried on this account, not on others.
    set(&subject, GRACE, "right");
    bind(&subject, GRACE, "old").expect(code::INVALID_CREDENTIALS);
    bind(&subject, GRACE, "older").expect(code::INVALID_CREDENTIALS);
    bind(&subject, GRACE, "right").expect(code::INVALID_CREDENTIALS);
}

#[test]
fn compares_of_passwords_are_held_against_the_policy() {
    let subject = with_policy("pwdLockout: TRUE\npwdMaxFailure: 2\n");
    set(&subject, ADA, "right");
    compare(&subject, ADA, "right").expect(ResultCode::COMPARE_TRUE);
    compare(&subject, ADA, "wrong").expect(ResultCode::COMPARE_FALSE);
    bind(&subject, ADA, "false").expect(code::INVALID_CREDENTIALS);
    let outcome = compare(&subject, ADA, "right").expect(ResultCode::COMPARE_FALSE);
    assert_eq!(outcome.control(oid::PASSWORD_POLICY), None);
    noted(&subject, ADA, ("pwdFailureTime", 2));
    // The scheme is slow to verify.
    let modern = "{ARGON2}$argon2id$v=19$m=64,t=1,p=1$c29tZXNhbHRzb21lc2FsdA$\
                  wrongwrongwrongwrongwrongwrongwrongwrongwro";
    set(&subject, GRACE, modern);
    for guess in ["a", "b"] {
        compare(&subject, GRACE, guess).expect(ResultCode::COMPARE_FALSE);
    }
    noted(&subject, GRACE, ("pwdAccountLockedTime", 1));
}

#[test]
fn after_a_failure_no_password_is_taken_for_a_while() {
    let subject = with_policy("pwdMinDelay: 1\npwdMaxDelay: 3600\n");
    set(&subject, ADA, "right");
    bind(&subject, ADA, "wrong").expect(code::INVALID_CREDENTIALS);
    // The machine's speed is unknown: at least one of the waits so far took one second.
    let began = Instant::now();
    while bind(&subject, ADA, "right").status != code::SUCCESS {
        assert!(began.elapsed() < Duration::from_secs(30), "it never ends");
    }
    let slow = with_policy("pwdMinDelay: 3600\npwdMaxDelay: 7200\n");
    set(&slow, ADA, "right");
    bind(&slow, ADA, "wrong").expect(code::INVALID_CREDENTIALS);
    bind(&slow, ADA, "right").expect(code::INVALID_CREDENTIALS);
    // A new password ends the lock.
    set(&slow, ADA, "new");
    bind(&slow, ADA, "new").expect(code::SUCCESS);
}

/// Compares a password as the administrator, who requests the policy control.
fn compare(subject: &Subject, dn: &str, password: &str) -> kit::Outcome {
    let mut admin = subject.admin();
    let asked = [protocol::OwnedControl::new(oid::PASSWORD_POLICY, false)];
    let compared = admin
        .session()
        .compare(dn, "userPassword", password.as_bytes(), &asked);
    compared.expect("it is answered")
}

#[test]
fn a_lock_by_hand_stays_until_it_is_taken_away() {
    let subject = with_policy("pwdLockout: TRUE\n");
    set(&subject, ADA, "right");
    let lock = format!(
        "dn: {ADA}\nchangetype: modify\nadd: pwdAccountLockedTime\n\
         pwdAccountLockedTime: 000001010000Z\n"
    );
    subject.tools().modify(&lock).expect(code::SUCCESS);
    bind(&subject, ADA, "right").expect(code::INVALID_CREDENTIALS);
    let own = Tools::bound(&subject.url(), GRACE, "grace");
    let unlock = format!("dn: {ADA}\nchangetype: modify\ndelete: pwdAccountLockedTime\n");
    own.modify(&unlock).expect(code::INSUFFICIENT_ACCESS_RIGHTS);
    subject.tools().modify(&unlock).expect(code::SUCCESS);
    bind(&subject, ADA, "right").expect(code::SUCCESS);
}

#[test]
fn a_password_warns_expires_and_has_grace() {
    let subject = with_policy("pwdMaxAge: 1000\npwdExpireWarning: 1000\npwdGraceAuthNLimit: 2\n");
    set(&subject, ADA, "right");
    bind(&subject, ADA, "right")
        .expect(code::SUCCESS)
        .says("Password expires in");
    let plain = Tools::bound(&subject.url(), ADA, "right").run("ldapwhoami", &[], "");
    assert!(!plain.expect(code::SUCCESS).err.contains("expires in"));
    aged(&subject, ADA);
    for left in ["1", "0"] {
        bind(&subject, ADA, "right")
            .expect(code::SUCCESS)
            .says(&format!("{left} grace logins"));
    }
    bind(&subject, ADA, "right")
        .expect(code::INVALID_CREDENTIALS)
        .says("Password expired");
    noted(&subject, ADA, ("pwdGraceUseTime", 2));
    set(&subject, ADA, "other");
    bind(&subject, ADA, "other").expect(code::SUCCESS);
    assert!(read_all(&subject, ADA).texts("pwdGraceUseTime").is_empty());
}

#[test]
fn a_reset_password_is_good_for_being_changed() {
    let subject = with_policy("pwdMustChange: TRUE\n");
    set(&subject, ADA, "reset");
    // The request after the bind is refused.
    bind(&subject, ADA, "reset")
        .expect(1)
        .says("Password must be changed");
    let own = Tools::bound(&subject.url(), ADA, "reset");
    own.search(&["-b", SUFFIX, "-s", "base"])
        .expect(code::INSUFFICIENT_ACCESS_RIGHTS);
    own.run("ldappasswd", &["-a", "reset", "-s", "mine"], "")
        .expect(code::SUCCESS);
    bind(&subject, ADA, "mine").expect(code::SUCCESS);
    assert_eq!(read_all(&subject, ADA).texts("pwdReset").len(), 0);
}

#[test]
fn new_passwords_are_held_against_the_policy() {
    let subject = with_policy("pwdCheckQuality: 2\npwdMinLength: 6\npwdInHistory: 2\n");
    // The administrator may set the password.
    set(&subject, ADA, "short");
    let change = |old: &str, new: &str| {
        let own = Tools::bound(&subject.url(), ADA, old);
        own.run("ldappasswd", &["-e", "ppolicy", "-a", old, "-s", new], "")
    };
    let refused = change("short", "tiny").expect(1);
    refused.says("Password is too short for policy");
    change("short", "long-enough").expect(code::SUCCESS);
    for used in ["long-enough", "another-one"] {
        change("long-enough", used);
    }
    let refused = change("another-one", "long-enough").expect(1);
    refused.says("password is in list of old passwords");
    let entry = subject.tools();
    let history = |tools: &Tools| {
        let answer = tools.search(&["-b", ADA, "-s", "base", "pwdHistory"]);
        let entry = answer.expect(code::SUCCESS).entries().remove(0);
        entry.texts("pwdHistory").len()
    };
    assert_eq!(history(&entry), 2);
    let other = Tools::bound(&subject.url(), GRACE, "grace");
    assert_eq!(history(&other), 0, "former passwords are secret");
}

#[test]
fn account_usability_tells_what_the_policy_says() {
    let subject = with_policy("pwdMaxAge: 1000\npwdLockout: TRUE\npwdMaxFailure: 1\n");
    set(&subject, ADA, "right");
    let usability = || {
        let asked = ["-E", "!accountUsability", "-b", ADA, "-s", "base", "1.1"];
        subject.tools().search(&asked).expect(code::SUCCESS)
    };
    usability().says("accountUsability: available expire=");
    aged(&subject, ADA);
    usability().says("expired");
    bind(&subject, ADA, "wrong").expect(code::INVALID_CREDENTIALS);
    until("the failure is noted", || {
        usability().out.contains("inactive").then_some(())
    });
}

#[test]
fn an_entry_may_have_a_policy_of_its_own() {
    let subject = with_policy("pwdLockout: TRUE\npwdMaxFailure: 1\n");
    set(&subject, ADA, "right");
    let lenient = format!(
        "dn: cn=lenient,ou=Policies,{SUFFIX}\nobjectClass: device\nobjectClass: pwdPolicy\n\
         pwdAttribute: userPassword\n"
    );
    let tools = subject.tools();
    tools.run("ldapadd", &[], &lenient).expect(code::SUCCESS);
    let own = format!(
        "dn: {ADA}\nchangetype: modify\nadd: pwdPolicySubentry\n\
         pwdPolicySubentry: cn=lenient,ou=Policies,{SUFFIX}\n"
    );
    tools.modify(&own).expect(code::SUCCESS);
    for _ in 0..3 {
        bind(&subject, ADA, "wrong").expect(code::INVALID_CREDENTIALS);
    }
    bind(&subject, ADA, "right").expect(code::SUCCESS);
    assert!(read_all(&subject, ADA).texts("pwdFailureTime").is_empty());
}

#[test]
fn an_entry_whose_policy_is_not_there_has_none() {
    let subject = with_policy("pwdLockout: TRUE\npwdMaxFailure: 1\n");
    set(&subject, ADA, "right");
    let tools = subject.tools();
    let own = format!(
        "dn: {ADA}\nchangetype: modify\nadd: pwdPolicySubentry\n\
         pwdPolicySubentry: cn=No Policy,ou=Policies,{SUFFIX}\n"
    );
    tools.modify(&own).expect(code::SUCCESS);
    for _ in 0..6 {
        bind(&subject, ADA, "wrong").expect(code::INVALID_CREDENTIALS);
    }
    bind(&subject, ADA, "right").expect(code::SUCCESS);
    assert!(read_all(&subject, ADA).texts("pwdFailureTime").is_empty());
}

/// Waits until the attribute has so many values: attempts are recorded after their answers.
fn noted(subject: &Subject, dn: &str, (attribute, count): (&str, usize)) {
    until(&format!("{attribute} has {count} values"), || {
        let values = read_all(subject, dn).texts(attribute).len();
        (values == count).then_some(())
    });
}

/// Returns the entry with its operational attributes.
fn read_all(subject: &Subject, dn: &str) -> kit::Entry {
    let answer = subject.tools().search(&["-b", dn, "-s", "base", "+"]);
    answer.expect(code::SUCCESS).entries().remove(0)
}

/// Makes a password old by setting its time to the past.
fn aged(subject: &Subject, dn: &str) {
    let old = format!(
        "dn: {dn}\nchangetype: modify\nreplace: pwdChangedTime\npwdChangedTime: 20200101000000Z\n"
    );
    let relaxed = subject.tools().run("ldapmodify", &["-e", "relax"], &old);
    relaxed.expect(code::SUCCESS);
    assert_eq!(read(&subject.tools(), dn).name, dn);
}
