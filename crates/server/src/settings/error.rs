//! What is wrong with a setting, and where.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// A setting that is not what was expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingsError {
    /// The file and the line, from 1; `None` for a flag.
    pub place: Option<(PathBuf, usize)>,
    /// The setting's name, dotted: `connections.total_max`. Empty when the file's text is not
    /// TOML.
    pub setting: String,
    /// What was expected and what came.
    pub message: String,
}

impl SettingsError {
    /// A flag, or a combination of settings, is wrong.
    pub(crate) fn flag(setting: &str, message: impl fmt::Display) -> Self {
        SettingsError {
            place: None,
            setting: setting.to_owned(),
            message: message.to_string(),
        }
    }

    pub(crate) fn unreadable(path: &Path, error: &std::io::Error) -> Self {
        SettingsError {
            place: None,
            setting: String::new(),
            message: format!("{}: expected a readable file, got: {error}", path.display()),
        }
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((path, line)) = &self.place {
            write!(f, "{}:{line}: ", path.display())?;
        }
        if !self.setting.is_empty() {
            write!(f, "{}: ", self.setting)?;
        }
        f.write_str(&self.message)
    }
}

impl std::error::Error for SettingsError {}

/// The file that is being read: turns a byte range of its text into a line and a setting.
pub(super) struct Place<'a> {
    pub path: PathBuf,
    pub text: &'a str,
}

impl Place<'_> {
    /// Where a value stands: `tls.key`, or `listen.0` for the first of a list. `None` for a setting
    /// that the file does not have.
    pub fn span(&self, name: &str) -> Option<Range<usize>> {
        let file = toml::de::DeTable::parse(self.text).ok()?;
        let (first, rest) = name.split_once('.').unwrap_or((name, ""));
        let mut value = file.get_ref().get(first)?;
        for part in rest.split('.').filter(|it| !it.is_empty()) {
            let inside = value.get_ref();
            value = match part.parse::<usize>() {
                Ok(at) => inside.get(at)?,
                Err(_) => inside.get(part)?,
            };
        }
        Some(value.span())
    }

    /// Parses the text of a setting, named as for [`Place::span`].
    pub fn parse<T>(&self, name: &str, text: &str) -> Result<T, SettingsError>
    where
        T: FromStr<Err: fmt::Display>,
    {
        let parsed = text.parse();
        parsed.map_err(|it: T::Err| self.error(self.span(name), "", it))
    }

    /// An error at `span`; `setting` may be empty when the span tells it.
    pub fn error(
        &self,
        span: Option<Range<usize>>,
        setting: &str,
        message: impl fmt::Display,
    ) -> SettingsError {
        let at = span.map_or(0, |it| it.start);
        let setting = match setting {
            "" => self.setting_at(at),
            given => given.to_owned(),
        };
        let place = Some((self.path.clone(), self.line_at(at)));
        SettingsError {
            place,
            setting,
            message: message.to_string(),
        }
    }

    /// An error that the TOML reader found.
    pub fn toml(&self, error: &toml::de::Error) -> SettingsError {
        self.error(error.span(), "", rephrase(error.message()))
    }

    fn before(&self, at: usize) -> &str {
        self.text.get(..at).unwrap_or(self.text)
    }

    fn line_at(&self, at: usize) -> usize {
        self.before(at).matches('\n').count() + 1
    }

    /// The key of the line at `at` under the table header above it.
    fn setting_at(&self, at: usize) -> String {
        let start = self.before(at).rfind('\n').map_or(0, |it| it + 1);
        let mut lines = self.text.get(..start).unwrap_or_default().lines().rev();
        let mut line = self
            .text
            .get(start..)
            .unwrap_or_default()
            .lines()
            .next()
            .unwrap_or("");
        // A value that goes over several lines has its key on the first.
        while !line.contains('=') && !line.trim_start().starts_with('[') {
            match lines.next() {
                Some(above) => line = above,
                None => return String::new(),
            }
        }
        let Some((key, _)) = line.split_once('=') else {
            return line.trim().trim_matches(['[', ']']).to_owned();
        };
        // `[table]`, or `[[tables]]` of which there may be several.
        let header = lines.find_map(|it| {
            let inside = it.trim().strip_prefix('[')?;
            inside.trim_start_matches('[').split(']').next()
        });
        match header {
            Some(header) => format!("{}.{}", header.trim(), key.trim()),
            None => key.trim().to_owned(),
        }
    }
}

/// Serde's words in our order: what was expected, then what came.
fn rephrase(message: &str) -> String {
    let message = message.trim();
    for prefix in ["invalid type: ", "invalid value: "] {
        if let Some((got, expected)) = message
            .strip_prefix(prefix)
            .and_then(|it| it.split_once(", expected "))
        {
            let beyond = expected == "u32" && got.starts_with("integer") && !got.contains('-');
            let expected = match beyond {
                true => "a whole number from 0 to 4294967295",
                false => words(expected),
            };
            return format!("expected {expected}, got {got}");
        }
    }
    if let Some((_, expected)) = message
        .strip_prefix("unknown field ")
        .and_then(|it| it.split_once(", expected "))
    {
        return format!("there is no such setting; expected {expected}");
    }
    if let Some((got, expected)) = message
        .strip_prefix("unknown variant ")
        .and_then(|it| it.split_once(", expected "))
    {
        return format!("expected {expected}, got {got}");
    }
    message.replace('\n', "; ")
}

fn words(expected: &str) -> &str {
    match expected {
        "usize" | "u64" | "u32" => "a whole number from 0",
        "a boolean" => "true or false",
        "path string" | "a string" => "text in quotation marks",
        "a sequence" => "a list in brackets",
        other => other,
    }
}
