//! Get effective rights control: the rights of a subject on each entry of a search, and the rules
//! that grant them.
//!
//! Two forms are in use. Requests that select the attribute `aclRights` (Sun, OpenDJ, the UnboundID
//! SDK) get one value for the entry and one for each attribute, and with `aclRightsInfo` the rules;
//! other requests get the letters of 389 Directory Server in `entryLevelRights` and
//! `attributeLevelRights`.

use policy::{Decision, Right, Subject};
use protocol::control::EffectiveRightsRequest;
use protocol::{ResultCode, SearchRequest, ber};
use schema::{Name, TypeId};
use state::stop::Stop;
use state::view::{View, VisibleEntry};

/// The rights of an attribute, with the letters of 389 Directory Server.
const ATTRIBUTE_RIGHTS: [(Right, &str, &str); 4] = [
    (Right::Read, "read", "r"),
    (Right::Search, "search", "s"),
    (Right::Compare, "compare", "c"),
    // The letters of adding and of deleting values.
    (Right::Write, "write", "wo"),
];
/// The rights of an entry, with the letters of 389 Directory Server.
const ENTRY_RIGHTS: [(Right, &str, &str); 4] = [
    (Right::Read, "read", "v"),
    (Right::Add, "add", "a"),
    (Right::Delete, "delete", "d"),
    (Right::Rename, "rename", "n"),
];

/// The subject whose rights are reported, and the form.
#[derive(Debug)]
pub struct EffectiveRights {
    subject: Subject,
    /// Attribute types to report besides those of the entry.
    attributes: Vec<TypeId>,
    /// Whether the form is `aclRights`.
    spelled_out: bool,
    /// Whether the deciding rules are reported too.
    explains: bool,
}

impl EffectiveRights {
    /// Resolves the control about the subject that it names; `None` if that one is not known here.
    /// A subject may ask about identities that it may act as (RFC 4370); for most subjects that is
    /// themselves only.
    ///
    /// # Errors
    /// `insufficientAccessRights`, whether the subject is unknown or may not be asked about.
    pub fn of(
        view: &View<'_>,
        subject: Option<Subject>,
        request: &SearchRequest<'_>,
        asked: &EffectiveRightsRequest<'_>,
    ) -> Result<EffectiveRights, Stop> {
        let allowed = match &subject {
            Some(other) => view.may_act_as(other)?,
            None => false,
        };
        let Some(subject) = subject.filter(|_| allowed) else {
            return Stop::refuse(
                ResultCode::INSUFFICIENT_ACCESS_RIGHTS,
                "you may not ask for the rights of this identity, or it is not known here",
            );
        };
        let schema = &view.catalog.schema;
        let types = asked.attributes.iter();
        let asks = |name: &str| {
            let mut names = request.attributes.iter();
            names.any(|it| it.eq_ignore_ascii_case(name))
        };
        let explains = asks("aclRightsInfo");
        Ok(EffectiveRights {
            subject,
            attributes: types.filter_map(|it| schema.attribute_type(it)).collect(),
            spelled_out: explains || asks("aclRights"),
            explains,
        })
    }

    /// Appends the rights on an entry as attributes.
    pub fn write(&self, view: &View<'_>, entry: &VisibleEntry<'_, '_>, out: &mut Vec<u8>) {
        let Some(name) = entry.name() else { return };
        let schema = &view.catalog.schema;
        // The attributes of the entry that the requester may see, and those it asked for.
        let mut types: Vec<TypeId> = Vec::new();
        let stored = entry.attributes().map(|it| it.number);
        // Values of `member` are links, stored outside the entry's row.
        let sets = entry.linked_sets().unwrap_or_default();
        let present = stored.chain(sets.iter().map(|it| it.number));
        let present = present.filter_map(|it| schema.known(it).map(|it| it.type_id));
        for type_id in present.chain(self.attributes.iter().copied()) {
            if !types.contains(&type_id) {
                types.push(type_id);
            }
        }
        let telling = Telling {
            view: &view.of_server(&self.subject),
            name: &name,
        };
        let type_name = |type_id: &TypeId| schema.type_of(*type_id).name().to_owned();
        let named = types.iter().map(|it| (*it, type_name(it)));
        match self.spelled_out {
            true => self.write_spelled_out(&telling, named, out),
            false => write_letters(&telling, named, out),
        }
    }

    fn write_spelled_out(
        &self,
        telling: &Telling<'_>,
        types: impl Iterator<Item = (TypeId, String)>,
        out: &mut Vec<u8>,
    ) {
        let mut put = |description: &str, value: String| {
            ber::put_partial_attribute(out, description, std::iter::once(value.as_bytes()));
        };
        let bit = |right, of| u8::from(telling.decide(right, of).allowed);
        let other = telling.other();
        let proxy = telling.view.may_act_as(&other);
        let proxy = u8::from(proxy.unwrap_or(false));
        let entry = format!(
            "add:{},delete:{},read:{},write:{},proxy:{proxy}",
            bit(Right::Add, None),
            bit(Right::Delete, None),
            bit(Right::Read, None),
            bit(Right::Write, None),
        );
        put("aclRights;entryLevel", entry);
        if self.explains {
            for (right, word, _) in ENTRY_RIGHTS {
                let description = format!("aclRightsInfo;logs;entryLevel;{word}");
                put(&description, telling.words(right, None));
            }
        }
        for (type_id, name) in types {
            let of = Some(type_id);
            let write = bit(Right::Write, of);
            let rights = format!(
                "search:{},read:{},compare:{},write:{write},selfwrite_add:{write},\
                 selfwrite_delete:{write},proxy:{proxy}",
                bit(Right::Search, of),
                bit(Right::Read, of),
                bit(Right::Compare, of),
            );
            put(&format!("aclRights;attributeLevel;{name}"), rights);
            if self.explains {
                for (right, word, _) in ATTRIBUTE_RIGHTS {
                    let description = format!("aclRightsInfo;logs;attributeLevel;{word};{name}");
                    put(&description, telling.words(right, of));
                }
            }
        }
    }
}

fn write_letters(
    telling: &Telling<'_>,
    types: impl Iterator<Item = (TypeId, String)>,
    out: &mut Vec<u8>,
) {
    let letters = |rights: &[(Right, &str, &str)], of: Option<TypeId>| -> String {
        let allowed = rights.iter().filter(|it| telling.decide(it.0, of).allowed);
        let letters: String = allowed.map(|it| it.2).collect();
        match letters.as_str() {
            "" => "none".to_owned(),
            _ => letters,
        }
    };
    let attributes: Vec<String> = types
        .map(|(type_id, name)| format!("{name}:{}", letters(&ATTRIBUTE_RIGHTS, Some(type_id))))
        .collect();
    for (description, value) in [
        ("entryLevelRights", letters(&ENTRY_RIGHTS, None)),
        ("attributeLevelRights", attributes.join(", ")),
    ] {
        ber::put_partial_attribute(out, description, std::iter::once(value.as_bytes()));
    }
}

/// The rights of one subject on one entry.
struct Telling<'t> {
    view: &'t View<'t>,
    name: &'t Name,
}

impl Telling<'_> {
    fn decide(&self, right: Right, attribute: Option<TypeId>) -> Decision {
        self.view.decide(right, self.name, attribute)
    }

    fn words(&self, right: Right, attribute: Option<TypeId>) -> String {
        let Decision { allowed, rule, .. } = self.decide(right, attribute);
        match allowed {
            true => format!("allowed by rule \"{rule}\""),
            false => format!("denied by rule \"{rule}\""),
        }
    }

    /// The entry as an identity that could be acted as.
    fn other(&self) -> Subject {
        let (name, by) = (self.name.clone(), self.view.subject);
        by.authenticated(name, String::new(), by.authentication)
    }
}
