//! Tests followers that were disconnected, or behind, for longer than the history reaches.

use directory::{Directory, Followed, InitOptions, Options, Peer};
use local::{LocalClient, Watch};
use policy::password::Scheme;
use protocol::control::{SyncDone, SyncInfo, SyncMode, SyncRequest, SyncState, SyncStateValue};
use protocol::{
    AddRequest, DeleteRequest, Filter, ModifyDnRequest, OwnedControl, PartialAttribute, Request,
    Response, ResponseMessage, ResultCode, Scope, SearchRequest, frame, oid, put_partial_attribute,
};
use replica::ReclaimSizes;
use state::bounds::Bounds;
use std::borrow::Cow;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

pub(super) const SUFFIX: &str = "dc=example,dc=com";

/// Maximum time that the writer may take.
const PATIENCE: Duration = Duration::from_secs(60);

/// Options with bounds that few entries reach.
fn small() -> Options {
    Options {
        bounds: Bounds::SMALL,
        reclaim_sizes: ReclaimSizes::SMALL,
        ..Options::default()
    }
}

/// One client of a directory.
pub(super) struct World {
    pub directory: Directory,
    client: LocalClient,
    watch: Option<Watch>,
}

impl World {
    pub fn create(folder: &Path) -> World {
        let password = policy::password::hash(Scheme::Ssha, b"secret").expect("hashes");
        replica::create(folder, &InitOptions::new(SUFFIX, password)).expect("created");
        World::open(folder)
    }

    pub fn open(folder: &Path) -> World {
        let directory = Directory::open(folder, &small()).expect("opens");
        let opened = LocalClient::open(&directory, Peer::default(), PATIENCE);
        let mut client = opened.expect("a reader");
        let bound = client.bind("cn=admin,dc=example,dc=com", b"secret");
        bound.expect("bound");
        World {
            directory,
            client,
            watch: None,
        }
    }

    fn call(&mut self, request: &Request<'_>, controls: &[OwnedControl]) -> Vec<u8> {
        let mut call = self.client.begin(request, controls).expect("decodes");
        self.client.finish(&mut call).expect("answered");
        let watch = call.take_watch();
        let mut out = call.into_responses();
        if watch.is_some() {
            self.watch = watch;
            self.go_on(&mut out);
        }
        out
    }

    fn go_on(&mut self, out: &mut Vec<u8>) -> Followed {
        let watch = self.watch.as_mut().expect("a search stays");
        self.client.catch_up(watch, out)
    }

    pub fn sync(&mut self, mode: SyncMode, cookie: Option<&str>, base: &str) -> Vec<String> {
        let mut value = Vec::new();
        let cookie = cookie.map(str::as_bytes);
        let reload_hint = false;
        SyncRequest {
            mode,
            cookie,
            reload_hint,
        }
        .encode(&mut value);
        let control = OwnedControl {
            oid: Cow::Borrowed(oid::SYNC_REQUEST),
            critical: true,
            value: Some(value),
        };
        let search = SearchRequest {
            attributes: vec!["1.1"],
            ..SearchRequest::new(base, Scope::WholeSubtree, Filter::Present("objectClass"))
        };
        said(&self.call(&Request::Search(search), &[control]))
    }

    pub fn news(&mut self) -> (Vec<String>, Followed) {
        let mut out = Vec::new();
        let followed = self.go_on(&mut out);
        (said(&out), followed)
    }

    pub fn add(&mut self, ou: &str, below: &str) {
        let entry = format!("ou={ou},{below}");
        let mut attributes = [Vec::new(), Vec::new()];
        let class: &[u8] = b"organizationalUnit";
        put_partial_attribute(&mut attributes[0], "objectClass", std::iter::once(class));
        put_partial_attribute(&mut attributes[1], "ou", std::iter::once(ou.as_bytes()));
        let attributes = attributes.iter().map(|it| {
            let mut reader = protocol::ber::Reader::new(it);
            PartialAttribute::decode(&mut reader).expect("just encoded")
        });
        let request = AddRequest {
            entry: &entry,
            attributes: attributes.collect(),
        };
        success(&self.call(&Request::Add(request), &[]));
    }

    pub fn delete(&mut self, entry: &str) {
        success(&self.call(&Request::Delete(DeleteRequest { entry }), &[]));
    }

    /// Deletes an entry with everything below it.
    pub fn delete_tree(&mut self, entry: &str) {
        let control = OwnedControl::new(oid::TREE_DELETE, true);
        success(&self.call(&Request::Delete(DeleteRequest { entry }), &[control]));
    }

    /// Waits until the writer has reclaimed deleted subtrees.
    pub fn await_reclaim(&self) {
        while self.directory.status().expect("readable").deleted_subtrees > 0 {
            std::thread::yield_now();
        }
    }

    /// Makes enough changes to drop all earlier ones from the history.
    pub fn make_forget(&mut self) {
        for _ in 0..=Bounds::SMALL.history_changes / 2 {
            self.add("passing", SUFFIX);
            self.delete(&format!("ou=passing,{SUFFIX}"));
        }
    }
}

fn success(out: &[u8]) {
    assert_eq!(said(out), ["success"]);
}

/// Each message in a few words; a cookie is the last word.
fn said(mut out: &[u8]) -> Vec<String> {
    let mut all = Vec::new();
    while let Ok(Some(length)) = frame(out, usize::MAX) {
        let message = ResponseMessage::decode(&out[..length]).expect("decodes");
        out = &out[length..];
        let control = message.controls.first().and_then(|it| it.value);
        let text = |cookie: Option<&[u8]>| {
            cookie.map_or_else(String::new, |it| String::from_utf8_lossy(it).into_owned())
        };
        all.push(match message.response {
            Response::SearchEntry { name, .. } => {
                let value = SyncStateValue::decode(control.expect("a state")).expect("decodes");
                let state = match value.state {
                    SyncState::Add => "add",
                    SyncState::Modify => "modify",
                    SyncState::Delete => "delete",
                    SyncState::Present => "present",
                };
                format!("{state} {}", name.split(',').next().unwrap_or_default())
            }
            Response::Intermediate { value, .. } => {
                match SyncInfo::decode(value.expect("a value")).expect("decodes") {
                    SyncInfo::NewCookie(it) => format!("cookie {}", text(Some(it))),
                    SyncInfo::RefreshDelete { cookie, .. } => format!("deleted {}", text(cookie)),
                    SyncInfo::RefreshPresent { cookie, .. } => format!("present {}", text(cookie)),
                    SyncInfo::IdSet {
                        entry_uuids,
                        refresh_deletes,
                        ..
                    } => format!("ids {refresh_deletes} {}", entry_uuids.len()),
                }
            }
            Response::SearchDone(result) | Response::Add(result) | Response::Delete(result) => {
                let done = control.map(|it| SyncDone::decode(it).expect("decodes"));
                match done {
                    Some(it) => format!("{} {}", result.code.name(), text(it.cookie)),
                    None => result.code.name().to_owned(),
                }
            }
            Response::ModifyDn(result) => result.code.name().to_owned(),
            other => panic!("{other:?}"),
        });
    }
    all
}

/// Removes the last cookie from the messages and returns it.
pub(super) fn cookie(said: &mut [String]) -> String {
    let last = said.last_mut().expect("something was said");
    let (word, cookie) = last.split_once(' ').expect("a cookie");
    let (word, cookie) = (word.to_owned(), cookie.to_owned());
    *last = word;
    cookie
}

#[test]
fn who_was_away_for_long_is_told_what_is_unchanged() {
    let folder = TempDir::new().expect("a folder");
    let mut world = World::create(folder.path());
    for ou in ["a", "b", "c"] {
        world.add(ou, SUFFIX);
    }
    let mut first = world.sync(SyncMode::RefreshOnly, None, SUFFIX);
    let held = cookie(&mut first);
    assert_eq!(
        first,
        [
            "add dc=example",
            "add ou=a",
            "add ou=b",
            "add ou=c",
            "success"
        ]
    );
    world.delete("ou=b,dc=example,dc=com");
    world.add("d", SUFFIX);
    world.make_forget();
    world.directory.shutdown();
    drop(world);
    let mut world = World::open(folder.path());
    let mut later = world.sync(SyncMode::RefreshAndPersist, Some(&held), SUFFIX);
    cookie(&mut later);
    assert_eq!(later, ["add ou=d", "ids false 3", "present"]);
    world.delete("ou=a,dc=example,dc=com");
    assert_eq!(
        world.news(),
        (vec!["delete ou=a".to_owned()], Followed::CaughtUp)
    );
}

#[test]
fn entries_that_moved_unchanged_are_not_taken_for_known() {
    let folder = TempDir::new().expect("a folder");
    let mut world = World::create(folder.path());
    for ou in ["inside", "outside"] {
        world.add(ou, SUFFIX);
    }
    world.add("top", "ou=outside,dc=example,dc=com");
    world.add("leaf", "ou=top,ou=outside,dc=example,dc=com");
    let inside = "ou=inside,dc=example,dc=com";
    let mut first = world.sync(SyncMode::RefreshOnly, None, inside);
    let held = cookie(&mut first);
    let request = ModifyDnRequest {
        entry: "ou=top,ou=outside,dc=example,dc=com",
        new_rdn: "ou=top",
        delete_old_rdn: false,
        new_superior: Some(inside),
    };
    success(&world.call(&Request::ModifyDn(request), &[]));
    let known = world.sync(SyncMode::RefreshOnly, Some(&held), inside);
    assert_eq!(known[..2], ["add ou=top", "add ou=leaf"]);
    world.make_forget();
    let refused = world.sync(SyncMode::RefreshOnly, Some(&held), inside);
    assert_eq!(refused, ["e-syncRefreshRequired"]);
}

#[test]
fn who_falls_behind_is_told_to_refresh() {
    let folder = TempDir::new().expect("a folder");
    let mut world = World::create(folder.path());
    world.sync(SyncMode::RefreshAndPersist, None, SUFFIX);
    world.add("a", SUFFIX);
    world.make_forget();
    let (mut said, followed) = world.news();
    let held = cookie(&mut said);
    assert_eq!(said, ["e-syncRefreshRequired"]);
    assert_eq!(followed, Followed::Ended);
    // The client can continue with the cookie.
    let mut said = world.sync(SyncMode::RefreshOnly, Some(&held), SUFFIX);
    cookie(&mut said);
    assert_eq!(said, ["add ou=a", "ids false 1", "success"]);
}

#[test]
fn silence_gets_a_cookie_now_and_then() {
    let folder = TempDir::new().expect("a folder");
    let mut world = World::create(folder.path());
    world.add("quiet", SUFFIX);
    let mut said = world.sync(
        SyncMode::RefreshAndPersist,
        None,
        "ou=quiet,dc=example,dc=com",
    );
    cookie(&mut said);
    let mut heard = Vec::new();
    for _ in 0..501 {
        world.add("passing", SUFFIX);
        world.delete(&format!("ou=passing,{SUFFIX}"));
        heard.extend(world.news().0);
    }
    assert_eq!(heard.len(), 1, "{heard:?}");
    assert!(heard[0].starts_with("cookie rid=000,csn="), "{heard:?}");
    assert_eq!(
        ResultCode::E_SYNC_REFRESH_REQUIRED.name(),
        "e-syncRefreshRequired"
    );
}
