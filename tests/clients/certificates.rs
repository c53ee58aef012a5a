//! Clients that show certificates: SASL EXTERNAL by Debian's tools, and handshakes as OpenSSL sees
//! them.

use std::fs;
use std::process::Command;

use kit::tools::{self, Answer};
use kit::{Authority, Pando, SUFFIX, process};

use super::code;

const ENTRIES: &str = "\
dn: ou=People,dc=example,dc=com
objectClass: organizationalUnit

dn: uid=ada,ou=People,dc=example,dc=com
objectClass: inetOrgPerson
cn: Ada
sn: Lovelace
mail: ada@example.com

dn: ou=Guests,dc=example,dc=com
objectClass: organizationalUnit

dn: uid=eve,ou=Guests,dc=example,dc=com
objectClass: inetOrgPerson
cn: Eve
sn: Eve
mail: bob@example.com

dn: cn=identities,cn=config
objectClass: pandoConfig

dn: cn=people,cn=identities,cn=config
objectClass: pandoIdentityRule
pandoIdentityOrder: 10
pandoIdentityText: certificate mail \"*@example.com\" issuer \"cn=CA,o=Kit\"
  in subtree \"ou=People,dc=example,dc=com\" where (mail=$1@example.com)

dn: cn=services,cn=identities,cn=config
objectClass: pandoIdentityRule
pandoIdentityOrder: 20
pandoIdentityText: certificate subject \"cn=*,o=Services\" is \"cn=$1,dc=example,dc=com\"
";

/// A node that asks clients for certificates, and an authority that it trusts for both sides.
struct World {
    pando: Pando,
    authority: Authority,
    /// URL of the listener that requires a certificate.
    strict: String,
}

impl World {
    fn new() -> World {
        let authority = Authority::new();
        authority.issue("server", "/CN=localhost", "IP:127.0.0.1,DNS:localhost");
        authority.issue("ada", "/O=Kit/CN=Ada", "email:ada@example.com");
        authority.list("list.pem");
        let mut pando = Pando::init();
        let folder = authority.folder().display();
        let settings = format!(
            "listen = [\"ldap://127.0.0.1:0\", \
             \"ldaps://127.0.0.1:0?client_certificates=require\"]\n\
             [tls]\ncertificate = \"{folder}/server.pem\"\nkey = \"{folder}/server.key\"\n\
             client_ca = \"{folder}/ca.pem\"\nclient_certificates = \"ask\"\n\
             client_crl = [\"{folder}/list.pem\"]\n"
        );
        fs::write(pando.node().join("pando.toml"), settings).expect("our own folder");
        pando.serve_as_configured();
        let strict = process::until("both listeners are announced", || {
            let log = pando.process().log();
            let (_, address) = log.split_once("listening on ldaps://")?;
            Some(format!("ldaps://{}", address.split(['?', '\n']).next()?))
        });
        let added = pando.tools().run("ldapadd", &[], ENTRIES);
        added.expect(code::SUCCESS);
        World {
            pando,
            authority,
            strict,
        }
    }

    /// Runs a tool that shows the certificate of this name, if one is given.
    fn tool(&self, url: &str, own: Option<&str>, args: &[&str]) -> Answer {
        let mut command = Command::new("timeout");
        command.args(["--kill-after=5", "60"]).args(args);
        command.args(["-H", url]);
        // The variables below are read, the machine's files are not.
        command.env("LDAPCONF", "/dev/null");
        command.env("HOME", self.authority.folder());
        command.env("LDAPTLS_CACERT", self.authority.path("ca.pem"));
        if let Some(own) = own {
            command.env("LDAPTLS_CERT", self.authority.path(&format!("{own}.pem")));
            command.env("LDAPTLS_KEY", self.authority.path(&format!("{own}.key")));
        }
        tools::run_command(&mut command, "")
    }

    /// `ldapwhoami -Y EXTERNAL` by StartTLS.
    fn who_am_i(&self, own: &str) -> Answer {
        let args = ["ldapwhoami", "-ZZ", "-Q", "-Y", "EXTERNAL"];
        self.tool(&self.pando.url(), Some(own), &args)
    }

    /// Reads changed files at once.
    fn reload(&self) {
        self.pando.run_on_node(&["reload"], &[]).expect(0);
    }
}

/// `openssl s_client` on an address.
fn handshake(url: &str, args: &[&str]) -> Answer {
    let address = url.split("://").last().expect("a URL");
    let mut command = Command::new("timeout");
    let begin = [
        "--kill-after=5",
        "60",
        "openssl",
        "s_client",
        "-connect",
        address,
    ];
    command.args(begin).args(args);
    tools::run_command(&mut command, "")
}

#[test]
fn a_certificate_binds_as_the_entry_that_a_rule_finds() {
    let world = World::new();
    let ada = format!("dn:uid=ada,ou=People,{SUFFIX}");
    world.who_am_i("ada").expect(code::SUCCESS).says(&ada);
    let over_tls = ["ldapwhoami", "-Q", "-Y", "EXTERNAL"];
    let answer = world.tool(&world.strict, Some("ada"), &over_tls);
    answer.expect(code::SUCCESS).says(&ada);
    let search = [
        "ldapsearch",
        "-ZZ",
        "-Q",
        "-Y",
        "EXTERNAL",
        "-LLL",
        "-b",
        SUFFIX,
        "(uid=ada)",
    ];
    let found = world.tool(&world.pando.url(), Some("ada"), &search);
    assert_eq!(found.expect(code::SUCCESS).entries().len(), 1);
    // The mechanism is announced where it can be used.
    let root = [
        "ldapsearch",
        "-x",
        "-ZZ",
        "-LLL",
        "-s",
        "base",
        "-b",
        "",
        "supportedSASLMechanisms",
    ];
    let with = world.tool(&world.pando.url(), Some("ada"), &root);
    with.expect(code::SUCCESS)
        .says("supportedSASLMechanisms: EXTERNAL");
    let without = world
        .tool(&world.pando.url(), None, &root)
        .expect(code::SUCCESS);
    assert!(!without.out.contains("EXTERNAL"), "{}", without.out);
    let args = ["ldapwhoami", "-ZZ", "-Q", "-Y", "EXTERNAL"];
    let refused = world.tool(&world.pando.url(), None, &args);
    assert_ne!(refused.status, code::SUCCESS, "{}", refused.out);
}

#[test]
fn an_identity_that_no_rule_finds_is_nobody() {
    let world = World::new();
    let authority = &world.authority;
    // The only entry with this address lies outside the base of the rule.
    authority.issue("bob", "/O=Kit/CN=Bob", "email:bob@example.com");
    // A star that stands for the administrator's name.
    authority.issue("admin", "/O=Services/CN=admin", "DNS:admin");
    authority.issue("star", "/O=Kit/CN=Star", "email:*@example.com");
    authority.issue("other", "/O=Kit/CN=Other", "email:ada@example.org");
    for own in ["bob", "admin", "star", "other"] {
        world.who_am_i(own).expect(code::INVALID_CREDENTIALS);
    }
    // A second entry with the address below the base leaves nobody.
    world.who_am_i("ada").expect(code::SUCCESS);
    let second = format!(
        "dn: uid=ada2,ou=People,{SUFFIX}\nobjectClass: inetOrgPerson\ncn: x\nsn: x\n\
         mail: ada@example.com\n"
    );
    let tools = world.pando.tools();
    tools.run("ldapadd", &[], &second).expect(code::SUCCESS);
    world.who_am_i("ada").expect(code::INVALID_CREDENTIALS);
}

#[test]
fn a_locked_account_is_not_opened_by_its_certificate() {
    let world = World::new();
    let tools = world.pando.tools();
    let policy = format!(
        "dn: cn=policy,{SUFFIX}\nobjectClass: applicationProcess\nobjectClass: pwdPolicy\n\
         pwdAttribute: userPassword\npwdLockout: TRUE\n"
    );
    tools.run("ldapadd", &[], &policy).expect(code::SUCCESS);
    let lock = format!(
        "dn: cn=config\nchangetype: modify\nadd: pandoPasswordPolicy\n\
         pandoPasswordPolicy: cn=policy,{SUFFIX}\n\n\
         dn: uid=ada,ou=People,{SUFFIX}\nchangetype: modify\nadd: pwdAccountLockedTime\n\
         pwdAccountLockedTime: 000001010000Z\n"
    );
    world.who_am_i("ada").expect(code::SUCCESS);
    tools.modify(&lock).expect(code::SUCCESS);
    world.who_am_i("ada").expect(code::INVALID_CREDENTIALS);
}

#[test]
fn strangers_and_the_revoked_do_not_get_through() {
    let mut world = World::new();
    let stranger = Authority::new();
    stranger.issue("eve", "/O=Kit/CN=Ada", "email:ada@example.com");
    for end in ["pem", "key"] {
        let from = stranger.path(&format!("eve.{end}"));
        fs::copy(from, world.authority.path(&format!("eve.{end}"))).expect("our own folders");
    }
    let over_tls = ["ldapwhoami", "-Q", "-Y", "EXTERNAL"];
    let refused = |world: &World, own| {
        let answer = world.tool(&world.strict, own, &over_tls);
        assert_ne!(answer.status, code::SUCCESS, "{}", answer.out);
    };
    refused(&world, None);
    refused(&world, Some("eve"));
    assert_ne!(world.who_am_i("eve").status, code::SUCCESS);
    world.who_am_i("ada").expect(code::SUCCESS);
    world.authority.revoke("ada");
    world.authority.list("list.pem");
    world.reload();
    refused(&world, Some("ada"));
    assert_ne!(world.who_am_i("ada").status, code::SUCCESS);
    // The lines are said once in ten seconds, so that nobody fills the log.
    world.pando.process().wait_for("the refusals", |line| {
        line.contains("certificates of clients refused: ")
            .then_some(())
    });
}

#[test]
fn rules_that_mean_nothing_are_refused_where_they_are_written() {
    let world = World::new();
    let tools = world.pando.tools();
    let rule = |text: &str| {
        format!(
            "dn: cn=new,cn=identities,cn=config\nobjectClass: pandoIdentityRule\n\
             pandoIdentityOrder: 30\npandoIdentityText: {text}\n"
        )
    };
    let wrong = rule("certificate mail \"*\" is \"uid=$2,dc=example,dc=com\"");
    tools
        .run("ldapadd", &[], &wrong)
        .expect(code::CONSTRAINT_VIOLATION)
        .says("cn=new: is \"uid=$2,dc=example,dc=com\": expected $1 to $1");
    let elsewhere = rule("sasl name \"*\" is \"uid=$1,dc=example,dc=com\"");
    let elsewhere = elsewhere.replace("cn=identities,cn=config", "cn=config");
    tools
        .run("ldapadd", &[], &elsewhere)
        .expect(code::UNWILLING_TO_PERFORM)
        .says("directly below cn=identities,cn=config");
}

#[test]
fn sasl_names_are_those_of_the_rules() {
    let world = World::new();
    let tools = world.pando.tools();
    let hidden = "dn: cn=names,cn=identities,cn=config\nobjectClass: pandoIdentityRule\n\
                  pandoIdentityOrder: 5\npandoIdentityText: sasl name \"*\" in one \
                  \"ou=People,dc=example,dc=com\" where (uid=$1)\n";
    let password = |dn: &str| {
        let args = ["-s", "a password", dn];
        tools.run("ldappasswd", &args, "").expect(code::SUCCESS);
    };
    password(&format!("uid=ada,ou=People,{SUFFIX}"));
    password(&format!("uid=eve,ou=Guests,{SUFFIX}"));
    let plain = |user: &str| {
        let args = [
            "ldapwhoami",
            "-ZZ",
            "-Q",
            "-Y",
            "PLAIN",
            "-U",
            user,
            "-w",
            "a password",
        ];
        world.tool(&world.pando.url(), None, &args)
    };
    plain("eve").expect(code::SUCCESS);
    tools.run("ldapadd", &[], hidden).expect(code::SUCCESS);
    plain("ada")
        .expect(code::SUCCESS)
        .says(&format!("dn:uid=ada,ou=People,{SUFFIX}"));
    plain("eve").expect(code::INVALID_CREDENTIALS);
}

#[test]
fn clients_see_the_certificate_the_version_and_the_staple_of_the_settings() {
    let world = World::new();
    let authority = &world.authority;
    authority.issue("other", "/CN=other", "DNS:ldap.example.com");
    authority.staple("server", "server.ocsp");
    let settings = world.pando.node().join("pando.toml");
    let further = "further = [{ certificate = \"FOLDER/other.pem\", key = \"FOLDER/other.key\" }]\n\
                   versions = [\"1.3\"]\nocsp = \"FOLDER/server.ocsp\"\n";
    let further = further.replace("FOLDER", &authority.folder().display().to_string());
    let before = fs::read_to_string(&settings).expect("our own file");
    fs::write(&settings, before + &further).expect("our own file");
    world.reload();
    let url = world.pando.url();
    let start_tls = ["-starttls", "ldap", "-status"];
    let usual = handshake(&url, &start_tls);
    let usual = usual
        .says("Cert Status: good")
        .says("subject=CN = localhost");
    usual.says("TLSv1.3");
    let other = handshake(
        &url,
        &[&start_tls[..], &["-servername", "ldap.example.com"]].concat(),
    );
    let other = other
        .says("subject=CN = other")
        .says("OCSP response: no response sent");
    other.says("O = Kit, CN = CA");
    let old = handshake(&url, &[&start_tls[..], &["-tls1_2"]].concat());
    assert_ne!(old.status, 0, "{}", old.out);
}
