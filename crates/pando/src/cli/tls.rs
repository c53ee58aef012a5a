//! Arguments of the subcommands `tls` and `identity`.

use super::Report;
use clap::{ArgGroup, Args, Subcommand, ValueHint};
use std::path::PathBuf;

/// `pando tls`
#[derive(Debug, Args)]
pub struct Tls {
    /// Action on TLS
    #[command(subcommand)]
    pub action: TlsAction,
}

/// An action on TLS.
#[derive(Debug, Subcommand)]
pub enum TlsAction {
    /// Carry out a handshake with a server and say what was agreed, or why it fails
    Check(TlsCheck),
}

/// `pando tls check`
#[derive(Debug, Args)]
#[command(after_help = "With ldap:// the connection begins with StartTLS.\n\
    Exit status: 0 the handshake succeeds and the server is trusted, 1 it is not, 2 wrong usage.")]
pub struct TlsCheck {
    /// The server: ldaps://HOST:PORT or ldap://HOST:PORT
    pub url: String,
    /// Certificates to trust, as PEM [default: the system's]
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub ca: Option<PathBuf>,
    /// Certificate to show if the server asks for one, as PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "key")]
    pub cert: Option<PathBuf>,
    /// Private key of --cert, as PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath, requires = "cert")]
    pub key: Option<PathBuf>,
    /// How to print
    #[arg(long, value_enum, default_value = "text")]
    pub format: Report,
}

/// `pando identity`
#[derive(Debug, Args)]
pub struct Identity {
    /// Action on rules that map identities to entries
    #[command(subcommand)]
    pub action: IdentityAction,
}

/// An action on identity rules.
#[derive(Debug, Subcommand)]
pub enum IdentityAction {
    /// Print the rules of a node in the order in which they are tried
    Show(IdentityShow),
    /// Say which entry an identity stands for, and by which rule
    Test(IdentityTest),
}

/// `pando identity show`
#[derive(Debug, Args)]
pub struct IdentityShow {
    /// The node's folder
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
}

/// `pando identity test`
#[derive(Debug, Args)]
#[command(
    group(ArgGroup::new("identity").required(true).args([
        "certificate", "unix", "kerberos", "token", "token_file", "sasl"
    ])),
    after_help = "Exit status: 0 the identity stands for an entry, 1 it stands for none, 2 wrong \
    usage."
)]
pub struct IdentityTest {
    /// The node's folder
    #[arg(value_hint = ValueHint::DirPath)]
    pub dir: PathBuf,
    /// The holder of a certificate, as PEM
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub certificate: Option<PathBuf>,
    /// A user of this machine
    #[arg(long, value_name = "UID")]
    pub unix: Option<u32>,
    /// A principal of Kerberos: ada@EXAMPLE.COM
    #[arg(long, value_name = "PRINCIPAL")]
    pub kerberos: Option<String>,
    /// A claim of a token; several of one token: --token iss=https://id.example.com --token sub=ada
    #[arg(long, value_name = "CLAIM=VALUE")]
    pub token: Vec<String>,
    /// The claims of a JSON Web Token in a file. Its signature and its time are not looked at
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub token_file: Option<PathBuf>,
    /// The name given to a SASL mechanism
    #[arg(long, value_name = "NAME")]
    pub sasl: Option<String>,
}
