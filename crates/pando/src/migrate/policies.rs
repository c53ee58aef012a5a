//! Takes over the default password policy, which OpenLDAP's `ppolicy_default` names.
//!
//! Policies and account states are entries and attributes, and are copied with the others. The
//! default policy is in the old server's configuration. It is taken over by a run that ends by
//! itself, as the last one before the cut-over does: until then the old server decides about
//! passwords, and changes of account states by binds at the node would be lost.

use super::remote::{Remote, everything};
use super::trouble::Trouble;
use crate::channel::Channel;
use crate::report::{Problem, note};
use protocol::{ChangeOperation, Filter, OwnedAttribute, ResultCode, Scope, oid};

/// The node's configuration, and the old server's.
pub const CONFIG: &str = "cn=config";
const THERE: &str = "olcPPolicyDefault";
/// The attribute that names the default policy.
pub const HERE: &str = "pandoPasswordPolicy";

/// Sets the node's default policy to the old server's, if there is one, and prints the result.
pub fn take_over(remote: &mut Remote, channel: &mut Channel) -> Result<(), Trouble> {
    let root = remote.read("", &["supportedControl"])?;
    let mut controls = root.texts("supportedControl");
    if !controls.any(|it| it == oid::PASSWORD_POLICY) {
        return Ok(());
    }
    let known = channel.first_value(CONFIG, HERE).map_err(Trouble::here)?;
    if known.is_some() {
        return Ok(());
    }
    let Some(defaults) = defaults(remote)? else {
        note(format_args!(
            "password policies: the old server's configuration cannot be read; if it has a \
             ppolicy_default, set {HERE} in {CONFIG} to it"
        ));
        return Ok(());
    };
    match defaults.as_slice() {
        [] => Ok(()),
        [policy] => set(channel, policy),
        several => {
            note(format_args!(
                "password policies: the old server has a default for each database ({}): set \
                 {HERE} in {CONFIG} to one, and pwdPolicySubentry where another is meant",
                several.join("; ")
            ));
            Ok(())
        }
    }
}

/// The default policies of the old server's databases, or of another Pando; `None` if they are not
/// readable.
fn defaults(remote: &mut Remote) -> Result<Option<Vec<String>>, Trouble> {
    let mut request = everything(CONFIG, Scope::WholeSubtree, &["olcDatabase", THERE, HERE]);
    request.filter = Filter::Or(vec![
        Filter::Present("olcDatabase"),
        Filter::Present(THERE),
        Filter::Equality {
            attribute: "objectClass",
            value: b"pandoConfig",
        },
    ]);
    let (entries, code) = remote.search(&request)?;
    // If no entry at all is visible, the policy is unknown.
    if code != ResultCode::SUCCESS || entries.is_empty() {
        return Ok(None);
    }
    let mut all: Vec<String> = entries
        .iter()
        .flat_map(|it| it.texts(THERE).chain(it.texts(HERE)).map(str::to_owned))
        .collect();
    all.sort();
    all.dedup();
    Ok(Some(all))
}

fn set(channel: &mut Channel, policy: &str) -> Result<(), Trouble> {
    let is_there = channel.first_value(policy, "objectClass");
    if is_there.map_err(Trouble::here)?.is_none() {
        note(format_args!(
            "password policies: the old server's default, {policy}, was not copied: it is not set"
        ));
        return Ok(());
    }
    let attribute = OwnedAttribute::new(HERE, [policy]);
    channel
        .must_modify(CONFIG, ChangeOperation::Replace, &attribute)
        .map_err(|problem| {
            let text = problem.text();
            Trouble::Refused(Problem::failed(format_args!("{HERE}: {policy}: {text}")))
        })?;
    note(format_args!("password policies: {policy} is the default"));
    Ok(())
}
