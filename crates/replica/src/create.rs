//! Makes the database of a new directory.

use crate::clock::{Clock, SystemClock};
use protocol::name::{dn_form, leaf_form};
use schema::Schema;
use state::catalog::{CONFIG_NAME, Catalog, NamingContext};
use state::config;
use state::execute::Execution;
use state::grant::Grant;
use state::knowledge;
use state::level;
use state::meta::META_COOKIE_KEY;
use state::rules::RULES_NAME;
use state::stop::{Failure, Stop};
use state::write::{Addition, Change, Given, Record, Write};
use std::path::Path;
use store::{IndexKinds, IndexSet, SliceLimits, Store};

/// Contents of a new directory.
#[derive(Debug, Clone)]
pub struct InitOptions {
    /// DNs of the naming contexts.
    pub suffixes: Vec<String>,
    /// The administrator's DN; it need not be below a suffix.
    pub administrator: String,
    /// The administrator's password in stored form (hashed).
    pub password: String,
    /// Whether to add the entry of each naming context, if its RDN implies an object class.
    pub base_entries: bool,
    /// Attributes to index, with the kinds.
    pub indexes: Vec<(String, IndexKinds)>,
}

impl InitOptions {
    /// The usual contents: one suffix, `cn=admin` below it, and the indexes that clients expect.
    pub fn new(suffix: &str, password: String) -> InitOptions {
        let equality = [
            "objectClass",
            "uid",
            "cn",
            "mail",
            "member",
            "uniqueMember",
            "memberUid",
        ];
        let numbers = ["uidNumber", "gidNumber", "entryUUID"];
        let kinds = IndexKinds {
            equality: true,
            ..IndexKinds::NONE
        };
        InitOptions {
            suffixes: vec![suffix.to_owned()],
            administrator: format!("cn=admin,{suffix}"),
            password,
            base_entries: true,
            indexes: equality
                .into_iter()
                .chain(numbers)
                .map(|it| (it.to_owned(), kinds))
                .collect(),
        }
    }
}

/// Creates a directory in an empty or missing folder.
///
/// # Errors
/// The folder holds a database or cannot be written; a suffix, an index or the administrator's
/// name is invalid.
pub fn create(data: &Path, options: &InitOptions) -> Result<(), Failure> {
    create_at(data, options, &SystemClock)
}

/// Like [`create`], with times and UUIDs from a clock.
///
/// # Errors
/// The errors of [`create`].
pub(crate) fn create_at(
    data: &Path,
    options: &InitOptions,
    clock: &dyn Clock,
) -> Result<(), Failure> {
    let store = Store::create(data)?;
    let (schema, rows) = knowledge::numbered(&Schema::standard());
    let mut key = [0; 32];
    getrandom::fill(&mut key).expect("the operating system always has random bytes");
    let empty = IndexSet {
        schema: schema.clone(),
        definitions: Vec::new(),
    };
    let mut batch = store.begin(&empty)?;
    batch.put_dictionary(&rows)?;
    batch.put_meta(META_COOKIE_KEY, &key)?;
    level::put(&mut batch, level::highest())?;
    let mut catalog = config::load(&batch.snapshot(), &schema)?;
    for suffix in &options.suffixes {
        let name = resolve(&schema, suffix)?;
        catalog.contexts.push(NamingContext {
            name,
            spelled: suffix.clone(),
        });
    }
    let writes = initial_writes(&catalog, options, clock)?;
    let record = Record {
        position: 1,
        time_us: clock.now_us(),
        units: writes.chunks(1).collect(),
    };
    let mut execution = Execution::new(&mut batch, &catalog, &record);
    for write in &writes {
        execution
            .execute(write)
            .map_err(|stop| unusable(&write.spelled, stop))?;
    }
    let noticed = execution.finish()?;
    let next = config::load(&batch.snapshot(), &noticed.schema)?;
    config::apply_indexes(&mut batch, &next)?;
    while !batch
        .build_indexes(SliceLimits::entries(1_000))?
        .is_finished()
    {}
    batch.commit()?;
    store.close();
    Ok(())
}

fn resolve(schema: &Schema, name: &str) -> Result<schema::Name, Failure> {
    let resolved = schema.resolve_name(name);
    resolved.map_err(|error| Failure::Configuration(format!("\"{name}\": {error}")))
}

/// The failure of an entry of the server's own that was refused: its name, and why.
pub fn unusable(name: &str, stop: Stop) -> Failure {
    match stop {
        Stop::Failed(failure) => failure,
        Stop::Refused(refusal) => Failure::Configuration(format!(
            "{name}: {} ({})",
            refusal.diagnostic,
            refusal.code.name()
        )),
    }
}

/// The writes that add the entries of a new directory.
fn initial_writes(
    catalog: &Catalog,
    options: &InitOptions,
    clock: &dyn Clock,
) -> Result<Vec<Write>, Failure> {
    let by = &options.administrator;
    let mut writes = Vec::new();
    let mut add = |name: &str, attributes: &[(&str, &str)]| -> Result<(), Failure> {
        writes.push(entry(catalog, by, name, attributes, clock)?);
        Ok(())
    };
    let mut base = vec![("objectClass", "pandoConfig")];
    base.extend(
        options
            .suffixes
            .iter()
            .map(|it| ("pandoNamingContext", it.as_str())),
    );
    add(CONFIG_NAME, &base)?;
    resolve(&catalog.schema, by)?;
    add(
        config::ADMINISTRATOR_NAME,
        &[
            ("objectClass", "pandoAdministrator"),
            ("pandoAdministratorName", by),
            ("userPassword", &options.password),
        ],
    )?;
    add(config::INDEXES_NAME, &[("objectClass", "pandoConfig")])?;
    add(config::SCHEMA_NAME, &[("objectClass", "pandoConfig")])?;
    add(RULES_NAME, &[("objectClass", "pandoConfig")])?;
    for (attribute, kinds) in &options.indexes {
        let mut attributes = vec![
            ("objectClass", "pandoIndex"),
            ("pandoIndexAttribute", attribute),
        ];
        attributes.extend(kinds.iter().map(|kind| ("pandoIndexKind", kind.name())));
        add(
            &format!("cn={attribute},{}", config::INDEXES_NAME),
            &attributes,
        )?;
    }
    if options.base_entries {
        for suffix in &options.suffixes {
            let classes = classes_for(suffix)
                .iter()
                .map(|class| ("objectClass", *class));
            add(suffix, &classes.collect::<Vec<_>>())?;
        }
    }
    Ok(writes)
}

/// The object classes of a base entry, chosen by the attribute type of its RDN (RFC 4519, RFC
/// 4524).
pub fn classes_for(name: &str) -> &'static [&'static str] {
    let leaf = leaf_form(name).to_ascii_lowercase();
    match leaf.split('=').next().unwrap_or_default().trim() {
        "dc" => &["top", "domain"],
        "o" => &["top", "organization"],
        "ou" => &["top", "organizationalUnit"],
        "c" => &["top", "country"],
        "l" => &["top", "locality"],
        _ => &["top", "namedObject", "extensibleObject"],
    }
}

/// A write that adds an entry of the server's own.
pub(crate) fn entry(
    catalog: &Catalog,
    by: &str,
    spelled: &str,
    attributes: &[(&str, &str)],
    clock: &dyn Clock,
) -> Result<Write, Failure> {
    let schema = &catalog.schema;
    let name = resolve(schema, spelled)?;
    let leaf = leaf_form(spelled);
    let rdn = schema
        .resolve_rdn(&leaf)
        .map_err(|error| Failure::Configuration(format!("\"{leaf}\": {error}")))?;
    let mut given: Vec<Given> = Vec::new();
    for (text, value) in attributes {
        let description = schema
            .describe(text)
            .map_err(|error| Failure::Configuration(format!("{spelled}: {error}")))?;
        match given.iter_mut().find(|it| it.description == description) {
            Some(it) => it.values.push(value.as_bytes().to_vec()),
            None => {
                given.push(Given {
                    description,
                    values: vec![value.as_bytes().to_vec()],
                });
            }
        }
    }
    let rdn_spelled = if catalog.is_context(&name) {
        dn_form(spelled)
    } else {
        leaf
    };
    let addition = Addition {
        rdn_spelled,
        rdn,
        attributes: given,
        uuid: clock.uuid(),
    };
    let grant = Grant::of_server(by.to_owned(), name);
    Ok(Write::of_server(
        grant,
        spelled.to_owned(),
        Change::Add(addition),
    ))
}
