//! The tables of `docs/reference/settings.md`, made from the table of settings. A test holds the
//! page equal to them.

use std::fmt::Write;

use super::sample::defaults;
use super::section::{Reload, Setting};
use super::table::TABLE;

/// The part of `docs/reference/settings.md` that lists the settings: a table for each section.
pub fn tables() -> String {
    let mut text = String::new();
    let defaults = defaults();
    for section in TABLE {
        let _ = match (section.name, section.repeats) {
            ("", _) => writeln!(text, "\n### Above the first header"),
            (name, None) => writeln!(text, "\n### `[{name}]`"),
            (name, Some(whose)) => writeln!(text, "\n### `[{name}]`\n\nFor {whose}"),
        };
        text.push_str(match section.repeats {
            None => "\n| setting | value | default | holds | meaning |\n|---|---|---|---|---|\n",
            Some(_) => "\n| setting | default |\n|---|---|\n",
        });
        for setting in section.settings {
            let name = setting.name;
            let default = setting.default(section, &defaults);
            let default = default.map_or_else(|| "none".to_owned(), |it| format!("`{it}`"));
            let _ = match section.repeats {
                Some(_) => writeln!(text, "| `{name}` | {default} |"),
                None => {
                    let accepted = setting.accepted();
                    let holds = match section.shares(setting) {
                        true => format!("{}, shared", setting.reload.word()),
                        false => setting.reload.word().to_owned(),
                    };
                    let about = setting.about.concat();
                    writeln!(
                        text,
                        "| `{name}` | {accepted} | {default} | {holds} |{about} |"
                    )
                }
            };
        }
    }
    text
}

impl Setting {
    /// The accepted values in words.
    fn accepted(&self) -> String {
        let unit = self.unit;
        match (&self.range, self.type_name) {
            (Some(range), _) => format!("{unit}, {} to {}", range.start(), range.end()),
            (None, "u32") => format!("{unit}, 0 to {}", u32::MAX),
            (None, "u64" | "usize") => format!("{unit}, 0 or more"),
            (None, _) => unit.to_owned(),
        }
    }
}

impl Reload {
    /// The word for it in the column *holds*.
    fn word(self) -> &'static str {
        match self {
            Reload::AtOnce => "at once",
            Reload::NextTls => "next TLS",
            Reload::NextBind => "next bind",
            Reload::Restart => "restart",
        }
    }
}
