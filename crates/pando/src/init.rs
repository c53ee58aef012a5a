//! `pando init`: a folder with pando.toml and an empty directory.

use crate::access::{begin_with, new_rules};
use crate::cli::Init;
use crate::password_input::{ask, first_line};
use crate::report::{Problem, note};
use directory::{Failure, InitOptions};
use policy::password::{self, Scheme};
use std::path::Path;
use store::private;
use store::{IndexKind, IndexKinds};

/// The environment variable that may carry the administrator's password.
const PASSWORD_VARIABLE: &str = "PANDO_ADMIN_PASSWORD";

/// Creates the node.
pub fn init(it: &Init) -> Result<(), Problem> {
    refuse_used(&it.dir)?;
    let rules = new_rules(&it.access)?;
    let password = administrator_password(it)?;
    let password = password::hash(Scheme::Argon2id, &password).map_err(Problem::failed)?;
    let mut options = InitOptions::new(&it.suffix[0], password);
    options.suffixes.clone_from(&it.suffix);
    options.base_entries = !it.no_base;
    if let Some(administrator) = &it.admin {
        options.administrator.clone_from(administrator);
    }
    if !it.index.is_empty() {
        options.indexes = it
            .index
            .iter()
            .map(|text| parse_index(text))
            .collect::<Result<_, _>>()?;
    }
    let existed = it.dir.exists();
    let data = it.dir.join("data");
    private::create_folders(&data).map_err(|error| Problem::file(&data, error))?;
    let done = replica::create(&data, &options)
        .map_err(|failure| match failure {
            // An invalid suffix or index.
            Failure::Input(_) | Failure::Configuration(_) => Problem::usage(failure),
            failure => Problem::failed(failure),
        })
        .and_then(|()| write_settings(&it.dir))
        .and_then(|()| begin_with(&it.dir, rules.as_ref()));
    if done.is_err() {
        // Removes the incomplete folder, which was empty or missing before.
        let _ = std::fs::remove_dir_all(&data);
        let _ = std::fs::remove_file(it.dir.join(server::settings::FILE_NAME));
        if !existed {
            let _ = std::fs::remove_dir(&it.dir);
        }
        return done;
    }
    note(format_args!(
        "{} holds {}; the administrator is {}\nstart it with: pando serve {}",
        it.dir.display(),
        it.suffix.join(" and "),
        options.administrator,
        it.dir.display()
    ));
    Ok(())
}

fn refuse_used(dir: &Path) -> Result<(), Problem> {
    let Ok(mut entries) = std::fs::read_dir(dir) else {
        return Ok(());
    };
    if entries.next().is_none() {
        return Ok(());
    }
    Err(Problem::failed(format_args!(
        "{} exists and is not empty; choose a new or an empty folder",
        dir.display()
    )))
}

fn write_settings(dir: &Path) -> Result<(), Problem> {
    let path = dir.join(server::settings::FILE_NAME);
    private::write(&path, server::settings::sample()).map_err(|error| Problem::file(&path, error))
}

/// `ATTRIBUTE[:KIND[+KIND]…]`
pub fn parse_index(text: &str) -> Result<(String, IndexKinds), Problem> {
    let (attribute, kinds) = text.split_once(':').unwrap_or((text, "equality"));
    Ok((attribute.to_owned(), parse_kinds(kinds.split('+'))?))
}

/// Names of index kinds.
pub fn parse_kinds<'t>(names: impl Iterator<Item = &'t str>) -> Result<IndexKinds, Problem> {
    let mut kinds = IndexKinds::NONE;
    for name in names {
        let kind = IndexKind::ALL
            .into_iter()
            .find(|kind| kind.name().eq_ignore_ascii_case(name));
        let Some(kind) = kind else {
            let known = IndexKind::ALL.map(IndexKind::name).join(", ");
            return Err(Problem::usage(format_args!(
                "index kind {name}: expected one of {known}"
            )));
        };
        kinds = kinds | IndexKinds::of(&[kind]);
    }
    Ok(kinds)
}

/// The password from the file, the environment variable, or the terminal.
fn administrator_password(it: &Init) -> Result<Vec<u8>, Problem> {
    let password = match (&it.admin_password_file, std::env::var_os(PASSWORD_VARIABLE)) {
        (Some(file), _) => first_line(file)?,
        (None, Some(value)) => value.into_encoded_bytes(),
        (None, None) => {
            let suffix = &it.suffix[0];
            let prompt = match &it.admin {
                Some(administrator) => format!("Password of {administrator}"),
                None => format!("Password of cn=admin,{suffix}"),
            };
            let ways = format!("give --admin-password-file, or set {PASSWORD_VARIABLE}");
            ask(&prompt, &ways)?
        }
    };
    if password.is_empty() {
        return Err(Problem::usage("the administrator's password is empty"));
    }
    Ok(password)
}
