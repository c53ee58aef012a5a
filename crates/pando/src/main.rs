//! The program: parses the command line, runs a subcommand, and returns an exit status.

mod access;
mod backup;
mod bench;
mod channel;
mod check;
mod cli;
mod cluster;
mod compact;
mod conformance;
mod demo;
mod estimate;
mod explain;
mod export;
mod generate;
mod identity;
mod import;
mod index;
mod init;
mod man;
mod memory;
mod migrate;
mod node_folder;
mod passwd;
mod password_input;
mod progress;
mod reach;
mod reload;
mod report;
mod room;
mod rotation;
mod schema;
mod secret;
mod serve;
mod status;
mod streams;
mod tls;
mod trust;

use clap::Parser;
use cli::{Cli, Command};
use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    // Before any allocation, because memory in a huge page stays there.
    huge_pages(false);
    let cli = Cli::parse();
    #[cfg(debug_assertions)]
    pretend_to_be_older();
    // A server has little memory of its own, spread over the heaps of its threads; each would take
    // a huge page of 2 MiB for some ten kilobytes.
    huge_pages(!matches!(cli.command, Command::Serve(_) | Command::Demo(_)));
    let done = match cli.command {
        Command::Init(it) => init::init(&it),
        Command::Serve(it) => serve::serve(&it),
        Command::Bench(it) => bench::bench(&it),
        Command::Conformance(it) => conformance::conformance(&it),
        Command::Demo(it) => demo::demo(&it),
        Command::Import(it) => import::import(&it),
        Command::Export(it) => export::export(&it),
        Command::Generate(it) => generate::generate(&it),
        Command::Migrate(it) => migrate::migrate(&it),
        Command::Backup(it) => backup::backup(&it),
        Command::Restore(it) => backup::restore(&it),
        Command::Verify(it) => backup::verify(&it),
        Command::Cluster(it) => cluster::cluster(&it.action),
        Command::Check(it) => check::check(&it),
        Command::Compact(it) => compact::compact(&it),
        Command::Schema(it) => schema::schema(&it.action),
        Command::Access(it) => access::access(&it.action),
        Command::Identity(it) => identity::identity(&it.action),
        Command::Tls(it) => tls::tls(&it.action),
        Command::Passwd(it) => passwd::passwd(&it),
        Command::Index(it) => index::index(&it.action),
        Command::Reload(it) => reload::reload(&it),
        Command::Status(it) => status::status(&it),
        Command::Explain(it) => explain::explain(&it),
        Command::Completions(it) => man::completions(it.shell),
        Command::Man(it) => man::man(&it.dir),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => problem.report(),
    }
}

/// Makes this process one of an earlier program if `PANDO_TEST_LEVEL_MAX` names the highest format
/// level that it knows: for tests of clusters in which programs differ. A release lacks this.
#[cfg(debug_assertions)]
fn pretend_to_be_older() {
    let wanted = std::env::var("PANDO_TEST_LEVEL_MAX").ok();
    if let Some(highest) = wanted.and_then(|it| it.parse().ok()) {
        replica::level::pretend_to_be_older(highest);
    }
}

/// Sets whether the kernel may back memory with huge pages.
fn huge_pages(wanted: bool) {
    // A kernel without this call gives no huge pages, or the process takes more memory.
    let _ = rustix::thread::disable_transparent_huge_pages(!wanted);
}
