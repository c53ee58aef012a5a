//! Questions to members of etcd, about themselves and their cluster.

use std::fs;
use std::time::{Duration, Instant};

use etcd_client::{Certificate, Client, ConnectOptions, GetOptions, Identity, TlsOptions};
use tokio::task::JoinSet;

use super::member::{Member, TlsFiles};
use super::voters::Seen;

/// How long one question may take.
const QUESTION: Duration = Duration::from_secs(3);
/// Pause between two questions to a member that does not answer yet.
const PAUSE: Duration = Duration::from_millis(50);

/// Reasons why a member gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// A file in PEM cannot be read.
    #[error("{path}: {error}")]
    File {
        /// Path of the file.
        path: String,
        /// The system's error.
        error: std::io::Error,
    },
    /// The member cannot be reached, or refuses.
    #[error("etcd at {url}: {error}")]
    Etcd {
        /// URL of the member.
        url: String,
        /// The client's error.
        error: etcd_client::Error,
    },
    /// The member did not answer in time.
    #[error("etcd at {url} did not answer within {seconds} s")]
    Late {
        /// URL of the member.
        url: String,
        /// Seconds that it had.
        seconds: u64,
    },
    /// The member answers and has no leader.
    #[error("etcd at {url} has no leader: too few of its cluster's members reach each other")]
    NoLeader {
        /// URL of the member.
        url: String,
    },
}

/// State of a member, as it says itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Standing {
    /// Identifier of the leader that it follows; `None` without one.
    pub leader: Option<u64>,
    /// Whether it has no vote yet.
    pub is_learner: bool,
}

/// Prepares a connection to the one member at `url`. The first question opens it.
///
/// # Errors
/// The files in PEM or the URL are not what they should be.
pub async fn connect(url: &str, tls: &TlsFiles) -> Result<Client, ClientError> {
    let read = |path: &std::path::Path| {
        fs::read(path).map_err(|error| ClientError::File {
            path: path.display().to_string(),
            error,
        })
    };
    let identity = Identity::from_pem(read(&tls.certificate)?, read(&tls.key)?);
    let options = TlsOptions::new()
        .ca_certificate(Certificate::from_pem(read(&tls.authority)?))
        .identity(identity);
    let options = ConnectOptions::new()
        .with_tls(options)
        .with_connect_timeout(QUESTION)
        .with_timeout(QUESTION);
    let client = Client::connect([url], Some(options)).await;
    client.map_err(|error| failed(url, error))
}

/// Asks the member at `url` how it stands.
///
/// # Errors
/// It does not answer.
pub async fn standing(url: &str, tls: &TlsFiles) -> Result<Standing, ClientError> {
    let client = connect(url, tls).await?;
    let mut maintenance = client.maintenance_client();
    let answer = in_time(url, maintenance.status()).await?;
    Ok(Standing {
        leader: Some(answer.leader()).filter(|leader| *leader != 0),
        is_learner: answer.is_learner(),
    })
}

/// Asks the member at `url` for all members of its cluster, and each of these whether it answers.
///
/// # Errors
/// The member does not answer, or is not in touch with a majority.
pub async fn members(url: &str, tls: &TlsFiles) -> Result<Vec<Seen>, ClientError> {
    let mut client = connect(url, tls).await?;
    listed(&mut client, url, tls).await
}

/// Like [`members`], by a connection to the one member at `url`.
pub(super) async fn listed(
    client: &mut Client,
    url: &str,
    tls: &TlsFiles,
) -> Result<Vec<Seen>, ClientError> {
    // A member answers the list from what it knows. After a read that needs a majority, it knows
    // every change that was made before.
    let nothing = GetOptions::new().with_count_only();
    in_time(url, client.get("members", Some(nothing))).await?;
    let list = in_time(url, client.member_list()).await?;
    let mut members = JoinSet::new();
    for member in list.members() {
        let seen = Seen {
            id: member.id(),
            name: member.name().to_owned(),
            peer_url: member.peer_urls().first().cloned().unwrap_or_default(),
            client_url: member.client_urls().first().cloned(),
            is_learner: member.is_learner(),
            answers: false,
        };
        let tls = tls.clone();
        members.spawn(async move {
            let answers = match &seen.client_url {
                Some(url) => standing(url, &tls).await.is_ok(),
                None => false,
            };
            Seen { answers, ..seen }
        });
    }
    let mut members = members.join_all().await;
    members.sort_by_key(|it| it.id);
    Ok(members)
}

/// Like [`ready`], for a thread without a runtime.
///
/// # Errors
/// The errors of [`ready`]; the system gives no runtime.
pub fn wait_until_ready(member: &Member, patience: Duration) -> Result<Standing, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("the first start of etcd: {error}"))?;
    let waited = runtime.block_on(ready(member, patience));
    waited.map_err(|error| error.to_string())
}

/// Waits until the member answers and follows a leader.
///
/// # Errors
/// It does not within `patience`; the reason is that of the last question.
pub async fn ready(member: &Member, patience: Duration) -> Result<Standing, ClientError> {
    let url = &member.client.url;
    let deadline = Instant::now() + patience;
    loop {
        let failure = match standing(url, &member.tls).await {
            Ok(standing) if standing.leader.is_some() => return Ok(standing),
            Ok(_) => ClientError::NoLeader { url: url.clone() },
            Err(failure) => failure,
        };
        if Instant::now() >= deadline {
            return Err(failure);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Waits for an answer of the member at `url`, for a few seconds.
pub(super) async fn in_time<T>(
    url: &str,
    answer: impl Future<Output = Result<T, etcd_client::Error>>,
) -> Result<T, ClientError> {
    match tokio::time::timeout(QUESTION, answer).await {
        Ok(answer) => answer.map_err(|error| failed(url, error)),
        Err(_) => Err(ClientError::Late {
            url: url.to_owned(),
            seconds: QUESTION.as_secs(),
        }),
    }
}

fn failed(url: &str, error: etcd_client::Error) -> ClientError {
    ClientError::Etcd {
        url: url.to_owned(),
        error,
    }
}
