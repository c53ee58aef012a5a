//! The server under a protocol test: Pando, or another one named by `PANDO_TEST_SUBJECT`.

use std::net::SocketAddr;
use std::path::Path;

use crate::slapd;
use crate::tools::Tools;
use crate::{ADMIN, Client, Entry, PASSWORD, Pando, Slapd};

/// A running LDAP server with the base entry of [`crate::SUFFIX`].
pub struct Subject {
    server: Server,
}

enum Server {
    Pando(Pando),
    OpenLdap(Slapd),
}

impl Subject {
    /// Starts the server named by `PANDO_TEST_SUBJECT`: `pando` (the default) or `openldap`.
    pub fn from_env() -> Self {
        let server = match name().as_str() {
            "pando" => Server::Pando(Pando::start()),
            "openldap" => Server::OpenLdap(Slapd::start()),
            other => panic!("PANDO_TEST_SUBJECT is pando or openldap, not {other:?}"),
        };
        Subject { server }
    }

    /// Starts the server like [`Subject::from_env`]; slapd has the overlays of every standard that
    /// Debian packages.
    pub fn for_conformance() -> Self {
        match name().as_str() {
            "openldap" => Subject {
                server: Server::OpenLdap(Slapd::with_everything()),
            },
            _ => Self::from_env(),
        }
    }

    /// Returns the OIDs that the server supports without announcing them.
    pub fn unannounced(&self) -> Vec<String> {
        match self.server {
            Server::Pando(_) => Vec::new(),
            Server::OpenLdap(_) => slapd::HIDDEN.map(str::to_owned).to_vec(),
        }
    }

    /// Starts the server like [`Subject::from_env`], with the definitions of an OpenLDAP schema
    /// file and an equality index.
    pub fn with_schema(file: &Path, indexed: &str) -> Self {
        let server = match name().as_str() {
            "openldap" => Server::OpenLdap(Slapd::start_with(&[file], indexed)),
            _ => {
                let mut pando = Pando::init();
                pando
                    .run_on_node(&["schema", "add"], &[&file.to_string_lossy()])
                    .expect(0);
                pando
                    .run_on_node(&["index", "add"], &[indexed, "equality"])
                    .expect(0);
                pando.serve();
                Server::Pando(pando)
            }
        };
        Subject { server }
    }

    /// Starts the server like [`Subject::from_env`], with the people of [`crate::people::sample`].
    pub fn with_people() -> Self {
        let subject = Self::from_env();
        let mut admin = subject.admin();
        for entry in crate::people::sample() {
            admin.add(&entry).expect_success();
        }
        subject
    }

    /// Returns whether the server is Pando, for the few places where a standard leaves a choice.
    pub fn is_pando(&self) -> bool {
        matches!(self.server, Server::Pando(_))
    }

    /// Returns the address at which the server listens.
    pub fn address(&self) -> SocketAddr {
        match &self.server {
            Server::Pando(pando) => pando.address(),
            Server::OpenLdap(slapd) => slapd.address(),
        }
    }

    /// Returns the URL of the server.
    pub fn url(&self) -> String {
        format!("ldap://{}", self.address())
    }

    /// Opens an anonymous connection.
    pub fn client(&self) -> Client {
        Client::connect(self.address())
    }

    /// Opens a connection bound as the administrator.
    pub fn admin(&self) -> Client {
        let mut client = self.client();
        client.bind(ADMIN, PASSWORD).expect_success();
        client
    }

    /// Returns Debian's tools, bound as the administrator.
    pub fn tools(&self) -> Tools {
        Tools::admin(&self.url())
    }

    /// Adds entries as the administrator.
    pub fn add(&self, entries: &[Entry]) {
        let mut admin = self.admin();
        for entry in entries {
            admin.add(entry).expect_success();
        }
    }
}

fn name() -> String {
    std::env::var("PANDO_TEST_SUBJECT").unwrap_or_else(|_| "pando".to_owned())
}
