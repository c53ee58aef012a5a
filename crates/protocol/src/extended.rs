//! Extended operations (RFC 4511 §4.12): the values of their requests and responses.
