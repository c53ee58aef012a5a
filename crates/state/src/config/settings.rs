//! Settings that the nodes of a cluster share, from the values of `pandoSetting` in
//! `cn=settings,cn=config`. A node alone has them in its file, and the entry, which a backup of a
//! cluster may have brought, holds for nothing.

use super::{SETTINGS_NAME, config_texts, well_known};
use crate::level;
use crate::meta::META_CLUSTER;
use crate::stop::Failure;
use policy::{LimitRule, LimitSettings, LimitSubject, Limits, SharedSettings};
use schema::Schema;
use store::Snapshot;

/// Reads the settings; `None` for the database of a node alone.
pub(super) fn load(
    snapshot: &Snapshot<'_>,
    schema: &Schema,
) -> Result<Option<SharedSettings>, Failure> {
    if snapshot.meta(META_CLUSTER)?.is_none() {
        return Ok(None);
    }
    let entry = well_known(schema, SETTINGS_NAME);
    let texts = config_texts(snapshot, schema, &entry, "pandoSetting")?;
    let unusable = |text: String| Failure::Configuration(format!("{SETTINGS_NAME}: {text}"));
    // Nodes with an older program do not know such a setting.
    let mut later = texts.iter().filter(|it| SharedSettings::is_of_level_3(it));
    if let Some(later) = later.next()
        && level::of(snapshot)? < level::SHARES_FURTHER
    {
        return Err(unusable(format!(
            "{}: expected no such setting before format level {} (pando cluster upgrade)",
            SharedSettings::name_in(later),
            level::SHARES_FURTHER
        )));
    }
    let mut settings = SharedSettings::read(&texts).map_err(unusable)?;
    settings.limits = resolve_rules(schema, &settings.limits, &settings.limit_rules)?;
    Ok(Some(settings))
}

/// Returns the limits with rules whose names of subjects are resolved.
///
/// # Errors
/// `Failure::Configuration` shows a name that is none.
pub fn resolve_rules(
    schema: &Schema,
    settings: &LimitSettings,
    rules: &[(LimitSubject<String>, Limits)],
) -> Result<LimitSettings, Failure> {
    let mut limits = settings.clone();
    for (subject, of_its_own) in rules {
        let resolve = |name: &str| {
            schema.resolve_name(name).map_err(|error| {
                let text = format!("subject_limits: \"{name}\": {error}");
                Failure::Configuration(text)
            })
        };
        let (subject, spelled) = subject.resolve(resolve)?;
        limits.rules.push(LimitRule {
            subject,
            spelled: spelled.to_owned(),
            limits: *of_its_own,
        });
    }
    Ok(limits)
}
