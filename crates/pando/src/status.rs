//! `pando status`: shows the state of a node or server, from `cn=monitor` of its server, or from
//! the database of a folder that is not served.

pub mod doing;
pub mod figures;
mod json;
mod offline;
mod text;

use crate::channel::Channel;
use crate::cli::{Remote, Report, Status};
use crate::node_folder::data_folder;
use crate::password_input::first_line;
use crate::reach::Target;
use crate::report::{Problem, say};
use figures::Figures;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::Instant;

/// Prints the state.
pub fn status(it: &Status) -> Result<(), Problem> {
    let mut served = true;
    let mut all = Map::new();
    let mut lines = Vec::new();
    if let Some(url) = &it.remote.url {
        served &= ask_server(url, &it.remote, &mut all, &mut lines)?;
    }
    if let Some(dir) = &it.dir {
        served &= ask_folder(dir, &mut all, &mut lines)?;
    }
    match it.format {
        Report::Text => say(lines.join("\n"))?,
        Report::Json => {
            let text = serde_json::to_string_pretty(&Value::Object(all));
            say(text.map_err(Problem::failed)?)?;
        }
    }
    match served {
        true => Ok(()),
        false => Err(Problem::NotServed),
    }
}

/// The state from the folder's server, or from the folder. Returns whether it is served.
fn ask_folder(
    dir: &Path,
    all: &mut Map<String, Value>,
    lines: &mut Vec<String>,
) -> Result<bool, Problem> {
    let data = data_folder(dir)?;
    let channel = Channel::served(dir)?;
    let served = channel.is_some();
    all.insert("served".to_owned(), json!(served));
    if let Some(mut channel) = channel {
        let figures = Figures::ask(&mut channel)?;
        all.append(&mut json::of(&figures));
        lines.extend(text::of(&figures));
    } else {
        let found = offline::look(&data)?;
        all.append(&mut found.json());
        lines.extend(found.lines(dir));
    }
    Ok(served)
}

/// The state of a remote server. Returns whether it answers.
fn ask_server(
    url: &str,
    remote: &Remote,
    all: &mut Map<String, Value>,
    lines: &mut Vec<String>,
) -> Result<bool, Problem> {
    let target = Target::new("--url", url, remote.starttls, remote.ca.as_deref())?;
    let password = match &remote.bind_password_file {
        Some(file) => first_line(file)?,
        None => Vec::new(),
    };
    let began = Instant::now();
    // Everybody can read the root DSE. The root DSE does not need the database, so an entry is read
    // as well, which the server may refuse to return.
    let version = Channel::connect(&target, "", b"").and_then(|mut it| {
        let version = version(&mut it)?;
        if let Some(context) = it.first_value("", "namingContexts")? {
            it.first_value(&context, "objectClass")?;
        }
        Ok(version)
    });
    let took_ms = began.elapsed().as_millis() as u64;
    let version = match version {
        Ok(version) => version,
        Err(problem) => {
            all.insert(
                "server".to_owned(),
                json!({ "url": url, "answers": false, "problem": problem.text() }),
            );
            lines.push(format!("{url} does not answer: {}", problem.text()));
            return Ok(false);
        }
    };
    all.insert(
        "server".to_owned(),
        json!({ "url": url, "answers": true, "milliseconds": took_ms, "version": version }),
    );
    lines.push(format!("{url} answers in {took_ms} ms: {version}"));
    if let Some(name) = &remote.bind_dn {
        let figures = Figures::ask(&mut Channel::connect(&target, name, &password)?)?;
        all.append(&mut json::of(&figures));
        lines.extend(text::of(&figures));
    }
    Ok(true)
}

/// Name and version of the server in the root DSE.
fn version(channel: &mut Channel) -> Result<String, Problem> {
    let version = channel.first_value("", "vendorVersion")?;
    Ok(version.unwrap_or_else(|| "an LDAP server that does not say which".to_owned()))
}
