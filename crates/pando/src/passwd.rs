//! `pando passwd`: set a password in a node, or print the hash of one.

use crate::channel::Channel;
use crate::cli::Passwd;
use crate::password_input::{ask, first_line};
use crate::report::{Problem, note, say};
use policy::password::{self, Scheme};
use protocol::extended::PasswordModifyRequest;
use protocol::{ExtendedRequest, Request, oid};

/// Sets or hashes a password.
pub fn passwd(it: &Passwd) -> Result<(), Problem> {
    let scheme: Scheme = it.scheme.parse().map_err(Problem::usage)?;
    let read = |prompt: &str| match &it.password_file {
        Some(file) => first_line(file),
        None => ask(prompt, "give --password-file"),
    };
    let Some(dir) = &it.dir else {
        let hashed = password::hash(scheme, &read("Password to hash")?).map_err(Problem::failed)?;
        return say(hashed);
    };
    let mut channel = Channel::open(dir)?;
    let dn = match &it.dn {
        Some(dn) => dn.clone(),
        None => administrator(&mut channel)?,
    };
    let new = read(&format!("New password of {dn}"))?;
    let mut value = Vec::new();
    let request = PasswordModifyRequest {
        user_identity: Some(&dn),
        old_password: None,
        new_password: Some(&new),
    };
    request.encode(&mut value);
    let request = ExtendedRequest {
        name: oid::PASSWORD_MODIFY,
        value: Some(&value),
    };
    let changed = channel.succeed(&Request::Extended(request));
    changed.map_err(|problem| problem.about(&dn))?;
    note(format_args!("the password of {dn} is changed"));
    Ok(())
}

fn administrator(channel: &mut Channel) -> Result<String, Problem> {
    let found = channel.first_value("cn=administrator,cn=config", "pandoAdministratorName")?;
    found.ok_or_else(|| {
        Problem::failed("this node has no administrator: name the DN whose password to set")
    })
}
