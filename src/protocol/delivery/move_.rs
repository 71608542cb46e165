//! One move, as the rules of writes see it.

use crate::model::{Contract, FileUri, Hash};
use crate::protocol::delivery::write::{Conclusion, Write, Writing};
use crate::protocol::verdict::Operation;
use crate::protocol::wire::move_;
use crate::protocol::{ReplyError, Response};

/// A move.
#[derive(Debug)]
pub struct Moving {
    to: FileUri,
    base: Hash,
    contract: Contract,
}

/// A move in progress.
pub type Move = Write<Moving>;

impl Move {
    /// Returns a machine that moves `from` to `to` if `from` holds `base`.
    pub fn of(from: &FileUri, to: &FileUri, base: Hash, contract: Contract) -> Self {
        let request = move_::Request { from, to, base }.into_http(contract);
        let to = to.clone();
        Self::new(Moving { to, base, contract }, request)
    }
}

impl Writing for Moving {
    type Reply = Hash;

    fn operation(&self) -> Operation {
        Operation::Move
    }

    fn looked_up(&self) -> (&FileUri, Contract) {
        (&self.to, self.contract)
    }

    fn decode(&self, response: &Response) -> Result<Hash, ReplyError> {
        move_::decode(response, self.contract, self.base)
    }

    /// Never asked for: the table settles no move by a head.
    fn reached(&self) -> Hash {
        self.base
    }

    fn conclude(&self, _: Option<Hash>) -> Conclusion {
        Conclusion::Unexplained
    }
}
