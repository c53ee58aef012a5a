//! The configuration entries below `cn=config`, which must be equal on every node. Read from a
//! snapshot into a [`Catalog`].
//!
//! | entry | content |
//! |---|---|
//! | `cn=config` | the naming contexts, the proxies, the password policy, secrets |
//! | `cn=administrator,cn=config` | the administrator's name and password |
//! | `cn=…,cn=indexes,cn=config` | one index each |
//! | `cn=…,cn=schema,cn=config` | schema definitions beyond the standard ones |
//! | `cn=…,cn=rules,cn=config` | unique values, and numbers for new entries |
//! | `cn=…,cn=access,cn=config` | one access rule each |
//! | `cn=candidate,cn=config` | access rules that judge beside those in force |
//! | `cn=…,cn=identities,cn=config` | one rule each that maps identities to entries |
//! | `cn=settings,cn=config` | settings that the nodes of a cluster share |

mod identities;
mod settings;

pub use identities::IDENTITIES_NAME;
pub use settings::resolve_rules;

use crate::access_rules;
use crate::account::{PolicedSubtree, Policing};
use crate::bounds::Bounds;
use crate::candidate;
use crate::catalog::{
    Administrator, CONFIG_NAME, Catalog, DeletedMembers, MONITOR_NAME, NamingContext,
    SUBSCHEMA_NAME, hidden_numbers, owner_numbers,
};
use crate::knowledge::{
    COLLECTIVE_CLASS, Computed, DYNAMIC_GROUP_CLASS, Knowledge, Known, texts_of,
};
use crate::level;
use crate::meta::{META_ALIASES, META_REFERRALS, META_SUBENTRIES};
use crate::rules::{RULES_NAME, Rules};
use crate::stop::Failure;
use crate::trail::head_of_audit;
use policy::Access;
use policy::requirements::Requirements;
use protocol::url::LdapUrl;
use schema::{Definition, DefinitionKind, Name, Schema, SchemaError, TypeId, parse_definition};
use smallvec::SmallVec;
use store::{
    Batch, EntryId, EntryView, IndexKinds, IndexSet, IndexState, Lookup, Region, RegionScope,
    Snapshot,
};

/// The container of index definitions.
pub const INDEXES_NAME: &str = "cn=indexes,cn=config";
/// The container of schema definitions.
pub const SCHEMA_NAME: &str = "cn=schema,cn=config";
/// The entry that holds the settings that the nodes of a cluster share.
pub const SETTINGS_NAME: &str = "cn=settings,cn=config";
/// The entry that holds the administrator's name and password.
pub const ADMINISTRATOR_NAME: &str = "cn=administrator,cn=config";

/// Every database is made with the numbers of well-known attributes, and none is ever removed.
fn lacks_numbers() -> Failure {
    Failure::Configuration(
        "the database lacks the numbers of well-known attributes: it is damaged; bring a backup \
         back with `pando restore`"
            .to_owned(),
    )
}

fn lacks_entry_dn() -> Failure {
    Failure::Configuration("the schema lacks entryDN or one of its kind".to_owned())
}

/// Reads the catalog of a snapshot. `schema` may be any schema of this database: its dictionary is
/// used, which inside a transaction is newer than the stored one, and handles resolved under it
/// remain valid under the new schema.
///
/// # Errors
/// `Failure::Configuration` names the entry that cannot be used and the reason;
/// [`Failure::Level`] for a level that this program does not execute.
pub fn load(snapshot: &Snapshot<'_>, schema: &Schema) -> Result<Catalog, Failure> {
    let level = level::require_known(level::of(snapshot)?)?;
    let unusable = |error: SchemaError| Failure::Configuration(error.to_string());
    let base = Schema::standard_at(level).with_dictionary(&schema.dictionary_rows());
    let (read, schema_conflicts) = load_schema(snapshot, base.map_err(unusable)?)?;
    let schema = read.with_handles_of(schema).map_err(unusable)?;
    let known = Knowledge::of(&schema).ok_or_else(lacks_numbers)?;
    let computed = Computed::of(&schema).ok_or_else(lacks_entry_dn)?;
    let config = well_known(&schema, CONFIG_NAME);
    let subschema = well_known(&schema, SUBSCHEMA_NAME);
    let monitor = well_known(&schema, MONITOR_NAME);
    let states = snapshot.index_states()?;
    let indexes = IndexSet::from_states(schema.clone(), &states);
    let has_subentries = snapshot.meta(META_SUBENTRIES)?.is_some();
    let proxies = load_names(snapshot, &schema, &config, "pandoProxy")?;
    let secrets = load_secrets(snapshot, &schema, &config)?;
    let mut access = Access::builtin(&schema, &secrets).with_proxies(proxies);
    if level >= level::GUARDS_ACCOUNTS {
        access = access.guarding_accounts(&schema);
    }
    let identities = children(snapshot, &well_known(&schema, IDENTITIES_NAME))?;
    let shared = settings::load(snapshot, &schema)?;
    let placed_rules = access_rules::read(snapshot, &schema)?;
    let access_rules = access_rules::compile(&schema, access.secrets(), placed_rules, level)?;
    let texts = |attribute| config_texts(snapshot, &schema, &config, attribute);
    Ok(Catalog {
        hidden: hidden_numbers(&access, &schema),
        shown_to_owner: owner_numbers(&access, &schema),
        has_dynamic_groups: may_have_class(snapshot, &indexes, DYNAMIC_GROUP_CLASS)?,
        // Lenders of collective attributes are subentries. A directory without subentries is not
        // searched for lenders: without an index on objectClass this would read every entry.
        has_collective: has_subentries && may_have_class(snapshot, &indexes, COLLECTIVE_CLASS)?,
        shown_memberships: shown_memberships(&schema, &computed, &texts("pandoShownMembership")?)?,
        deleted_members: deleted_members(&texts("pandoDeletedMember")?)?,
        superior_referrals: superior_referrals(texts("pandoSuperiorReferral")?)?,
        contexts: load_contexts(snapshot, &schema, &known, &config)?,
        administrator: load_administrator(snapshot, &schema, &known)?,
        candidate: candidate::load(snapshot, &schema, access.secrets(), access_rules.as_ref())?,
        access_rules,
        rule_container: access_rules::container(&schema),
        access,
        requirements: requirements(
            &texts("pandoRequire")?,
            &texts("pandoRequireAuthentication")?,
        )?,
        identities: identities::load(&schema, &identities)?,
        shares_settings: shared.is_some(),
        passwords: shared.as_ref().map(|it| it.passwords).unwrap_or_default(),
        limits: shared.map(|it| it.limits).unwrap_or_default(),
        bounds: Bounds::default(),
        has_aliases: snapshot.meta(META_ALIASES)?.is_some(),
        has_referrals: snapshot.meta(META_REFERRALS)?.is_some(),
        has_subentries,
        rules: load_rules(snapshot, &schema, &known)?,
        policing: load_policing(snapshot, &schema, &config, level)?,
        first_writer_wins: load_names(snapshot, &schema, &config, "pandoFirstWriterWins")?,
        indexes,
        indexing: states.iter().any(IndexState::has_work),
        index_marks: index_marks(snapshot, &schema, &known)?,
        least_version: 0,
        known,
        computed,
        config,
        subschema,
        monitor,
        schema,
        schema_conflicts,
        level,
        audits: head_of_audit(snapshot)?.is_some_and(|it| it.is_on),
    })
}

/// Returns whether there may be entries of a class, according to the index.
fn may_have_class(
    snapshot: &Snapshot<'_>,
    indexes: &IndexSet,
    class: &str,
) -> Result<bool, Failure> {
    let filter = crate::knowledge::class_filter(&indexes.schema, class);
    let everywhere = Region {
        base: EntryId::ROOT,
        scope: RegionScope::Subtree,
    };
    Ok(store::plan(snapshot, indexes, &filter, &everywhere)?.estimate() > 0)
}

/// Returns the values of a setting that is an attribute of `cn=config`.
fn config_texts(
    snapshot: &Snapshot<'_>,
    schema: &Schema,
    config: &Name,
    attribute: &str,
) -> Result<Vec<String>, Failure> {
    let Lookup::Found(id) = snapshot.find(config)? else {
        return Ok(Vec::new());
    };
    let view = snapshot.entry(id)?;
    Ok(view.map_or_else(Vec::new, |view| texts_of(schema, &view, attribute)))
}

/// `pandoDeletedMember`: `remove`, `keep` or `refuse`; `remove` without it.
fn deleted_members(texts: &[String]) -> Result<DeletedMembers, Failure> {
    match texts.first().map(|it| it.to_ascii_lowercase()).as_deref() {
        None | Some("remove") => Ok(DeletedMembers::Remove),
        Some("keep") => Ok(DeletedMembers::Keep),
        Some("refuse") => Ok(DeletedMembers::Refuse),
        Some(other) => Err(Failure::Configuration(format!(
            "pandoDeletedMember: expected remove, keep or refuse, got {other}"
        ))),
    }
}

/// The words of `pandoRequire`, and `pandoRequireAuthentication`: `TRUE` or `FALSE`; none and
/// `FALSE` without them.
fn requirements(words: &[String], authentication: &[String]) -> Result<Requirements, Failure> {
    let required = Requirements::read(words.iter().map(String::as_str));
    let required =
        required.map_err(|error| Failure::Configuration(format!("pandoRequire: {error}")))?;
    let truth = authentication
        .iter()
        .any(|it| it.eq_ignore_ascii_case("TRUE"));
    Ok(match truth {
        true => required.and(Requirements::AUTHENTICATION),
        false => required,
    })
}

/// `pandoShownMembership`: `memberOf`, `isMemberOf`, or `none`; both without it.
fn shown_memberships(
    schema: &Schema,
    computed: &Computed,
    texts: &[String],
) -> Result<SmallVec<[TypeId; 2]>, Failure> {
    if texts.is_empty() {
        return Ok(SmallVec::from_slice(&[
            computed.member_of,
            computed.is_member_of,
        ]));
    }
    let mut shown = SmallVec::new();
    for text in texts.iter().filter(|it| !it.eq_ignore_ascii_case("none")) {
        match schema.attribute_type(text) {
            Some(type_id) if computed.is_membership(type_id) => shown.push(type_id),
            _ => {
                return Err(Failure::Configuration(format!(
                    "pandoShownMembership: expected memberOf, isMemberOf or none, got {text}"
                )));
            }
        }
    }
    Ok(shown)
}

/// `pandoSuperiorReferral`: LDAP URLs of servers.
fn superior_referrals(texts: Vec<String>) -> Result<Vec<String>, Failure> {
    for text in &texts {
        if let Err(error) = LdapUrl::parse(text) {
            return Err(Failure::Configuration(format!(
                "pandoSuperiorReferral: expected an LDAP URL, got \"{text}\": {error}"
            )));
        }
    }
    Ok(texts)
}

/// The schema and dictionary stored in a database that is being opened.
pub fn stored_dictionary(snapshot: &Snapshot<'_>) -> Result<Schema, Failure> {
    Schema::standard_at(level::of(snapshot)?)
        .with_dictionary(&snapshot.dictionary()?)
        .map_err(|error| Failure::Configuration(error.to_string()))
}

fn well_known(schema: &Schema, name: &str) -> Name {
    schema
        .resolve_name(name)
        .expect("the standard schema resolves the names of this program")
}

/// The entries directly below a container; empty if there is no container.
fn children<'s>(
    snapshot: &'s Snapshot<'s>,
    container: &Name,
) -> Result<Vec<(EntryId, EntryView<'s>)>, Failure> {
    let Lookup::Found(container) = snapshot.find(container)? else {
        return Ok(Vec::new());
    };
    let mut entries = Vec::new();
    for id in snapshot.children(container) {
        let id = id?;
        if let Some(view) = snapshot.entry(id)? {
            entries.push((id, view));
        }
    }
    // Ids ascend in the order of adding.
    entries.sort_by_key(|(id, _)| *id);
    Ok(entries)
}

/// The values of one attribute as text.
fn texts(view: &EntryView<'_>, known: &Known) -> Vec<String> {
    view.attribute(known.number)
        .map_or_else(Vec::new, |attribute| {
            let values = attribute.values().into_iter();
            values
                .map(|value| String::from_utf8_lossy(value).into_owned())
                .collect()
        })
}

/// The schema with all stored definitions, and a text for each definition that contradicts it.
fn load_schema(snapshot: &Snapshot<'_>, base: Schema) -> Result<(Schema, Vec<String>), Failure> {
    let Some(known) = Knowledge::of(&base) else {
        return Ok((base, Vec::new()));
    };
    let mut definitions: Vec<Definition> = Vec::new();
    for (_, view) in children(snapshot, &well_known(&base, SCHEMA_NAME))? {
        let kinds = [
            (&known.schema_attribute_types, DefinitionKind::AttributeType),
            (&known.schema_object_classes, DefinitionKind::ObjectClass),
        ];
        for (attribute, kind) in kinds {
            for text in texts(&view, attribute) {
                let definition = parse_definition(kind, &text).map_err(|error| {
                    Failure::Configuration(format!("{},{SCHEMA_NAME}: {error}", view.rdn()))
                })?;
                definitions.push(definition);
            }
        }
    }
    // All definitions are added at once, so that a file may refer to another, in any order of
    // adding.
    let (schema, kept) = base
        .extended_keeping(&definitions)
        .map_err(|error| Failure::Configuration(error.to_string()))?;
    Ok((schema, kept.iter().map(SchemaError::to_string).collect()))
}

fn load_contexts(
    snapshot: &Snapshot<'_>,
    schema: &Schema,
    known: &Knowledge,
    config: &Name,
) -> Result<Vec<NamingContext>, Failure> {
    let mut contexts = Vec::new();
    if let Lookup::Found(id) = snapshot.find(config)?
        && let Some(view) = snapshot.entry(id)?
    {
        for spelled in texts(&view, &known.naming_context) {
            let name = schema.resolve_name(&spelled).map_err(|error| {
                Failure::Configuration(format!("naming context \"{spelled}\": {error}"))
            })?;
            contexts.push(NamingContext { name, spelled });
        }
    }
    contexts.push(NamingContext {
        name: config.clone(),
        spelled: CONFIG_NAME.to_owned(),
    });
    Ok(contexts)
}

/// `pandoPasswordPolicy`: the policy of entries that name none.
fn load_policing(
    snapshot: &Snapshot<'_>,
    schema: &Schema,
    config: &Name,
    level: u32,
) -> Result<Policing, Failure> {
    let spelled = config_texts(snapshot, schema, config, "pandoPasswordPolicy")?;
    let default = match spelled.first() {
        None => None,
        Some(spelled) => Some(schema.resolve_name(spelled).map_err(|error| {
            Failure::Configuration(format!("pandoPasswordPolicy \"{spelled}\": {error}"))
        })?),
    };
    let mut policing = Policing::of(schema, default).ok_or_else(|| {
        Failure::Configuration("the schema lacks the attributes of password policies".to_owned())
    })?;
    if level >= level::POLICES_SUBTREES {
        policing = policing.with_subtrees(load_policed_subtrees(snapshot, schema)?);
        policing.takes_subclass = true;
    }
    Ok(policing)
}

/// The entries of the class `pandoPolicedSubtree` below `cn=rules,cn=config`.
fn load_policed_subtrees(
    snapshot: &Snapshot<'_>,
    schema: &Schema,
) -> Result<Vec<PolicedSubtree>, Failure> {
    let mut subtrees = Vec::new();
    for (_, view) in children(snapshot, &well_known(schema, RULES_NAME))? {
        let classes = texts_of(schema, &view, "objectClass");
        let policed = |it: &String| it.eq_ignore_ascii_case("pandoPolicedSubtree");
        if !classes.iter().any(policed) {
            continue;
        }
        let resolve = |text: &String| {
            schema.resolve_name(text).map_err(|error| {
                let rdn = view.rdn();
                Failure::Configuration(format!("{rdn},{RULES_NAME}: \"{text}\": {error}"))
            })
        };
        for policy in texts_of(schema, &view, "pandoPasswordPolicy") {
            for base in texts_of(schema, &view, "pandoBase") {
                subtrees.push(PolicedSubtree {
                    base: resolve(&base)?,
                    policy: resolve(&policy)?,
                });
            }
        }
    }
    Ok(subtrees)
}

/// Names in a setting: `pandoProxy`, the entries that may act as others (RFC 4370), and
/// `pandoFirstWriterWins`, the roots of subtrees.
fn load_names(
    snapshot: &Snapshot<'_>,
    schema: &Schema,
    config: &Name,
    attribute: &str,
) -> Result<Vec<Name>, Failure> {
    let spelled = config_texts(snapshot, schema, config, attribute)?;
    let names = spelled.iter().map(|spelled| {
        schema
            .resolve_name(spelled)
            .map_err(|error| Failure::Configuration(format!("{attribute} \"{spelled}\": {error}")))
    });
    names.collect()
}

/// `pandoSecretAttribute`: attribute types that are secret besides the secret ones of the schema.
fn load_secrets(
    snapshot: &Snapshot<'_>,
    schema: &Schema,
    config: &Name,
) -> Result<Vec<TypeId>, Failure> {
    let named = config_texts(snapshot, schema, config, "pandoSecretAttribute")?;
    let types = named.iter().map(|text| match schema.attribute_type(text) {
        None => Err(Failure::Configuration(format!(
            "pandoSecretAttribute: expected an attribute type of the schema, got {text}"
        ))),
        Some(type_id) if schema.type_of(type_id).name() == "objectClass" => {
            Err(Failure::Configuration(
                "pandoSecretAttribute: objectClass cannot be secret, every search is about it"
                    .to_owned(),
            ))
        }
        Some(type_id) => Ok(type_id),
    });
    types.collect()
}

/// The rules for values. Indexes they need must be among the wanted ones.
fn load_rules(
    snapshot: &Snapshot<'_>,
    schema: &Schema,
    known: &Knowledge,
) -> Result<Rules, Failure> {
    let entries = children(snapshot, &well_known(schema, RULES_NAME))?;
    if entries.is_empty() {
        return Ok(Rules::default());
    }
    let views: Vec<EntryView<'_>> = entries.into_iter().map(|(_, view)| view).collect();
    let wanted = wanted_indexes(snapshot, schema, known)?;
    let indexed = |type_id: TypeId| {
        let name = schema.type_of(type_id).name();
        wanted
            .iter()
            .any(|(attribute, kinds)| attribute == name && kinds.equality)
    };
    Rules::read(schema, &views, &indexed)
}

fn load_administrator(
    snapshot: &Snapshot<'_>,
    schema: &Schema,
    known: &Knowledge,
) -> Result<Option<Administrator>, Failure> {
    let Lookup::Found(entry) = snapshot.find(&well_known(schema, ADMINISTRATOR_NAME))? else {
        return Ok(None);
    };
    let Some(view) = snapshot.entry(entry)? else {
        return Ok(None);
    };
    let Some(spelled) = texts(&view, &known.administrator_name).into_iter().next() else {
        return Ok(None);
    };
    let name = schema.resolve_name(&spelled).map_err(|error| {
        Failure::Configuration(format!("{ADMINISTRATOR_NAME}: \"{spelled}\": {error}"))
    })?;
    Ok(Some(Administrator {
        name,
        spelled,
        entry,
    }))
}

/// The indexes that the configuration defines. The store knows whether they are built.
pub fn wanted_indexes(
    snapshot: &Snapshot<'_>,
    schema: &Schema,
    known: &Knowledge,
) -> Result<Vec<(String, IndexKinds)>, Failure> {
    let mut wanted: Vec<(String, IndexKinds)> = Vec::new();
    for (_, view) in children(snapshot, &well_known(schema, INDEXES_NAME))? {
        let kinds = kinds(&view, known)?;
        for attribute in texts(&view, &known.index_attribute) {
            let Some(type_id) = schema.attribute_type(&attribute) else {
                let text = format!("{}: no attribute type {attribute}", view.rdn());
                return Err(Failure::Configuration(text));
            };
            let attribute = schema.type_of(type_id).name().to_owned();
            if Computed::of(schema).is_some_and(|it| it.is_computed(type_id)) {
                let text = format!(
                    "{}: {attribute} is computed and cannot be indexed",
                    view.rdn()
                );
                return Err(Failure::Configuration(text));
            }
            if wanted.iter().any(|(other, _)| *other == attribute) {
                let text = format!("{}: {attribute} has an index entry already", view.rdn());
                return Err(Failure::Configuration(text));
            }
            wanted.push((attribute, kinds));
        }
    }
    Ok(wanted)
}

/// `pandoIndexRebuild` of each index that has it.
fn index_marks(
    snapshot: &Snapshot<'_>,
    schema: &Schema,
    known: &Knowledge,
) -> Result<Vec<(String, String)>, Failure> {
    let mut marks = Vec::new();
    for (_, view) in children(snapshot, &well_known(schema, INDEXES_NAME))? {
        let types = texts(&view, &known.index_attribute).into_iter();
        for type_id in types.filter_map(|it| schema.attribute_type(&it)) {
            let attribute = schema.type_of(type_id).name();
            let given = texts_of(schema, &view, "pandoIndexRebuild").into_iter();
            marks.extend(given.map(|mark| (attribute.to_owned(), mark)));
        }
    }
    Ok(marks)
}

fn kinds(view: &EntryView<'_>, known: &Knowledge) -> Result<IndexKinds, Failure> {
    let mut kinds = IndexKinds::default();
    for text in texts(view, &known.index_kind) {
        match text.to_ascii_lowercase().as_str() {
            "equality" => kinds.equality = true,
            "presence" => kinds.presence = true,
            "substring" => kinds.substring = true,
            "ordering" => kinds.ordering = true,
            "approximate" => kinds.approximate = true,
            other => {
                return Err(Failure::Configuration(format!(
                    "{}: expected equality, presence, substring, ordering or approximate, \
                     got {other}",
                    view.rdn()
                )));
            }
        }
    }
    Ok(kinds)
}

/// Requests a rebuild of the indexes whose mark changed.
pub fn rebuild_indexes(
    batch: &mut Batch<'_>,
    before: &Catalog,
    next: &Catalog,
) -> Result<(), Failure> {
    let new = |it: &&(String, String)| !before.index_marks.contains(it);
    for (attribute, _) in next.index_marks.iter().filter(new) {
        batch.rebuild_index(attribute)?;
    }
    Ok(())
}

/// Adapts the store's indexes to the configuration. New ones are built in the background; unchanged
/// ones remain.
pub fn apply_indexes(batch: &mut Batch<'_>, next: &Catalog) -> Result<(), Failure> {
    batch.set_schema(next.schema.clone());
    let (wanted, states) = {
        let snapshot = batch.snapshot();
        (
            wanted_indexes(&snapshot, &next.schema, &next.known)?,
            snapshot.index_states()?,
        )
    };
    for state in states {
        if !wanted
            .iter()
            .any(|(attribute, _)| *attribute == state.attribute)
        {
            batch.drop_index(&state.attribute)?;
        }
    }
    for (attribute, kinds) in wanted {
        batch.set_index(&attribute, kinds)?;
    }
    Ok(())
}
