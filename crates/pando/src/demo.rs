//! `pando demo`: a sample directory, served, with commands to try.

mod nodes;

use crate::cli::Demo;
use crate::import::{Made, run};
use crate::report::{Problem, note};
use crate::serve::{announce, start};
use directory::InitOptions;
use load::template::{Defines, Generator, Template};
use policy::password::{self, Scheme};
use protocol::counted;
use server::{Listen, Overrides};
use std::path::{Path, PathBuf};
use store::private;
use transfer::import::ImportOptions;

const TEMPLATE: &str = include_str!("../../../examples/demo.template");
const SUFFIX: &str = "dc=example,dc=com";
/// Password of every entry and the administrator: the demo listens on the loopback address only.
const PASSWORD: &str = "password";

/// Creates the sample if it is missing, and serves it until a signal.
pub fn demo(it: &Demo) -> Result<(), Problem> {
    let dir = match &it.dir {
        Some(dir) => dir.clone(),
        None => temporary_folder()?,
    };
    let done = match it.cluster {
        Some(count) => nodes::serve(it, &dir, count, &|first| make(it, first)),
        None => serve(it, &dir),
    };
    if it.dir.is_none()
        && let Err(error) = std::fs::remove_dir_all(&dir)
    {
        note(format_args!("pando: {}: {error}", dir.display()));
    }
    done
}

fn serve(it: &Demo, dir: &Path) -> Result<(), Problem> {
    if !dir.join("data").exists() {
        make(it, dir)?;
    }
    let overrides = Overrides {
        listen: it.listen.clone(),
        ..Overrides::default()
    };
    let served = start(dir, &overrides)?;
    announce(&served.server);
    let url = served
        .server
        .addresses()
        .iter()
        .find(|it| matches!(it, Listen::Tcp { .. }))
        .map_or_else(|| it.listen.join(" "), ToString::to_string);
    note(tour(&url));
    served.wait();
    Ok(())
}

fn make(it: &Demo, dir: &Path) -> Result<(), Problem> {
    let data = dir.join("data");
    private::create_folders(&data).map_err(|error| Problem::file(&data, error))?;
    let hashed = password::hash(Scheme::Ssha512, PASSWORD.as_bytes()).map_err(Problem::failed)?;
    let options = InitOptions::new(SUFFIX, hashed.clone());
    replica::create(&data, &options).map_err(Problem::failed)?;
    let settings = dir.join(server::settings::FILE_NAME);
    private::write(&settings, server::settings::sample())
        .map_err(|error| Problem::file(&settings, error))?;
    let mut defines = Defines::new();
    defines.set("People", &it.people.to_string());
    // In a template, braces refer to attributes unless they are escaped.
    defines.set("Hash", &hashed.replace('{', "\\{").replace('}', "\\}"));
    let template = Template::parse(TEMPLATE, &defines).map_err(Problem::failed)?;
    let generator = Generator::new(template, 0);
    let total = generator.total_entries();
    let source = Box::new(Made::new(Path::new("demo"), generator, String::new()));
    let options = ImportOptions::new(dir.join("demo-rejects.ldif"));
    let imported = run(&data, source, &options, Some(total), true)?;
    note(format_args!(
        "{} in {}",
        counted(imported.total, "entry"),
        dir.display()
    ));
    Ok(())
}

/// Creates a folder that no other process uses.
fn temporary_folder() -> Result<PathBuf, Problem> {
    let dir = std::env::temp_dir().join(format!("pando-demo-{}", std::process::id()));
    private::create_folder(&dir).map_err(|error| Problem::file(&dir, error))?;
    Ok(dir)
}

/// The command that runs this program in another terminal: its path, unless it was found through
/// PATH.
fn program() -> String {
    let typed = std::env::args_os().next().unwrap_or_default();
    match std::env::current_exe() {
        Ok(path) if Path::new(&typed).components().count() > 1 => path.display().to_string(),
        _ => "pando".to_owned(),
    }
}

fn tour(url: &str) -> String {
    let program = program();
    format!(
        "
The administrator is cn=admin,{SUFFIX}; every password is \"{PASSWORD}\". Try in another terminal:

  ldapsearch -x -H {url} -b {SUFFIX} '(uid=user.42)'
  ldapsearch -x -H {url} -b {SUFFIX} -LLL '(&(l=Ber*)(title=Engineer))' cn mail
  ldapwhoami -x -H {url} -D uid=user.42,ou=people,{SUFFIX} -w {PASSWORD}
  ldapsearch -x -H {url} -b {SUFFIX} -E pr=100/noprompt '(objectClass=person)' 1.1
  {program} bench search --url {url} -b {SUFFIX} -f '(uid=user.[1-10000])' -s 5

Stop it with Ctrl-C."
    )
}
