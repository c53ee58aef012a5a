//! Result codes, spelled as the RFCs spell them.

use std::fmt;

/// Result code of an operation (RFC 4511 §4.1.9 and the IANA registry of LDAP result codes).
///
/// Any number is representable, because the set is extensible.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ResultCode(pub u16);

macro_rules! result_codes {
    ($($number:literal $constant:ident $name:literal $meaning:literal,)*) => {
        impl ResultCode {
            $(
                #[doc = concat!("`", $name, "` (", stringify!($number), "): ", $meaning, ".")]
                pub const $constant: ResultCode = ResultCode($number);
            )*

            /// Every code with a name, in ascending order.
            pub const ALL: &'static [ResultCode] = &[$(ResultCode($number),)*];

            /// The code's name as its RFC spells it; `"unknown"` for a number without one.
            pub const fn name(self) -> &'static str {
                match self.0 {
                    $($number => $name,)*
                    _ => "unknown",
                }
            }
        }
    };
}

result_codes! {
    0 SUCCESS "success" "the operation succeeded",
    1 OPERATIONS_ERROR "operationsError" "out of order with respect to other operations",
    2 PROTOCOL_ERROR "protocolError" "the request is malformed or not served in this version",
    3 TIME_LIMIT_EXCEEDED "timeLimitExceeded" "the time limit was reached",
    4 SIZE_LIMIT_EXCEEDED "sizeLimitExceeded" "the size limit was reached",
    5 COMPARE_FALSE "compareFalse" "the assertion is false",
    6 COMPARE_TRUE "compareTrue" "the assertion is true",
    7 AUTH_METHOD_NOT_SUPPORTED "authMethodNotSupported" "the authentication method is not served",
    8 STRONGER_AUTH_REQUIRED "strongerAuthRequired" "stronger authentication is required",
    10 REFERRAL "referral" "another server must be asked",
    11 ADMIN_LIMIT_EXCEEDED "adminLimitExceeded" "an administrative limit was reached",
    12 UNAVAILABLE_CRITICAL_EXTENSION "unavailableCriticalExtension"
        "a critical control is not recognised or not appropriate",
    13 CONFIDENTIALITY_REQUIRED "confidentialityRequired" "data must be protected in transit",
    14 SASL_BIND_IN_PROGRESS "saslBindInProgress" "the SASL exchange needs another step",
    16 NO_SUCH_ATTRIBUTE "noSuchAttribute" "the entry lacks the attribute or value",
    17 UNDEFINED_ATTRIBUTE_TYPE "undefinedAttributeType" "the schema lacks the attribute type",
    18 INAPPROPRIATE_MATCHING "inappropriateMatching" "no matching rule fits the attribute",
    19 CONSTRAINT_VIOLATION "constraintViolation" "a value breaks a constraint of the data model",
    20 ATTRIBUTE_OR_VALUE_EXISTS "attributeOrValueExists" "the attribute or value is there already",
    21 INVALID_ATTRIBUTE_SYNTAX "invalidAttributeSyntax" "a value does not fit its syntax",
    32 NO_SUCH_OBJECT "noSuchObject" "the entry does not exist",
    33 ALIAS_PROBLEM "aliasProblem" "an alias names no entry",
    34 INVALID_DN_SYNTAX "invalidDNSyntax" "a name is malformed",
    36 ALIAS_DEREFERENCING_PROBLEM "aliasDereferencingProblem" "an alias may not be followed",
    48 INAPPROPRIATE_AUTHENTICATION "inappropriateAuthentication"
        "the credentials are of no use here",
    49 INVALID_CREDENTIALS "invalidCredentials" "the name or the credentials are wrong",
    50 INSUFFICIENT_ACCESS_RIGHTS "insufficientAccessRights" "the client may not do this",
    51 BUSY "busy" "the server is too busy",
    52 UNAVAILABLE "unavailable" "the server or a part it needs is shutting down or offline",
    53 UNWILLING_TO_PERFORM "unwillingToPerform" "the server refuses to do this",
    54 LOOP_DETECT "loopDetect" "a loop was found",
    60 SORT_CONTROL_MISSING "sortControlMissing" "a virtual list view needs the sort control",
    61 OFFSET_RANGE_ERROR "offsetRangeError" "the virtual list view's offset is out of range",
    64 NAMING_VIOLATION "namingViolation" "the name breaks a naming restriction",
    65 OBJECT_CLASS_VIOLATION "objectClassViolation" "the entry breaks an object class rule",
    66 NOT_ALLOWED_ON_NON_LEAF "notAllowedOnNonLeaf" "the entry has entries below it",
    67 NOT_ALLOWED_ON_RDN "notAllowedOnRDN" "a value of the entry's RDN may not be removed",
    68 ENTRY_ALREADY_EXISTS "entryAlreadyExists" "an entry of this name exists",
    69 OBJECT_CLASS_MODS_PROHIBITED "objectClassModsProhibited"
        "the structural object class may not be changed",
    71 AFFECTS_MULTIPLE_DSAS "affectsMultipleDSAs" "more than one server is affected",
    76 VIRTUAL_LIST_VIEW_ERROR "virtualListViewError" "the virtual list view cannot be made",
    80 OTHER "other" "an error without a code of its own",
    113 LCUP_RESOURCES_EXHAUSTED "lcupResourcesExhausted" "no resources left for the update",
    114 LCUP_SECURITY_VIOLATION "lcupSecurityViolation" "the update breaks a security policy",
    115 LCUP_INVALID_DATA "lcupInvalidData" "the cookie is malformed",
    116 LCUP_UNSUPPORTED_SCHEME "lcupUnsupportedScheme" "the cookie's scheme is not served",
    117 LCUP_RELOAD_REQUIRED "lcupReloadRequired" "the client must start afresh",
    118 CANCELED "canceled" "the operation was canceled",
    119 NO_SUCH_OPERATION "noSuchOperation" "there is no such operation to cancel",
    120 TOO_LATE "tooLate" "the operation can no longer be canceled",
    121 CANNOT_CANCEL "cannotCancel" "the operation cannot be canceled",
    122 ASSERTION_FAILED "assertionFailed" "the assertion control's filter is not true",
    123 AUTHORIZATION_DENIED "authorizationDenied" "the proxied identity may not be taken",
    4096 E_SYNC_REFRESH_REQUIRED "e-syncRefreshRequired" "the content must be synchronised afresh",
    16654 NO_OPERATION "noOperation" "the operation would have succeeded; nothing was done",
}

impl ResultCode {
    /// Whether the operation succeeded: `success`, `compareTrue` and `compareFalse`.
    pub const fn is_success(self) -> bool {
        matches!(self.0, 0 | 5 | 6)
    }
}

impl From<u16> for ResultCode {
    fn from(number: u16) -> Self {
        ResultCode(number)
    }
}

impl From<ResultCode> for u16 {
    fn from(code: ResultCode) -> u16 {
        code.0
    }
}

impl fmt::Display for ResultCode {
    /// Name and number: `noSuchObject (32)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.name(), self.0)
    }
}
