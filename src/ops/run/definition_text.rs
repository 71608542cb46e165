//! Reads the text of a definition, which may come through a pipe, as of a shell's `<(…)`.
//!
//! Whoever is to write to the pipe may never do so, and a read that waits can be given up by nobody.
//! So it waits on a thread of its own, which the end of the process takes along.

use std::fs::File;
use std::io;
use std::path::Path;
use std::thread;

use tokio::sync::oneshot;

use crate::ops::regular_file;
use crate::sync::failure::Failure;

/// Returns the bytes of a definition. To be dropped by whoever does not wait any longer.
///
/// # Errors
///
/// `definition_invalid` when it cannot be read.
pub(super) async fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let (done, text) = oneshot::channel();
    let of_thread = path.to_owned();
    let reader = move || {
        // Nobody may be waiting any more.
        let _ = done.send(File::open(of_thread).and_then(regular_file::read_all));
    };
    let started = thread::Builder::new()
        .name("definition".to_owned())
        .spawn(reader);
    let text = match started {
        Ok(_) => text
            .await
            .unwrap_or_else(|gone| Err(io::Error::other(gone))),
        Err(error) => Err(error),
    };
    text.map_err(|error| {
        let path = path.display();
        let why = format!("the definition {path} cannot be read: {error}");
        Failure::instance("definition_invalid", why)
    })
}
