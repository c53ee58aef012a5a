//! Whether a set of rules leaves its author the right to write rules. The administrator always has
//! it.

use super::ground::Ground;
use crate::channel::Channel;
use crate::cli::Remote;
use crate::report::Problem;
use policy::access::compile::RuleSet;
use policy::access::facts::{Asker, Group, Identity, Origin, SubjectFacts};
use policy::access::words::{Way, Ways};
use schema::{Filter, Name, Schema, Truth};

/// Returns the naming contexts about which the client at the other end of `--url` may write no
/// rules under a set; none for the administrator, and for the owner of a node's folder.
pub fn locked_out_of(
    channel: &mut Channel,
    remote: &Remote,
    ground: &Ground,
    set: &RuleSet,
) -> Result<Vec<String>, Problem> {
    let (Some(url), Some(dn)) = (&remote.url, &remote.bind_dn) else {
        return Ok(Vec::new());
    };
    let name = resolve(&ground.schema, dn)?;
    let administrator =
        channel.first_value("cn=administrator,cn=config", "pandoAdministratorName")?;
    if let Some(administrator) = administrator
        && resolve(&ground.schema, &administrator)? == name
    {
        return Ok(Vec::new());
    }
    let encrypted = remote.starttls || url.starts_with("ldaps");
    let way = if encrypted { Way::Tls } else { Way::Cleartext };
    let facts = Memberships {
        groups: channel
            .values(dn, "memberOf")?
            .iter()
            .filter_map(|it| ground.schema.resolve_name(it).ok())
            .collect(),
    };
    let subject = set.of_subject(
        Asker {
            acting: Identity::Entry(name.clone()),
            real: Identity::Entry(name),
            // The address as the server sees it is not known here.
            origin: Origin::Unknown,
            ways: Ways::of(&[way, Way::Simple]),
            minute: None,
        },
        &facts,
    );
    let mut lost = Vec::new();
    for context in channel.values("", "namingContexts")? {
        let base = resolve(&ground.schema, &context)?;
        if !context.eq_ignore_ascii_case("cn=config") && !subject.administers(&base) {
            lost.push(context);
        }
    }
    Ok(lost)
}

fn resolve(schema: &Schema, dn: &str) -> Result<Name, Problem> {
    schema
        .resolve_name(dn)
        .map_err(|error| Problem::failed(format_args!("{dn}: {error}")))
}

/// Groups of the one subject that is asked about. What its entry has besides is not known here.
struct Memberships {
    groups: Vec<Name>,
}

impl SubjectFacts for Memberships {
    fn matches(&self, _: &Name, _: &Filter) -> Truth {
        Truth::Undefined
    }

    fn is_member(&self, _: &Name, group: &Group) -> Truth {
        self.groups.contains(&group.name).into()
    }
}
