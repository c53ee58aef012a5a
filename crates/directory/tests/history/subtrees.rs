//! Tests followers of a directory in which subtrees are detached and reclaimed in slices: the
//! messages must not depend on the progress.

use crate::following::{SUFFIX, World, cookie};
use directory::Followed;
use protocol::control::SyncMode;
use tempfile::TempDir;

const TOP: &str = "ou=top,dc=example,dc=com";
/// Number of entries in the subtree: more than a delete removes at once in unit tests.
const ENTRIES: usize = 13;

/// A directory with a subtree and another entry.
fn world(folder: &TempDir) -> World {
    let mut world = World::create(folder.path());
    world.add("beside", SUFFIX);
    add_tree(&mut world);
    world
}

fn add_tree(world: &mut World) {
    world.add("top", SUFFIX);
    for outer in 0..4 {
        world.add(&format!("outer{outer}"), TOP);
        for inner in 0..2 {
            let outer = format!("ou=outer{outer},{TOP}");
            world.add(&format!("inner{inner}"), &outer);
        }
    }
}

/// The messages, without messages that consist of a cookie only.
fn without_cookies(said: Vec<String>) -> Vec<String> {
    let mut said = said;
    said.retain(|it| !it.starts_with("cookie "));
    said
}

#[test]
fn who_follows_is_told_before_the_name_is_used_again() {
    for waits in [false, true] {
        let folder = TempDir::new().expect("a folder");
        let mut world = world(&folder);
        world.sync(SyncMode::RefreshAndPersist, None, SUFFIX);
        world.delete_tree(TOP);
        world.add("top", SUFFIX);
        if waits {
            world.await_reclaim();
        }
        let (said, followed) = world.news();
        assert_eq!(followed, Followed::CaughtUp);
        let gone = format!("ids true {ENTRIES}");
        assert_eq!(without_cookies(said), [gone.as_str(), "add ou=top"]);
        // Reclaiming the last entry makes no news, but a cookie.
        world.await_reclaim();
        let (said, _) = world.news();
        assert_eq!(without_cookies(said), Vec::<String>::new());
        let mut now = world.sync(SyncMode::RefreshOnly, None, SUFFIX);
        let newest = cookie(&mut now);
        let again = world.sync(SyncMode::RefreshOnly, Some(&newest), SUFFIX);
        assert_eq!(again, [format!("success {newest}")]);
    }
}

#[test]
fn who_was_away_is_told_of_each_entry() {
    for waits in [false, true] {
        let folder = TempDir::new().expect("a folder");
        let mut world = world(&folder);
        let mut first = world.sync(SyncMode::RefreshOnly, None, SUFFIX);
        let held = cookie(&mut first);
        assert_eq!(first.len(), 1 + 1 + ENTRIES + 1);
        world.delete_tree(TOP);
        if waits {
            world.await_reclaim();
        }
        world.add("top", SUFFIX);
        let mut second = world.sync(SyncMode::RefreshOnly, Some(&held), SUFFIX);
        let later = cookie(&mut second);
        let gone = format!("ids true {ENTRIES}");
        assert_eq!(second, [gone.as_str(), "add ou=top", "success"]);
        // Entries reclaimed later are known to the client.
        world.await_reclaim();
        let mut third = world.sync(SyncMode::RefreshOnly, Some(&later), SUFFIX);
        cookie(&mut third);
        assert_eq!(third, ["success"]);
    }
}

#[test]
fn who_was_away_for_long_is_told_what_is_left() {
    let folder = TempDir::new().expect("a folder");
    let mut world = world(&folder);
    let mut first = world.sync(SyncMode::RefreshOnly, None, SUFFIX);
    let held = cookie(&mut first);
    world.delete_tree(TOP);
    world.make_forget();
    let mut later = world.sync(SyncMode::RefreshOnly, Some(&held), SUFFIX);
    cookie(&mut later);
    // The base and the other entry.
    assert_eq!(later, ["ids false 2", "success"]);
}

#[test]
fn a_search_below_is_told_and_ends() {
    for waits in [false, true] {
        let folder = TempDir::new().expect("a folder");
        let mut world = world(&folder);
        let base = format!("ou=outer1,{TOP}");
        world.sync(SyncMode::RefreshAndPersist, None, &base);
        world.delete_tree(TOP);
        add_tree(&mut world);
        if waits {
            world.await_reclaim();
        }
        let (said, followed) = world.news();
        assert_eq!(followed, Followed::Ended);
        let mut said = without_cookies(said);
        cookie(&mut said);
        assert_eq!(said, ["ids true 3", "noSuchObject"]);
    }
}

#[test]
fn who_does_not_have_the_subtree_hears_nothing() {
    let folder = TempDir::new().expect("a folder");
    let mut world = world(&folder);
    let beside = format!("ou=beside,{SUFFIX}");
    world.sync(SyncMode::RefreshAndPersist, None, &beside);
    world.delete_tree(TOP);
    world.await_reclaim();
    world.add("news", &beside);
    let (said, followed) = world.news();
    assert_eq!(followed, Followed::CaughtUp);
    assert_eq!(without_cookies(said), ["add ou=news"]);
}

#[test]
fn reclaiming_goes_on_after_a_restart() {
    let folder = TempDir::new().expect("a folder");
    let mut world = world(&folder);
    let before = world.directory.status().expect("readable").entries;
    world.delete_tree(TOP);
    // Stops the writer wherever it is.
    world.directory.shutdown();
    drop(world);
    let report = replica::check::check(folder.path()).expect("readable");
    assert_eq!(report.problems, Vec::<String>::new());
    let world = World::open(folder.path());
    world.await_reclaim();
    let status = world.directory.status().expect("readable");
    assert_eq!(status.entries, before - ENTRIES as u64);
    world.directory.shutdown();
    drop(world);
    let report = replica::check::check(folder.path()).expect("readable");
    assert_eq!(report.problems, Vec::<String>::new());
}
