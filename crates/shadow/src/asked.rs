//! Rights that a request asks for, as access rules are asked about them.

use policy::access::objects::Object;
use policy::access::right::Right;
use policy::access::words::Use;
use protocol::{
    ChangeOperation, Filter, Message, ModifyDnRequest, Request, Scope, SearchRequest, oid,
};
use schema::{Name, Schema, Truth, TypeId};
use state::catalog::Catalog;
use state::stop::Stop;
use state::view::{Place, View, VisibleEntry};
use std::borrow::Cow;
use store::{EntryId, Region, RegionScope};

/// Entries of a search's result that are judged at most.
const ENTRIES_MAX: usize = 4;
/// Candidates of a search that are looked at for them at most.
const LOOKS_MAX: usize = 64;
/// Rights that are judged of one request at most.
const CLAIMS_MAX: usize = 256;

/// Controls of a search that are uses of the server at its base.
const USES: [(&str, Use); 6] = [
    (oid::SYNC_REQUEST, Use::Sync),
    (oid::PERSISTENT_SEARCH, Use::Persist),
    (oid::SORT_REQUEST, Use::Sort),
    (oid::VIRTUAL_LIST_VIEW_REQUEST, Use::View),
    (oid::MATCHING_ENTRY_COUNT_REQUEST, Use::Count),
    (oid::EXPLAIN, Use::Explain),
];

/// Rights to one entry.
#[derive(Debug)]
pub(crate) struct Asked<'m> {
    pub name: Name,
    /// The name as the client or the directory spells it.
    pub spelled: String,
    /// Whether it matters only if the entry before is not disclosed, as its name is then the
    /// matched one (RFC 4511 §4.1.9).
    pub if_hidden: bool,
    pub claims: Vec<AskedRight<'m>>,
}

/// A right to a thing of an entry.
#[derive(Debug)]
pub(crate) struct AskedRight<'m> {
    pub right: Right,
    pub object: Object,
    /// The value of the attribute; `None` for all values.
    pub value: Option<Cow<'m, [u8]>>,
}

impl AskedRight<'_> {
    fn of(right: Right, object: Object) -> AskedRight<'static> {
        AskedRight {
            right,
            object,
            value: None,
        }
    }
}

/// Returns the rights that a simple bind by this name asks for: none if it is the administrator's.
pub(crate) fn of_bind(catalog: &Catalog, name: &str) -> Vec<Asked<'static>> {
    let mut questions = Questions::new(&catalog.schema);
    let password = Object::Attribute(catalog.known.user_password.type_id);
    questions.add(name, vec![AskedRight::of(Right::Authenticate, password)]);
    let administrator = catalog.administrator.as_ref().map(|it| &it.name);
    questions.asked.retain(|it| Some(&it.name) != administrator);
    questions.asked
}

/// Returns the rights that a request asks for. Of a search, `open` finds some of the entries that
/// match: it sees all.
///
/// # Errors
/// The database cannot be read.
pub(crate) fn of_message<'m>(
    open: &View<'_>,
    message: &'m Message<'_>,
) -> Result<Vec<Asked<'m>>, Stop> {
    let schema = &open.catalog.schema;
    let mut questions = Questions::new(schema);
    match &message.request {
        Request::Search(it) => {
            questions.of_controls(it.base, message);
            questions.of_search(open, it)?;
        }
        Request::Compare(it) => {
            let value = Some(Cow::Borrowed(it.value));
            if let Ok(described) = schema.describe(it.attribute) {
                let claim = AskedRight {
                    right: Right::Compare,
                    object: Object::Attribute(described.type_id),
                    value,
                };
                questions.of_read(it.entry, vec![claim]);
            }
        }
        Request::Modify(it) => {
            for change in &it.changes {
                let attribute = change.attribute;
                questions.of_attribute(it.object, attribute.description, |object| {
                    let values: Vec<&[u8]> = attribute.values.into_iter().collect();
                    of_change(change.operation, object, &values)
                });
            }
        }
        Request::Add(it) => {
            questions.below(it.entry, Right::Add);
            questions.add(it.entry, vec![AskedRight::of(Right::Add, Object::Entry)]);
            for given in &it.attributes {
                questions.of_attribute(it.entry, given.description, |object| {
                    let values: Vec<&[u8]> = given.values.into_iter().collect();
                    of_change(ChangeOperation::Add, object, &values)
                });
            }
        }
        Request::Delete(it) => {
            let mut claims = vec![AskedRight::of(Right::Delete, Object::Entry)];
            if message.controls.iter().any(|it| it.oid == oid::TREE_DELETE) {
                claims = vec![AskedRight::of(Right::Use, Object::Use(Use::TreeDelete))];
            } else {
                questions.below(it.entry, Right::Delete);
            }
            questions.add(it.entry, claims);
        }
        Request::ModifyDn(it) => questions.of_move(it),
        Request::Bind(_) | Request::Unbind | Request::Abandon(_) | Request::Extended(_) => {}
    }
    Ok(questions.asked)
}

/// The rights that a change of values asks for.
fn of_change<'m>(
    operation: ChangeOperation,
    object: Object,
    values: &[&'m [u8]],
) -> Vec<AskedRight<'m>> {
    let each = |right| {
        values.iter().map(move |value| AskedRight {
            right,
            object,
            value: Some(Cow::Borrowed(*value)),
        })
    };
    let all = AskedRight::of(Right::DeleteValue, object);
    match operation {
        ChangeOperation::Add => each(Right::AddValue).collect(),
        ChangeOperation::Delete if values.is_empty() => vec![all],
        ChangeOperation::Delete => each(Right::DeleteValue).collect(),
        ChangeOperation::Replace => [all].into_iter().chain(each(Right::AddValue)).collect(),
        ChangeOperation::Increment => vec![all, AskedRight::of(Right::AddValue, object)],
    }
}

/// Rights that were gathered so far.
struct Questions<'s, 'm> {
    schema: &'s Schema,
    asked: Vec<Asked<'m>>,
    claims: usize,
}

impl<'m> Questions<'_, 'm> {
    fn new(schema: &Schema) -> Questions<'_, 'm> {
        Questions {
            schema,
            asked: Vec::new(),
            claims: 0,
        }
    }

    /// Adds rights to the entry of a name; nothing if the name means nothing, or is the root's.
    fn add(&mut self, spelled: &str, mut claims: Vec<AskedRight<'m>>) {
        let Ok(name) = self.schema.resolve_name(spelled) else {
            return;
        };
        claims.truncate(CLAIMS_MAX - self.claims);
        if name.depth() == 0 || claims.is_empty() {
            return;
        }
        self.claims += claims.len();
        match self.asked.last_mut().filter(|it| it.name == name) {
            Some(last) => last.claims.append(&mut claims),
            None => self.asked.push(Asked {
                name,
                spelled: spelled.to_owned(),
                if_hidden: false,
                claims,
            }),
        }
    }

    /// Adds rights to an attribute; nothing if the schema does not know it.
    fn of_attribute(
        &mut self,
        entry: &str,
        attribute: &str,
        claims: impl FnOnce(Object) -> Vec<AskedRight<'m>>,
    ) {
        if let Ok(described) = self.schema.describe(attribute) {
            self.add(entry, claims(Object::Attribute(described.type_id)));
        }
    }

    /// Adds rights to the entry that a request reads, and to learn of those above it.
    fn of_read(&mut self, entry: &str, claims: Vec<AskedRight<'m>>) {
        let disclosed = || AskedRight::of(Right::Disclose, Object::Entry);
        self.add(entry, [disclosed()].into_iter().chain(claims).collect());
        let mut name = self.schema.resolve_name(entry).ok();
        while let Some(superior) = name.and_then(|it| it.parent()) {
            let before = self.asked.len();
            self.add(&superior.to_string(), vec![disclosed()]);
            self.asked[before..]
                .iter_mut()
                .for_each(|it| it.if_hidden = true);
            name = Some(superior);
        }
    }

    /// Adds a right to the place in which an entry stands.
    fn below(&mut self, entry: &str, right: Right) {
        let name = self.schema.resolve_name(entry).ok();
        if let Some(superior) = name.and_then(|it| it.parent()) {
            let superior = superior.to_string();
            self.add(&superior, vec![AskedRight::of(right, Object::Children)]);
        }
    }

    /// Adds a right to the values of an RDN.
    fn of_rdn(&mut self, entry: &str, rdn: &str, right: Right) {
        let resolved = self.schema.resolve_rdn(rdn);
        let values = resolved.into_iter().flat_map(|it| it.values);
        let claims = values.map(|(description, value)| AskedRight {
            right,
            object: Object::Attribute(description.type_id),
            value: Some(Cow::Owned(value)),
        });
        self.add(entry, claims.collect());
    }

    fn of_move(&mut self, request: &ModifyDnRequest<'_>) {
        let entry = request.entry;
        match request.new_superior {
            None => self.below(entry, Right::Rename),
            Some(superior) => {
                self.below(entry, Right::MoveOut);
                let claim = AskedRight::of(Right::MoveIn, Object::Children);
                self.add(superior, vec![claim]);
            }
        }
        self.add(entry, vec![AskedRight::of(Right::Rename, Object::Entry)]);
        self.of_rdn(entry, request.new_rdn, Right::AddValue);
        if request.delete_old_rdn {
            let old = protocol::name::leaf_form(entry);
            self.of_rdn(entry, &old, Right::DeleteValue);
        }
    }

    /// Adds the uses of the server that the controls of a search with this base are.
    fn of_controls(&mut self, base: &str, message: &Message<'_>) {
        let has = |oid: &str| message.controls.iter().any(|it| it.oid == oid);
        let uses = USES.iter().filter(|it| has(it.0));
        let claim = |it: &(&str, Use)| AskedRight::of(Right::Use, Object::Use(it.1));
        self.add(base, uses.map(claim).collect());
    }

    fn of_search(&mut self, open: &View<'_>, request: &SearchRequest<'_>) -> Result<(), Stop> {
        let of_base = AskedRight::of(Right::Search, Object::Entry);
        self.of_read(request.base, vec![of_base]);
        let Ok(base) = open.catalog.schema.resolve_name(request.base) else {
            return Ok(());
        };
        let base = match base.depth() {
            // The root DSE is everybody's.
            0 if request.scope == Scope::BaseObject => return Ok(()),
            0 => EntryId::ROOT,
            _ => match open.find_any(&base)? {
                Place::Found(id) => id,
                Place::Missing { .. } => return Ok(()),
            },
        };
        let mut sought = Vec::new();
        self.add_sought(&request.filter, &mut sought);
        let scope = match request.scope {
            Scope::BaseObject => RegionScope::Base,
            Scope::SingleLevel => RegionScope::OneLevel,
            Scope::Subordinate => RegionScope::Subordinates,
            Scope::WholeSubtree => RegionScope::Subtree,
        };
        let region = Region { base, scope };
        let filter = open.catalog.schema.resolve_filter(&request.filter);
        let plan = open.plan(&filter, &region)?;
        let candidates = open.candidates(&plan, EntryId::ROOT)?;
        let (mut matching, mut scratch) = (0, Vec::new());
        for entry in open.entries(&candidates, EntryId::ROOT).take(LOOKS_MAX) {
            let entry = entry?;
            let matches = open.in_region(&entry, &region)?
                && entry.evaluate(&filter, &mut scratch)? == Truth::True;
            if !matches {
                continue;
            }
            let of = |right| move |it: &TypeId| AskedRight::of(right, Object::Attribute(*it));
            let mut claims = vec![AskedRight::of(Right::Read, Object::Entry)];
            claims.extend(sought.iter().map(of(Right::Search)));
            let selected = self.selected(&entry, &request.attributes)?;
            claims.extend(selected.iter().map(of(Right::Read)));
            self.add(&entry.spelled_name()?, claims);
            matching += 1;
            if matching == ENTRIES_MAX {
                break;
            }
        }
        Ok(())
    }

    /// Adds the attribute types that a filter asks for. The decoder has limited its depth.
    fn add_sought(&self, filter: &Filter<'_>, sought: &mut Vec<TypeId>) {
        let attribute = match filter {
            Filter::And(parts) | Filter::Or(parts) => {
                return parts.iter().for_each(|it| self.add_sought(it, sought));
            }
            Filter::Not(inner) => return self.add_sought(inner, sought),
            Filter::Equality { attribute, .. }
            | Filter::Substrings { attribute, .. }
            | Filter::GreaterOrEqual { attribute, .. }
            | Filter::LessOrEqual { attribute, .. }
            | Filter::Approx { attribute, .. }
            | Filter::Present(attribute) => *attribute,
            Filter::Extensible { attribute, .. } => attribute.unwrap_or_default(),
            Filter::Unrecognised { .. } => return,
        };
        if let Ok(described) = self.schema.describe(attribute)
            && !sought.contains(&described.type_id)
        {
            sought.push(described.type_id);
        }
    }

    /// The attribute types of an entry that a search selects.
    fn selected(
        &self,
        entry: &VisibleEntry<'_, '_>,
        attributes: &[&str],
    ) -> Result<Vec<TypeId>, Stop> {
        let schema = self.schema;
        let has = |word: &str| attributes.contains(&word);
        let (user, operational) = (attributes.is_empty() || has("*"), has("+"));
        let named = attributes.iter().filter_map(|it| schema.describe(it).ok());
        let named: Vec<TypeId> = named.map(|it| it.type_id).collect();
        let linked = entry.linked_sets()?;
        let stored = entry.attributes().map(|it| it.number);
        let mut types = Vec::new();
        for number in stored.chain(linked.iter().map(|it| it.number)) {
            let Some(known) = schema.known(number) else {
                continue;
            };
            let type_id = known.type_id;
            let is_selected = match schema.type_of(type_id).operational() {
                true => operational,
                false => user,
            };
            let is_named = named.iter().any(|it| schema.is_subtype(type_id, *it));
            if (is_selected || is_named) && !types.contains(&type_id) {
                types.push(type_id);
            }
        }
        Ok(types)
    }
}
