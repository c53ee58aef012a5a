//! The directory that each run begins with, made once.

use super::clock::SimulatedClock;
use super::model::Model;
use super::random::Random;
use super::{BASE, content, writes};
use crate::clock::Clock;
use crate::create::{self, InitOptions};
use crate::recover::Replayer;
use state::level;
use state::record;
use state::write::{Change, Record};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::OnceLock;
use store::{DATABASE_FILE, Store, private};
use tempfile::TempDir;

/// A database file and the model of its content.
pub(super) struct Template {
    database: Vec<u8>,
    /// A database file with equal entries at the first format level.
    early: Vec<u8>,
    pub model: Model,
    pub digest: u128,
}

/// The template, whose content has equal bytes in every process.
pub(super) fn template() -> &'static Template {
    static MADE: OnceLock<Template> = OnceLock::new();
    MADE.get_or_init(Template::make)
}

/// A folder in memory if there is a file system for it, else among temporary files.
pub(super) fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = match memory.is_dir() {
        true => TempDir::new_in(memory),
        false => TempDir::new(),
    };
    made.expect("a folder")
}

impl Template {
    /// A folder with a copy of the database.
    pub fn copy(&self) -> TempDir {
        let folder = folder();
        private::write(&folder.path().join(DATABASE_FILE), &self.database).expect("written");
        folder
    }

    /// The database at the first format level.
    pub fn early(&self) -> &[u8] {
        &self.early
    }

    /// A folder with a copy of the database at the first format level.
    pub fn copy_early(&self) -> TempDir {
        let folder = folder();
        private::write(&folder.path().join(DATABASE_FILE), &self.early).expect("written");
        folder
    }

    fn make() -> Template {
        let folder = folder();
        let clock = SimulatedClock::new(Random::new(0));
        let options = InitOptions::new(BASE, "{SSHA}x".to_owned());
        create::create_at(folder.path(), &options, &clock).expect("created");
        let store = Store::open(folder.path()).expect("opened");
        fill(&store, &clock);
        let (model, digest) = model(&store, &options);
        drop(store);
        let file = folder.path().join(DATABASE_FILE);
        let database = std::fs::read(&file).expect("a database");
        let store = Store::open(folder.path()).expect("opened");
        let indexes = Replayer::new(&store).expect("a catalog").catalog.indexes;
        let mut batch = store.begin(&indexes).expect("a batch");
        level::put(&mut batch, level::LOWEST).expect("put");
        batch.commit().expect("committed");
        store.close();
        Template {
            database,
            early: std::fs::read(&file).expect("a database"),
            model,
            digest,
        }
    }
}

/// Adds two organizational units and a default password policy.
fn fill(store: &Store, clock: &SimulatedClock) {
    let mut replayer = Replayer::new(store).expect("a catalog");
    let policy = format!("cn=policy,{BASE}");
    let unit = [("objectClass", "organizationalUnit")];
    let rules = [
        ("objectClass", "device"),
        ("objectClass", "pwdPolicy"),
        ("pwdAttribute", "userPassword"),
        ("pwdLockout", "TRUE"),
        ("pwdMaxFailure", "3"),
    ];
    let entry = |replayer: &Replayer, name: &str, attributes: &[(&str, &str)]| {
        let made = create::entry(&replayer.catalog, BASE, name, attributes, clock);
        made.expect("an entry")
    };
    let schema = &replayer.catalog.schema;
    let named = writes::modification(
        schema,
        protocol::ChangeOperation::Replace,
        "pandoPasswordPolicy",
        &[&policy],
    );
    let writes = [
        entry(&replayer, &format!("ou=a,{BASE}"), &unit),
        entry(&replayer, &format!("ou=b,{BASE}"), &unit),
        entry(&replayer, &policy, &rules),
        writes::change_of(schema, "cn=config", Change::Modify(vec![named])),
    ];
    for write in writes {
        let digest = store
            .reader()
            .expect("a reader")
            .snapshot()
            .expect("a snapshot")
            .digest();
        let record = Record {
            position: replayer.position + 1,
            time_us: clock.now_us() + replayer.position,
            units: vec![std::slice::from_ref(&write)],
        };
        let mut bytes = Vec::new();
        let digest = digest.expect("readable");
        record::encode(&record, digest, &replayer.catalog.schema, &mut bytes);
        let (_, outcome) = replayer.execute(store, &bytes).expect("executed");
        assert!(outcome.has(0), "{} is refused", write.spelled);
    }
}

fn model(store: &Store, options: &InitOptions) -> (Model, u128) {
    let replayer = Replayer::new(store).expect("a catalog");
    let mut reader = store.reader().expect("a reader");
    let snapshot = reader.snapshot().expect("a snapshot");
    let mut entries = content::entries(&snapshot, &replayer.catalog);
    // The workload does not change these entries.
    entries.retain(|name, _| !name.starts_with("cn=policy"));
    let indexes = options.indexes.iter().map(|it| it.0.to_ascii_lowercase());
    let settings = indexes
        .map(|it| (format!("cn={it},cn=indexes,cn=config"), true))
        .collect();
    let model = Model {
        entries,
        settings,
        position: snapshot.position().expect("readable"),
        changes: BTreeMap::new(),
    };
    (model, snapshot.digest().expect("readable"))
}
