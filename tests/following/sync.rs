//! Content synchronisation (RFC 4533): refreshing by cookies.

use crate::{ALL, Asked, Said, cookie, next, short, sync, until};
use kit::client::Modification;
use kit::{Pando, SUFFIX, people};
use protocol::control::{SyncMode, SyncState};
use protocol::{ResultCode, Scope};

/// Starts a server with the sample people.
fn start() -> Pando {
    let pando = Pando::start();
    let mut admin = pando.admin();
    for entry in people::sample() {
        admin.add(&entry).expect_success();
    }
    pando
}

#[test]
fn a_poll_gives_the_content_and_then_what_changed() {
    let mut pando = start();
    let mut client = pando.admin();
    let first = ALL.poll(&mut client, None);
    let expected = [
        "add dc=example",
        "add ou=people",
        "add ou=groups",
        "add uid=ada",
        "add uid=grace",
        "add uid=edsger",
        "success false",
    ];
    assert_eq!(short(&first), expected);
    // RFC 4533 §3.3.1: entries of a refresh come without cookies.
    assert!(matches!(&first[0], Said::Entry(_, _, _, None)));
    let mut held = cookie(&first);
    assert!(held.starts_with("rid=000,csn=20"), "{held}");
    let nothing = ALL.poll(&mut client, Some(&held));
    assert_eq!(short(&nothing), ["success true"]);
    assert_eq!(cookie(&nothing), held);

    let name = |uid: &str| format!("uid={uid},ou=People,{SUFFIX}");
    client.delete(&name("grace")).expect_success();
    let change = Modification::replace("sn", &["Dijkstra"]);
    client.modify(&name("edsger"), &[change]).expect_success();
    client
        .rename(&name("ada"), "uid=augusta", true, None)
        .expect_success();
    client.add(&people::person("alan")).expect_success();
    client.add(&people::person("brief")).expect_success();
    client.delete(&name("brief")).expect_success();
    let again = Modification::replace("sn", &["Edsger"]);
    client.modify(&name("edsger"), &[again]).expect_success();
    for restart in [false, true] {
        if restart {
            assert!(pando.stop().success());
            pando.serve();
            client = pando.admin();
        }
        let changed = ALL.poll(&mut client, Some(&held));
        let expected = [
            "delete uid=grace",
            "add uid=edsger",
            "add uid=augusta",
            "add uid=alan",
            "success true",
        ];
        assert_eq!(short(&changed), expected);
        if restart {
            held = cookie(&changed);
        }
    }
    let nothing = ALL.poll(&mut client, Some(&held));
    assert_eq!(short(&nothing), ["success true"]);
    // The cookie equals contextCSN.
    let base = client.search(
        SUFFIX,
        Scope::BaseObject,
        "(objectClass=*)",
        &["contextCSN"],
    );
    let csn = base.only().text("contextCSN");
    assert!(held.ends_with(&csn), "{held} and {csn}");
    let root = client.search("", Scope::BaseObject, "(objectClass=*)", &["contextCSN"]);
    assert_eq!(root.only().text("contextCSN"), csn);
}

#[test]
fn changes_are_told_as_they_happen() {
    let pando = start();
    let mut admin = pando.admin();
    let mut client = pando.client();
    let asked = Asked {
        base: &format!("ou=People,{SUFFIX}"),
        filter: "(mail=*)",
        select: &["mail"],
        ..ALL
    };
    let (id, said) = asked.follow(&mut client, None);
    let expected = [
        "add uid=ada",
        "add uid=grace",
        "add uid=edsger",
        "refreshed false",
    ];
    assert_eq!(short(&said), expected);

    let ada = format!("uid=ada,ou=People,{SUFFIX}");
    let change = Modification::add("mail", &["lovelace@example.com"]);
    admin.modify(&ada, &[change]).expect_success();
    match next(&mut client, id) {
        Said::Entry(SyncState::Modify, _, entry, Some(cookie)) => {
            assert_eq!(
                entry.texts("mail"),
                ["ada@example.com", "lovelace@example.com"]
            );
            assert_eq!(entry.attributes.len(), 1);
            assert!(cookie.contains("csn="), "{cookie}");
        }
        other => panic!("{other:?}"),
    }
    let mut step = |line: &str| assert_eq!(short(&[next(&mut client, id)]), [line]);
    // An entry that was never in the content is not reported.
    admin.add(&people::unit("Elsewhere")).expect_success();
    admin.add(&people::person("alan")).expect_success();
    step("add uid=alan");
    // The entry leaves the filter, and enters it again.
    admin
        .modify(&ada, &[Modification::delete("mail", &[])])
        .expect_success();
    step("delete uid=ada");
    admin
        .modify(&ada, &[Modification::replace("sn", &["L"])])
        .expect_success();
    // When a later change is reported, the change outside the content has been processed.
    let alan = format!("uid=alan,ou=People,{SUFFIX}");
    admin
        .modify(&alan, &[Modification::add("mail", &["alan@b"])])
        .expect_success();
    step("modify uid=alan");
    admin
        .modify(&ada, &[Modification::replace("mail", &["a@b"])])
        .expect_success();
    step("add uid=ada");
}

#[test]
fn renames_lead_out_of_the_content_and_into_it() {
    let pando = start();
    let mut admin = pando.admin();
    let mut client = pando.client();
    let asked = Asked {
        base: &format!("ou=People,{SUFFIX}"),
        filter: "(mail=*)",
        select: &["mail"],
        ..ALL
    };
    let (id, _) = asked.follow(&mut client, None);
    let mut step = |line: &str| assert_eq!(short(&[next(&mut client, id)]), [line]);
    let ada = format!("uid=ada,ou=People,{SUFFIX}");
    admin
        .rename(&ada, "uid=augusta", true, None)
        .expect_success();
    step("modify uid=augusta");
    let augusta = format!("uid=augusta,ou=People,{SUFFIX}");
    let groups = format!("ou=Groups,{SUFFIX}");
    admin
        .rename(&augusta, "uid=augusta", false, Some(&groups))
        .expect_success();
    step("delete uid=augusta");
    let people = format!("ou=People,{SUFFIX}");
    admin
        .rename(
            &format!("uid=augusta,{groups}"),
            "uid=ada",
            true,
            Some(&people),
        )
        .expect_success();
    step("add uid=ada");
    admin.delete(&ada).expect_success();
    step("delete uid=ada");
}

#[test]
fn a_group_is_told_when_its_members_get_other_names_or_go() {
    let pando = start();
    let mut admin = pando.admin();
    let name = |uid: &str| format!("uid={uid},ou=People,{SUFFIX}");
    let (ada, grace) = (name("ada"), name("grace"));
    admin
        .add(&people::group("staff", &[&ada, &grace]))
        .expect_success();
    let asked = Asked {
        filter: "(objectClass=groupOfNames)",
        select: &["member"],
        ..ALL
    };
    let mut client = pando.admin();
    let (id, said) = asked.follow(&mut client, None);
    assert_eq!(short(&said), ["add cn=staff", "refreshed false"]);
    let mut held = cookie(&said);
    let mut other = pando.admin();
    let mut told = |members: &[&str]| {
        // Changes outside the content arrive as cookies.
        let said = until(&mut client, id, |it| matches!(it, Said::Entry(..)));
        let polled = asked.poll(&mut other, Some(&held));
        held = cookie(&polled);
        let mut states = vec![(said.last(), SyncState::Modify)];
        // A refresh sends changed entries as new ones (RFC 4533 §3.3.2).
        let entries = polled
            .iter()
            .filter(|it| short(std::slice::from_ref(*it)) == ["add cn=staff"]);
        states.extend(entries.map(|it| (Some(it), SyncState::Add)));
        assert_eq!(states.len(), 2, "{polled:?}");
        for (said, expected) in states {
            match said {
                Some(Said::Entry(state, _, entry, _)) if *state == expected => {
                    assert_eq!(entry.texts("member"), members);
                }
                other => panic!("{other:?}"),
            }
        }
    };
    admin
        .rename(&ada, "uid=augusta", true, None)
        .expect_success();
    told(&[&name("augusta"), &grace]);
    let people = format!("ou=People,{SUFFIX}");
    admin
        .rename(&people, "ou=Persons", true, None)
        .expect_success();
    let name = |uid: &str| format!("uid={uid},ou=Persons,{SUFFIX}");
    told(&[&name("augusta"), &name("grace")]);
    admin.delete(&name("grace")).expect_success();
    told(&[&name("augusta")]);
}

#[test]
fn a_follower_goes_on_from_its_cookie() {
    let mut pando = start();
    let mut client = pando.admin();
    let (_, said) = ALL.follow(&mut client, None);
    let held = cookie(&said);
    let mut admin = pando.admin();
    for uid in ["one", "two", "three"] {
        admin.add(&people::person(uid)).expect_success();
    }
    admin
        .delete(&format!("uid=ada,ou=People,{SUFFIX}"))
        .expect_success();
    admin
        .delete(&format!("uid=one,ou=People,{SUFFIX}"))
        .expect_success();
    admin
        .delete(&format!("uid=grace,ou=People,{SUFFIX}"))
        .expect_success();
    assert!(pando.stop().success());
    pando.serve();
    let mut client = pando.admin();
    let (id, said) = ALL.follow(&mut client, Some(&held));
    let expected = ["add uid=two", "add uid=three", "gone 2", "refreshed true"];
    assert_eq!(short(&said), expected);
    let mut admin = pando.admin();
    admin
        .delete(&format!("uid=two,ou=People,{SUFFIX}"))
        .expect_success();
    assert_eq!(short(&[next(&mut client, id)]), ["delete uid=two"]);
}

#[test]
fn a_moved_subtree_takes_its_entries_along() {
    let pando = start();
    let mut admin = pando.admin();
    admin.add(&people::unit("Old")).expect_success();
    let old = format!("ou=Old,{SUFFIX}");
    let asked = Asked { base: &old, ..ALL };
    let mut client = pando.admin();
    let held = cookie(&asked.poll(&mut client, None));
    let (id, said) = asked.follow(&mut client, Some(&held));
    assert_eq!(short(&said), ["refreshed true"]);

    let people = format!("ou=People,{SUFFIX}");
    admin
        .rename(&people, "ou=People", false, Some(&old))
        .expect_success();
    let said = until(&mut client, id, |it| matches!(it, Said::Cookie(_)));
    let expected = [
        "add ou=people",
        "add uid=ada",
        "add uid=grace",
        "add uid=edsger",
        "cookie",
    ];
    assert_eq!(short(&said), expected);
    let inside = cookie(&said);
    // A poll with an earlier cookie reports as many entries.
    let mut other = pando.admin();
    assert_eq!(asked.poll(&mut other, Some(&held)).len(), 5);

    admin
        .rename(
            &format!("ou=People,{old}"),
            "ou=People",
            false,
            Some(SUFFIX),
        )
        .expect_success();
    let said = until(&mut client, id, |it| matches!(it, Said::Cookie(_)));
    assert_eq!(short(&said), ["gone 4", "cookie"]);
    let said = asked.poll(&mut other, Some(&inside));
    assert_eq!(short(&said), ["gone 4", "success true"]);
}

#[test]
fn cookies_of_no_use_are_refused_or_answered_with_everything() {
    let pando = start();
    let mut client = pando.admin();
    for junk in [
        "junk",
        "rid=001,csn=20200101000000.000000Z#000000#000#000000",
        "rid=001,csn=29990101000000.000000Z#000000#000#000000",
        "rid=001,csn=20200101000000.000000Z#000000#007#000000",
    ] {
        match ALL.poll(&mut client, Some(junk)).as_slice() {
            [Said::Done(outcome, false, None)] => {
                outcome.clone().expect(ResultCode::E_SYNC_REFRESH_REQUIRED);
            }
            other => panic!("{junk}: {other:?}"),
        }
        let control = sync(SyncMode::RefreshOnly, Some(junk), true);
        let id = ALL.send(&mut client, &control);
        let said = until(&mut client, id, |it| matches!(it, Said::Done(..)));
        assert_eq!(said.len(), 7, "{junk}: {said:?}");
        assert_eq!(short(&said)[6], "success false");
    }
    // The cookie is well formed, but from another database.
    let other = start();
    let foreign = cookie(&ALL.poll(&mut other.admin(), None));
    match ALL.poll(&mut client, Some(&foreign)).as_slice() {
        [Said::Done(outcome, ..)] => {
            outcome.clone().expect(ResultCode::E_SYNC_REFRESH_REQUIRED);
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_lost_base_ends_the_search() {
    let pando = start();
    let mut admin = pando.admin();
    let base = format!("ou=Groups,{SUFFIX}");
    let asked = Asked { base: &base, ..ALL };
    let mut client = pando.admin();
    let (id, _) = asked.follow(&mut client, None);
    admin.rename(&base, "ou=Teams", true, None).expect_success();
    let said = until(&mut client, id, |it| matches!(it, Said::Done(..)));
    assert_eq!(
        short(&said),
        ["modify ou=teams", "e-syncRefreshRequired true"]
    );
    let base = format!("ou=Teams,{SUFFIX}");
    let asked = Asked { base: &base, ..ALL };
    let (id, _) = asked.follow(&mut client, None);
    admin.delete(&base).expect_success();
    let said = until(&mut client, id, |it| matches!(it, Said::Done(..)));
    assert_eq!(short(&said), ["delete ou=teams", "noSuchObject true"]);
    // The entry that has the name now is another one.
    let held = cookie(&said);
    admin.add(&people::unit("Teams")).expect_success();
    let said = asked.poll(&mut client, Some(&held));
    assert_eq!(short(&said), ["e-syncRefreshRequired false"]);
}

#[test]
fn everybody_hears_of_what_they_may_see() {
    let pando = start();
    let mut admin = pando.admin();
    let mut client = pando.client();
    let everything = Asked { base: "", ..ALL };
    let (id, said) = everything.follow(&mut client, None);
    assert_eq!(said.len(), 7, "{said:?}");
    for it in &said {
        if let Said::Entry(_, _, entry, _) = it {
            assert!(!entry.has("userPassword"), "{entry:?}");
        }
    }
    let before = cookie(&said);
    let index = kit::Entry::of(
        "cn=employeeNumber,cn=indexes,cn=config",
        &[
            ("objectClass", &["pandoIndex"]),
            ("pandoIndexAttribute", &["employeeNumber"]),
            ("pandoIndexKind", &["equality"]),
        ],
    );
    admin.add(&index).expect_success();
    admin.delete(&index.name).expect_success();
    admin.add(&people::person("alan")).expect_success();
    assert_eq!(short(&[next(&mut client, id)]), ["add uid=alan"]);
    let said = everything.poll(&mut pando.client(), Some(&before));
    assert_eq!(short(&said), ["add uid=alan", "success true"]);
    let said = everything.poll(&mut pando.admin(), Some(&before));
    assert_eq!(said.len(), 2, "an index that came and went: {said:?}");
}
