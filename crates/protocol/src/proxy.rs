//! The PROXY protocol header, in which a proxy sends its client's address: versions 1 (a line of
//! text) and 2 (binary), as in HAProxy's `proxy-protocol.txt`.
//!
//! The header comes before all other bytes, TLS included. [`decode`] returns the number of bytes to
//! read next, so that a reader never takes a byte after the header.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// First bytes of every header of version 2.
const SIGNATURE: &[u8; 12] = b"\r\n\r\n\0\r\nQUIT\n";
/// First bytes of every header of version 1.
const PREFIX: &[u8] = b"PROXY ";
/// The shortest header of either version is `PROXY UNKNOWN` and the end of the line.
const BYTES_MIN: usize = 15;
/// The longest line of version 1, with its end.
const LINE_BYTES_MAX: usize = 107;
/// Bytes before the addresses of version 2.
const FIXED_BYTES: usize = 16;
/// Maximum length of a header in bytes. Addresses and the additions of proxies take a few hundred.
pub const BYTES_MAX: usize = 4096;

/// A decoded header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// The client's address and port. `None` if the proxy connects for itself (a health check),
    /// does not know the client, or the client does not use TCP.
    pub source: Option<SocketAddr>,
}

/// Progress of reading a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Progress {
    /// At least this number of bytes is missing.
    More(usize),
    /// The header is complete and ends with the given bytes.
    Whole(Header),
}

/// Reason why bytes are no header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyError {
    /// The bytes begin like neither version.
    NoHeader,
    /// A line of version 1 is malformed, or too long.
    Line,
    /// A version other than 2, or a command other than LOCAL and PROXY.
    Version(u8),
    /// An address family or protocol that version 2 does not have.
    Family(u8),
    /// A length beyond the maximum, or too short for the addresses.
    Length(u16),
}

impl fmt::Display for ProxyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ProxyError::NoHeader => f.write_str("expected a PROXY header, got something else"),
            ProxyError::Line => {
                f.write_str("expected PROXY TCP4|TCP6|UNKNOWN and addresses, got another line")
            }
            ProxyError::Version(it) => {
                write!(
                    f,
                    "expected version and command 0x20 or 0x21, got {it:#04x}"
                )
            }
            ProxyError::Family(it) => write!(f, "expected an address family, got {it:#04x}"),
            ProxyError::Length(it) => write!(
                f,
                "expected addresses in at most {BYTES_MAX} bytes, got a length of {it}"
            ),
        }
    }
}

/// Decodes the first bytes of a connection.
///
/// # Errors
/// The bytes are no header and cannot become one.
pub fn decode(bytes: &[u8]) -> Result<Progress, ProxyError> {
    if SIGNATURE.starts_with(bytes.get(..SIGNATURE.len()).unwrap_or(bytes)) {
        return decode_binary(bytes);
    }
    if PREFIX.starts_with(bytes.get(..PREFIX.len()).unwrap_or(bytes)) {
        return decode_line(bytes);
    }
    Err(ProxyError::NoHeader)
}

fn decode_line(bytes: &[u8]) -> Result<Progress, ProxyError> {
    if bytes.len() < BYTES_MIN {
        return Ok(Progress::More(BYTES_MIN - bytes.len()));
    }
    if let Some(line) = bytes.strip_suffix(b"\r\n") {
        let line = std::str::from_utf8(line).ok().filter(|it| it.is_ascii());
        let source = line.and_then(source_in_line).ok_or(ProxyError::Line)?;
        return Ok(Progress::Whole(Header { source }));
    }
    if bytes.contains(&b'\n') {
        return Err(ProxyError::Line);
    }
    // The end of the line takes two bytes.
    let more = if bytes.ends_with(b"\r") { 1 } else { 2 };
    match bytes.len() + more <= LINE_BYTES_MAX {
        true => Ok(Progress::More(more)),
        false => Err(ProxyError::Line),
    }
}

/// The client's address in a line without its end; `None` when the line is wrong.
fn source_in_line(line: &str) -> Option<Option<SocketAddr>> {
    let mut words = line.split(' ').skip(1);
    let version = match words.next()? {
        // The rest of the line is ignored.
        "UNKNOWN" => return Some(None),
        "TCP4" => IpAddr::is_ipv4,
        "TCP6" => IpAddr::is_ipv6,
        _ => return None,
    };
    let mut address = || words.next()?.parse::<IpAddr>().ok().filter(version);
    let (source, _) = (address()?, address()?);
    let mut port = || {
        let word = words.next()?;
        let digits = word.bytes().all(|it| it.is_ascii_digit());
        word.parse::<u16>().ok().filter(|_| digits)
    };
    let (source_port, _) = (port()?, port()?);
    match words.next() {
        None => Some(Some(SocketAddr::new(source, source_port))),
        Some(_) => None,
    }
}

fn decode_binary(bytes: &[u8]) -> Result<Progress, ProxyError> {
    let Some((fixed, addresses)) = bytes.split_first_chunk::<FIXED_BYTES>() else {
        // A complete line may be one byte shorter, but this line is not complete.
        let whole = if bytes.is_empty() {
            BYTES_MIN
        } else {
            FIXED_BYTES
        };
        return Ok(Progress::More(whole - bytes.len()));
    };
    let [.., command, family, high, low] = *fixed;
    if command & 0xf0 != 0x20 || command & 0x0f > 1 {
        return Err(ProxyError::Version(command));
    }
    let length = u16::from_be_bytes([high, low]);
    if FIXED_BYTES + usize::from(length) > BYTES_MAX {
        return Err(ProxyError::Length(length));
    }
    let Some(missing) = usize::from(length).checked_sub(addresses.len()) else {
        // More bytes were given than requested.
        return Err(ProxyError::Length(length));
    };
    if missing > 0 {
        return Ok(Progress::More(missing));
    }
    let source = match (command & 0x0f, family) {
        // LOCAL: the family is ignored.
        (0, _) => None,
        (_, 0x11) => Some(source_v4(addresses).ok_or(ProxyError::Length(length))?),
        (_, 0x21) => Some(source_v6(addresses).ok_or(ProxyError::Length(length))?),
        // Unspecified, datagrams and Unix sockets have no TCP client's address.
        (_, 0x00 | 0x12 | 0x22 | 0x31 | 0x32) => None,
        (_, other) => return Err(ProxyError::Family(other)),
    };
    Ok(Progress::Whole(Header { source }))
}

/// Source address, destination address, source port, destination port.
fn source_v4(bytes: &[u8]) -> Option<SocketAddr> {
    let ip: [u8; 4] = *bytes.first_chunk()?;
    let port: [u8; 2] = *bytes.get(8..12)?.first_chunk()?;
    Some(SocketAddr::new(
        Ipv4Addr::from(ip).into(),
        u16::from_be_bytes(port),
    ))
}

fn source_v6(bytes: &[u8]) -> Option<SocketAddr> {
    let ip: [u8; 16] = *bytes.first_chunk()?;
    let port: [u8; 2] = *bytes.get(32..36)?.first_chunk()?;
    Some(SocketAddr::new(
        Ipv6Addr::from(ip).into(),
        u16::from_be_bytes(port),
    ))
}

impl Header {
    /// Appends the header as version 2, with an unspecified destination.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(SIGNATURE);
        match self.source {
            None => out.extend_from_slice(&[0x20, 0, 0, 0]),
            Some(SocketAddr::V4(source)) => {
                out.extend_from_slice(&[0x21, 0x11, 0, 12]);
                out.extend_from_slice(&source.ip().octets());
                out.extend_from_slice(&[0; 4]);
                out.extend_from_slice(&source.port().to_be_bytes());
                out.extend_from_slice(&[0; 2]);
            }
            Some(SocketAddr::V6(source)) => {
                out.extend_from_slice(&[0x21, 0x21, 0, 36]);
                out.extend_from_slice(&source.ip().octets());
                out.extend_from_slice(&[0; 16]);
                out.extend_from_slice(&source.port().to_be_bytes());
                out.extend_from_slice(&[0; 2]);
            }
        }
    }
}

#[cfg(test)]
mod tests;
