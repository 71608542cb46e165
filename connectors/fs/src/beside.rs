//! The pictures that texts show of files beside them: what a walk finds, and nothing else.
//!
//! Of a round over named files there was no walk. Whoever names a text does not name what lies around it, so that the
//! rules of a walk hold for that: ignore rules, globs, hidden names, links.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use dpe_connector_files::{Globs, NEIGHBOUR_BYTES, Neighbour, Neighbours, file_name};
use sha2::{Digest, Sha256};

use crate::config::Config;
use crate::door::{Door, Links};
use crate::examine::Examiner;
use crate::git;
use crate::held::Held;
use crate::listing::Fingerprint;
use crate::rules::Rules;
use crate::stat::Stat;
use crate::walk::absolute;

/// How often a file that changes while it is looked at is looked at again.
const ATTEMPTS: u32 = 3;

/// What lies around files that somebody named.
#[derive(Debug)]
pub(crate) struct Around {
    root: PathBuf,
    door: Arc<Door>,
    hidden: bool,
    /// The rules from above the root, once somebody asks; nothing if they cannot be read.
    above: OnceLock<Option<Rules>>,
}

impl Around {
    /// Returns the way to it in a round over named files; a walk knows what there is.
    pub(crate) fn of(config: &Config, root: &Path) -> Option<Self> {
        config.only.as_ref()?;
        let links = match config.follow_links {
            true => Links::Within,
            false => Links::Refused,
        };
        Some(Self {
            root: root.to_owned(),
            door: Arc::new(Door::to(root, links)),
            hidden: config.hidden,
            above: OnceLock::new(),
        })
    }

    /// Returns whether a walk would come to the file at `path`. What cannot be told is left out.
    fn admits(&self, path: &[u8], globs: &Globs) -> bool {
        let slashes = path.iter().enumerate().filter(|(_, byte)| **byte == b'/');
        let mut ends: Vec<usize> = slashes.map(|(end, _)| end).collect();
        ends.push(path.len());
        // What is worth a note is one in rounds that walk.
        let above = || Rules::above(&self.root, &mut Vec::new()).ok();
        let Some(mut rules) = self.above.get_or_init(above).clone() else {
            return false;
        };
        let mut folder = &path[..0];
        for end in ends {
            let place = absolute(&self.root, folder);
            let has = |name: &str| place.join(name).symlink_metadata().is_ok();
            let Ok(inside) = rules.inside(&place, folder, has) else {
                return false;
            };
            rules = inside;
            let (below, is_folder) = (&path[..end], end < path.len());
            if self.is_left_out(file_name(below))
                || rules.leave_out(below, is_folder)
                || !globs.admit(below, is_folder)
            {
                return false;
            }
            folder = below;
        }
        true
    }

    fn is_left_out(&self, name: &[u8]) -> bool {
        name == git::DIRECTORY.as_bytes() || (name.starts_with(b".") && !self.hidden)
    }
}

impl Neighbours<Held> for Examiner {
    fn look(&self, path: &[u8]) -> Option<Neighbour<Held>> {
        let number = self.files.binary_search_by(|file| (*file.path).cmp(path));
        let (door, name) = match (number, &self.around) {
            (Ok(number), _) => (&self.door, number.to_string()),
            (Err(_), Some(around)) if around.admits(path, &self.setup.globs) => {
                (&around.door, name_of(path))
            }
            _ => return None,
        };
        let (head, stat) = beginning(|| door.open(path))?;
        Some(Neighbour {
            head,
            size: stat.size,
            name,
            held: Held {
                door: Arc::clone(door),
                path: path.into(),
                stat,
            },
        })
    }
}

/// Returns the name of the handle of a file that has no number.
fn name_of(path: &[u8]) -> String {
    let digest = Fingerprint::finish(Sha256::new_with_prefix(path)).0;
    let digits = digest.iter().map(|byte| format!("{byte:02x}"));
    format!("beside.{}", digits.collect::<String>())
}

/// Returns how a file begins, and its state; `None` if it cannot be read, or changes every time.
fn beginning(open: impl Fn() -> io::Result<File>) -> Option<(Vec<u8>, Stat)> {
    for _ in 0..ATTEMPTS {
        let mut file = open().ok()?;
        let metadata = file.metadata().ok()?;
        if !metadata.is_file() {
            return None;
        }
        let mut head = Vec::new();
        (&mut file)
            .take(NEIGHBOUR_BYTES)
            .read_to_end(&mut head)
            .ok()?;
        let stat = Stat::of(&metadata);
        if Stat::of(&file.metadata().ok()?) == stat {
            return Some((head, stat));
        }
    }
    None
}
