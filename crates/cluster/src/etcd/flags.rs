//! The flags of etcd, for records of up to 1 MB that other nodes read once and soon.
//!
//! Nobody sets them by hand: with etcd's defaults, 1 MB records fill 10 GB of memory.

use super::member::{Member, Start};

/// Committed records after which a member writes a snapshot. Records before it leave its memory.
const SNAPSHOT_COUNT: u32 = 100;
/// Records that stay in memory for slow members.
const CATCHUP_ENTRIES: u32 = 50;
/// Bytes of the longest request: a record of 1,000,000 bytes and what an append has around it.
const REQUEST_BYTES_MAX: u32 = 2_097_152;
/// Bytes of a member's database at which it takes no more writes.
const QUOTA_BYTES: u64 = 4_294_967_296;
/// How etcd keeps its messages: two files of at most 16 MB.
const LOG_ROTATION: &str = r#"{"maxsize":16,"maxbackups":1}"#;

/// Returns the arguments with which etcd runs the member.
pub fn flags(member: &Member) -> Vec<String> {
    let mut flags = vec![
        format!("--name={}", member.name),
        format!("--data-dir={}", member.data().display()),
        format!("--listen-client-urls=https://{}", member.client.listen),
        format!("--advertise-client-urls={}", member.client.url),
        format!("--listen-peer-urls=https://{}", member.peer.listen),
        format!("--initial-advertise-peer-urls={}", member.peer.url),
        format!("--heartbeat-interval={}", member.pace.heartbeat_ms),
        format!("--election-timeout={}", member.pace.election_ms),
        format!("--snapshot-count={SNAPSHOT_COUNT}"),
        format!("--snapshot-catchup-entries={CATCHUP_ENTRIES}"),
        format!("--max-request-bytes={REQUEST_BYTES_MAX}"),
        format!("--quota-backend-bytes={QUOTA_BYTES}"),
        "--auto-compaction-retention=0".to_owned(),
        "--feature-gates=InitialCorruptCheck=true,CompactHashCheck=true".to_owned(),
        format!("--log-outputs={}", member.log().display()),
        "--enable-log-rotation=true".to_owned(),
        format!("--log-rotation-config-json={LOG_ROTATION}"),
    ];
    flags.extend(tls(member));
    flags.extend(beginning(member));
    flags
}

/// Whether an etcd with the arguments `running` is what `wanted` asks for. How it once came into
/// its cluster does not count.
pub fn are_the_same(running: &[String], wanted: &[String]) -> bool {
    let lasting = |all: &[String]| {
        let lasting = all.iter().filter(|it| !it.starts_with("--initial-cluster"));
        lasting.cloned().collect::<Vec<String>>()
    };
    lasting(running) == lasting(wanted)
}

fn tls(member: &Member) -> Vec<String> {
    let files = &member.tls;
    let mut flags = Vec::new();
    for side in ["", "peer-"] {
        flags.push(format!("--{side}client-cert-auth=true"));
        flags.push(format!("--{side}cert-file={}", files.certificate.display()));
        flags.push(format!("--{side}key-file={}", files.key.display()));
        flags.push(format!(
            "--{side}trusted-ca-file={}",
            files.authority.display()
        ));
    }
    flags.push("--tls-min-version=TLS1.3".to_owned());
    // A member that reaches this one from another of its addresses would be turned away. The
    // authority certifies nodes of this cluster alone.
    flags.push("--peer-skip-client-san-verification=true".to_owned());
    flags
}

fn beginning(member: &Member) -> Vec<String> {
    let (state, cluster) = match &member.start {
        Start::New => ("new", format!("{}={}", member.name, member.peer.url)),
        Start::Existing(peers) => {
            let peers = peers.iter().map(|it| format!("{}={}", it.name, it.url));
            ("existing", peers.collect::<Vec<String>>().join(","))
        }
    };
    vec![
        format!("--initial-cluster-token={}", member.token),
        format!("--initial-cluster-state={state}"),
        format!("--initial-cluster={cluster}"),
    ]
}
