//! Search result references (RFC 4511 §4.5.3) for referral objects.

use protocol::{MessageId, Scope, response};
use state::referral::{urls, with_name};
use state::stop::Stop;
use state::view::VisibleEntry;
use store::RegionScope;

/// Sends a search result reference for a referral object (RFC 4511 §4.5.3).
pub(crate) fn write_reference(
    entry: &VisibleEntry<'_, '_>,
    id: MessageId,
    scope: RegionScope,
    out: &mut Vec<u8>,
) -> Result<(), Stop> {
    let mut name = Vec::new();
    entry.write_name(&mut name)?;
    let name = String::from_utf8_lossy(&name).into_owned();
    let scope = match scope {
        RegionScope::OneLevel => Scope::BaseObject,
        _ => Scope::WholeSubtree,
    };
    let urls: Vec<String> = urls(entry)
        .map(|url| with_name(url, &name, "", Some(scope)))
        .collect();
    if !urls.is_empty() {
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        response::write_search_reference(out, id, &urls, &[]);
    }
    Ok(())
}
