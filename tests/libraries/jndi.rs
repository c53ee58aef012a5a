//! JNDI, the JDK's own interface to directories.

use kit::Secure;

use crate::java::program;
use crate::{add_people, with_many_people, with_people, with_referral};

#[test]
fn life_of_an_entry() {
    let pando = with_people();
    program("jndi.Life", &[&pando.url()]);
}

#[test]
fn pages_and_order() {
    let pando = with_many_people();
    program("jndi.Lists", &[&pando.url()]);
}

#[test]
fn following_changes() {
    let pando = with_people();
    program("jndi.Following", &[&pando.url()]);
}

#[test]
fn controls() {
    let pando = with_people();
    program("jndi.Controls", &[&pando.url()]);
}

#[test]
fn transactions() {
    let pando = with_people();
    program("jndi.Transactions", &[&pando.url()]);
}

#[test]
fn referrals() {
    let (here, there) = with_referral();
    program("jndi.Referrals", &[&here.url(), &there.url()]);
}

#[test]
fn schema() {
    let pando = with_people();
    program("jndi.Definitions", &[&pando.url()]);
}

#[test]
fn tls() {
    let server = Secure::start();
    add_people(&server.pando);
    let certificate = server.certificate.to_string_lossy();
    program(
        "jndi.Tls",
        &[&server.pando.url(), &server.url, &certificate],
    );
}
