//! Warnings about attributes that look secret and are not, before clients can read them.

use kit::{Pando, SUFFIX};
use protocol::Scope;

const SCHEMA: &str = "\
attributetype ( 1.3.6.1.4.1.4203.666.98.1 NAME 'acmeSecret' EQUALITY caseExactMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
attributetype ( 1.3.6.1.4.1.4203.666.98.2 NAME 'acmeApiKey' EQUALITY caseExactMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
attributetype ( 1.3.6.1.4.1.4203.666.98.3 NAME 'acmePublicKey' EQUALITY caseExactMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
attributetype ( 1.3.6.1.4.1.4203.666.98.4 NAME 'acmePasswordChanged'
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.24 )
attributetype ( 1.3.6.1.4.1.4203.666.98.5 NAME 'acmeToken' EQUALITY caseExactMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 X-SECRET 'TRUE' )
attributetype ( 1.3.6.1.4.1.4203.666.98.6 NAME 'acmeHash' EQUALITY caseExactMatch
  SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )
objectclass ( 1.3.6.1.4.1.4203.666.98.7 NAME 'acmeUser' SUP top AUXILIARY
  MAY ( acmeSecret $ acmeApiKey $ acmePublicKey $ acmePasswordChanged $ acmeToken $ acmeHash ) )
";

#[test]
fn an_import_names_what_looks_like_a_secret() {
    let mut pando = Pando::init();
    pando.folder.write("acme.schema", SCHEMA);
    let text = format!(
        "dn: uid=ada,{SUFFIX}\nobjectClass: account\nobjectClass: acmeUser\n\
         objectClass: sambaSamAccount\nuid: ada\nsambaSID: S-1-5-21-1\n\
         sambaNTPassword: 773C49B7E67F4858C6D550A5CF24719C\nsambaBadPasswordCount: 1\n\
         acmeSecret: a\nacmeApiKey: b\nacmePublicKey: c\n\
         acmePasswordChanged: 20260101000000Z\nacmeToken: d\n"
    );
    pando.folder.write("ada.ldif", text);
    pando
        .run_on_node(&["schema", "add"], &["acme.schema"])
        .expect(0);
    let imported = pando.run_on_node(&["import"], &["ada.ldif"]).expect(0);
    // Attributes that are secret already, that no entry has, or that cannot be secret are not
    // named.
    let names = "here: acmeApiKey, acmeSecret\n";
    assert!(imported.err.contains(names), "{}", imported.err);
    let typed = format!(
        "pando schema secret {} acmeApiKey acmeSecret",
        pando.node().display()
    );
    imported.says(&typed);

    let wrong = pando.run_on_node(&["schema", "secret"], &["acmeSecrt"]);
    wrong.expect(1).says("acmeSecrt");
    // Both before the node is served, and while it is.
    let marked = pando.run_on_node(&["schema", "secret"], &["acmeSecret"]);
    marked.expect(0).says("acmeSecret");
    pando.serve();
    let marked = pando.run_on_node(&["schema", "secret"], &["acmeApiKey"]);
    marked.expect(0);
    let found = pando
        .client()
        .search(SUFFIX, Scope::WholeSubtree, "(uid=ada)", &["*"]);
    let entry = found.only();
    let shown = ["acmeSecret", "acmeApiKey", "acmePublicKey"].map(|it| entry.texts(it).len());
    assert_eq!(shown, [0, 0, 1]);
}
