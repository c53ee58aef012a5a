//! The sample file, made from the table of settings.

use std::fmt::Write;

use policy::LimitSettings;

use super::section::{Section, Setting};
use super::table::{Settings, TABLE};

/// A `pando.toml` that says everything and changes nothing: every setting with its meaning and
/// its default, commented out.
pub fn sample() -> String {
    let mut text = String::from(
        "# Settings of this node. What must be equal on all nodes (schema, access, indexes)\n\
         # lives in the directory under cn=config. Lines that are commented out show defaults.\n\
         # In a cluster, limits, [dynamic_entries], and [passwords] but for remembered_max,\n\
         # remembered_s, dictionary, breached and saslauthd live there too, in\n\
         # cn=settings,cn=config, and must not stand here.\n",
    );
    let defaults = defaults();
    for section in TABLE {
        if !section.name.is_empty() {
            let _ = writeln!(text, "\n[{}]", section.name);
        }
        if let Some(whose) = section.repeats {
            let _ = writeln!(text, "# The same, for {whose}");
        }
        for (at, setting) in section.settings.iter().enumerate() {
            if section.repeats.is_none() {
                // The first setting stands right below its header.
                let gap = at > 0 || section.name.is_empty();
                text.push_str(if gap { "\n" } else { "" });
                for line in setting.about {
                    let _ = writeln!(text, "#{line}");
                }
            }
            let shown = setting.default(section, &defaults);
            let shown = shown.or(setting.example.map(str::to_owned));
            let _ = writeln!(text, "#{} = {}", setting.name, shown.unwrap_or_default());
        }
    }
    text
}

/// The settings of an empty file, as TOML.
pub fn defaults() -> toml::Table {
    let mut settings = Settings::default();
    let known = LimitSettings::default();
    settings.limits.complete(known.everybody);
    settings.anonymous_limits.complete(known.anonymous);
    settings.administrator_limits.complete(known.administrator);
    settings.to_table()
}

impl Setting {
    /// The default as the file spells it; `None` for a setting that has none.
    pub fn default(&self, section: &Section, defaults: &toml::Table) -> Option<String> {
        let default = section.value(self, defaults);
        default.map(toml::Value::to_string)
    }
}
