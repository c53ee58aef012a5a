//! `pando reload`: makes the server of a node read its settings again, and prints the changed ones.

use crate::channel::Channel;
use crate::cli::Reload;
use crate::report::{Problem, say};
use protocol::{ExtendedRequest, Request, Response, ResponseMessage, ResultCode, oid};

/// Reloads the settings of a served node.
pub fn reload(it: &Reload) -> Result<(), Problem> {
    let Some(mut channel) = Channel::served(&it.dir)? else {
        return Err(Problem::failed(format_args!(
            "{}: no process serves the node; the next start reads its settings",
            it.dir.display()
        )));
    };
    let name = oid::RELOAD;
    let answers = channel.call(&Request::Extended(ExtendedRequest { name, value: None }))?;
    let answer = answers.last().map(Vec::as_slice).unwrap_or_default();
    let message = ResponseMessage::decode(answer).map_err(Problem::failed)?;
    let Response::Extended { result, value, .. } = message.response else {
        return Err(Problem::failed(
            "expected an extended response, got another one",
        ));
    };
    match result.code {
        ResultCode::SUCCESS => say(String::from_utf8_lossy(value.unwrap_or_default())),
        ResultCode::PROTOCOL_ERROR => Err(Problem::failed(
            "the server is of an earlier release, which reads settings at its start only",
        )),
        _ => Err(Problem::failed(format_args!(
            "the old settings stay: {}",
            result.diagnostic
        ))),
    }
}
