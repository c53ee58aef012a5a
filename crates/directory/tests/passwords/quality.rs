//! Rules of a policy for new passwords, whatever form the change has.

use super::{ADA, change, set};
use crate::kit::{ADMIN, Client, PASSWORD, options, success};
use directory::Options;
use policy::quality::{NoLists, PasswordLists};
use protocol::ChangeOperation::{Add, Delete, Replace};
use protocol::{OwnedControl, ResultCode, oid};
use std::sync::Arc;

const POLICY: &str = "cn=policy,dc=example,dc=com";

/// The administrator and a person whose password is `right`, under a policy with these rules.
fn world(rules: &[(&str, &str)], lists: Arc<dyn PasswordLists>) -> (Client, Client) {
    let options = Options { lists, ..options() };
    let mut admin = Client::admin().reopen_with(&options);
    success(&admin.bind(ADMIN, PASSWORD));
    let classes = ["device", "pwdPolicy", "pandoPasswordQuality"];
    let entry = [
        ("objectClass", &classes[..]),
        ("pwdAttribute", &["userPassword"]),
        ("pwdCheckQuality", &["1"]),
    ];
    success(&admin.add(POLICY, &entry));
    for (name, value) in rules {
        success(&admin.modify(POLICY, &[(Add, name, &[*value][..])]));
    }
    let all = [(Add, "pandoPasswordPolicy", &[POLICY][..])];
    success(&admin.modify("cn=config", &all));
    admin.add_person("ada");
    success(&admin.modify(ADA, &[(Add, "cn", &["Lovelace"][..])]));
    success(&set(&mut admin, &["right"]));
    let mut ada = admin.another();
    success(&ada.bind(ADA, "right"));
    (admin, ada)
}

#[test]
fn a_weak_password_is_refused_by_the_rule_that_it_breaks() {
    let rules = [
        ("pwdMinLength", "6"),
        ("passwordMinDigits", "2"),
        ("passwordMinCategories", "3"),
        ("passwordMaxRepeats", "2"),
        ("pandoPasswordMinDifference", "3"),
    ];
    let (mut admin, mut ada) = world(&rules, Arc::new(NoLists));
    let asked = [OwnedControl::new(oid::PASSWORD_POLICY, false)];
    for (weak, error, text) in [
        ("aB1", 6, "at least 6 characters"),
        ("abcDef1", 5, "at least 2 digits, got 1"),
        ("abcdef12", 5, "at least 3 kinds of characters, got 2"),
        ("abcDDD12", 5, "at most 2 times in a row, got 3"),
        ("12-Lovelace", 5, "without names of its user"),
    ] {
        let answers = [
            change(&mut ada, None, Some(weak), &asked),
            ada.modify_with(ADA, &[(Replace, "userPassword", &[weak])], &asked),
        ];
        for answer in answers {
            assert_eq!(
                answer.result.code,
                ResultCode::CONSTRAINT_VIOLATION,
                "{weak}"
            );
            let said = &answer.result.diagnostic;
            assert!(said.contains(text), "{weak}: {said}");
            let control = answer
                .controls
                .iter()
                .find(|it| it.0 == oid::PASSWORD_POLICY);
            let value = control.and_then(|it| it.1.as_deref()).unwrap();
            assert_eq!(value.last(), Some(&error), "{weak}");
        }
    }
    // The administrator may set any password.
    success(&set(&mut admin, &["aB3-aB3-x"]));
    let mut ada = admin.another();
    success(&ada.bind(ADA, "aB3-aB3-x"));
    let near = change(&mut ada, Some("aB3-aB3-x"), Some("aB3-aB3-yz"), &[]).result;
    assert_eq!(near.code, ResultCode::CONSTRAINT_VIOLATION);
    assert!(!near.diagnostic.contains("aB3"), "{}", near.diagnostic);
    for (new, code) in [
        ("aB3-aB3-y7", ResultCode::CONSTRAINT_VIOLATION),
        ("zY77-other", ResultCode::SUCCESS),
    ] {
        let changes = [
            (Delete, "userPassword", &["aB3-aB3-x"][..]),
            (Add, "userPassword", &[new]),
        ];
        let result = ada.modify(ADA, &changes);
        assert_eq!(result.code, code, "{new}: {}", result.diagnostic);
    }
}

struct Words;

impl PasswordLists for Words {
    fn has_word(&self, word: &str) -> std::io::Result<bool> {
        Ok(word == "secret")
    }

    fn has_digest(&self, digest: &str) -> std::io::Result<bool> {
        // "password"
        Ok(digest == "5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8")
    }
}

#[test]
fn a_password_that_is_listed_is_refused() {
    let rules = [
        ("pandoPasswordDictionary", "TRUE"),
        ("pandoPasswordBreached", "TRUE"),
    ];
    let (_admin, mut ada) = world(&rules, Arc::new(Words));
    let asked = [OwnedControl::new(oid::PASSWORD_POLICY, false)];
    for (weak, text) in [
        ("Secret7", "no word"),
        ("password", "not known from breaches"),
    ] {
        let answer = change(&mut ada, None, Some(weak), &asked);
        assert_eq!(
            answer.result.code,
            ResultCode::CONSTRAINT_VIOLATION,
            "{weak}"
        );
        assert!(answer.result.diagnostic.contains(text));
        let control = answer
            .controls
            .iter()
            .find(|it| it.0 == oid::PASSWORD_POLICY);
        assert_eq!(control.and_then(|it| it.1.as_deref()?.last()), Some(&5));
    }
    success(&change(&mut ada, None, Some("unheard of"), &asked).result);
    // A list that cannot be asked lets nothing pass.
    let (admin, mut ada) = world(&rules, Arc::new(NoLists));
    let refused = change(&mut ada, None, Some("unheard of"), &asked).result;
    assert_ne!(refused.code, ResultCode::SUCCESS);
    success(&admin.another().bind(ADA, "right"));
}
