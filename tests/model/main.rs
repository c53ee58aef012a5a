//! Random operations compared with a simple model: every answer and every state must agree.
//!
//! The model (`directory.rs`) keeps entries in a map and walks over all of it for each step;
//! `steps.rs` generates operations, most of them plausible, some of them wrong.

mod directory;
mod filter;
mod steps;

use kit::client::Modification;
use kit::{Client, Pando, Random, Slapd, ldif};
use protocol::{ResultCode, Scope};

use directory::{Directory, Expected};
use steps::Step;

/// The server that is compared with the model.
enum Server {
    Pando(Pando),
    OpenLdap(Slapd),
}

impl Server {
    fn admin(&self) -> Client {
        match self {
            Server::Pando(pando) => pando.admin(),
            Server::OpenLdap(slapd) => {
                let mut client = slapd.client();
                client.bind(kit::ADMIN, kit::PASSWORD).expect_success();
                client
            }
        }
    }

    /// Restarts the server, in an orderly way or by a kill; the database must be unharmed.
    fn restart(&mut self, random: &mut Random) {
        if let Server::Pando(pando) = self {
            if random.chance(50) {
                pando.kill();
            } else {
                pando.stop();
            }
            pando.assert_clean();
            pando.serve();
        }
    }
}

/// Executes the step on the server and returns the answer; a search returns names, too.
fn run(client: &mut Client, step: &Step) -> (ResultCode, Vec<String>) {
    let outcome = match step {
        Step::Add(entry) => client.add(entry),
        Step::Delete(name) => client.delete(name),
        Step::Modify(name, changes) => client.modify(name, changes),
        Step::Rename {
            name,
            new_rdn,
            delete_old_rdn,
            new_superior,
        } => client.rename(name, new_rdn, *delete_old_rdn, new_superior.as_deref()),
        Step::Compare(name, attribute, value) => client.compare(name, attribute, value),
        Step::Search {
            base,
            scope,
            filter,
        } => {
            let found = client.search(base, *scope, &filter.to_string(), &["1.1"]);
            return (found.outcome.code, found.names());
        }
    };
    (outcome.code, Vec::new())
}

fn state_of(client: &mut Client) -> ldif::Content {
    let found = client.search(kit::SUFFIX, Scope::WholeSubtree, "(objectClass=*)", &["*"]);
    found.outcome.clone().expect_success();
    ldif::content(&found.entries)
}

fn agree(step_count: usize, test: &str) {
    let mut random = Random::announced(test);
    let mut server = match std::env::var("PANDO_TEST_SUBJECT").as_deref() {
        Ok("openldap") => Server::OpenLdap(Slapd::start()),
        _ => Server::Pando(Pando::start()),
    };
    let mut client = server.admin();
    let mut model = Directory::with_base();
    for number in 0..step_count {
        let step = steps::next(&mut random, &model);
        let Expected { codes, names } = model.apply(&step);
        let (code, found) = run(&mut client, &step);
        assert!(
            codes.contains(&code) || is_slapds_way(&server, &codes, code),
            "step {number}: {step:?}\nexpected one of {codes:?}, got {code:?}"
        );
        assert_same_names(&found, &names, &format!("step {number}: {step:?}"));
        if number % 250 == 249 {
            assert_eq!(
                state_of(&mut client),
                model.content(),
                "after step {number}"
            );
        }
        if number % 1000 == 999 {
            drop(client);
            server.restart(&mut random);
            client = server.admin();
            assert_eq!(
                state_of(&mut client),
                model.content(),
                "restarted after step {number}"
            );
        }
    }
    assert_eq!(state_of(&mut client), model.content(), "at the end");
    if let Server::Pando(pando) = &mut server {
        pando.stop();
        pando.assert_clean();
        assert_eq!(
            ldif::content(&ldif::parse(&pando.export())),
            model.content()
        );
    }
}

/// Prints missing and extra names instead of two long lists.
#[track_caller]
fn assert_same_names(found: &[String], expected: &[String], step: &str) {
    let missing: Vec<_> = expected
        .iter()
        .filter(|name| !found.contains(name))
        .collect();
    let surplus: Vec<_> = found
        .iter()
        .filter(|name| !expected.contains(name))
        .collect();
    assert!(
        missing.is_empty() && surplus.is_empty() && found.len() == expected.len(),
        "{step}\nmissing: {missing:?}\ntoo much: {surplus:?}"
    );
}

/// slapd returns namingViolation where RFC 4511 §4.6 prescribes notAllowedOnRDN.
fn is_slapds_way(server: &Server, codes: &[ResultCode], code: ResultCode) -> bool {
    matches!(server, Server::OpenLdap(_))
        && codes.contains(&ResultCode::NOT_ALLOWED_ON_RDN)
        && code == ResultCode::NAMING_VIOLATION
}

#[test]
fn random_operations_agree_with_the_model() {
    agree(10_000, "random_operations_agree_with_the_model");
}

#[test]
fn many_short_lives_agree_with_the_model() {
    for _ in 0..5 {
        agree(400, "many_short_lives_agree_with_the_model");
    }
}

/// Changes of attributes in the form shared by model and steps.
fn change(
    operation: protocol::ChangeOperation,
    attribute: &str,
    values: &[String],
) -> Modification {
    let values = values
        .iter()
        .map(|value| value.as_bytes().to_vec())
        .collect();
    Modification {
        operation,
        attribute: attribute.to_owned(),
        values,
    }
}
