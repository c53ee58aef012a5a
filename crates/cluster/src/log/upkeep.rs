//! The duties of a node besides reading and appending: it reports how far it is, trims the log when
//! that is its turn, and looks how full etcd is.

use super::members::{Database, Equality};
use super::pool::Connected;
use super::probe::{describe, within};
use super::state::{Reason, Session, Shared, lock, place};
use super::values::{self, Report, ReportedDigest};
use super::{room, trim};
use etcd_client::{Compare, CompareOp, Error, Txn, TxnOp};
use replica::commit_log::LogFailure;
use std::time::Duration;
use tokio::time::Instant;

/// Time between two looks at the size of etcd's database.
const SIZE_EVERY: Duration = Duration::from_secs(2);
/// Part of etcd's quota from which on no bundle is appended, in percent.
const BUSY_PERCENT: u64 = 60;
/// Part of the quota below which bundles are appended again: less, so that it does not change with
/// each trim.
const CALM_PERCENT: u64 = 55;
/// Time after which the next node makes room in a full etcd.
const FULL_TURN: Duration = Duration::from_secs(20);
/// Time for which etcd is full before its members give back free room whatever their size. They
/// count room that trimming has made free only after a further write, and a full one takes none.
const FULL_WAIT: Duration = Duration::from_secs(5);
/// Distance from the clocks of the other nodes at which a node takes no writes.
const CLOCK_OFFSET_MAX: Duration = Duration::from_secs(5);

/// Bytes of records that a node has executed since its last report, after which it reports soon:
/// those that write wait for the slowest.
const REPORT_BYTES: u64 = 2 << 20;

/// When each duty was last done.
struct Done {
    report: Option<Instant>,
    /// The last place that was reported.
    place: u64,
    /// The last position whose digest was reported.
    digest: u64,
    size: Option<Instant>,
    trim: Instant,
    /// Since when etcd is known to be full; `None` while it is not.
    full: Option<Instant>,
    /// When its members last gave back room.
    room: Option<Instant>,
}

/// Does the duties until the log ends.
pub(super) async fn run(shared: &Shared) {
    let mut done = Done {
        report: None,
        place: 0,
        digest: 0,
        size: None,
        trim: Instant::now(),
        full: None,
        room: None,
    };
    let every = shared.settings.trimming.every.min(report_pause(shared));
    loop {
        let connected = shared.pool.connected().await;
        look(shared, &connected, &mut done).await;
        // A report wakes this only for a digest: the others can wait.
        let _ = tokio::time::timeout(every, shared.reported.notified()).await;
    }
}

/// Time between two reports at least.
fn report_pause(shared: &Shared) -> Duration {
    shared.settings.report_every / 5
}

/// Tells whether so much time has passed since something, or it was never done.
fn is_due(done: Option<Instant>, every: Duration) -> bool {
    done.is_none_or(|it| it.elapsed() >= every)
}

/// Does what is due. One duty that fails does not keep the others from being done: a full etcd
/// takes no report, but can be trimmed.
async fn look(shared: &Shared, connected: &Connected, done: &mut Done) {
    let session = shared.session.borrow().clone();
    // A node that cannot follow the log needs no records any more.
    if let Some(session) = session
        && shared.queue.failure().is_none()
    {
        let reported = report(shared, connected, &session, done).await;
        note(connected, "report", reported);
    }
    compare(shared);
    look_at_clock(shared);
    if is_due(done.size, SIZE_EVERY) {
        done.size = Some(Instant::now());
        note(connected, "size", size(shared, connected, done).await);
    }
    let trimming = &shared.settings.trimming;
    let bytes = lock(&shared.volume).since_trim();
    if is_due(Some(done.trim), trimming.every) || bytes >= trimming.every_bytes {
        done.trim = Instant::now();
        note(connected, "trim", trim::trim(shared, connected).await);
    }
}

/// Notes a duty that was not done. The appends and the reader find out whether the member works.
fn note(connected: &Connected, duty: &str, done: Result<(), Error>) {
    if let Err(error) = done {
        let (url, error) = (&connected.url, describe(&error));
        tracing::debug!(url, duty, error, "a duty for the commit log failed");
    }
}

/// Reports how far this node is, if there is news and the last report is old enough.
async fn report(
    shared: &Shared,
    connected: &Connected,
    session: &Session,
    done: &mut Done,
) -> Result<(), Error> {
    let (value, digest) = {
        let own = lock(&shared.own);
        let Some(standing) = own.standing else {
            return Ok(());
        };
        let digest = own.digests.back().map_or(0, |it| it.position);
        let is_news = digest != done.digest && is_due(done.report, report_pause(shared));
        let is_far = is_due(done.report, report_pause(shared) / 5) && {
            let volume = lock(&shared.volume);
            volume.behind(done.place) >= volume.behind(standing.place) + REPORT_BYTES
        };
        if !is_far && !is_news && !is_due(done.report, shared.settings.report_every) {
            return Ok(());
        }
        let now_us = shared.settings.clock.now_us();
        let mut report = Report::new(&standing, session.epoch, now_us);
        let reported = |it: &super::state::Digest| ReportedDigest::new(it.position, it.digest);
        report.digests = own.digests.iter().map(reported).collect();
        done.place = standing.place;
        (values::encode(&report), digest)
    };
    let node = shared.keys.node(shared.settings.node);
    let key = shared.keys.position(shared.settings.node);
    let ours = Compare::mod_revision(node, CompareOp::Equal, session.revision);
    let transaction = Txn::new()
        .when([ours])
        .and_then([TxnOp::put(key, value, None)]);
    let mut kv = connected.kv();
    let answer = within(shared.settings.attempt_timeout, kv.txn(transaction)).await?;
    shared.saw_head(answer.header().map_or(0, |it| place(it.revision())));
    done.report = Some(Instant::now());
    done.digest = digest;
    Ok(())
}

/// Compares this node's state with that of the others: it follows the log no longer if most have
/// another one, and appends nothing while it is unknown which state is right.
///
/// Until its registration came back, the reports known of this node may be of an earlier process,
/// which had another state.
fn compare(shared: &Shared) {
    let settings = &shared.settings;
    let epoch = shared.session.borrow().as_ref().map(|it| it.epoch);
    let members = lock(&shared.members);
    if epoch.is_none_or(|it| !members.has_registered(settings.node, it)) {
        return;
    }
    let equality = members.equality(settings.node, settings.trimming.alive_for);
    drop(members);
    let text = match equality {
        Equality::Equal => None,
        Equality::Minority { position } => {
            return shared.fail(LogFailure::Different { position });
        }
        Equality::Undecided { position } => Some(format!(
            "nodes have different states at position {position}, and none is that of most nodes: \
             run `pando check` on a backup of each node, then remove those that are wrong"
        )),
    };
    shared.set(Reason::Different, text);
}

/// Compares this node's clock with those of the others: all nodes take the time of a write from
/// the node that it came to.
fn look_at_clock(shared: &Shared) {
    let settings = &shared.settings;
    let members = lock(&shared.members);
    let offset = members.clock_offset_us(settings.node, settings.trimming.alive_for);
    drop(members);
    let wrong = offset.filter(|it| it.unsigned_abs() > CLOCK_OFFSET_MAX.as_micros() as u64);
    let text = wrong.map(|it| {
        let seconds = it.unsigned_abs() as f64 / 1e6;
        let side = if it > 0 { "behind" } else { "ahead of" };
        let most = CLOCK_OFFSET_MAX.as_secs();
        format!(
            "the clock of this node is {seconds:.1} s {side} those of the other nodes, expected \
             at most {most} s: correct it"
        )
    });
    shared.set(Reason::Clock, text);
}

/// Looks how full etcd's database is.
async fn size(shared: &Shared, connected: &Connected, done: &mut Done) -> Result<(), Error> {
    let mut maintenance = connected.client.maintenance_client();
    let status = within(shared.settings.attempt_timeout, maintenance.status()).await?;
    let alarm = status.errors().iter().find(|it| it.contains("NOSPACE"));
    // An etcd without an own quota reports none.
    let quota = match place(status.db_size_quota()) {
        0 => shared.settings.trimming.quota_bytes,
        told => told,
    };
    let mut database = Database {
        used_bytes: place(status.raft_used_db_size()),
        quota_bytes: quota,
        is_full: alarm.is_some(),
    };
    let has_room = percent(database) < CALM_PERCENT;
    // An alarm may end before anything was trimmed: then nothing but a trim as of a full etcd
    // makes room.
    database.is_full |= done.full.is_some() && !has_room;
    *lock(&shared.database) = Some(database);
    if !database.is_full {
        done.full = None;
    }
    let Some(alarm) = alarm else {
        set_busy(shared, database);
        return Ok(());
    };
    let text = format!(
        "busy: etcd has raised an alarm ({alarm}): it is taken back by itself once records can be \
         trimmed, else by `etcdctl defrag` on each member and `etcdctl alarm disarm`"
    );
    shared.set(Reason::Busy, Some(text));
    let since = *done.full.get_or_insert_with(Instant::now);
    let is_overdue = since.elapsed() >= FULL_WAIT && is_due(done.room, FULL_TURN);
    if (has_room || is_overdue) && since.elapsed() >= FULL_TURN * rank(shared) {
        done.room = Some(Instant::now());
        room::make(shared).await?;
    }
    Ok(())
}

/// Number of nodes that joined before this one: all but the first leave it time.
fn rank(shared: &Shared) -> u32 {
    let view = lock(&shared.members).view(shared.settings.trimming.alive_for);
    let own = shared.settings.node;
    let before = view.present().into_iter().take_while(|it| it.id != own);
    before.map(|_| 1).sum()
}

/// The part of the quota that is used.
fn percent(database: Database) -> u64 {
    database.used_bytes.saturating_mul(100) / database.quota_bytes.max(1)
}

/// Marks etcd as too full for appends, or as not.
fn set_busy(shared: &Shared, database: Database) {
    let used = database.used_bytes;
    let percent = percent(database);
    let was = shared.is_busy();
    if percent >= BUSY_PERCENT {
        let text = format!(
            "busy: etcd's database holds {used} bytes, {percent} percent of its quota; expected \
             less than {BUSY_PERCENT}"
        );
        shared.set(Reason::Busy, Some(text));
    } else if was && percent < CALM_PERCENT {
        shared.set(Reason::Busy, None);
    }
}
