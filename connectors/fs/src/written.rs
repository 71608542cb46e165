//! How exactly a listing is written down, so that it fits a message.

use dpe_connector_files::Owner;

use crate::cursor;
use crate::ground::Ground;
use crate::listing::{Fingerprint, Listing};

/// How many bytes of each fingerprint are tried to be kept, until the cursor fits a message. Eight
/// are enough against accidents; without any, a touched file is delivered once more, and a moved
/// one is deleted and created.
const PRECISIONS: [usize; 3] = [Fingerprint::BYTES, 8, 0];

const SHORT_OF_FINGERPRINTS: &str = "the listing of this folder fits a message only without \
    fingerprints, so that files which were moved or touched are delivered anew; raise \
    max_message_bytes or split the folder";

const WITHOUT_CURSOR: &str = "the listing of this folder does not fit a message, so the next round \
    reads everything again; raise max_message_bytes or split the folder";

/// A listing as a cursor.
pub(crate) struct Written {
    /// Nothing if no message can hold it.
    pub(crate) cursor: Option<String>,
    /// What is lost, for people.
    pub(crate) note: Option<&'static str>,
}

/// Writes a listing as a cursor of at most `limit` bytes, with the first `precision` bytes of each
/// fingerprint or, if need be, fewer.
pub(crate) fn written(
    listing: &mut Listing,
    owner: Owner,
    ground: &Ground,
    precision: usize,
    limit: usize,
) -> Written {
    let mut precisions = PRECISIONS.map(|most| precision.min(most)).to_vec();
    precisions.dedup();
    for precision in precisions {
        if let Some(text) = cursor::encode(listing.lines(), owner, ground, precision, limit) {
            return Written {
                cursor: Some(text),
                note: (precision == 0).then_some(SHORT_OF_FINGERPRINTS),
            };
        }
    }
    Written {
        cursor: None,
        note: Some(WITHOUT_CURSOR),
    }
}
