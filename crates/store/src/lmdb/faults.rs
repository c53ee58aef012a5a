//! Words for the end of a process that met a damaged page: LMDB believes its pages, so one that is
//! missing or leads elsewhere ends in SIGBUS or SIGSEGV, which tell nobody the reason.

use std::ffi::c_int;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::OnceLock;

/// What is written to standard error, made before a fault: none may ask for memory.
static WORDS: OnceLock<Vec<u8>> = OnceLock::new();

/// From now on a fault of this process is told with the database file that it reads. Nothing
/// changes with a second call.
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

/// Writes the words. The signal has its usual effect again, and returning repeats what led to it.
extern "C" fn fault(_: c_int) {
    if let Some(words) = WORDS.get() {
        // SAFETY: the words are there until the process ends.
        unsafe { libc::write(libc::STDERR_FILENO, words.as_ptr().cast(), words.len()) };
    }
}
