//! Decisions and facts that precede an import.

use super::options::{ImportOptions, WrittenTo};
use replica::membership::ClusterMark;
use schema::Schema;
use state::catalog::Catalog;
use state::config;
use state::meta::META_TIME;
use state::stop::Failure;
use state::time;
use store::{IndexDefinition, IndexSet, IndexState, Store};

/// Minimum ratio of database to input size for adding to the database. Inserting an entry at the
/// places of its keys costs about five times as much as loading it among sorted rows; a member of a
/// group costs less.
const DATABASE_SHARE: u64 = 8;

/// Minimum ratio of sorting memory to input size for adding to the database, because changed pages
/// stay in memory until the end.
const MEMORY_SHARE: u64 = 4;

/// Options, configuration of the old database, and values for the stamps of imported entries.
pub(super) struct Plan<'o> {
    pub options: &'o ImportOptions,
    pub threads: usize,
    pub catalog: Catalog,
    /// Every index that the configuration defines.
    pub definitions: Vec<IndexDefinition>,
    /// Greatest entry id in the old database.
    pub last_id: u64,
    /// Position of imported entries: the next one after the position of the old database.
    pub position: u64,
    /// Time in microseconds since 1970, later than every time in the old database.
    pub time_us: u64,
    /// `time_us` as a generalized time.
    pub timestamp: String,
    /// Name of the administrator, who counts as creator of the entries; empty if there is none.
    pub by: String,
}

impl<'o> Plan<'o> {
    pub fn new(old: &Store, options: &'o ImportOptions) -> Result<Plan<'o>, Failure> {
        let mut reader = old.reader()?;
        let snapshot = reader.snapshot()?;
        let dictionary = config::stored_dictionary(&snapshot)?;
        let catalog = config::load(&snapshot, &dictionary)?;
        let wanted = config::wanted_indexes(&snapshot, &catalog.schema, &catalog.known)?;
        let mut definitions = Vec::with_capacity(wanted.len());
        for (attribute, kinds) in wanted {
            let type_id = catalog.schema.attribute_type(&attribute).ok_or_else(|| {
                Failure::Configuration(format!("no attribute type {attribute} to index"))
            })?;
            definitions.push(IndexDefinition {
                type_id,
                attribute,
                kinds,
                ready: true,
            });
        }
        let before = snapshot.meta(META_TIME)?.and_then(|it| it.try_into().ok());
        let before = before.map_or(0, u64::from_be_bytes);
        let time_us = options.clock.now_us().max(before + 1);
        let threads = match options.threads {
            0 => std::thread::available_parallelism().map_or(1, usize::from),
            threads => threads,
        };
        Ok(Plan {
            options,
            threads,
            definitions,
            last_id: snapshot.last_id()?.0,
            position: snapshot.position()? + 1,
            time_us,
            timestamp: time::generalized_time(time_us),
            by: catalog
                .administrator
                .as_ref()
                .map_or_else(String::new, |it| it.spelled.clone()),
            catalog,
        })
    }

    /// The generation of a cluster that the import begins; `None` if it begins none.
    pub fn begins(&self) -> Option<&ClusterMark> {
        self.options.begins.as_ref()
    }

    /// Takes the time of an interrupted import.
    pub fn set_time(&mut self, time_us: u64) {
        self.time_us = time_us;
        self.timestamp = time::generalized_time(time_us);
    }

    /// Whether the import adds to the old database instead of making a new one.
    pub fn keeps_old(&self, old: &Store) -> Result<bool, Failure> {
        let options = self.options;
        let fits = match options.place {
            WrittenTo::New => false,
            WrittenTo::Old => true,
            WrittenTo::Fitting => match options.input_bytes {
                Some(bytes) => {
                    let (used, _) = old.sizes()?;
                    let memory = options.memory as u64;
                    bytes.saturating_mul(DATABASE_SHARE) <= used
                        && bytes.saturating_mul(MEMORY_SHARE) <= memory
                }
                None => false,
            },
        };
        let rules = &self.catalog.rules;
        if !fits || !rules.unique.is_empty() || !rules.numbers.is_empty() {
            return Ok(false);
        }
        let mut reader = old.reader()?;
        let states = reader.snapshot()?.index_states()?;
        let is_complete = |wanted: &IndexDefinition| {
            let mut states = states.iter();
            states.any(|it| it.attribute == wanted.attribute && it.ready == wanted.kinds)
        };
        Ok(states.len() == self.definitions.len()
            && !states.iter().any(IndexState::has_work)
            && self.definitions.iter().all(is_complete))
    }

    /// The indexes under this schema, which may have more attribute numbers than the catalog's.
    pub fn indexes(&self, schema: &Schema) -> IndexSet {
        IndexSet {
            schema: schema.clone(),
            definitions: self.definitions.clone(),
        }
    }
}
