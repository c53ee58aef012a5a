//! The null responder as a program: `null [ADDRESS [VALUE-OCTETS]]`. Writes its address and serves.

use std::io::{self, Write};
use std::net::TcpListener;

use pando_benches::null::{Answers, serve};

fn main() -> io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:0".to_owned());
    let octets = arguments
        .next()
        .and_then(|text| text.parse().ok())
        .unwrap_or(2_500);
    let listener = TcpListener::bind(&address)?;
    writeln!(io::stdout(), "{}", listener.local_addr()?)?;
    serve(
        &listener,
        &Answers::new("uid=user.1,ou=oracle,dc=com", octets),
    )
}
