//! Oracle's Appendix C template, as printed, with a password: generated entries are imported,
//! searched, compared, bound, modified, exported and imported again. `PANDO_TEST_USERS` sets the
//! number of users.

use std::fs;
use std::path::Path;

use kit::client::Modification;
use kit::{Folder, Pando, Random, ldif};
use protocol::{ResultCode, Scope};

const TEMPLATE: &str = "../examples/oid-appendix-c.template";

fn users() -> u64 {
    let text = std::env::var("PANDO_TEST_USERS").unwrap_or_else(|_| "100000".to_owned());
    text.parse().expect("PANDO_TEST_USERS is a number")
}

/// Makes a node for `dc=com`, and the template with a password for every user.
fn node_and_template() -> (Pando, String) {
    let pando = Pando::init_in(Folder::new(), &["--suffix", "dc=com"]);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(TEMPLATE);
    let text = fs::read_to_string(&path).expect("the template is in examples/");
    let template = format!("{text}\nuserPassword: password\n");
    let template = pando.folder.write("users.template", template);
    (pando, template.to_string_lossy().into_owned())
}

fn import(pando: &Pando, template: &str, users: u64) {
    let define = format!("NumUsers={users}");
    let args = ["--template", template, "--define", &define];
    pando.run_on_node(&["import"], &args).expect(0);
}

#[test]
fn template_as_printed_makes_one_entry_each() {
    let (pando, template) = node_and_template();
    import(&pando, &template, 1000);
    let entries = ldif::parse(&pando.export());
    // Entries are the suffix, the branch, and the users.
    assert_eq!(entries.len(), 1002);
    let user = entries
        .iter()
        .find(|entry| entry.name == "uid=user.1000,ou=oracle,dc=com");
    let user = user.expect("numbers start at 1");
    assert_eq!(user.text("cn"), "user.1000");
    assert_eq!(user.text("mail"), "user.1000@oracle.com");
    assert_eq!(user.values("photo")[0].len(), 1536);
    assert_eq!(user.text("description").len(), 80);
    assert_eq!(user.text("postalAddress").len(), 100);
}

#[test]
fn life_of_appendix_c() {
    let users = users();
    let (mut pando, template) = node_and_template();
    import(&pando, &template, users);
    pando.serve();
    use_it(&pando, users);
    pando.stop();
    pando.assert_clean();

    let first = pando.folder.join("first.ldif");
    export(&pando, &first);
    let second_node = Pando::init_in(Folder::new(), &["--suffix", "dc=com"]);
    second_node
        .run_on_node(&["import"], &[&first.to_string_lossy()])
        .expect(0);
    second_node.assert_clean();
    let second = second_node.folder.join("second.ldif");
    export(&second_node, &second);
    let same = kit::tools::run("cmp", &[&first, &second], "");
    assert_eq!(same.status, 0, "{}{}", same.out, same.err);
    let size = fs::metadata(&first).expect("just written").len();
    assert!(
        size > users * 2_600,
        "{users} users of 2.7 KB each in {size} bytes"
    );
}

fn export(pando: &Pando, to: &Path) {
    pando
        .run_on_node(&["export"], &["-o", &to.to_string_lossy()])
        .expect(0);
}

/// Searches, compares, binds and modifies randomly chosen entries.
fn use_it(pando: &Pando, users: u64) {
    let mut random = Random::announced("life_of_appendix_c");
    let mut client = pando.client();
    let admin_name = "cn=admin,dc=com";
    let mut admin = pando.client();
    admin.bind(admin_name, kit::PASSWORD).expect_success();
    for round in 0..200 {
        let number = 1 + random.below(users);
        let uid = format!("user.{number}");
        let name = format!("uid={uid},ou=oracle,dc=com");
        let filter = format!("(uid={uid})");
        let found = client.search("dc=com", Scope::WholeSubtree, &filter, &["*"]);
        assert_eq!(found.only().name, name);
        assert_eq!(found.only().values("photo")[0].len(), 1536);
        assert!(
            !found.only().has("userPassword"),
            "passwords are for nobody to read"
        );
        client
            .compare(&name, "cn", &uid)
            .expect(ResultCode::COMPARE_TRUE);
        client
            .compare(&name, "cn", "user.0")
            .expect(ResultCode::COMPARE_FALSE);
        let mut user = pando.client();
        user.bind(&name, "password").expect_success();
        user.bind(&name, "other")
            .expect(ResultCode::INVALID_CREDENTIALS);
        let text = format!("changed in round {round}");
        admin
            .modify(&name, &[Modification::replace("description", &[&text])])
            .expect_success();
        let found = client.search(
            &name,
            Scope::BaseObject,
            "(objectClass=*)",
            &["description"],
        );
        assert_eq!(found.only().text("description"), text);
    }
    let last = format!("uid=user.{users},ou=oracle,dc=com");
    client
        .compare(&last, "uid", &format!("user.{users}"))
        .expect(ResultCode::COMPARE_TRUE);
    let beyond = format!("uid=user.{},ou=oracle,dc=com", users + 1);
    client
        .compare(&beyond, "uid", "x")
        .expect(ResultCode::NO_SUCH_OBJECT);
}
