//! A node with TLS: from the first byte on one port, by StartTLS on another.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{Pando, process, tools};

/// A served node with a self-signed certificate.
pub struct Secure {
    /// The node; its URL is that for StartTLS.
    pub pando: Pando,
    /// Path of the trusted certificate, as PEM.
    pub certificate: PathBuf,
    /// URL for TLS from the first byte, `ldaps://127.0.0.1:…`.
    pub url: String,
}

impl Secure {
    /// Serves a node with an empty tree.
    pub fn start() -> Self {
        Secure::start_with("")
    }

    /// Serves a node with an empty tree and further settings.
    pub fn start_with(more: &str) -> Self {
        Secure::start_prepared(more, |_| ())
    }

    /// Serves a node with an empty tree and further settings, after `prepare` has put files into
    /// its folder.
    pub fn start_prepared(more: &str, prepare: impl FnOnce(&Path)) -> Self {
        let mut pando = Pando::init();
        prepare(&pando.node());
        let certificate = make_certificate(&pando.node());
        let settings = "listen = [\"ldap://127.0.0.1:0\", \"ldaps://127.0.0.1:0\"]\n\
                        [tls]\ncertificate = \"server.pem\"\nkey = \"server.key\"\n";
        let settings = format!("{settings}{more}");
        fs::write(pando.node().join("pando.toml"), settings).expect("our own folder");
        pando.serve_as_configured();
        let url = process::until("both listeners are announced", || {
            let log = pando.process().log();
            let (_, address) = log.split_once("listening on ldaps://")?;
            Some(format!("ldaps://{}", address.split_whitespace().next()?))
        });
        Secure {
            pando,
            certificate,
            url,
        }
    }
}

/// Makes `server.pem`, a self-signed certificate for 127.0.0.1, and `server.key` in a folder.
fn make_certificate(folder: &Path) -> PathBuf {
    let args = [
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
        "-addext",
        "subjectAltName=IP:127.0.0.1,DNS:localhost",
        "-keyout",
        "server.key",
        "-out",
        "server.pem",
    ];
    let mut openssl = Command::new("openssl");
    openssl.args(args).current_dir(folder);
    tools::run_command(&mut openssl, "").expect(0);
    folder.join("server.pem")
}
