//! Tests of the folder `cluster`.

use super::*;
use crate::address::Address;
use replica::commit_log::NodeId;
use std::os::unix::fs::PermissionsExt;
use tempfile::TempDir;

const NOW: Duration = Duration::from_secs(1_800_000_000);
const CLUSTER: ClusterId = ClusterId([0xc1; 16]);
const NODE: NodeId = NodeId([7; 16]);

fn membership() -> Membership {
    let address: Address = "ldap1.example.com:8390".parse().unwrap();
    let etcd = Membership::managed_etcd(NODE, &address, vec!["https://ldap2:8391".to_owned()]);
    let peer = Member {
        node: NodeId([8; 16]),
        address: "ldap2:8390".parse().unwrap(),
    };
    Membership {
        peers: vec![peer],
        ..Membership::new(CLUSTER, NODE, address, etcd)
    }
}

fn create(dir: &Path, authority: &Authority) -> Result<Identity, Trouble> {
    let founding = Founding {
        membership: membership(),
        authority,
        files: Vec::new(),
        now: NOW,
    };
    Identity::create(dir, founding, || Ok(()))
}

#[test]
fn an_identity_is_read_as_it_was_made() {
    let dir = TempDir::new().unwrap();
    assert!(Identity::load(dir.path()).unwrap().is_none());
    let authority = Authority::found(CLUSTER, NOW).unwrap();
    let made = create(dir.path(), &authority).unwrap();
    let mut read = Identity::load(dir.path()).unwrap().unwrap();
    assert_eq!(read.membership, made.membership);
    let again = read.authority().unwrap();
    assert_eq!(again.root().fingerprint(), authority.root().fingerprint());
    for file in fs_names(&read.folder) {
        let mode = read
            .folder
            .join(&file)
            .metadata()
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
    let mode = read.folder.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o700);

    read.membership.generation = 2;
    read.membership.peers.clear();
    read.save().unwrap();
    let changed = Identity::load(dir.path()).unwrap().unwrap();
    assert_eq!(changed.membership, read.membership);
    assert_eq!(fs_names(dir.path()), ["cluster"]);
}

#[test]
fn a_second_identity_is_refused_and_a_failed_one_leaves_nothing() {
    let dir = TempDir::new().unwrap();
    let authority = Authority::found(CLUSTER, NOW).unwrap();
    let founding = Founding {
        membership: membership(),
        authority: &authority,
        files: Vec::new(),
        now: NOW,
    };
    let failed = Identity::create(dir.path(), founding, || {
        Err(Trouble::Refused("no".to_owned()))
    });
    assert_eq!(failed.unwrap_err().to_string(), "no");
    assert!(fs_names(dir.path()).is_empty());
    create(dir.path(), &authority).unwrap();
    let refused = create(dir.path(), &authority).unwrap_err().to_string();
    assert!(
        refused.ends_with("expected a node that belongs to no cluster"),
        "{refused}"
    );
    assert_eq!(fs_names(dir.path()), ["cluster"]);
}

#[test]
fn wrong_files_are_named_with_the_field() {
    let dir = TempDir::new().unwrap();
    let authority = Authority::found(CLUSTER, NOW).unwrap();
    let identity = create(dir.path(), &authority).unwrap();
    let path = identity.folder.join(CLUSTER_FILE);
    let text = std::fs::read_to_string(&path).unwrap();
    for (from, to, expected) in [
        (
            "\"version\": 1",
            "\"version\": 2",
            "version: expected 1, got 2",
        ),
        ("\"version\": 1,", "", "version: expected 1, got none"),
        ("07070707", "0707070x", "expected 32 hexadecimal digits"),
        (
            "ldap1.example.com:8390",
            "ldap1.example.com",
            "expected HOST:PORT",
        ),
        (
            "\"generation\"",
            "\"generations\"",
            "unknown field `generations`",
        ),
        ("\"cluster\"", "cluster", "key must be a string at line 3"),
    ] {
        assert!(text.contains(from), "{from}");
        std::fs::write(&path, text.replacen(from, to, 1)).unwrap();
        let said = Identity::load(dir.path()).unwrap_err().to_string();
        assert!(said.contains(expected), "{said}");
        assert!(said.contains("cluster/cluster.json: "), "{said}");
    }
    std::fs::write(&path, text).unwrap();
    std::fs::write(identity.folder.join(CA_FILE), "nothing").unwrap();
    let said = identity.authority().unwrap_err().to_string();
    assert!(
        said.contains("expected an authority's certificate"),
        "{said}"
    );
}

#[test]
fn a_certificate_is_renewed_in_its_last_third_under_the_same_key() {
    let dir = TempDir::new().unwrap();
    let authority = Authority::found(CLUSTER, NOW).unwrap();
    let mut identity = create(dir.path(), &authority).unwrap();
    let (certificate, key) = (
        identity.folder.join(NODE_FILE),
        identity.folder.join(NODE_KEY_FILE),
    );
    let before = [read(&certificate).unwrap(), read(&key).unwrap()];
    let day = Duration::from_secs(24 * 3600);
    assert!(!identity.renew(NOW + 300 * day).unwrap());
    assert_eq!(read(&certificate).unwrap(), before[0]);
    assert!(identity.renew(NOW + 500 * day).unwrap());
    assert_ne!(read(&certificate).unwrap(), before[0]);
    assert_eq!(read(&key).unwrap(), before[1]);
    assert!(!identity.renew(NOW + 500 * day).unwrap());
    identity.membership.address = "elsewhere:8390".parse().unwrap();
    assert!(identity.renew(NOW + 500 * day).unwrap());
    assert!(!identity.renew(NOW + 500 * day).unwrap());
}

fn fs_names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}
