//! Names at the edges: the root, nested naming contexts, spellings, descriptions that select.

use kit::client::Modification;
use kit::{Folder, Pando, SUFFIX, people};
use protocol::extended::PasswordModifyRequest;
use protocol::{ExtendedRequest, Request, ResultCode, Scope, oid};

const BELOW: &str = "ou=partners,dc=example,dc=com";

/// Serves a node with one naming context below another.
fn contexts() -> Pando {
    let suffixes = ["--suffix", SUFFIX, "--suffix", BELOW];
    let mut pando = Pando::init_in(Folder::new(), &suffixes);
    pando.serve();
    pando
}

#[test]
fn a_range_of_values_is_not_deleted_as_all_of_them() {
    let pando = Pando::start();
    let mut admin = pando.admin();
    let mut ada = people::person("ada");
    ada.name = format!("uid=ada,{SUFFIX}");
    for title in ["a", "b", "c"] {
        ada.push("title", title.into());
    }
    admin.add(&ada).expect_success();
    for selection in ["title;range=0-0", "title;lang-en-"] {
        let refused = admin.modify(&ada.name, &[Modification::delete(selection, &[])]);
        assert_eq!(refused.code, ResultCode::UNDEFINED_ATTRIBUTE_TYPE);
    }
    let read = admin.read(&ada.name).expect("it is there");
    assert_eq!(read.texts("title"), ["a", "b", "c"]);
}

#[test]
fn nothing_is_moved_below_the_root() {
    let pando = Pando::start();
    let mut admin = pando.admin();
    let unit = format!("ou=unit,{SUFFIX}");
    admin.add(&people::unit("unit")).expect_success();
    let refused = admin.rename(&unit, "ou=unit", true, Some(""));
    assert_eq!(refused.code, ResultCode::UNWILLING_TO_PERFORM);
    assert!(admin.read(&unit).is_some());
    drop(admin);
    let mut pando = pando;
    pando.stop();
    pando.assert_clean();
}

#[test]
fn a_write_to_the_root_is_refused_and_costs_its_neighbours_nothing() {
    let pando = Pando::start();
    let mut admin = pando.admin();
    let unit = people::unit("unit");
    let request = PasswordModifyRequest {
        user_identity: Some(""),
        old_password: None,
        new_password: Some(b"new secret"),
    };
    let mut value = Vec::new();
    request.encode(&mut value);
    let modify = Request::Extended(ExtendedRequest {
        name: oid::PASSWORD_MODIFY,
        value: Some(&value),
    });
    // The requests are sent at once, so that they may be committed as one group.
    let refused = admin.send(&modify, &[]);
    let added = admin.session().send_add(&unit, &[]).expect("sent");
    let refused = admin.try_finish(refused).expect("an answer").outcome;
    assert_eq!(refused.code, ResultCode::UNWILLING_TO_PERFORM);
    let added = admin.try_finish(added).expect("an answer").outcome;
    assert_eq!(added.code, ResultCode::SUCCESS);
}

#[test]
fn a_naming_context_below_another_is_searched_with_it() {
    let pando = contexts();
    let mut admin = pando.admin();
    let mut ada = people::person("ada");
    ada.name = format!("uid=ada,{BELOW}");
    admin.add(&ada).expect_success();
    admin.add(&people::unit("unit")).expect_success();
    let found = |scope, base: &str| {
        let mut admin = pando.admin();
        let found = admin.search(base, scope, "(objectClass=*)", &["1.1"]);
        found.outcome.clone().expect_success();
        let mut names: Vec<String> = found.entries.into_iter().map(|it| it.name).collect();
        names.sort();
        names
    };
    let unit = format!("ou=unit,{SUFFIX}");
    let all = [SUFFIX, BELOW, &unit, &ada.name];
    assert_eq!(found(Scope::WholeSubtree, SUFFIX), all);
    assert_eq!(found(Scope::Subordinate, SUFFIX), all[1..]);
    assert_eq!(found(Scope::SingleLevel, SUFFIX), [BELOW, &unit]);
    assert_eq!(found(Scope::BaseObject, SUFFIX), [SUFFIX]);
    assert_eq!(found(Scope::WholeSubtree, BELOW), [BELOW, &ada.name]);
    assert_eq!(found(Scope::SingleLevel, &unit), [""; 0]);
    // Sorting and paging work, too.
    let sorted = pando.tools().search(&["-b", SUFFIX, "-E", "sss=ou", "1.1"]);
    assert_eq!(sorted.expect(0).entries().len(), 4);
    let paged = pando
        .tools()
        .search(&["-b", SUFFIX, "-E", "pr=1/noprompt", "1.1"]);
    assert_eq!(paged.expect(0).entries().len(), 4);
}

#[test]
fn no_entry_takes_the_name_of_a_naming_context() {
    let pando = contexts();
    let mut admin = pando.admin();
    admin.add(&people::unit("unit")).expect_success();
    let unit = format!("ou=unit,{SUFFIX}");
    let refused = admin.rename(&unit, "ou=partners", true, None);
    assert_eq!(refused.code, ResultCode::ENTRY_ALREADY_EXISTS);
    assert!(admin.read(&unit).is_some());
}

#[test]
fn names_are_written_as_rfc_4514_does() {
    let mut pando = Pando::start();
    let mut admin = pando.admin();
    for (given, written) in [
        ("ou=\"a, b\"", "ou=a\\, b"),
        ("OID.2.5.4.11 = c", "2.5.4.11=c"),
        ("ou = d + description = e", "ou=d+description=e"),
        ("ou=\\47", "ou=\\47"),
    ] {
        let mut unit = people::unit("unit");
        unit.name = format!("{given} , {SUFFIX}");
        admin.add(&unit).expect_success();
        let found = admin.search(&unit.name, Scope::BaseObject, "(ou=*)", &["1.1"]);
        assert_eq!(found.only().name, format!("{written},{SUFFIX}"));
    }
    let written = format!("ou=c,{SUFFIX}");
    let given = format!("ou=c,{SUFFIX}");
    admin
        .rename(&given, "  ou = f  ", true, None)
        .expect_success();
    assert!(admin.read(&written).is_none());
    let found = admin.search(SUFFIX, Scope::SingleLevel, "(ou=f)", &["1.1"]);
    assert_eq!(found.only().name, format!("ou=f,{SUFFIX}"));
    // Exported entries are imported unchanged.
    pando.stop();
    let exported = pando.export();
    let again = Pando::init_in(Folder::new(), &["--suffix", SUFFIX, "--no-base"]);
    let file = again.folder.write("export.ldif", &exported);
    let file = file.to_string_lossy().into_owned();
    again.run_on_node(&["import"], &[&file]).expect(0);
    assert_eq!(again.export(), exported);
}
