//! The UnboundID LDAP SDK for Java.

use kit::Secure;

use crate::java::program;
use crate::{add_people, with_many_people, with_people, with_referral};

#[test]
fn life_of_an_entry() {
    let pando = with_people();
    program("unboundid.Life", &[&pando.url()]);
}

#[test]
fn pages_and_order() {
    let pando = with_many_people();
    program("unboundid.Lists", &[&pando.url()]);
}

#[test]
fn following_changes() {
    let pando = with_people();
    program("unboundid.Following", &[&pando.url()]);
}

#[test]
fn controls() {
    let pando = with_people();
    program("unboundid.Controls", &[&pando.url()]);
}

#[test]
fn transactions() {
    let pando = with_people();
    program("unboundid.Transactions", &[&pando.url()]);
}

#[test]
fn referrals() {
    let (here, there) = with_referral();
    program("unboundid.Referrals", &[&here.url(), &there.url()]);
}

#[test]
fn schema() {
    let pando = with_people();
    program("unboundid.Definitions", &[&pando.url()]);
}

#[test]
fn tls() {
    let server = Secure::start();
    add_people(&server.pando);
    let certificate = server.certificate.to_string_lossy();
    program(
        "unboundid.Tls",
        &[&server.pando.url(), &server.url, &certificate],
    );
}
