//! Settings that all nodes of a cluster share: a node alone has them in its file, a cluster in the
//! directory. Here they are found in a file, and taken out of it.

use std::ops::Range;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::error::{Place, SettingsError};
use super::section::{Section, Setting};

/// The section with limits of single subjects and groups, which may stand in a file several times.
pub(super) const RULES: &str = "subject_limits";
/// The advice for a file that names a shared setting.
pub(super) const ADVICE: &str = "expected no such setting on a node of a cluster: \
    cn=settings,cn=config in the directory has it for all nodes; delete it here, and change it \
    there";

impl Section {
    /// Whether all nodes of a cluster share a setting of this section.
    pub fn shares(&self, setting: &Setting) -> bool {
        match self.name {
            "limits" | "anonymous_limits" | "administrator_limits" | "dynamic_entries" => true,
            "passwords" => !matches!(
                setting.name,
                "remembered_max" | "remembered_s" | "dictionary" | "breached" | "saslauthd"
            ),
            _ => false,
        }
    }
}

/// The rows of shared settings.
pub(super) fn rows(
    table: &'static [Section],
) -> impl Iterator<Item = (&'static Section, &'static Setting)> {
    let of = |it: &'static Section| it.settings.iter().map(move |setting| (it, setting));
    table
        .iter()
        .flat_map(of)
        .filter(|(section, setting)| section.shares(setting))
}

/// The errors that a file's shared settings are on a node of a cluster, in the order of the file.
pub(super) fn errors(place: &Place<'_>, table: &'static [Section]) -> Vec<SettingsError> {
    let error = |it: Found| place.error(Some(it.range), &it.name, ADVICE);
    find(place.text, table).into_iter().map(error).collect()
}

/// A shared setting in a file.
struct Found {
    /// The name, `limits.time_s_max`.
    name: String,
    /// The bytes from the begin of its key to the end of its value.
    range: Range<usize>,
}

/// Finds the shared settings of a file, in its order.
fn find(text: &str, known: &'static [Section]) -> Vec<Found> {
    let Ok(file) = DeTable::parse(text) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    for (key, value) in file.get_ref() {
        let name: &str = key.get_ref();
        match value.get_ref() {
            DeValue::Table(table) => {
                let is_shared = |key: &str| {
                    rows(known)
                        .any(|(section, setting)| section.name == name && setting.name == key)
                };
                let keys = table.iter().filter(|(key, _)| is_shared(key.get_ref()));
                found.extend(keys.map(|(key, value)| Found {
                    name: format!("{name}.{}", key.get_ref()),
                    range: range(key.span(), value),
                }));
            }
            DeValue::Array(rules) if name == RULES => {
                let is_inline = text[key.span().end..].trim_start().starts_with('=');
                if is_inline {
                    found.push(Found {
                        name: RULES.to_owned(),
                        range: range(key.span(), value),
                    });
                }
                let tables = rules.iter().filter_map(|it| it.get_ref().as_table());
                let keys = tables.filter(|_| !is_inline).flat_map(DeTable::iter);
                found.extend(keys.map(|(key, value)| Found {
                    name: format!("{RULES}.{}", key.get_ref()),
                    range: range(key.span(), value),
                }));
            }
            _ => {}
        }
    }
    found.sort_by_key(|it| it.range.start);
    found
}

fn range(key: Range<usize>, value: &Spanned<DeValue<'_>>) -> Range<usize> {
    key.start..value.span().end.max(key.end)
}

/// The text of a file whose lines with shared settings are commented out.
pub(super) fn comment_out(text: &str, table: &'static [Section]) -> String {
    let found = find(text, table);
    let mut commented = String::with_capacity(text.len() + 2 * found.len());
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let range = at..at + line.len();
        at = range.end;
        let meets = |it: &Found| it.range.start < range.end && range.start < it.range.end;
        let is_header = line.trim_start().starts_with("[[") && line.contains(RULES);
        if is_header || found.iter().any(meets) && !line.trim_start().starts_with('#') {
            commented.push('#');
        }
        commented.push_str(line);
    }
    commented
}
