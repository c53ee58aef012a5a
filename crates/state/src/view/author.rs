//! The author of a change, for the audit: who it is, where they are, and how they came in.

use super::plain::PlainView;
use audit::Author;
use policy::Subject;
use std::borrow::Cow;
use store::{EntryId, Lookup};

impl PlainView<'_> {
    /// Returns the author of a change that the view's subject makes, allowed by the rule that
    /// `rule` names; `None` while changes are not audited.
    pub(crate) fn author(&self, rule: impl FnOnce() -> Cow<'static, str>) -> Option<Box<Author>> {
        self.catalog.audits.then(|| self.audited(&rule()))
    }

    #[cold]
    fn audited(&self, rule: &str) -> Box<Author> {
        let subject = self.subject;
        let real = subject.proxied_by.as_deref();
        let connected = real.unwrap_or(subject);
        let transport = match (connected.address, connected.secure) {
            (None, _) => "local",
            (Some(_), true) => "tls",
            (Some(_), false) => "cleartext",
        };
        let real_dn = real.map(|it| match it.dn.as_str() {
            "" => "anonymous".to_owned(),
            dn => dn.to_owned(),
        });
        Box::new(Author {
            uuid: self.uuid_of(subject),
            real: real_dn.unwrap_or_default(),
            real_uuid: real.map_or_else(String::new, |it| self.uuid_of(it)),
            from: (connected.address).map_or_else(String::new, |it| it.to_string()),
            transport: transport.to_owned(),
            authentication: connected.authentication.text().to_owned(),
            rule: rule.to_owned(),
        })
    }

    /// The entryUUID of a subject's entry; empty if there is none.
    fn uuid_of(&self, subject: &Subject) -> String {
        let administrator = self.catalog.administrator.as_ref();
        let id = match (&subject.name, administrator) {
            (_, Some(it)) if subject.is_administrator() => Some(it.entry),
            (Some(name), _) => match self.snapshot.find(name) {
                Ok(Lookup::Found(id)) => Some(id),
                _ => None,
            },
            (None, _) => None,
        };
        id.map_or_else(String::new, |it| self.uuid_text(it))
    }

    /// The entryUUID of an entry as text; empty if the entry does not exist or has none.
    pub fn uuid_text(&self, id: EntryId) -> String {
        let row = self.snapshot.entry(id).ok().flatten();
        let uuid = row.and_then(|it| it.attribute(self.catalog.known.entry_uuid.number));
        let first = uuid.and_then(|it| it.values().into_iter().next());
        first.map_or_else(String::new, |it| String::from_utf8_lossy(it).into_owned())
    }
}
