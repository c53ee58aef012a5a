//! Pando beside itself, with and without access rules, a password policy, a candidate and an audit:
//! processor time of a server. One of the servers has work at a time, in turns.

use std::env::temp_dir;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use clap::Parser;
use load::bench::{Mix, Options, Report, run};
use pando_benches::arguments::Tables;
use pando_benches::directives::imported;
use pando_benches::journal::Journal;
use pando_benches::process::{Server, beside, finish, raise_open_files};
use pando_benches::row::{Data, Extent};
use pando_benches::subject::{ADMINISTRATOR, Folder, PASSWORD, Subject};
use pando_benches::table::{self, Sum};

/// Measures what protection costs.
#[derive(Parser)]
struct Arguments {
    /// Users in the databases.
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    entries: u64,
    /// Seconds of each measurement.
    #[arg(long, value_name = "S", default_value_t = 5.0)]
    seconds: f64,
    /// Measurements of each row.
    #[arg(long, value_name = "N", default_value_t = 3)]
    rounds: usize,
    /// Folder for databases; what is in it is deleted.
    #[arg(long, value_name = "FOLDER", default_value_os_t = temp_dir().join("pando-protection"))]
    folder: PathBuf,
    /// The program `pando`.
    #[arg(long, value_name = "FILE", default_value_os_t = beside("pando"))]
    pando: PathBuf,
    #[command(flatten)]
    tables: Tables,
}

/// Protection that one server has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Protection {
    /// The built-in rules.
    None,
    /// The rules of a new directory, and a password policy for all.
    Rules,
    /// 200 directives of slapd, imported, and the policy.
    Imported,
    /// The protection of [`Protection::Rules`], while the imported set is tried.
    Tried,
    /// The built-in rules, and a line for each change.
    Audit,
}

/// Work that is measured on servers with these kinds of protection, beside one without.
struct Row {
    name: &'static str,
    mix: &'static str,
    connections: usize,
    depth: usize,
    beside: Protection,
    /// With the ratio of processor time that is the goal.
    goals: &'static [(Protection, f64)],
}

/// Goals of access rules and a policy.
const RULES: &[(Protection, f64)] = &[(Protection::Rules, 1.15), (Protection::Imported, 1.30)];
const TRIED: &[(Protection, f64)] = &[(Protection::Tried, 1.10)];
const AUDIT: &[(Protection, f64)] = &[(Protection::Audit, 1.10)];

const ROWS: &[Row] = &[
    row(
        "equality search",
        "search",
        (32, 1),
        Protection::None,
        RULES,
    ),
    row(
        "equality search",
        "search",
        (4, 100),
        Protection::None,
        RULES,
    ),
    row("compare", "compare", (32, 1), Protection::None, RULES),
    row("compare", "compare", (4, 100), Protection::None, RULES),
    row(
        "equality search",
        "search",
        (32, 1),
        Protection::Rules,
        TRIED,
    ),
    row(
        "equality search",
        "search",
        (4, 100),
        Protection::Rules,
        TRIED,
    ),
    row(
        "modify, durable",
        "modify",
        (200, 1),
        Protection::None,
        AUDIT,
    ),
    row(
        "modify, durable",
        "modify",
        (4, 100),
        Protection::None,
        AUDIT,
    ),
];

const fn row(
    name: &'static str,
    mix: &'static str,
    (connections, depth): (usize, usize),
    beside: Protection,
    goals: &'static [(Protection, f64)],
) -> Row {
    Row {
        name,
        mix,
        connections,
        depth,
        beside,
        goals,
    }
}

fn main() -> io::Result<()> {
    let arguments = Arguments::parse();
    raise_open_files(25_000)?;
    let folder = Folder::anew(&arguments.folder, &arguments.pando)?;
    let mut journal = Journal::default();
    let users = arguments.entries;
    journal.line(&format!("# What protection costs: {users} entries\n"))?;
    journal.line(&table::facts("protection", Some(&folder.pando))?)?;
    let mut servers = Vec::new();
    for protection in Protection::ALL {
        servers.push((protection, protection.serve(&folder, &arguments)?));
    }
    journal.line(
        "| work | connections x in flight | beside | us | with | us | ratio | goal | ops/s \
         | ops/s with |\n|---|---|---|---|---|---|---|---|---|---|",
    )?;
    for row in ROWS {
        row.measure(&servers, &arguments, &mut journal)?;
    }
    drop(servers);
    fs::remove_dir_all(&folder.path)?;
    arguments.tables.keep(&journal, "protection")
}

impl Arguments {
    fn extent(&self) -> Extent {
        Extent {
            data: Data::Small,
            entries: self.entries,
            seconds: self.seconds,
        }
    }
}

impl Protection {
    const ALL: [Protection; 5] = [
        Protection::None,
        Protection::Rules,
        Protection::Imported,
        Protection::Tried,
        Protection::Audit,
    ];

    /// Its name in the table.
    fn name(self) -> &'static str {
        match self {
            Protection::None => "built-in rules",
            Protection::Rules => "default rules, policy",
            Protection::Imported => "200 imported rules, policy",
            Protection::Tried => "the same, a set of 200 tried",
            Protection::Audit => "audit",
        }
    }

    /// Makes a directory with this protection and serves it.
    fn serve(self, folder: &Folder, arguments: &Arguments) -> io::Result<Server> {
        let own = Folder::made(&folder.path.join(format!("{self:?}")), &folder.pando)?;
        own.make_entries(arguments.extent())?;
        own.prepare(Subject::Pando)?;
        own.import(Subject::Pando)?;
        let database = own.database(Subject::Pando);
        let access = |words: &[&str], file: &Path| {
            let mut command = Command::new(&own.pando);
            command.arg("access").args(words).arg(&database).arg(file);
            finish(&mut command)
        };
        let default = own.path.join("default.rules");
        fs::write(&default, policy::access::sets::DEFAULT)?;
        let directives = own.path.join("directives.conf");
        fs::write(
            &directives,
            imported("dc=com", |n| format!("cn=group{n},dc=com")),
        )?;
        let set = own.path.join("imported.rules");
        let mut import = Command::new(&own.pando);
        import
            .args(["access", "import", "--slapd"])
            .arg(&directives);
        import.stdout(fs::File::create(&set)?);
        // It warns about names that no entry has.
        import.stderr(Stdio::null()).status()?;
        match self {
            Protection::None => {}
            Protection::Rules => access(&["apply"], &default)?,
            Protection::Imported => access(&["apply"], &set)?,
            Protection::Tried => {
                access(&["apply"], &default)?;
                access(&["shadow"], &set)?;
            }
            Protection::Audit => {
                let settings = database.join("pando.toml");
                let text = fs::read_to_string(&settings)?;
                fs::write(
                    &settings,
                    text.replace("[audit]\n", "[audit]\nenabled = true\n"),
                )?;
            }
        }
        let server = own.start(Subject::Pando)?;
        if matches!(
            self,
            Protection::Rules | Protection::Imported | Protection::Tried
        ) {
            set_policy(&server, &own.path)?;
        }
        Ok(server)
    }
}

impl Row {
    fn measure(
        &self,
        servers: &[(Protection, Server)],
        arguments: &Arguments,
        journal: &mut Journal,
    ) -> io::Result<()> {
        let server_of = |wanted: Protection| {
            let found = servers.iter().find(|(it, _)| *it == wanted);
            found.map(|(_, server)| server).ok_or_else(|| {
                io::Error::other(format!("expected a server with {wanted:?}, there is none"))
            })
        };
        let mut without = Sum::default();
        let mut with = vec![Sum::default(); self.goals.len()];
        for _ in 0..arguments.rounds {
            without.add(&self.run(server_of(self.beside)?, arguments)?);
            for (sum, (protection, _)) in with.iter_mut().zip(self.goals) {
                sum.add(&self.run(server_of(*protection)?, arguments)?);
            }
        }
        for (sum, (protection, goal)) in with.iter().zip(self.goals) {
            journal.line(&format!(
                "| {} | {} x {} | {} | {:.2} | {} | {:.2} | {:.2} | {goal:.2} | {:.0} | {:.0} |",
                self.name,
                self.connections,
                self.depth,
                self.beside.name(),
                without.cpu(),
                protection.name(),
                sum.cpu(),
                sum.cpu() / without.cpu(),
                without.rate(),
                sum.rate(),
            ))?;
        }
        Ok(())
    }

    fn run(&self, server: &Server, arguments: &Arguments) -> io::Result<Report> {
        let (last, base) = (arguments.entries, Data::Small.base());
        let mix = Mix::parse(self.mix).map_err(io::Error::other)?;
        let mut options = Options::new(&server.url, mix);
        options.connections = self.connections;
        options.depth = self.depth;
        options.duration = Some(Duration::from_secs_f64(arguments.seconds));
        options.warm_up = Duration::from_secs_f64((arguments.seconds / 5.0).min(1.0));
        options.drain = Duration::from_secs(120);
        options.server_pid = Some(server.pid());
        options.search.base = base.to_owned();
        options.search.filter = format!("(uid=user.[1-{last}])");
        options.dn = format!("uid=user.[1-{last}],{base}");
        options.attribute = "carLicense".to_owned();
        options.value = "abcdefgh".to_owned();
        let who = match self.mix {
            "modify" => ADMINISTRATOR.to_owned(),
            _ => format!("uid=user.1,{base}"),
        };
        options.bind_as = Some((who, PASSWORD.to_owned()));
        let report = run(&options, &mut |_| {}).map_err(io::Error::other)?;
        if !report.is_clean() {
            writeln!(io::stderr(), "{}: {}", self.name, report.text())?;
        }
        Ok(report)
    }
}

/// Gives all accounts a password policy that locks them after five failures.
fn set_policy(server: &Server, folder: &Path) -> io::Result<()> {
    let file = folder.join("policy.ldif");
    fs::write(
        &file,
        "dn: cn=policy,dc=com\nchangetype: add\nobjectClass: device\nobjectClass: pwdPolicy\n\
         pwdAttribute: userPassword\npwdLockout: TRUE\npwdMaxFailure: 5\npwdMinLength: 8\n\n\
         dn: cn=config\nchangetype: modify\nadd: pandoPasswordPolicy\n\
         pandoPasswordPolicy: cn=policy,dc=com\n-\n",
    )?;
    let mut command = Command::new("ldapmodify");
    command.args(["-x", "-H", &server.url, "-D", ADMINISTRATOR, "-w", PASSWORD]);
    finish(command.arg("-f").arg(&file))
}
