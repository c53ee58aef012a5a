//! Settings as people write them, and the errors they read.

use super::*;
use policy::Limit;

fn parse(text: &str) -> Result<Config, SettingsError> {
    Config::parse(Path::new("/node"), text, &Overrides::default())
}

#[track_caller]
fn refused(text: &str, message: &str) {
    assert_eq!(parse(text).unwrap_err().to_string(), message);
}

#[test]
fn an_empty_file_is_the_defaults() {
    let config = parse("").unwrap();
    assert_eq!(config.listen[0].to_string(), "ldap://127.0.0.1:1389");
    assert_eq!(config.tls, None);
    assert!(!config.settings.allow_cleartext_binds);
    assert_eq!(config.limits, LimitSettings::default());
    assert_eq!(config.connections.message_bytes_max, 16 << 20);
    assert_eq!(config.settings.log.level, "warn");
}

#[test]
fn the_sample_says_the_defaults_and_nothing_else() {
    let plain = format!("{:?}", parse("").unwrap());
    assert_eq!(format!("{:?}", parse(&sample()).unwrap()), plain);
    // With every line in force, only files differ: those of TLS, etcd's and lists have no default.
    let mut all = String::new();
    for line in sample().lines() {
        match line.strip_prefix('#') {
            Some(setting) if !setting.starts_with(' ') => all.push_str(setting),
            _ => all.push_str(line),
        }
        all.push('\n');
    }
    let mut config = parse(&all).unwrap();
    let files = config.tls.take().unwrap();
    config.settings.tls = Default::default();
    let program = config.settings.cluster.etcd_program.take();
    let words = config.settings.passwords.dictionary.take();
    let breached = config.settings.passwords.breached.take();
    let saslauthd = config.settings.passwords.saslauthd.take();
    assert!(words.is_some() && breached.is_some() && saslauthd.is_some());
    config.shared_in_file.clear();
    assert_eq!(program.as_deref(), Some(Path::new("/usr/local/bin/etcd")));
    assert_eq!(files.main.certificate, Path::new("/node/server.pem"));
    assert_eq!(format!("{config:?}"), plain);
}

/// The file must be `text` from `mark` to its end. With `PANDO_TEST_REWRITE` in the environment it
/// is made so.
fn held(path: &str, mark: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(path);
    let file = std::fs::read_to_string(&path).unwrap();
    let written = &file[..file.find(mark).unwrap() + mark.len()];
    let expected = format!("{written}{text}");
    if std::env::var_os("PANDO_TEST_REWRITE").is_some() {
        std::fs::write(&path, &expected).unwrap();
    } else {
        let same = file == expected;
        assert!(
            same,
            "{} is not the table: run again with PANDO_TEST_REWRITE=1",
            path.display()
        );
    }
}

#[test]
fn sample_and_page_are_those_of_the_table() {
    held("examples/pando.toml", "", &sample());
    let mark = "The rest of this page is made from `crates/server/src/settings/table.rs`.\n";
    held("docs/reference/settings.md", mark, &page::tables());
}

#[test]
fn numbers_beyond_their_range_are_refused_where_they_stand() {
    refused(
        "[dynamic_entries]\n\nttl_min_s = 0\n",
        "/node/pando.toml:3: dynamic_entries.ttl_min_s: expected a whole number from 1 to \
         31557600, got 0",
    );
    refused(
        "[connections]\nidle_timeout_s = 4294967296\n",
        "/node/pando.toml:2: connections.idle_timeout_s: expected a whole number from 0 to \
         4294967295, got integer `4294967296`",
    );
    refused(
        "[dynamic_entries]\nttl_min_s = 7\nttl_max_s = 6\n",
        "/node/pando.toml:1: dynamic_entries: expected 1 <= ttl_min_s <= ttl_default_s <= \
         ttl_max_s <= 31557600",
    );
    refused(
        "[cluster]\nwrite_timeout_s = 3601\n",
        "/node/pando.toml:2: cluster.write_timeout_s: expected a whole number from 1 to 3600, got \
         3601",
    );
    refused(
        "[cluster]\nundecided_timeout_s = 9\n",
        "/node/pando.toml:2: cluster.undecided_timeout_s: expected write_timeout_s <= \
         undecided_timeout_s, got 10 and 9",
    );
}

#[test]
fn errors_name_file_line_setting_and_expectation() {
    refused(
        "[connections]\n\nidle_timeout_s = \"5\"\n",
        "/node/pando.toml:3: connections.idle_timeout_s: expected a whole number from 0, got \
         string \"5\"",
    );
    refused(
        "listen = [\n  \"ldap://127.0.0.1:1389\",\n  \"http://x\",\n]\n",
        "/node/pando.toml:3: listen: expected ldap://HOST[:PORT], ldaps://HOST[:PORT], \
         ldapi://%2Fpath, or pldap:// or pldaps:// for proxies, got \"http://x\"",
    );
    refused(
        "listen = [\"pldap://127.0.0.1:1389\"]",
        "/node/pando.toml:1: proxies: pldap://127.0.0.1:1389 is for proxies: expected their \
         addresses, got none",
    );
    refused(
        "proxies = [\"192.0.2.1\", \"10.0.0.0/99\"]",
        "/node/pando.toml:1: proxies: expected an address such as 192.0.2.7 or 10.0.0.0/8, got \
         \"10.0.0.0/99\"",
    );
    refused(
        "[tls]\ncertificate = \"a.pem\"\n",
        "/node/pando.toml:2: tls.key: expected a key beside tls.certificate, got none",
    );
    refused(
        "[log]\nformat = \"xml\"",
        "/node/pando.toml:2: log.format: expected `text` or `json`, got `xml`",
    );
    refused(
        "[passwords]\nscheme = \"{ROT13}\"",
        "/node/pando.toml:2: passwords.scheme: expected one of {ARGON2ID}, {ARGON2}, {BCRYPT}, \
         {CRYPT}, {PBKDF2-SHA256}, {PBKDF2-SHA512}, {SCRAM-SHA-256}, {SCRAM-SHA-512}, {SSHA}, \
         {SSHA256}, {SSHA384}, {SSHA512}, {CLEARTEXT}; got \"{ROT13}\"",
    );
}

#[test]
fn limits_may_be_for_some() {
    let config = parse(
        "[limits]\nsize_entries_max = 7\n[anonymous_limits]\ntime_s_max = 1\n\
         [[subject_limits]]\ngroup = \"cn=sync,dc=a\"\nsize_entries_max = 0\n\
         [[subject_limits]]\nsubtree = \"ou=apps,dc=a\"\n",
    )
    .unwrap();
    let (everybody, anonymous) = (config.limits.everybody, config.limits.anonymous);
    assert_eq!(
        (everybody.size_entries_max, everybody.time_ms_max),
        (7, 60_000)
    );
    assert_eq!(
        (anonymous.size_entries_max, anonymous.time_ms_max),
        (7, 1_000)
    );
    let group = LimitSubject::Group("cn=sync,dc=a".to_owned());
    let unlimited = Limits {
        size_entries_max: 0,
        ..everybody
    };
    assert_eq!(config.limit_rules[0], (group, unlimited));
    let subtree = LimitSubject::Subtree("ou=apps,dc=a".to_owned());
    assert_eq!(config.limit_rules[1], (subtree, everybody));
    refused(
        "[[subject_limits]]\nentry = \"cn=a\"\ngroup = \"cn=b\"\n",
        "/node/pando.toml:2: subject_limits: expected one of entry, subtree and group, got several",
    );
    refused(
        "[[subject_limits]]\nentry = \"cn=a\"\nsize_entries_max = \"many\"\n",
        "/node/pando.toml:3: subject_limits.size_entries_max: expected a whole number from 0, got \
         string \"many\"",
    );
}

/// Settings that end like limits and are none: nobody is refused or cut when they are reached.
const NO_LIMITS: [&str; 5] = [
    // The process ends then, and its counters with it.
    "connections.stop_timeout_s",
    // Memory is given to others.
    "passwords.remembered_max",
    // How long the node waits for etcd, not for clients; cn=Cluster tells of it.
    "cluster.write_timeout_s",
    "cluster.undecided_timeout_s",
    // A shorter wish is made longer.
    "dynamic_entries.ttl_min_s",
];

#[test]
fn each_limit_has_a_counter() {
    let settings = TABLE.iter().filter(|it| it.repeats.is_none());
    let names = settings.flat_map(|section| {
        let own = section.settings.iter();
        own.map(|it| format!("{}.{}", section.name, it.name))
    });
    let is_limit = |it: &String| {
        let ends = ["_max", "_min", "_timeout_s", "_max_s", "_min_s"];
        ends.iter().any(|end| it.ends_with(end)) && !NO_LIMITS.contains(&it.as_str())
    };
    let limits: Vec<String> = names.filter(is_limit).collect();
    let counted = Limit::ALL.iter().map(|it| it.name());
    // Limits without a setting have names with spaces.
    let counted: Vec<&str> = counted.filter(|it| !it.contains(' ')).collect();
    assert_eq!(limits, counted);
}

#[test]
fn unknown_settings_are_refused_by_name() {
    let error = parse("\n[threads]\nservng = 3\n").unwrap_err();
    assert_eq!(error.place, Some((PathBuf::from("/node/pando.toml"), 3)));
    assert_eq!(error.setting, "threads.servng");
    assert!(
        error
            .message
            .starts_with("there is no such setting; expected "),
        "{error}"
    );
    let error = parse("[treads]\nserving = 3\n").unwrap_err();
    assert_eq!(
        (error.place.unwrap().1, error.setting.as_str()),
        (1, "treads")
    );
    let error = parse("listen = [\n").unwrap_err();
    assert!(
        error.to_string().starts_with("/node/pando.toml:"),
        "{error}"
    );
}

#[test]
fn the_log_level_is_checked_before_the_server_starts() {
    let error = parse("[log]\nlevel = \"loud=very\"\n").unwrap_err();
    assert_eq!(
        (error.place.unwrap().1, error.setting.as_str()),
        (2, "log.level")
    );
}

#[test]
fn flags_go_over_the_file() {
    let overrides = Overrides {
        listen: vec![
            "ldaps://127.0.0.1:0".to_owned(),
            "ldapi://%2Frun%2Fldapi".to_owned(),
        ],
        tls_certificate: Some(PathBuf::from("c.pem")),
        tls_key: Some(PathBuf::from("/k.pem")),
        allow_cleartext_binds: Some(true),
        threads: Some(3),
        log_level: Some("debug".to_owned()),
        log_format: Some(LogFormat::Json),
    };
    let text = "listen = [\"ldap://127.0.0.1:1389\"]\n[threads]\nserving = 7\npinned = false";
    let config = Config::parse(Path::new("/node"), text, &overrides).unwrap();
    let listen: Vec<String> = config.listen.iter().map(Listen::to_string).collect();
    assert_eq!(listen, ["ldaps://127.0.0.1:0", "ldapi://%2Frun%2Fldapi"]);
    let files = config.tls.unwrap();
    assert_eq!(files.main.certificate, Path::new("c.pem"));
    assert_eq!((config.threads, config.settings.threads.pinned), (3, false));
    let log = config.settings.log;
    assert_eq!((log.level.as_str(), log.format), ("debug", LogFormat::Json));
    let overrides = Overrides {
        listen: vec!["x".to_owned()],
        ..Overrides::default()
    };
    let error = Config::parse(Path::new("/node"), "", &overrides).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("listen: expected ldap://HOST"),
        "{error}"
    );
}

#[test]
fn ldaps_needs_a_certificate() {
    refused(
        "listen = [\"ldaps://127.0.0.1\"]",
        "/node/pando.toml:1: listen: ldaps://127.0.0.1:636 needs a certificate: set \
         tls.certificate and tls.key",
    );
}

#[test]
fn addresses_in_all_their_spellings() {
    for (text, printed) in [
        ("ldap://127.0.0.1", "ldap://127.0.0.1:389"),
        ("LDAP://127.0.0.1:7/", "ldap://127.0.0.1:7"),
        ("ldap://[::1]:7", "ldap://[::1]:7"),
        ("ldap://[::1]", "ldap://[::1]:389"),
        ("ldap://::1", "ldap://[::1]:389"),
        ("ldap://*:7", "ldap://[::]:7"),
        ("ldap://:7", "ldap://[::]:7"),
        ("ldaps://", "ldaps://[::]:636"),
        ("ldapi:///run/ldapi", "ldapi://%2Frun%2Fldapi"),
    ] {
        assert_eq!(
            text.parse::<Listen>().unwrap().to_string(),
            printed,
            "{text}"
        );
    }
    for text in [
        "",
        "ldap:",
        "127.0.0.1",
        "ldap://127.0.0.1:x",
        "ldapi://run",
        "ldapi://%2",
    ] {
        assert!(text.parse::<Listen>().is_err(), "{text}");
    }
}
