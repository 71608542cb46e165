//! A folder of files with a history. One file is one document of one page, so that what is
//! inserted in the middle is a paragraph, not a page.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::History;
use super::random::Chance;

/// Places for files. Some are folders of others.
const NAMES: [&str; 14] = [
    "a.md",
    "b.md",
    "c.txt",
    "d.json",
    "e.csv",
    "p.png",
    "q.png",
    "x",
    "x/a.md",
    "x/b.txt",
    "x/y/a.md",
    "x/y/p.png",
    "z/b.txt",
    "z/ä 100%.md",
];

const FOLDERS: [&str; 4] = ["x", "x/y", "z", "w"];

/// A name that nothing else uses, for a file that makes every round partial.
const BROKEN: &str = "broken.json";

/// What a file holds that cannot be a document.
const NO_TEXT: &[u8] = b"# One\n\0\xff\xfe\xfa\n";

/// A folder.
pub(super) struct Folder(PathBuf);

impl History for Folder {
    fn begin(folder: &Path, chance: &mut Chance) -> Self {
        let this = Self(folder.to_owned());
        // A folder without any file would be taken for an unmounted disk.
        fs::write(this.at("keep.txt"), "kept").unwrap();
        for _ in 0..6 {
            this.write(chance);
        }
        this
    }

    fn change(&mut self, chance: &mut Chance) -> String {
        match chance.of(0..20) {
            0..4 => self.write(chance),
            4..6 => self.insert(chance),
            6..9 => self.rename(chance),
            9..11 => self.swap(chance),
            11..13 => self.rename_folder(chance),
            13..15 => self.remove(chance),
            15 => self.touch(chance),
            16 => self.copy(chance),
            17 => self.make_other_kind(chance),
            18 => self.ignore(chance),
            _ => self.change_bytes(chance),
        }
    }

    fn set_broken(&mut self, is_broken: bool) {
        match is_broken {
            true => {
                fs::write(self.at(BROKEN), "\0\u{1}").unwrap();
                // One that may have a document, and be renamed or removed as any other.
                if self.at("a.md").is_file() {
                    fs::write(self.at("a.md"), NO_TEXT).unwrap();
                }
            }
            false => {
                let _ = fs::remove_file(self.at(BROKEN));
                mend(&self.0);
            }
        }
    }

    fn connector(&self) -> &'static str {
        dpe_connector_fs::NAME
    }

    fn manifest(&self) -> &'static str {
        dpe_connector_fs::MANIFEST
    }

    fn config(&self) -> serde_json::Value {
        serde_json::json!({"root": self.0})
    }

    fn push_arguments(&self) -> Vec<String> {
        vec![self.0.to_str().unwrap().to_owned()]
    }
}

impl Folder {
    fn at(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// Returns a path at which there is a file, if luck has it.
    fn file(&self, chance: &mut Chance) -> Option<&'static str> {
        let files: Vec<_> = NAMES
            .into_iter()
            .filter(|name| self.at(name).is_file())
            .collect();
        (!files.is_empty()).then(|| *chance.one(&files))
    }

    /// Makes place for something at `name`; false if there is a file where a folder has to be.
    fn make_place(&self, name: &str) -> bool {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.is_dir()
    }

    /// Returns whether what is at `from` may be at `to`, and makes place for it.
    fn fits(&self, from: &str, to: &str) -> bool {
        group(from) == group(to) && self.make_place(to)
    }

    fn write(&self, chance: &mut Chance) -> String {
        let name = *chance.one(&NAMES);
        if !self.make_place(name) {
            return format!("nothing written to {name}");
        }
        fs::write(self.at(name), content(name, chance)).unwrap();
        format!("write {name}")
    }

    fn insert(&self, chance: &mut Chance) -> String {
        let Some(name) = self.file(chance).filter(|name| name.ends_with(".md")) else {
            return "nothing inserted".to_owned();
        };
        let text = fs::read_to_string(self.at(name)).unwrap();
        let mut blocks: Vec<&str> = text.split("\n\n").collect();
        blocks.insert(chance.of(0..blocks.len()), "Inserted in the middle.");
        fs::write(self.at(name), blocks.join("\n\n")).unwrap();
        format!("insert into {name}")
    }

    fn rename(&self, chance: &mut Chance) -> String {
        let to = *chance.one(&NAMES);
        let Some(from) = self.file(chance).filter(|from| self.fits(from, to)) else {
            return "nothing renamed".to_owned();
        };
        let done = fs::rename(self.at(from), self.at(to));
        format!("rename {from} to {to}: {done:?}")
    }

    fn swap(&self, chance: &mut Chance) -> String {
        let (Some(one), Some(other)) = (self.file(chance), self.file(chance)) else {
            return "nothing swapped".to_owned();
        };
        for (from, to) in [(one, "swap"), (other, one), ("swap", other)] {
            if one != other && group(one) == group(other) {
                fs::rename(self.at(from), self.at(to)).unwrap();
            }
        }
        format!("swap {one} and {other}")
    }

    fn rename_folder(&self, chance: &mut Chance) -> String {
        let (from, to) = (*chance.one(&FOLDERS), *chance.one(&FOLDERS));
        // Whatever the system makes of it: into itself, onto a file, onto a full folder.
        let done = fs::rename(self.at(from), self.at(to)).is_ok();
        format!("rename the folder {from} to {to}: {done}")
    }

    fn remove(&self, chance: &mut Chance) -> String {
        if chance.in_thousand(250) {
            let name = *chance.one(&FOLDERS);
            let done = fs::remove_dir_all(self.at(name)).is_ok();
            return format!("remove the folder {name}: {done}");
        }
        let Some(name) = self.file(chance) else {
            return "nothing removed".to_owned();
        };
        fs::remove_file(self.at(name)).unwrap();
        format!("remove {name}")
    }

    fn touch(&self, chance: &mut Chance) -> String {
        let Some(name) = self.file(chance) else {
            return "nothing touched".to_owned();
        };
        let file = fs::File::options()
            .append(true)
            .open(self.at(name))
            .unwrap();
        let earlier = SystemTime::now() - Duration::from_secs(chance.of(0..10_000) as u64);
        file.set_modified(earlier).unwrap();
        format!("touch {name}")
    }

    fn copy(&self, chance: &mut Chance) -> String {
        let to = *chance.one(&NAMES);
        let Some(from) = self.file(chance).filter(|from| self.fits(from, to)) else {
            return "nothing copied".to_owned();
        };
        if from != to {
            fs::copy(self.at(from), self.at(to)).unwrap();
        }
        format!("copy {from} to {to}")
    }

    fn make_other_kind(&self, chance: &mut Chance) -> String {
        let Some(name) = self.file(chance) else {
            return "nothing made".to_owned();
        };
        fs::remove_file(self.at(name)).unwrap();
        match chance.of(0..3) {
            2 => {
                fs::write(self.at("x"), b"\0\x01\x02 of no format").unwrap_or_default();
                format!("{name} is gone, and x, if no folder, of no format")
            }
            0 => {
                fs::create_dir(self.at(name)).unwrap();
                fs::write(self.at(name).join("inner.txt"), "inner").unwrap();
                format!("{name} is a folder with a file now")
            }
            _ => {
                symlink("keep.txt", self.at(name)).unwrap();
                format!("{name} is a link now")
            }
        }
    }

    fn ignore(&self, chance: &mut Chance) -> String {
        let rules = *chance.one(&["", "x/\n", "*.txt\n!keep.txt\n", "/a.md\n/z\n"]);
        fs::write(self.at(".gitignore"), rules).unwrap();
        format!("ignore {rules:?}")
    }

    fn change_bytes(&self, chance: &mut Chance) -> String {
        let Some(name) = self.file(chance).filter(|name| name.ends_with(".png")) else {
            return "no bytes changed".to_owned();
        };
        let mut bytes = fs::read(self.at(name)).unwrap();
        if let Some(last) = bytes.last_mut() {
            *last = last.wrapping_add(1);
        }
        fs::write(self.at(name), bytes).unwrap();
        format!("change the bytes of {name}")
    }
}

/// Makes texts of the files that are none, wherever they have come to be.
fn mend(folder: &Path) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let (kind, path) = (entry.file_type().unwrap(), entry.path());
        if kind.is_dir() {
            mend(&path);
        } else if kind.is_file() && fs::read(&path).unwrap() == NO_TEXT {
            fs::write(&path, "# Mended\n").unwrap();
        }
    }
}

/// Files of a group can have each other's content and still be what their names say.
fn group(name: &str) -> &str {
    match name.rsplit('.').next() {
        Some(extension @ ("png" | "json")) => extension,
        _ => "text",
    }
}

/// Returns what a file of this name may hold. There are few different contents, so that files are
/// alike now and then.
fn content(name: &str, chance: &mut Chance) -> Vec<u8> {
    let number = chance.of(0..6);
    match name.rsplit('.').next() {
        Some("png") => png(number as u8, *chance.one(&[100, 70_000, 300_000])),
        Some("json") => format!("{{\"number\": {number}}}").into_bytes(),
        Some("csv") => format!("a,b\n{number},1\n").into_bytes(),
        _ if number == 0 => Vec::new(),
        _ => format!("# Title {number}\n\nOne.\n\nTwo.\n\nThree {number}.\n").into_bytes(),
    }
}

/// A PNG as far as its header goes.
fn png(number: u8, length: usize) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\0\x03\0\0\0\x02\x08\x06\0\0\0".to_vec();
    bytes.resize(length, number);
    bytes
}
