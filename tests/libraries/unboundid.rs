//! The UnboundID LDAP SDK for Java.

use kit::issuer::{self, IssuerKey};
use kit::{Secure, ldif};

use crate::java::program;
use crate::{add_people, with_many_people, with_people, with_referral};

/// A rule for the tokens of the kit's issuer.
const IDENTITIES: &str = "\
dn: cn=identities,cn=config
objectClass: pandoConfig

dn: cn=tokens,cn=identities,cn=config
objectClass: pandoIdentityRule
pandoIdentityOrder: 10
pandoIdentityText: token sub \"*\" is \"uid=$1,ou=People,dc=example,dc=com\"
";

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

#[test]
fn tokens() {
    let settings = format!(
        "[[sasl.oauth]]\nissuer = \"{}\"\naudience = [\"ldap\"]\nkeys = \"keys.json\"\n\
         scopes = [\"directory\"]\nopenid_configuration = \"https://id.example.com/doc\"\n",
        issuer::ISSUER
    );
    let key = IssuerKey::new("first");
    let server = Secure::start_prepared(&settings, |folder| {
        issuer::publish(&[&key], &folder.join("keys.json"));
    });
    add_people(&server.pando);
    let mut admin = server.pando.admin();
    for entry in ldif::parse(IDENTITIES) {
        admin.add(&entry).expect_success();
    }
    let with = |scope: &str| {
        let mut claims = issuer::claims("ada", 600);
        claims["scope"] = scope.into();
        key.sign(&claims)
    };
    let certificate = server.certificate.to_string_lossy();
    let (right, poor) = (with("mail directory"), with("mail"));
    program(
        "unboundid.Bearer",
        &[&server.url, &certificate, &right, &poor],
    );
}
