//! The message of a process that ends by a damaged page: LMDB trusts its pages, so one that is
//! missing or leads elsewhere ends in SIGBUS or SIGSEGV, which give no reason.

use std::ffi::c_int;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

/// Message for standard error, made before a fault: a signal handler must not allocate memory.
static WORDS: OnceLock<Vec<u8>> = OnceLock::new();

/// Installs the handler that names the database file when a fault ends this process. A second call
/// changes nothing.
pub(super) fn tell(file: &Path) {
    let first = WORDS.get().is_none();
    WORDS.get_or_init(|| {
        let before =
            b"pando: ended by a fault while the database was open, whose pages may be damaged: ";
        let after =
            b"\npando: see `pando check`; `pando restore` brings a backup back, `pando export \
                      --salvage` saves what can be read\n";
        [&before[..], file.as_os_str().as_bytes(), after].concat()
    });
    if !first {
        return;
    }
    for signal in [libc::SIGSEGV, libc::SIGBUS] {
        // SAFETY: all-zero bytes are a value of the type; the handler calls nothing but what may
        // be called in one (`signal-safety(7)`), on the stack that the standard library has set
        // aside for it. A failure leaves the signal as it was.
        unsafe {
            let mut action: libc::sigaction = std::mem::zeroed();
            let handler: extern "C" fn(c_int) = fault;
            action.sa_sigaction = handler as usize;
            action.sa_flags = libc::SA_ONSTACK | libc::SA_RESETHAND;
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// Writes the message. The signal has its default effect again, and returning repeats the fault.
extern "C" fn fault(_: c_int) {
    if let Some(words) = WORDS.get() {
        // SAFETY: the words are there until the process ends.
        unsafe { libc::write(libc::STDERR_FILENO, words.as_ptr().cast(), words.len()) };
    }
}
