//! A second replica: executes the first one's records later, with its own progress of index builds.

use super::BOUNDS;
use super::log::Ordered;
use super::random::Random;
use super::template::Template;
use crate::recover::Replayer;
use std::collections::BTreeMap;
use store::Store;
use tempfile::TempDir;

pub(super) struct Copy {
    pub store: Store,
    pub replayer: Replayer,
    pub folder: TempDir,
}

impl Copy {
    pub fn new(template: &Template) -> Copy {
        Copy::open(template.copy())
    }

    fn open(folder: TempDir) -> Copy {
        let store = Store::open(folder.path()).expect("opened");
        let mut replayer = Replayer::new(&store).expect("a catalog");
        replayer.catalog.bounds = BOUNDS;
        Copy {
            store,
            replayer,
            folder,
        }
    }

    /// Closes the store and opens it again.
    pub fn reopen(self) -> Copy {
        let Copy {
            store,
            replayer,
            folder,
        } = self;
        drop(replayer);
        store.close();
        Copy::open(folder)
    }

    /// Executes records up to a position, and builds indexes a little between them.
    pub fn follow(
        &mut self,
        ordered: &Ordered,
        until: u64,
        digests: &BTreeMap<u64, u128>,
        random: &mut Random,
    ) {
        while self.replayer.position < until {
            let position = self.replayer.position + 1;
            let record = ordered.record(position).expect("an ordered record");
            let executed = self.replayer.execute(&self.store, &record);
            executed.expect("it belongs to this state");
            assert_eq!(
                self.replayer.position, position,
                "it changes something here too"
            );
            assert_eq!(
                Some(&self.digest()),
                digests.get(&position),
                "at {position}"
            );
            if random.chance(10) {
                let entries = 1 + random.below(6) as usize;
                let built = self.replayer.build_indexes(&self.store, entries);
                built.expect("built");
            }
        }
    }

    /// Builds all indexes.
    pub fn complete(&mut self) {
        while !self
            .replayer
            .build_indexes(&self.store, 100)
            .expect("built")
        {}
    }

    fn digest(&self) -> u128 {
        let mut reader = self.store.reader().expect("a reader");
        let snapshot = reader.snapshot().expect("a snapshot");
        snapshot.digest().expect("readable")
    }
}
