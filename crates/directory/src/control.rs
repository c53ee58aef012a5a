//! Controls of a request: known ones are decoded, unknown critical ones refused (RFC 4511 §4.1.11).

pub(crate) mod position;
pub(crate) mod proxy;
mod search;
pub(crate) mod session_tracking;

pub(crate) use search::SearchControls;

use crate::context::Context;
use crate::reply::Reply;
use policy::Right;
use policy::access::objects::Object;
use policy::access::right::Right as RuleRight;
use policy::access::words::Use;
use protocol::{Control, DecodeError, MessageId, Request, ResultCode, control, oid};
use schema::Name;
use state::stop::Stop;
use state::view::Claim;
use state::write::WriteOptions;

/// The controls this server supports, as the root DSE lists them.
pub(crate) const SUPPORTED: &[&str] = &[
    oid::ACCESS_EXPLANATION,
    oid::ACCOUNT_USABILITY,
    oid::ASSERTION,
    oid::ASSURED_REPLICATION_REQUEST,
    oid::ASSURED_REPLICATION_RESPONSE,
    oid::AUTHORIZATION_IDENTITY_REQUEST,
    oid::AUTHORIZATION_IDENTITY_RESPONSE,
    oid::DEREFERENCE,
    oid::DONT_USE_COPY,
    oid::GET_EFFECTIVE_RIGHTS,
    oid::EXPLAIN,
    oid::MANAGE_DSA_IT,
    oid::MATCHED_VALUES,
    oid::MATCHING_ENTRY_COUNT_REQUEST,
    oid::MATCHING_ENTRY_COUNT_RESPONSE,
    oid::NO_OPERATION,
    oid::NO_OPERATION_OPENDJ,
    oid::PAGED_RESULTS,
    oid::PASSWORD_EXPIRED,
    oid::PASSWORD_EXPIRING,
    oid::PASSWORD_POLICY,
    oid::PERMISSIVE_MODIFY,
    oid::PERMIT_UNINDEXED_SEARCH,
    oid::PERSISTENT_SEARCH,
    oid::POSITION,
    oid::POST_READ,
    oid::PRE_READ,
    oid::PROXIED_AUTHORIZATION,
    oid::QUEUE_LENGTH,
    oid::REJECT_UNINDEXED_SEARCH,
    oid::RELAX_RULES,
    oid::SESSION_TRACKING,
    oid::SORT_REQUEST,
    oid::SORT_RESPONSE,
    oid::SUBENTRIES,
    oid::SUBENTRIES_LDUP,
    oid::SYNC_REQUEST,
    oid::TRANSACTION_SPECIFICATION,
    oid::TREE_DELETE,
    oid::VIRTUAL_LIST_VIEW_REQUEST,
    oid::VIRTUAL_LIST_VIEW_RESPONSE,
];

/// Message id and controls of a request (RFC 4511 §4.1.1).
pub(crate) struct Envelope<'r> {
    pub id: MessageId,
    pub controls: &'r Controls<'r>,
    /// The whole message.
    pub encoded: &'r [u8],
}

/// The decoded controls of one request.
#[derive(Debug, Default)]
pub(crate) struct Controls<'a> {
    /// Assertion (RFC 4528): a filter in BER that has been decoded once as a check.
    pub assertion: Option<&'a [u8]>,
    /// Assured replication (Ping Identity), and whether it is critical.
    pub assured: Option<(Box<control::AssuredReplicationRequest>, bool)>,
    /// Authorization identity (RFC 3829 §3): the bind response names the new identity.
    pub authorization_identity: bool,
    /// ManageDsaIT (RFC 3296 §3).
    pub manage_dsa_it: bool,
    /// No-Op (draft-zeilenga-ldap-noop): the write is checked and nothing is changed.
    pub no_operation: bool,
    /// Simple paged results (RFC 2696).
    pub page: Option<control::PagedResults<'a>>,
    /// Password policy (draft-behera-ldap-password-policy-11 §6.1): the response carries its state.
    pub password_policy: bool,
    /// Permissive modify ([MS-ADTS] §3.1.1.3.4.1.8).
    pub permissive: bool,
    /// Persistent search (draft-ietf-ldapext-psearch-03).
    pub persistent_search: Option<control::PersistentSearch>,
    /// Position (Pando's own): the position that the state must have reached, if the client names
    /// one; the response reports its own.
    pub position: Option<Box<position::PositionRequest>>,
    /// Post-read (RFC 4527 §3.2): an attribute selection in BER that has been decoded once as a
    /// check.
    pub post_read: Option<&'a [u8]>,
    /// Pre-read (RFC 4527 §3.1), like `post_read`.
    pub pre_read: Option<&'a [u8]>,
    /// Proxied authorization (RFC 4370): the identity to act as.
    pub proxied: Option<&'a str>,
    /// Relax rules (draft-zeilenga-ldap-relax).
    pub relaxed: bool,
    /// Controls of searches alone; boxed because most requests have none.
    pub search: Option<Box<SearchControls<'a>>>,
    /// Session tracking (draft-wahl-ldap-session-03 §2.2): any number of them.
    pub sessions: Vec<control::SessionTracking<'a>>,
    /// Content synchronisation (RFC 4533).
    pub sync: Option<control::SyncRequest<'a>>,
    /// Tree delete (draft-armijo-ldap-treedelete).
    pub tree_delete: bool,
    /// Transaction specification (RFC 5805 §2.2): the identifier.
    pub transaction: Option<&'a [u8]>,
}

impl<'a> Controls<'a> {
    /// Decodes known controls; refuses critical ones that are unknown or not allowed for this
    /// operation.
    pub fn take_all(
        &mut self,
        request: &Request<'_>,
        controls: &[Control<'a>],
    ) -> Result<(), Stop> {
        for control in controls {
            // Unbind ignores criticality (RFC 4511 §4.1.11).
            let counts = control.critical && !matches!(request, Request::Unbind);
            if !self.take(request, control)? && counts {
                return Stop::refuse(
                    ResultCode::UNAVAILABLE_CRITICAL_EXTENSION,
                    format!(
                        "critical control {} is not available for this operation",
                        control.oid
                    ),
                );
            }
        }
        self.leave_to_the_end()
    }

    /// Drops position and assured replication controls from an update in a transaction: both are
    /// known at its end only. Refuses them if they are critical.
    fn leave_to_the_end(&mut self) -> Result<(), Stop> {
        if self.transaction.is_none() {
            return Ok(());
        }
        let position = self.position.take().is_some_and(|it| it.critical);
        let assured = self.assured.take().is_some_and(|it| it.1);
        if position || assured {
            return Stop::refuse(
                ResultCode::UNAVAILABLE_CRITICAL_EXTENSION,
                "an update of a transaction has no position of its own: ask with the end",
            );
        }
        Ok(())
    }

    /// Decodes one control; false if it is unknown or not allowed for this operation.
    fn take(&mut self, request: &Request<'_>, control: &Control<'a>) -> Result<bool, Stop> {
        use Request::{Add, Bind, Compare, Delete, Modify, ModifyDn, Search};
        match (control.oid, request) {
            (
                oid::ASSERTION,
                Add(_) | Compare(_) | Delete(_) | Modify(_) | ModifyDn(_) | Search(_),
            ) => {
                decoded(control, "assertion", control::Assertion::decode)?;
                once(&mut self.assertion, control.value, "assertion")?;
            }
            (oid::AUTHORIZATION_IDENTITY_REQUEST, Bind(_)) => {
                without_value(control, "authorization identity")?;
                self.authorization_identity = true;
            }
            // The request has waited until this node shows every acknowledged write.
            (oid::DONT_USE_COPY, Compare(_) | Search(_)) => {
                without_value(control, "don't use copy")?;
            }
            (oid::MANAGE_DSA_IT, _) => self.manage_dsa_it = true,
            (oid::NO_OPERATION | oid::NO_OPERATION_OPENDJ, it) if updates(it) => {
                flag(&mut self.no_operation, control, "no-op")?;
            }
            (oid::PAGED_RESULTS, Search(_)) => {
                let page = decoded(control, "paging", control::PagedResults::decode)?;
                once(&mut self.page, Some(page), "paging")?;
            }
            (oid::PERMISSIVE_MODIFY, Modify(_)) => {
                flag(&mut self.permissive, control, "permissive modify")?;
            }
            (oid::PERSISTENT_SEARCH, Search(_)) => {
                let what = "persistent search";
                let asked = decoded(control, what, control::PersistentSearch::decode)?;
                once(&mut self.persistent_search, Some(asked), what)?;
            }
            (oid::POST_READ, Add(_) | Modify(_) | ModifyDn(_)) => {
                decoded(control, "post-read", control::ReadEntryRequest::decode)?;
                once(&mut self.post_read, control.value, "post-read")?;
            }
            (oid::PRE_READ, Delete(_) | Modify(_) | ModifyDn(_)) => {
                decoded(control, "pre-read", control::ReadEntryRequest::decode)?;
                once(&mut self.pre_read, control.value, "pre-read")?;
            }
            (oid::PROXIED_AUTHORIZATION, it) if reads(it) || updates(it) => {
                self.proxied(control)?;
            }
            // The sender of responses acts on this control; here only its value is checked.
            (oid::QUEUE_LENGTH, _) => {
                decoded(control, "queue length", control::QueueLength::decode)?;
            }
            (oid::RELAX_RULES, Add(_) | Delete(_) | Modify(_) | ModifyDn(_)) => {
                flag(&mut self.relaxed, control, "relax rules")?;
            }
            (oid::SESSION_TRACKING, _) => {
                let decode = control::SessionTracking::decode;
                let session = decoded(control, "session tracking", decode)?;
                self.sessions.push(session);
            }
            (oid::SYNC_REQUEST, Search(_)) => {
                let what = "content synchronisation";
                let asked = decoded(control, what, control::SyncRequest::decode)?;
                once(&mut self.sync, Some(asked), what)?;
            }
            (known, Search(_)) if SearchControls::knows(known) => {
                self.search.get_or_insert_default().take(control)?;
            }
            (oid::TREE_DELETE, Delete(_)) => {
                flag(&mut self.tree_delete, control, "tree delete")?;
            }
            _ => return self.take_of_transaction(request, control),
        }
        Ok(true)
    }

    /// Decodes controls of transactions (RFC 5805) and controls that any operation may have, like
    /// `take`.
    fn take_of_transaction(
        &mut self,
        request: &Request<'_>,
        control: &Control<'a>,
    ) -> Result<bool, Stop> {
        match (control.oid, request) {
            (oid::PASSWORD_POLICY, _) => {
                without_value(control, "password policy")?;
                self.password_policy = true;
            }
            (oid::TRANSACTION_SPECIFICATION, it) if updates(it) => self.transaction(control)?,
            (oid::POSITION, Request::Search(_) | Request::Compare(_)) => self.position(control)?,
            (oid::POSITION, it) if writes(it) => self.position(control)?,
            (oid::ASSURED_REPLICATION_REQUEST, it) if writes(it) => {
                let (what, critical) = ("assured replication", control.critical);
                let asked = decoded(control, what, control::AssuredReplicationRequest::decode)?;
                once(&mut self.assured, Some((Box::new(asked), critical)), what)?;
            }
            (oid::PROXIED_AUTHORIZATION, Request::Extended(it)) => match it.name {
                // Start Transaction carries the identity of the whole transaction (§4.4).
                oid::START_TRANSACTION => self.proxied(control)?,
                oid::END_TRANSACTION => {
                    return Stop::refuse(
                        ResultCode::PROTOCOL_ERROR,
                        "proxied authorization belongs to the start of a transaction (RFC 5805 \
                         §4.4)",
                    );
                }
                _ => return Ok(false),
            },
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Whether the search follows the directory: content synchronisation or persistent search.
    pub fn follows(&self) -> bool {
        self.sync.is_some() || self.persistent_search.is_some()
    }

    /// Proxied authorization: RFC 4370 §3 wants it critical, so that no server ignores it.
    fn proxied(&mut self, control: &Control<'a>) -> Result<(), Stop> {
        if !control.critical {
            return Stop::refuse(
                ResultCode::PROTOCOL_ERROR,
                "the proxied authorization control must be critical (RFC 4370 §3)",
            );
        }
        let what = "proxied authorization";
        let decoded = decoded(control, what, control::ProxiedAuthorization::decode)?;
        once(&mut self.proxied, Some(decoded.authorization_id), what)
    }

    /// Position: the decoded value, or without a value a request to report the position.
    fn position(&mut self, control: &Control<'a>) -> Result<(), Stop> {
        let after = match control.value {
            None => None,
            Some(_) => Some(decoded(control, "position", control::Position::decode)?),
        };
        let critical = control.critical;
        let asked = Box::new(position::PositionRequest { after, critical });
        once(&mut self.position, Some(asked), "position")
    }

    /// Sets in a write's reply which response controls the client asked for.
    pub fn ask(&self, reply: &mut Reply) {
        reply.policy = self.password_policy;
        reply.position = self.position.is_some();
        reply.assured = self.assured.as_ref().map(|it| it.0.clone());
    }

    /// Refuses controls that the subject may not use for a write to this entry.
    pub fn require_rights(&self, context: &Context<'_>, name: &Name) -> Result<(), Stop> {
        let use_of = |what| Claim::of(RuleRight::Use, Object::Use(what));
        if self.relaxed && !context.is_given(name, &use_of(Use::Relaxed))? {
            context.require(Right::Manage, name, None)?;
        }
        // Rules about deleting are asked for the topmost entry alone.
        if self.tree_delete && context.is_ruled() {
            let refused = "deleting entries with all below them needs a rule for this use";
            context.require_use(Use::TreeDelete, name, refused)?;
        }
        Ok(())
    }

    /// Conditions and controls of a write to this entry that execution must know; `None` if there
    /// are none.
    ///
    /// # Errors
    /// The database cannot be read.
    pub fn write_options(
        &self,
        context: &Context<'_>,
        name: &Name,
    ) -> Result<Option<Box<WriteOptions>>, Stop> {
        let owned = |value: Option<&[u8]>| value.map(<[u8]>::to_vec);
        let first_wins = context.catalog.first_writer_wins(name);
        let options = WriteOptions {
            administrator: context.subject.is_administrator(),
            assertion: owned(self.assertion),
            pre_read: owned(self.pre_read),
            post_read: owned(self.post_read),
            no_operation: self.no_operation,
            permissive: self.permissive,
            relaxed: self.relaxed,
            tree: self.tree_delete,
            seen: first_wins.then(|| context.position()).transpose()?,
            ..WriteOptions::default()
        };
        Ok(options.if_any())
    }

    fn transaction(&mut self, control: &Control<'a>) -> Result<(), Stop> {
        let expected = match (self.transaction, control.value) {
            (Some(_), _) => "given once",
            (None, None) => "with an identifier",
            // A server that ignored the control would apply the update at once.
            (None, Some(_)) if !control.critical => "critical",
            (None, Some(identifier)) => {
                self.transaction = Some(identifier);
                return Ok(());
            }
        };
        Stop::refuse(
            ResultCode::PROTOCOL_ERROR,
            format!("expected the transaction specification control {expected} (RFC 5805 §2.2)"),
        )
    }
}

/// Whether a request changes the directory.
fn updates(request: &Request<'_>) -> bool {
    match request {
        Request::Add(_) | Request::Delete(_) | Request::Modify(_) | Request::ModifyDn(_) => true,
        Request::Extended(it) => it.name == oid::PASSWORD_MODIFY,
        _ => false,
    }
}

/// Whether a request ends in a write: an update, or the end of a transaction.
fn writes(request: &Request<'_>) -> bool {
    match request {
        Request::Extended(it) if it.name == oid::END_TRANSACTION => true,
        it => updates(it),
    }
}

/// Whether a request reads the directory with the rights of its subject.
fn reads(request: &Request<'_>) -> bool {
    match request {
        Request::Search(_) | Request::Compare(_) => true,
        Request::Extended(it) => it.name == oid::WHO_AM_I,
        _ => false,
    }
}

/// Sets the flag of a control that must have no value.
fn flag(place: &mut bool, control: &Control<'_>, what: &str) -> Result<(), Stop> {
    if *place || control.value.is_some_and(|value| !value.is_empty()) {
        let wrong = if *place {
            "is given twice"
        } else {
            "takes no value"
        };
        let text = format!("the {what} control {wrong}");
        return Stop::refuse(ResultCode::PROTOCOL_ERROR, text);
    }
    *place = true;
    Ok(())
}

/// The decoded value of a control that must have one.
fn decoded<'a, T>(
    control: &Control<'a>,
    what: &str,
    decode: impl Fn(&'a [u8]) -> Result<T, DecodeError>,
) -> Result<T, Stop> {
    match control.required_value().and_then(decode) {
        Ok(value) => Ok(value),
        Err(error) => Stop::refuse(
            ResultCode::PROTOCOL_ERROR,
            format!("{what} control: {error}"),
        ),
    }
}

/// Sets the value of a control; refuses a second one (RFC 4511 §4.1.11).
fn once<T>(place: &mut Option<T>, value: Option<T>, what: &str) -> Result<(), Stop> {
    if place.is_some() {
        return Stop::refuse(
            ResultCode::PROTOCOL_ERROR,
            format!("the {what} control is given twice"),
        );
    }
    *place = value;
    Ok(())
}

/// Refuses a value in a control that must have none.
fn without_value(control: &Control<'_>, name: &str) -> Result<(), Stop> {
    match control.value {
        None => Ok(()),
        Some(value) => Stop::refuse(
            ResultCode::PROTOCOL_ERROR,
            format!(
                "{name} control: expected no value, got {} octets",
                value.len()
            ),
        ),
    }
}
