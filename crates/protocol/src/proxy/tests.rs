//! Headers of proxies, whole and in pieces, and bytes that are no header.

use super::*;

/// Reads as a server does: as many bytes as are asked for, and no more.
fn read(bytes: &[u8]) -> Result<(Header, usize), ProxyError> {
    let mut taken = 0;
    loop {
        match decode(&bytes[..taken])? {
            Progress::Whole(header) => return Ok((header, taken)),
            Progress::More(count) => {
                assert!(count > 0);
                taken += count;
                assert!(taken <= bytes.len(), "more is asked for than there is");
            }
        }
    }
}

fn source(header: &[u8]) -> Option<SocketAddr> {
    let mut bytes = header.to_vec();
    bytes.extend_from_slice(b"\x30\x0c\x02\x01\x01 and what else the client has to say");
    let (found, taken) = read(&bytes).unwrap();
    assert_eq!(taken, header.len(), "{}", header.escape_ascii());
    found.source
}

fn binary(command: u8, family: u8, rest: &[u8]) -> Vec<u8> {
    let mut out = SIGNATURE.to_vec();
    out.extend_from_slice(&[command, family]);
    out.extend_from_slice(&(rest.len() as u16).to_be_bytes());
    out.extend_from_slice(rest);
    out
}

#[test]
fn lines_of_version_1() {
    let line = b"PROXY TCP4 192.0.2.7 198.51.100.1 50123 389\r\n";
    assert_eq!(source(line), Some("192.0.2.7:50123".parse().unwrap()));
    let line = b"PROXY TCP6 2001:db8::7 2001:db8::1 50123 389\r\n";
    assert_eq!(source(line), Some("[2001:db8::7]:50123".parse().unwrap()));
    assert_eq!(source(b"PROXY UNKNOWN\r\n"), None);
    assert_eq!(source(b"PROXY UNKNOWN ffff:f::1 whatever\r\n"), None);
    let longest = format!("PROXY UNKNOWN {}\r\n", "f".repeat(LINE_BYTES_MAX - 16));
    assert_eq!(source(longest.as_bytes()), None);
}

#[test]
fn headers_of_version_2() {
    let v4 = [192, 0, 2, 7, 198, 51, 100, 1, 0xc3, 0xcb, 1, 0x85];
    assert_eq!(
        source(&binary(0x21, 0x11, &v4)),
        Some("192.0.2.7:50123".parse().unwrap())
    );
    // Octets that a proxy adds behind the addresses are ignored.
    let mut more = v4.to_vec();
    more.extend_from_slice(&[4, 0, 3, 1, 2, 3]);
    assert_eq!(
        source(&binary(0x21, 0x11, &more)),
        Some("192.0.2.7:50123".parse().unwrap())
    );
    let mut v6 = Ipv6Addr::LOCALHOST.octets().to_vec();
    v6.extend_from_slice(&[0; 16]);
    v6.extend_from_slice(&[0xc3, 0xcb, 1, 0x85]);
    assert_eq!(
        source(&binary(0x21, 0x21, &v6)),
        Some("[::1]:50123".parse().unwrap())
    );
    assert_eq!(source(&binary(0x20, 0x11, &v4)), None, "LOCAL");
    assert_eq!(source(&binary(0x21, 0x00, &[])), None);
    assert_eq!(source(&binary(0x21, 0x31, &[0; 216])), None);
}

#[test]
fn what_is_encoded_is_read() {
    for text in ["192.0.2.7:50123", "[2001:db8::7]:1"] {
        let header = Header {
            source: Some(text.parse().unwrap()),
        };
        let mut bytes = Vec::new();
        header.encode(&mut bytes);
        assert_eq!(read(&bytes), Ok((header, bytes.len())));
    }
}

#[test]
fn what_is_no_header_is_refused() {
    let refused = |bytes: &[u8]| {
        let mut bytes = bytes.to_vec();
        bytes.resize(bytes.len() + 5000, b' ');
        read(&bytes).unwrap_err()
    };
    // A bind request, a TLS hello, an HTTP request.
    assert_eq!(
        refused(b"\x30\x0c\x02\x01\x01\x60\x07"),
        ProxyError::NoHeader
    );
    assert_eq!(refused(b"\x16\x03\x01\x02\x00\x01"), ProxyError::NoHeader);
    assert_eq!(refused(b"GET / HTTP/1.1\r\n"), ProxyError::NoHeader);
    for line in [
        "PROXY TCP4 192.0.2.7 198.51.100.1 50123\r\n",
        "PROXY TCP4 192.0.2.7 198.51.100.1 50123 389 1\r\n",
        "PROXY TCP4 192.0.2.7 198.51.100.1 50123 70000\r\n",
        "PROXY TCP4 192.0.2.7 198.51.100.1 +5 389\r\n",
        "PROXY TCP4 2001:db8::7 2001:db8::1 50123 389\r\n",
        "PROXY TCP6 192.0.2.7 198.51.100.1 50123 389\r\n",
        "PROXY TCP4  192.0.2.7 198.51.100.1 50123 389\r\n",
        "PROXY UDP4 192.0.2.7 198.51.100.1 50123 389\r\n",
        "PROXY UNKNOWN\nand more\r\n",
        "PROXY TCP4",
    ] {
        assert_eq!(refused(line.as_bytes()), ProxyError::Line, "{line}");
    }
    assert_eq!(
        refused(&binary(0x11, 0x11, &[0; 12])),
        ProxyError::Version(0x11)
    );
    assert_eq!(
        refused(&binary(0x22, 0x11, &[0; 12])),
        ProxyError::Version(0x22)
    );
    assert_eq!(
        refused(&binary(0x21, 0x41, &[0; 12])),
        ProxyError::Family(0x41)
    );
    assert_eq!(
        refused(&binary(0x21, 0x11, &[0; 11])),
        ProxyError::Length(11)
    );
    assert_eq!(
        refused(&binary(0x21, 0x21, &[0; 35])),
        ProxyError::Length(35)
    );
    assert_eq!(
        refused(&binary(0x21, 0x11, &[0; 4081])),
        ProxyError::Length(4081)
    );
}
