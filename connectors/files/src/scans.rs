//! The scans of a connector: one round at a time, given out in batches (connector contract §11).
//!
//! Holds the round at hand, knows under which continuation it goes on, and when it is over. What a
//! round enumerates is its own business.

use std::io::Write;
use std::sync::Arc;

use dpe_connector::read_blob::{BlobChunk, ReadBlobParams};
use dpe_connector::{CancelFlag, RpcError, ScanParams, ScanResult};

use crate::handles::Handles;
use crate::items::{Items, RoundEnd};

/// Items of a batch when the runner does not say.
const DEFAULT_MAX_ITEMS: usize = 100;

/// An enumeration that says a little whenever it is asked.
pub trait Round {
    /// What a handle of it stands for.
    type Held: Clone;

    /// Returns where it says its items.
    fn items(&mut self) -> &mut Items;

    /// Goes on, and returns whether it did: after false it has said everything.
    ///
    /// # Errors
    ///
    /// What ends the round: `cancelled`, `source_failed`.
    fn say_more(&mut self, cancel: &CancelFlag) -> Result<bool, RpcError>;

    /// Returns how it ends. Asked once, when it has said everything.
    fn end(&mut self) -> RoundEnd;

    /// Returns what people should hear, after the last batch.
    fn into_lines(self) -> Vec<String>;
}

/// What a round begins with.
pub struct Beginning<'s, H> {
    /// Where an earlier round ended.
    pub cursor: Option<String>,
    /// Where it notes what may be asked for.
    pub handles: Arc<Handles<H>>,
    /// For people, at once.
    pub stderr: &'s mut dyn Write,
}

/// The round at hand, if there is one, and the handles of the last one.
pub struct Scans<R: Round> {
    stderr: Box<dyn Write + Send>,
    open: Option<Open<R>>,
    handles: Arc<Handles<R::Held>>,
}

struct Open<R> {
    round: R,
    batches: u64,
    end: Option<RoundEnd>,
}

impl<R: Round> Scans<R> {
    /// Returns no round yet; what rounds have to tell people goes to `stderr`.
    pub fn new(stderr: Box<dyn Write + Send>) -> Self {
        Self {
            stderr,
            open: None,
            handles: Arc::new(Handles::of_round(0)),
        }
    }

    /// Answers a `scan`; one without a continuation gives the round before up and has a new one
    /// begun.
    ///
    /// # Errors
    ///
    /// Those of the round; `invalid_params` for a continuation that is not the one given out last.
    pub fn scan(
        &mut self,
        params: ScanParams,
        begin: impl FnOnce(Beginning<'_, R::Held>) -> Result<R, RpcError>,
        cancel: &CancelFlag,
    ) -> Result<ScanResult, RpcError> {
        let mut open = match &params.next {
            None => {
                self.open = None;
                self.handles = Arc::new(self.handles.next());
                Open {
                    round: begin(Beginning {
                        cursor: params.cursor,
                        handles: Arc::clone(&self.handles),
                        stderr: &mut *self.stderr,
                    })?,
                    batches: 0,
                    end: None,
                }
            }
            Some(next) => self
                .open
                .take_if(|open| open.continuation() == *next)
                .ok_or_else(ScanParams::expired_next)?,
        };
        let max_items = params.max_items.map_or(DEFAULT_MAX_ITEMS, |n| n as usize);
        if let Some(last) = open.advance(max_items, cancel)? {
            for line in open.round.into_lines() {
                // Nobody reads it if it cannot be written.
                let _ = writeln!(self.stderr, "{line}");
            }
            return Ok(last);
        }
        open.batches += 1;
        let next = open.continuation();
        let batch = open.round.items().batch(max_items, next);
        self.open = Some(open);
        Ok(batch)
    }

    /// Answers a `read_blob`; what the connector holds itself is read by `file`.
    ///
    /// # Errors
    ///
    /// `unknown_handle`; `source_failed`; those of `file`.
    pub fn read_blob(
        &self,
        wanted: &ReadBlobParams,
        file: impl FnOnce(R::Held) -> Result<BlobChunk, RpcError>,
    ) -> Result<BlobChunk, RpcError> {
        self.handles.read(wanted, file)
    }
}

impl<R: Round> Open<R> {
    fn continuation(&self) -> String {
        format!("b{}", self.batches)
    }

    /// Has the round say enough for a batch, and returns the batch if it is the last.
    fn advance(
        &mut self,
        max_items: usize,
        cancel: &CancelFlag,
    ) -> Result<Option<ScanResult>, RpcError> {
        while !self.round.items().is_ready(max_items) {
            if self.round.say_more(cancel)? {
                continue;
            }
            if self.end.is_none() {
                self.end = Some(self.round.end());
            }
            return Ok(self.round.items().last_batch(max_items, &mut self.end));
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use dpe_connector::ErrorCode;
    use dpe_connector::scan::ScanEnd;

    use super::*;

    /// Says that so many documents are gone.
    struct Countdown {
        left: usize,
        items: Items,
    }

    impl Round for Countdown {
        type Held = ();

        fn items(&mut self) -> &mut Items {
            &mut self.items
        }

        fn say_more(&mut self, _: &CancelFlag) -> Result<bool, RpcError> {
            if self.left == 0 {
                return Ok(false);
            }
            self.left -= 1;
            self.items.say_deletion(b"a");
            Ok(true)
        }

        fn end(&mut self) -> RoundEnd {
            RoundEnd {
                cursor: Some("c".repeat(900)),
                incremental: true,
            }
        }

        fn into_lines(self) -> Vec<String> {
            vec!["over".to_owned()]
        }
    }

    fn scan(scans: &mut Scans<Countdown>, next: Option<String>) -> Result<ScanResult, RpcError> {
        let params = ScanParams {
            next,
            max_items: Some(2),
            ..ScanParams::default()
        };
        let begin = |_: Beginning<'_, ()>| {
            Ok(Countdown {
                left: 3,
                items: Items::below("x://y/", 2000),
            })
        };
        scans.scan(params, begin, &CancelFlag::new())
    }

    #[test]
    fn a_round_is_given_out_under_continuations_that_are_used_once() {
        let mut scans = Scans::new(Box::new(std::io::sink()));
        let first = scan(&mut scans, None).unwrap();
        let ScanEnd::Next(next) = first.end else {
            panic!("expected more, found {first:?}");
        };
        assert_eq!(first.items.len(), 2);
        // The last item does not fit a message with the cursor.
        let second = scan(&mut scans, Some(next.clone())).unwrap();
        assert_eq!(second.items.len(), 1);
        let expired = scan(&mut scans, Some(next)).unwrap_err();
        assert_eq!(expired.code, ErrorCode::InvalidParams);
    }

    #[test]
    fn the_last_batch_carries_the_cursor() {
        let mut scans = Scans::new(Box::new(std::io::sink()));
        let mut next = None;
        let mut sizes = Vec::new();
        let end = loop {
            let batch = scan(&mut scans, next.take()).unwrap();
            sizes.push(batch.items.len());
            match batch.end {
                ScanEnd::Next(more) => next = Some(more),
                end => break end,
            }
        };
        assert_eq!(sizes, [2, 1]);
        let expected = ScanEnd::Final {
            cursor: Some("c".repeat(900)),
            incremental: true,
        };
        assert_eq!(end, expected);
    }
}
