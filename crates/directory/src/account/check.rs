//! Password checks that take long, and the operations that wait for them.

use crate::account::verdict::{Asked, Verdict};
use crate::reply::Reply;
use policy::{Subject, Tag, Trial};
use protocol::OwnedControl;
use schema::{Description, Name};
use state::write::Write;
use zeroize::Zeroizing;

/// Result of a slow password check.
#[derive(Debug)]
pub(crate) struct PasswordChecked {
    /// Id of the entry that holds the password.
    pub entry: u64,
    pub purpose: CheckPurpose,
    /// The stored value that the password matches; `None` if the password is wrong.
    pub matched: Option<Vec<u8>>,
}

/// The operation for which a password is checked.
#[derive(Debug)]
pub(crate) enum CheckPurpose {
    /// A bind.
    Bind(Box<BindCheck>),
    /// A bind that is already refused with this verdict: the check only delays the response.
    Refused(Box<Verdict>),
    /// A compare on a password attribute.
    Compare(Box<Compared>),
    /// Password Modify with an old password.
    Change(Box<PasswordChange>),
}

/// State of a bind while its password is checked.
#[derive(Debug)]
pub(crate) struct BindCheck {
    /// The subject of the session if the password is right.
    pub subject: Box<Subject>,
    pub asked: Asked,
    /// Keyed hash by which the policy recognises a repeated guess.
    pub guess: Tag,
    pub trial: Trial,
    /// The password, or the proof of one, by which a repeated guess is counted once.
    pub proof: Zeroizing<Vec<u8>>,
}

/// A password that is tried, to be counted once it is known to be right or wrong.
#[derive(Debug)]
pub(crate) struct TriedPassword {
    pub trial: Trial,
    pub given: Zeroizing<Vec<u8>>,
}

/// State of a Password Modify during its slow check.
#[derive(Debug)]
pub(crate) struct PasswordChange {
    pub write: Write,
    pub reply: Reply,
    pub tried: TriedPassword,
    /// Identifier of its transaction, if it is part of one.
    pub transaction: Option<Box<[u8]>>,
}

/// State of a password compare during its slow check.
#[derive(Debug)]
pub(crate) struct Compared {
    /// The resolved name of the entry, and its spelling in the request.
    pub name: Name,
    pub spelled: String,
    /// Description of the attribute compared.
    pub description: Description,
    /// Keyed hash by which the policy recognises a repeated guess; `None` for values without a
    /// policy.
    pub guess: Option<Tag>,
    pub tried: TriedPassword,
    /// Whether the client sent the password policy control.
    pub policy: bool,
    /// Controls of the response, whatever the result.
    pub controls: Vec<OwnedControl>,
}
