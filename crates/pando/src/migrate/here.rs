//! Access to the node as its administrator, for a migration.

use super::entry::{Entry, Uuid, uuid_text};
use super::selection::Attributes;
use super::trouble::Trouble;
use crate::channel::Channel;
use crate::report::Problem;
use protocol::control::{PagedResults, Subentries};
use protocol::{
    AddRequest, Change, ChangeOperation, DeleteRequest, Filter, LdapResult, MessageId,
    ModifyDnRequest, ModifyRequest, OwnedAttribute, OwnedControl, Request, Response,
    ResponseMessage, ResultCode, Scope, SearchRequest, oid,
};
use std::sync::Arc;

/// Entries of one page.
const PAGE_ENTRIES: u32 = 500;

/// One change of an attribute.
pub type Edit = (ChangeOperation, Arc<str>, Vec<Vec<u8>>);

/// The node.
pub struct Here {
    channel: Channel,
    /// A second channel for reads from a served node, because on one channel reads wait for writes.
    reader: Option<Channel>,
}

impl Here {
    /// Access over this channel.
    pub fn new(channel: Channel) -> Here {
        Here {
            channel,
            reader: None,
        }
    }

    /// Access over these channels.
    pub fn with_reader(channel: Channel, reader: Option<Channel>) -> Here {
        Here { channel, reader }
    }

    /// Sends a write; its result is received later, in any order.
    pub fn send(&mut self, write: &Write<'_>) -> Result<MessageId, Trouble> {
        let channel = &mut self.channel;
        write.with(|request, controls| channel.send(request, controls))
    }

    /// The next result of a sent write.
    pub fn receive(&mut self) -> Result<(MessageId, LdapResult), Trouble> {
        self.channel.receive().map_err(Trouble::here)
    }

    /// Executes a write. No other write may be under way.
    pub fn write(&mut self, write: &Write<'_>) -> Result<LdapResult, Trouble> {
        let channel = &mut self.channel;
        write.with(|request, controls| channel.result_with(request, controls))
    }

    /// The entry with this name; `None` if there is none.
    pub fn read(&mut self, dn: &str) -> Result<Option<Entry>, Trouble> {
        let request = search(dn, Scope::BaseObject, Filter::Present("objectClass"));
        let controls = [OwnedControl::new(oid::MANAGE_DSA_IT, true)];
        Ok(self.entries(request, &controls)?.pop())
    }

    /// The entry with this UUID below a base; `None` if there is none.
    pub fn find(&mut self, base: &str, uuid: &Uuid) -> Result<Option<Entry>, Trouble> {
        let text = uuid_text(uuid);
        for subentries in [false, true] {
            let filter = Filter::Equality {
                attribute: "entryUUID",
                value: text.as_bytes(),
            };
            let request = search(base, Scope::WholeSubtree, filter);
            let found = self.entries(request, &controls(subentries))?.pop();
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// Whether a base has no entries below it.
    pub fn is_empty(&mut self, base: &str) -> Result<bool, Trouble> {
        let mut request = search(base, Scope::WholeSubtree, Filter::Present("objectClass"));
        request.attributes = vec!["1.1"];
        request.size_limit = 2;
        Ok(self.entries(request, &[])?.len() < 2)
    }

    /// Calls back for all entries below a base, or all subentries, page by page.
    pub fn each(
        &mut self,
        base: &str,
        subentries: bool,
        attributes: &[&str],
        mut take: impl FnMut(Entry) -> Result<(), Trouble>,
    ) -> Result<(), Trouble> {
        let mut cookie = Vec::new();
        loop {
            let page = PagedResults {
                size: PAGE_ENTRIES,
                cookie: &cookie,
            };
            let mut all = controls(subentries);
            let control =
                OwnedControl::with_value(oid::PAGED_RESULTS, true, |out| page.encode(out));
            all.push(control);
            let mut request = search(base, Scope::WholeSubtree, Filter::Present("objectClass"));
            request.attributes = attributes.to_vec();
            let (entries, next) = self.search(request, &all)?;
            entries.into_iter().try_for_each(&mut take)?;
            match next {
                Some(next) => cookie = next,
                None => return Ok(()),
            }
        }
    }

    fn entries(
        &mut self,
        request: SearchRequest<'_>,
        controls: &[OwnedControl],
    ) -> Result<Vec<Entry>, Trouble> {
        Ok(self.search(request, controls)?.0)
    }

    /// One page of entries, and the cookie of the next.
    fn search(
        &mut self,
        request: SearchRequest<'_>,
        controls: &[OwnedControl],
    ) -> Result<(Vec<Entry>, Option<Vec<u8>>), Trouble> {
        let base = request.base;
        let channel = self.reader.as_mut().unwrap_or(&mut self.channel);
        let answers = channel
            .call_with(&Request::Search(request), controls)
            .map_err(Trouble::here)?;
        let mut entries = Vec::new();
        for answer in &answers {
            let message = ResponseMessage::decode(answer)
                .map_err(|error| Trouble::here(Problem::failed(error)))?;
            match &message.response {
                Response::SearchEntry { name, attributes } => {
                    entries.push(Entry::of(name, attributes));
                }
                Response::SearchDone(result) => match result.code {
                    // A missing base has no subordinates.
                    ResultCode::SUCCESS
                    | ResultCode::SIZE_LIMIT_EXCEEDED
                    | ResultCode::NO_SUCH_OBJECT => {
                        return Ok((entries, super::pull::next_page(&message)));
                    }
                    code => {
                        let said = &result.diagnostic;
                        return Err(Trouble::refused(format!(
                            "the node: {base}: {} {said}",
                            code.name()
                        )));
                    }
                },
                _ => {}
            }
        }
        Ok((entries, None))
    }
}

/// A change of one entry.
#[derive(Debug, Clone)]
pub enum Write<'w> {
    /// Adds an entry, with operational attributes.
    Add(&'w str, &'w Attributes),
    /// Changes the entry.
    Modify(&'w str, &'w [Edit]),
    /// Renames the entry.
    Rename(&'w str, &'w str),
    /// Deletes the entry.
    Delete(&'w str),
}

impl Write<'_> {
    /// Calls back with the request and its controls.
    fn with<T>(
        &self,
        act: impl FnOnce(&Request<'_>, &[OwnedControl]) -> Result<T, Problem>,
    ) -> Result<T, Trouble> {
        let manage = OwnedControl::new(oid::MANAGE_DSA_IT, true);
        let relaxed = [manage.clone(), OwnedControl::new(oid::RELAX_RULES, true)];
        let done = match *self {
            Write::Add(entry, attributes) => {
                let all = attributes.iter().map(|(name, it)| (&**name, it.as_slice()));
                let owned = owned(all);
                let attributes = owned.iter().map(OwnedAttribute::as_partial).collect();
                act(&Request::Add(AddRequest { entry, attributes }), &relaxed)
            }
            Write::Modify(object, edits) => {
                let owned = owned(edits.iter().map(|(_, name, it)| (&**name, it.as_slice())));
                let attributes = owned.iter().map(OwnedAttribute::as_partial);
                let changes = edits
                    .iter()
                    .zip(attributes)
                    .map(|(edit, attribute)| Change {
                        operation: edit.0,
                        attribute,
                    });
                let changes = changes.collect();
                act(
                    &Request::Modify(ModifyRequest { object, changes }),
                    &relaxed,
                )
            }
            Write::Rename(entry, new) => {
                let (new_rdn, superior) = split(new);
                let request = ModifyDnRequest {
                    entry,
                    new_rdn,
                    delete_old_rdn: true,
                    new_superior: Some(superior),
                };
                act(&Request::ModifyDn(request), &relaxed)
            }
            Write::Delete(entry) => act(&Request::Delete(DeleteRequest { entry }), &[manage]),
        };
        done.map_err(Trouble::here)
    }
}

fn search<'a>(base: &'a str, scope: Scope, filter: Filter<'a>) -> SearchRequest<'a> {
    SearchRequest {
        attributes: vec!["*", "+"],
        ..SearchRequest::new(base, scope, filter)
    }
}

/// Controls: referral objects are ordinary entries; either subentries or other entries are
/// returned.
fn controls(subentries: bool) -> Vec<OwnedControl> {
    let mut all = vec![OwnedControl::new(oid::MANAGE_DSA_IT, true)];
    if subentries {
        let visible = Subentries { visible: true };
        all.push(OwnedControl::with_value(oid::SUBENTRIES, true, |out| {
            visible.encode(out);
        }));
    }
    all
}

/// The first RDN, and the rest of a name that is known to resolve.
pub fn split(dn: &str) -> (&str, &str) {
    let Some(Ok(first)) = protocol::rdns(dn).next() else {
        return (dn, "");
    };
    // The RDN is a slice of the text, so the pointers' distance is its end.
    let end = first.spelled.as_ptr().addr() - dn.as_ptr().addr() + first.spelled.len();
    let rest = dn.get(end..).unwrap_or_default().trim_start();
    (
        first.spelled,
        rest.trim_start_matches([',', ';']).trim_start(),
    )
}

fn owned<'a>(attributes: impl Iterator<Item = (&'a str, &'a [Vec<u8>])>) -> Vec<OwnedAttribute> {
    attributes
        .map(|(name, values)| OwnedAttribute::new(name, values))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn names_are_split_behind_their_first_rdn() {
        assert_eq!(split("uid=a,dc=com"), ("uid=a", "dc=com"));
        assert_eq!(split("cn=a\\, b , dc=com"), ("cn=a\\, b", "dc=com"));
        assert_eq!(split("dc=com"), ("dc=com", ""));
    }
}
