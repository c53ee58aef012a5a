//! The committed seeds of the fuzz targets of this crate, each whole, cut and damaged.

#[path = "../../../fuzz/damaged.rs"]
mod damaged;

use damaged::run;

#[test]
fn the_corpora_of_the_log() {
    run("envelope", crate::log::fuzz::envelope);
    run("log_key", crate::log::fuzz::key);
    run("log_value", crate::log::fuzz::value);
}

#[test]
fn the_corpora_of_messages_and_the_file() {
    run("peer_message", crate::peer::fuzz::message);
    run("cluster_file", crate::identity::fuzz::cluster_file);
}
