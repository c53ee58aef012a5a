//! The tools `ldapwhoami`, `ldappasswd` and `ldapexop`.
//!
//! The last two print the result code as text and always exit with 1 on failure.

use kit::tools::Tools;
use kit::{ADMIN, Subject};

use super::{ADA, EDSGER, GRACE, code, read};

#[test]
fn who_am_i() {
    let subject = Subject::with_people();
    let anonymous = Tools::anonymous(&subject.url());
    anonymous
        .run("ldapwhoami", &[], "")
        .expect(code::SUCCESS)
        .says("anonymous");
    let admin = subject.tools();
    admin
        .run("ldapwhoami", &[], "")
        .expect(code::SUCCESS)
        .says(&format!("dn:{ADMIN}"));
    admin
        .run("ldapexop", &["whoami"], "")
        .expect(code::SUCCESS)
        .says(ADMIN);
}

#[test]
fn password_of_oneself() {
    let subject = Subject::with_people();
    let url = subject.url();
    let ada = Tools::bound(&url, ADA, "ada");
    let wrong = ada
        .run("ldappasswd", &["-a", "wrong", "-s", "new"], "")
        .expect(1);
    // RFC 3062 leaves the code open: unwillingToPerform here, invalidCredentials on other servers.
    assert!(
        wrong.out.contains("(53)") || wrong.out.contains("(49)"),
        "{wrong:?}"
    );
    ada.run("ldappasswd", &["-a", "ada", "-s", "new"], "")
        .expect(code::SUCCESS);
    ada.run("ldapwhoami", &[], "")
        .expect(code::INVALID_CREDENTIALS);
    Tools::bound(&url, ADA, "new")
        .run("ldapwhoami", &[], "")
        .expect(code::SUCCESS);
    let stored = read(&subject.tools(), ADA).text("userPassword");
    assert!(
        stored.starts_with('{'),
        "a new password is stored hashed, not as {stored:?}"
    );
}

#[test]
fn password_of_somebody_else() {
    let subject = Subject::with_people();
    let url = subject.url();
    let admin = subject.tools();
    admin
        .run("ldappasswd", &["-s", "first", EDSGER], "")
        .expect(code::SUCCESS);
    Tools::bound(&url, EDSGER, "first")
        .run("ldapwhoami", &[], "")
        .expect(code::SUCCESS);
    let ada = Tools::bound(&url, ADA, "ada");
    let refused = ada.run("ldappasswd", &["-s", "stolen", GRACE], "");
    assert_ne!(refused.status, code::SUCCESS, "{refused:?}");
    Tools::bound(&url, GRACE, "grace")
        .run("ldapwhoami", &[], "")
        .expect(code::SUCCESS);
    let missing = "uid=nobody,ou=People,dc=example,dc=com";
    let refused = admin.run("ldappasswd", &["-s", "x", missing], "");
    assert_ne!(refused.status, code::SUCCESS, "{refused:?}");
    let anonymous = Tools::anonymous(&url);
    let refused = anonymous.run("ldappasswd", &["-s", "x", ADA], "");
    assert_ne!(refused.status, code::SUCCESS, "{refused:?}");
}

#[test]
fn generated_password() {
    let subject = Subject::with_people();
    let answer = subject
        .tools()
        .run("ldappasswd", &[ADA], "")
        .expect(code::SUCCESS);
    let password = answer
        .out
        .lines()
        .find_map(|line| line.strip_prefix("New password: "))
        .unwrap_or_else(|| panic!("no password in {answer:?}"));
    assert!(password.len() >= 8, "{password}");
    let ada = Tools::bound(&subject.url(), ADA, password);
    ada.run("ldapwhoami", &[], "").expect(code::SUCCESS);
}

#[test]
fn cancel_of_nothing() {
    let subject = Subject::from_env();
    let answer = subject.tools().run("ldapexop", &["cancel", "4711"], "");
    answer.expect(1).says("(119)");
}

#[test]
fn unknown_extended_operation() {
    let subject = Subject::from_env();
    let answer = subject.tools().run("ldapexop", &["1.2.3.4.5.6.7.8.9"], "");
    // RFC 4511 §4.12.
    answer.expect(1).says("Protocol error (2)");
}
