//! Settings that move from a node's file to the directory when the node becomes the first of a
//! cluster: from then on all nodes have them in common.

use crate::channel::Channel;
use crate::report::{Problem, note};
use policy::SharedSettings;
use protocol::{AddRequest, Change, ChangeOperation, ModifyRequest, OwnedAttribute, Request};
use server::{Config, Overrides};
use std::fs;
use std::path::{Path, PathBuf};
use store::private;

/// The entry that gets the settings.
const ENTRY: &str = "cn=settings,cn=config";
/// The attribute that has one of them in each value.
const ATTRIBUTE: &str = "pandoSetting";

/// Settings that are to move.
pub struct Moving {
    dir: PathBuf,
    settings: SharedSettings,
    /// Names of the settings that stand in the file.
    named: Vec<String>,
    /// Text of the file without them; `None` if it names none.
    file: Option<String>,
}

impl Moving {
    /// Reads the settings of the node in a folder. Changes nothing.
    pub fn read(dir: &Path) -> Result<Moving, Problem> {
        let config = Config::load(dir, &Overrides::default()).map_err(Problem::usage)?;
        let named: Vec<String> = config.shared_in_file().map(str::to_owned).collect();
        let file = match named.is_empty() {
            true => None,
            false => {
                let path = file_of(dir);
                let text = fs::read_to_string(&path).map_err(|it| Problem::file(&path, it))?;
                Some(config.without_shared(&text).map_err(Problem::usage)?)
            }
        };
        Ok(Moving {
            dir: dir.to_owned(),
            settings: config.shared(),
            named,
            file,
        })
    }

    /// Writes all settings into the directory of the node, which is not served. Those that another
    /// cluster has left there stay, unless the file names them.
    pub fn put_into_directory(&self) -> Result<(), Problem> {
        let mut channel = Channel::found(&self.dir)?;
        let before = channel.values(ENTRY, ATTRIBUTE)?;
        let texts = OwnedAttribute::new(ATTRIBUTE, self.merged(&before));
        if before.is_empty() {
            let class = OwnedAttribute::new("objectClass", ["pandoConfig"]);
            return channel.succeed(&Request::Add(AddRequest {
                entry: ENTRY,
                attributes: vec![class.as_partial(), texts.as_partial()],
            }));
        }
        channel.succeed(&Request::Modify(ModifyRequest {
            object: ENTRY,
            changes: vec![Change {
                operation: ChangeOperation::Replace,
                attribute: texts.as_partial(),
            }],
        }))
    }

    /// The texts for the directory, which has had others.
    fn merged(&self, before: &[String]) -> Vec<String> {
        let name = |it: &String| SharedSettings::name_in(it).to_owned();
        let is_rule = |it: &String| SharedSettings::is_of_rule(it);
        let names_rules = self.named.iter().any(is_rule);
        let stays = |it: &&String| match is_rule(it) {
            true => !names_rules,
            false => !self.named.contains(&name(it)),
        };
        let mut texts: Vec<String> = before.iter().filter(stays).cloned().collect();
        let had: Vec<String> = texts.iter().map(name).collect();
        // Some nodes may have a program that does not know these. Without them the defaults hold.
        let defaults = SharedSettings::default().texts();
        let goes_without = |it: &String| SharedSettings::is_of_level_3(it) && defaults.contains(it);
        let new = self.settings.texts().into_iter();
        texts.extend(new.filter(|it| !had.contains(&name(it)) && !goes_without(it)));
        texts
    }

    /// Takes the settings out of the file: comments their lines out, and says so.
    pub fn take_out_of_file(&self) -> Result<(), Problem> {
        let Some(text) = &self.file else {
            return Ok(());
        };
        let path = file_of(&self.dir);
        let partial = path.with_extension("toml.partial");
        let written = private::write(&partial, text)
            .and_then(|()| fs::metadata(&path))
            .and_then(|it| fs::set_permissions(&partial, it.permissions()))
            .and_then(|()| fs::rename(&partial, &path));
        written.map_err(|error| Problem::file(&path, error))?;
        note(format_args!(
            "moved from {} to {ENTRY} in the directory, for all nodes: {}",
            path.display(),
            self.named.join(", ")
        ));
        Ok(())
    }
}

fn file_of(dir: &Path) -> PathBuf {
    dir.join(server::settings::FILE_NAME)
}
