//! A full etcd that can be used again: its members give the room back that trimming has made free,
//! and the alarm that they raised is ended.

use super::probe::within;
use super::state::Shared;
use etcd_client::{AlarmAction, AlarmOptions, AlarmType, Error};
use std::time::Duration;

/// Time that a member may take to write its database anew.
const PATIENCE: Duration = Duration::from_secs(60);

/// Has all members give back their free room, one after the other, then ends their alarms. One that
/// is full nevertheless raises its alarm again.
///
/// # Errors
/// A member does not answer, or refuses. What was done stays.
pub(super) async fn make(shared: &Shared) -> Result<(), Error> {
    let urls = shared.pool.endpoints();
    tracing::warn!("etcd was full: its members give back the room of trimmed records");
    let mut alarmed = None;
    for url in urls.iter() {
        let client = shared.pool.dial(url).await?;
        let mut maintenance = client.maintenance_client();
        within(PATIENCE, maintenance.defragment()).await?;
        alarmed = Some(maintenance);
    }
    let Some(mut maintenance) = alarmed else {
        return Ok(());
    };
    let wait = shared.settings.attempt_timeout;
    let all = maintenance.alarm(AlarmAction::Get, AlarmType::Nospace, None);
    let raised = within(wait, all).await?;
    for alarm in raised.alarms() {
        let mut of = AlarmOptions::new();
        of.with_member(alarm.member_id());
        let off = AlarmAction::Deactivate;
        let ended = maintenance.alarm(off, AlarmType::Nospace, Some(of));
        within(wait, ended).await?;
    }
    Ok(())
}
