//! Cost of client and sockets without a directory: every job against the null responder.

use std::io::{self, Write};
use std::time::Duration;

use load::bench::{AddSource, JobKind, Mix, Options, Scope, run};
use pando_benches::process::Server;

fn main() -> io::Result<()> {
    let seconds = std::env::args()
        .nth(1)
        .and_then(|text| text.parse().ok())
        .unwrap_or(2);
    let null = Server::null(2_500)?;
    let mut out = io::stdout().lock();
    writeln!(
        out,
        "| job | connections x in flight | ops/s | server us | client us | p99 us |"
    )?;
    writeln!(out, "|---|---|---|---|---|---|")?;
    for (connections, depth) in [(32, 1), (4, 100), (10, 1000)] {
        for kind in JobKind::ALL {
            let mut options = Options::new(&null.url, Mix::only(kind));
            options.connections = connections;
            options.depth = depth;
            options.duration = Some(Duration::from_secs(seconds));
            options.server_pid = Some(null.pid());
            options.search.base = "ou=oracle,dc=com".to_owned();
            options.search.scope = Scope::Subtree;
            options.search.filter = "(uid=user.[1-1000000])".to_owned();
            options.dn = "uid=user.[1-1000000],ou=oracle,dc=com".to_owned();
            options.new_rdn = "uid=renamed.[ref:1]".to_owned();
            options.add = AddSource::Patterns {
                dn: "uid=new.[1:100000000],ou=oracle,dc=com".to_owned(),
                attributes: vec![("sn".to_owned(), "x".to_owned())],
            };
            let report = run(&options, &mut |_| {}).map_err(io::Error::other)?;
            if !report.is_clean() {
                return Err(io::Error::other(report.text()));
            }
            writeln!(
                out,
                "| {} | {connections} x {depth} | {:.0} | {:.2} | {:.2} | {:.0} |",
                kind.name(),
                report.rate,
                report.server.map_or(0.0, |server| server.us_per_operation),
                report.client_us_per_operation,
                report.latency.p99_us,
            )?;
        }
    }
    Ok(())
}
