//! Text: directory, IA5, printable and postal strings and their relatives (RFC 4517 §3.3).

/// Checks for non-empty UTF-8 (RFC 4517 §3.3.6).
pub(crate) fn directory_string(value: &[u8]) -> Result<(), &'static str> {
    if value.is_empty() {
        return Err("expected text, got nothing");
    }
    utf8(value).map(|_| ())
}

/// Checks for ASCII, which may be empty (RFC 4517 §3.3.15).
pub(crate) fn ia5_string(value: &[u8]) -> Result<(), &'static str> {
    if value.is_ascii() {
        Ok(())
    } else {
        Err("expected ASCII text")
    }
}

/// Checks for non-empty letters, digits, space and `'()+,-./:?=` (RFC 4517 §3.3.29).
pub(crate) fn printable_string(value: &[u8]) -> Result<(), &'static str> {
    if !value.is_empty() && value.iter().all(|byte| is_printable(*byte)) {
        Ok(())
    } else {
        Err("expected letters, digits, spaces and '()+,-./:?=")
    }
}

/// Checks for a printable string (RFC 4517 §3.3.31).
pub(crate) fn telephone_number(value: &[u8]) -> Result<(), &'static str> {
    printable_string(value).map_err(|_| "expected a telephone number such as +1 512 315 0280")
}

/// Checks for two printable characters (RFC 4517 §3.3.4).
pub(crate) fn country(value: &[u8]) -> Result<(), &'static str> {
    match value {
        [first, second] if is_printable(*first) && is_printable(*second) => Ok(()),
        _ => Err("expected a two-letter country code"),
    }
}

/// Checks for known delivery methods separated by `$` (RFC 4517 §3.3.5).
pub(crate) fn delivery_method(value: &[u8]) -> Result<(), &'static str> {
    const METHODS: &[&str] = &[
        "any",
        "mhs",
        "physical",
        "telex",
        "teletex",
        "g3fax",
        "g4fax",
        "ia5",
        "videotex",
        "telephone",
    ];
    let known = |part: &str| METHODS.contains(&part.trim_matches(' '));
    if utf8(value)?.split('$').all(known) {
        Ok(())
    } else {
        Err("expected delivery methods")
    }
}

/// Checks for `class # criteria # subset` (RFC 4517 §3.3.10); the criteria are not checked.
pub(crate) fn enhanced_guide(value: &[u8]) -> Result<(), &'static str> {
    let mut parts = utf8(value)?.split('#').map(|part| part.trim_matches(' '));
    let class = parts.next().unwrap_or("");
    let (criteria, subset) = (parts.next(), parts.next());
    let subset_known = matches!(
        subset,
        Some("baseobject" | "oneLevel" | "wholeSubtree" | "baseObject")
    );
    if !class.is_empty() && criteria.is_some() && subset_known && parts.next().is_none() {
        Ok(())
    } else {
        Err("expected an object class, criteria and a subset separated by #")
    }
}

/// Checks for any text, the obsolete form of the enhanced guide (RFC 4517 §3.3.14).
pub(crate) fn guide(value: &[u8]) -> Result<(), &'static str> {
    directory_string(value)
}

/// Checks for a telephone number and `$`-separated parameters (RFC 4517 §3.3.11).
pub(crate) fn fax_number(value: &[u8]) -> Result<(), &'static str> {
    const PARAMETERS: &[&str] = &[
        "twoDimensional",
        "fineResolution",
        "unlimitedLength",
        "b4Length",
        "a3Width",
        "b4Width",
        "uncompressed",
    ];
    let mut parts = utf8(value)?.split('$');
    printable_string(parts.next().unwrap_or("").as_bytes())?;
    let known = |part: &str| PARAMETERS.iter().any(|it| it.eq_ignore_ascii_case(part));
    if parts.all(known) {
        Ok(())
    } else {
        Err("expected fax parameters after the number")
    }
}

/// Checks for number, country code and answerback, separated by `$` (RFC 4517 §3.3.33).
pub(crate) fn telex_number(value: &[u8]) -> Result<(), &'static str> {
    let parts: Vec<&[u8]> = value.split(|byte| *byte == b'$').collect();
    if parts.len() == 3 && parts.iter().all(|part| printable_string(part).is_ok()) {
        Ok(())
    } else {
        Err("expected a telex number, country code and answerback separated by $")
    }
}

/// Checks for `mailbox-type $ mailbox` (RFC 4517 §3.3.26).
pub(crate) fn other_mailbox(value: &[u8]) -> Result<(), &'static str> {
    let Some(dollar) = value.iter().position(|byte| *byte == b'$') else {
        return Err("expected a mailbox type and a mailbox separated by $");
    };
    printable_string(&value[..dollar])?;
    ia5_string(&value[dollar + 1..])
}

/// Checks for lines separated by `$`, in which `\24` is a dollar and `\5C` a backslash (RFC 4517
/// §3.3.28). Empty lines are accepted, because address books write them.
pub(crate) fn postal_address(value: &[u8]) -> Result<(), &'static str> {
    directory_string(value)?;
    let mut rest = value;
    while let Some(at) = rest.iter().position(|byte| *byte == b'\\') {
        rest = &rest[at + 1..];
        match rest {
            [b'2', b'4', ..] | [b'5', b'C' | b'c', ..] => rest = &rest[2..],
            _ => return Err("expected \\24 or \\5C after the backslash"),
        }
    }
    Ok(())
}

/// Checks for pieces separated by `*`, at least one of them not empty (RFC 4517 §3.3.30).
pub(crate) fn substring_assertion(value: &[u8]) -> Result<(), &'static str> {
    let text = utf8(value)?;
    if text.contains('*') && text.bytes().any(|byte| byte != b'*') {
        Ok(())
    } else {
        Err("expected pieces of text separated by *")
    }
}

fn utf8(value: &[u8]) -> Result<&str, &'static str> {
    std::str::from_utf8(value).map_err(|_| "expected UTF-8 text")
}

fn is_printable(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b" '()+,-./:?=".contains(&byte)
}
