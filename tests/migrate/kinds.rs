//! Special entries: referrals, aliases, subentries, large groups, Unix groups, odd names.

use super::{Move, person};
use kit::client::Modification;
use kit::{Entry, SUFFIX};

/// Number of members of the large group.
const MEMBERS: usize = 3_000;

fn odd_entries() -> Vec<Entry> {
    let below = |rdn: &str, attributes: &[(&str, &[&str])]| {
        Entry::of(&format!("{rdn},{SUFFIX}"), attributes)
    };
    let mut group = below(
        "cn=everybody",
        &[("objectClass", &["groupOfNames"]), ("cn", &["everybody"])],
    );
    for number in 0..MEMBERS {
        group.push("member", person(&format!("member{number}")).into_bytes());
    }
    let mut photo = below(
        "cn=photo",
        &[("objectClass", &["inetOrgPerson"]), ("cn", &["photo"])],
    );
    photo.push("sn", b"Gr\xc3\xb6\xc3\x9fe".to_vec());
    photo.push("sn;lang-de", b"Gr\xc3\xb6\xc3\x9fe".to_vec());
    photo.push("jpegPhoto", (0..=255).cycle().take(70_000).collect());
    vec![
        group,
        photo,
        below(
            "cn=elsewhere",
            &[
                ("objectClass", &["referral", "extensibleObject"]),
                ("cn", &["elsewhere"]),
                ("ref", &["ldap://elsewhere.example.com/dc=other,dc=com"]),
            ],
        ),
        below(
            "cn=alias",
            &[
                ("objectClass", &["alias", "extensibleObject"]),
                ("cn", &["alias"]),
                ("aliasedObjectName", &[&person("ada")]),
            ],
        ),
        below(
            "cn=subentry",
            &[
                ("objectClass", &["subentry", "extensibleObject"]),
                ("cn", &["subentry"]),
                ("subtreeSpecification", &["{}"]),
            ],
        ),
        below(
            "cn=Odd\\2C \\22name\\22+sn=Two\\+One",
            &[
                ("objectClass", &["person"]),
                ("cn", &["Odd, \"name\""]),
                ("sn", &["Two+One"]),
            ],
        ),
        // The class is structural there (RFC 2307).
        below(
            "cn=unix",
            &[
                ("objectClass", &["posixGroup"]),
                ("cn", &["unix"]),
                ("gidNumber", &["5000"]),
                ("memberUid", &["ada", "bob"]),
            ],
        ),
    ]
}

#[test]
fn every_kind_of_entry_moves() {
    let mut moved = Move::new("", 5);
    let mut admin = moved.old_admin();
    for entry in odd_entries() {
        admin.add(&entry).expect_success();
    }
    let answer = moved.run(&["--once", "--report", "-"]).expect(0);
    answer.says("# 18 entries on both sides, 0 of them different; 0 only");
    moved.pando.serve();
    moved.assert_same();
    change(&mut admin);
    moved
        .run(&["--once", "--report", "-"])
        .expect(0)
        .says("# 18 entries on both sides");
    moved.assert_same();
    let found = moved.pando.admin().read(&format!("cn=subentry,{SUFFIX}"));
    assert!(found.expect("it is a base").has("description"));
}

/// Adds the special entries, one by one over LDAP.
#[test]
fn every_kind_of_entry_comes_while_it_follows() {
    let mut moved = Move::new("", 5);
    moved.run(&["--once"]).expect(0);
    moved.pando.serve();
    let mut command = moved.start();
    command.wait_for("in sync", |line| line.contains("in sync").then_some(()));
    let mut admin = moved.old_admin();
    for entry in odd_entries() {
        admin.add(&entry).expect_success();
    }
    moved.converges(&command);
    change(&mut admin);
    moved.converges(&command);
    assert!(command.stop().success());
    assert!(!command.log().contains("refused"), "{}", command.log());
}

fn change(admin: &mut kit::Client) {
    let member = |number: usize| person(&format!("member{number}"));
    let members = [
        Modification::delete("member", &[&member(7), &member(8)]),
        Modification::add("member", &[&member(MEMBERS), &member(MEMBERS + 1)]),
    ];
    let change = |admin: &mut kit::Client, rdn: &str, changes: &[Modification]| {
        admin
            .modify(&format!("{rdn},{SUFFIX}"), changes)
            .expect_success();
    };
    change(admin, "cn=everybody", &members);
    let text = [Modification::add("description", &["changed"])];
    change(admin, "cn=subentry", &text);
    change(admin, "cn=Odd\\2C \\22name\\22+sn=Two\\+One", &text);
    admin
        .rename(
            &format!("cn=Odd\\2C \\22name\\22+sn=Two\\+One,{SUFFIX}"),
            "cn=\\#odd \\3C\\3E+sn=Two\\+One",
            true,
            Some(&format!("ou=Groups,{SUFFIX}")),
        )
        .expect_success();
}
