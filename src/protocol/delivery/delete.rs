//! One delete, as the rules of writes see it.

use crate::model::{Contract, FileUri, Hash};
use crate::protocol::delivery::write::{Conclusion, Write, Writing};
use crate::protocol::verdict::Operation;
use crate::protocol::wire::delete;
use crate::protocol::{ErrorCode, ReplyError, Response};

/// A delete.
#[derive(Debug)]
pub struct Deleting {
    uri: FileUri,
    base: Hash,
    contract: Contract,
}

/// A delete in progress.
pub type Delete = Write<Deleting>;

impl Delete {
    /// Returns a machine that deletes `uri` if it holds `base`.
    pub fn of(uri: &FileUri, base: Hash, contract: Contract) -> Self {
        let request = delete::Request { uri, base }.into_http(contract);
        let uri = uri.clone();
        let deleting = Deleting {
            uri,
            base,
            contract,
        };
        Self::new(deleting, request)
    }
}

impl Writing for Deleting {
    type Reply = ();

    fn operation(&self) -> Operation {
        Operation::Delete
    }

    /// The head is compared with the base, so it is asked for in the base's contract.
    fn looked_up(&self) -> (&FileUri, Contract) {
        (&self.uri, self.base.contract())
    }

    fn decode(&self, response: &Response) -> Result<(), ReplyError> {
        delete::decode(response, self.contract)
    }

    fn reached(&self) {}

    fn conclude(&self, head: Option<Hash>) -> Conclusion {
        match head {
            None => Conclusion::Reached,
            Some(head) if head == self.base => Conclusion::Unexplained,
            Some(_) => Conclusion::Refused(ErrorCode::PreconditionFailed),
        }
    }
}
