//! python-ldap, the Python binding of OpenLDAP's library.

use kit::Secure;

use crate::{add_people, python, with_many_people, with_people, with_referral};

#[test]
fn life_of_an_entry() {
    let pando = with_people();
    python("python/python_ldap_life.py", &[&pando.url()]);
}

#[test]
fn pages_and_order() {
    let pando = with_many_people();
    python("python/python_ldap_lists.py", &[&pando.url()]);
}

#[test]
fn following_changes() {
    let pando = with_people();
    python("python/python_ldap_following.py", &[&pando.url()]);
}

#[test]
fn controls() {
    let pando = with_people();
    python("python/python_ldap_controls.py", &[&pando.url()]);
}

#[test]
fn transactions() {
    let pando = with_people();
    python("python/python_ldap_transactions.py", &[&pando.url()]);
}

#[test]
fn referrals() {
    let (here, there) = with_referral();
    python(
        "python/python_ldap_referrals.py",
        &[&here.url(), &there.url()],
    );
}

#[test]
fn schema() {
    let pando = with_people();
    python("python/python_ldap_schema.py", &[&pando.url()]);
}

#[test]
fn tls() {
    let server = Secure::start();
    add_people(&server.pando);
    let certificate = server.certificate.to_string_lossy();
    python(
        "python/python_ldap_tls.py",
        &[&server.pando.url(), &server.url, &certificate],
    );
}
