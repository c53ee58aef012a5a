//! A node's settings on its way into a cluster: those that all nodes share leave its file.

use policy::{PasswordSettings, SharedSettings};

use super::error::SettingsError;
use super::shared::{RULES, comment_out, rows};
use super::table::TABLE;
use super::{Config, Overrides};

impl Config {
    /// The settings that nodes of a cluster share, as this node has them now.
    pub fn shared(&self) -> SharedSettings {
        SharedSettings {
            passwords: self.passwords(),
            limits: self.limits.clone(),
            limit_rules: self.limit_rules.clone(),
        }
    }

    /// The treatment of passwords.
    pub(super) fn passwords(&self) -> PasswordSettings {
        PasswordSettings {
            scheme: self.password_scheme,
            count_repeated: self.settings.passwords.count_repeated,
            tell_locked: self.settings.passwords.tell_locked,
            rehash_on_bind: self.settings.passwords.rehash_on_bind,
            allow_des: self.settings.passwords.allow_des,
        }
    }

    /// The names of shared settings in the file, in its order.
    pub fn shared_in_file(&self) -> impl Iterator<Item = &str> {
        self.shared_in_file.iter().map(|it| it.setting.as_str())
    }

    /// Takes the settings for those of a node of a cluster.
    ///
    /// # Errors
    /// The file names a setting that the nodes of a cluster share.
    pub fn in_cluster(mut self) -> Result<Config, SettingsError> {
        match self.shared_in_file.first() {
            Some(error) => Err(error.clone()),
            None => {
                self.in_cluster = true;
                Ok(self)
            }
        }
    }

    /// Takes the settings for those of a node alone.
    ///
    /// # Errors
    /// The file has a setting that only a node of a cluster can have.
    pub fn alone(self) -> Result<Config, SettingsError> {
        match self.wants_cluster {
            Some(error) => Err(error),
            None => Ok(self),
        }
    }

    /// The text of a file without its shared settings, whose lines are commented out.
    ///
    /// # Errors
    /// A line has such a setting beside others. Names the line.
    pub fn without_shared(&self, text: &str) -> Result<String, SettingsError> {
        let without = comment_out(text, TABLE);
        let parsed = Config::parse(&self.folder, &without, &Overrides::default());
        let rest = |it: &Config| {
            let mut table = it.settings.to_table();
            table.remove(RULES);
            for (section, setting) in rows(TABLE) {
                section.put(setting, None, &mut table);
            }
            table
        };
        let before = Config::parse(&self.folder, text, &Overrides::default())?;
        match parsed {
            Ok(after) if after.shared_in_file.is_empty() && rest(&after) == rest(&before) => {
                Ok(without)
            }
            _ => {
                let mut error = before.shared_in_file.into_iter().next();
                if let Some(error) = &mut error {
                    error.message = "expected a setting that moves to the directory on lines of \
                                     its own, got others beside it"
                        .to_owned();
                }
                Err(error.unwrap_or_else(|| SettingsError::flag("", "expected lines to move")))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::shared::ADVICE;
    use super::*;
    use std::path::Path;

    fn parse(text: &str) -> Config {
        Config::parse(Path::new("/node"), text, &Overrides::default()).unwrap()
    }

    #[test]
    fn the_shared_settings_are_those_of_the_directory() {
        let names: Vec<String> = rows(TABLE)
            .map(|(section, setting)| format!("{}.{}", section.name, setting.name))
            .collect();
        let texts = SharedSettings::default().texts();
        let known: Vec<&str> = texts.iter().map(|it| SharedSettings::name_in(it)).collect();
        assert_eq!(names, known);
    }

    #[test]
    fn a_file_has_the_values_that_the_directory_gets() {
        let config = parse(
            "[limits]\ntime_s_max = 9\n[[subject_limits]]\ngroup = \"cn=g\"\n\
             [dynamic_entries]\nttl_min_s = 7\n[passwords]\ntell_locked = true\n\
             scheme = \"{SSHA}\"\n",
        );
        let shared = config.shared();
        assert_eq!(SharedSettings::read(&shared.texts()), Ok(shared.clone()));
        assert_eq!(shared.limits.anonymous.time_ms_max, 9_000);
        assert_eq!(shared.limit_rules.len(), 1);
        assert!(shared.passwords.tell_locked);
        let defaults = parse("").shared();
        assert_eq!(defaults, SharedSettings::default());
    }

    #[test]
    fn in_a_cluster_they_are_refused_where_they_stand() {
        for (text, line, name) in [
            ("\n[limits]\ntime_s_max = 9\n", 3, "limits.time_s_max"),
            ("limits.time_s_max = 9\n", 1, "limits.time_s_max"),
            (
                "[passwords]\nremembered_s = 9\nscheme = \"{SSHA}\"\n[limits]\ntime_s_max = 9\n",
                3,
                "passwords.scheme",
            ),
            (
                "[[subject_limits]]\nentry = \"cn=a\"\n",
                2,
                "subject_limits.entry",
            ),
        ] {
            let error = parse(text).in_cluster().unwrap_err();
            assert_eq!(
                error.to_string(),
                format!("/node/pando.toml:{line}: {name}: {ADVICE}")
            );
        }
        let fine = parse("[limits]\n[passwords]\nremembered_s = 9\n").in_cluster();
        assert!(fine.unwrap().in_cluster);
        assert!(parse(&super::super::sample()).in_cluster().is_ok());
    }

    #[test]
    fn their_lines_are_commented_out() {
        let text = "listen = []\n[limits] # some\ntime_s_max = 9\nsize_entries_max = 7 # more\n\
                    [[subject_limits]]\nentry = \"\"\"\ncn=a\"\"\"\n[passwords]\n\
                    remembered_s = 9\nscheme = \"{SSHA}\"\n";
        let without = "listen = []\n[limits] # some\n#time_s_max = 9\n\
                       #size_entries_max = 7 # more\n#[[subject_limits]]\n#entry = \"\"\"\n\
                       #cn=a\"\"\"\n[passwords]\nremembered_s = 9\n#scheme = \"{SSHA}\"\n";
        assert_eq!(parse(text).without_shared(text).unwrap(), without);
        let inline = "subject_limits = [\n  { entry = \"cn=a\" },\n]\n";
        let without = "#subject_limits = [\n#  { entry = \"cn=a\" },\n#]\n";
        assert_eq!(parse(inline).without_shared(inline).unwrap(), without);
        let beside = "\npasswords = { scheme = \"{SSHA}\", remembered_s = 9 }\n";
        let error = parse(beside).without_shared(beside).unwrap_err();
        let expected = "/node/pando.toml:2: passwords.scheme: expected a setting that moves to \
                        the directory on lines of its own, got others beside it";
        assert_eq!(error.to_string(), expected);
    }
}
