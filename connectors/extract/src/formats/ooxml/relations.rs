//! Relations: how a part of a package names the parts and addresses it refers to (ECMA-376 part 2, 9).

use std::collections::HashMap;

use super::with_part;
use crate::ExtractError;
use crate::package::Package;
use crate::reading::Reading;
use crate::xml;

/// The relations of one part.
#[derive(Debug, Default)]
pub(in crate::formats) struct Relations {
    all: Vec<Relation>,
    by_id: HashMap<String, usize>,
}

#[derive(Debug)]
struct Relation {
    /// The last word of the type's address, alike in the transitional and the strict form.
    kind: String,
    target: Target,
}

#[derive(Debug)]
enum Target {
    Part(String),
    Address(String),
}

impl Relations {
    /// Reads the relations of a part, of the package itself if its name is empty. Without any if there are none or
    /// they cannot be read, which is noted.
    ///
    /// # Errors
    ///
    /// `bomb`.
    pub(in crate::formats) fn of(
        part: &str,
        package: &mut Package<'_>,
        reading: &mut Reading<'_>,
    ) -> Result<Self, ExtractError> {
        let (folder, name) = part.rsplit_once('/').unwrap_or(("", part));
        let relations = join(folder, &format!("_rels/{name}.rels"));
        let found = with_part(&relations, package, reading, |root, package, _| {
            Ok(Self::read(root, folder, package))
        });
        Ok(found?.unwrap_or_default())
    }

    fn read(root: roxmltree::Node<'_, '_>, folder: &str, package: &Package<'_>) -> Self {
        let mut relations = Self::default();
        for node in xml::children(root, "Relationship") {
            let target = xml::attribute(node, "Target").unwrap_or_default();
            let target = match xml::attribute(node, "TargetMode") {
                Some("External") => Target::Address(target.to_owned()),
                _ => Target::Part(part_name(folder, target, package)),
            };
            let kind = xml::attribute(node, "Type").unwrap_or_default();
            let kind = kind.rsplit('/').next().unwrap_or_default().to_owned();
            if let Some(id) = xml::attribute(node, "Id") {
                relations.by_id.insert(id.to_owned(), relations.all.len());
            }
            relations.all.push(Relation { kind, target });
        }
        relations
    }

    /// Returns the part that an id stands for.
    pub(in crate::formats) fn part(&self, id: &str) -> Option<&str> {
        self.target(id).and_then(Target::part)
    }

    /// Returns the address outside of the package that an id stands for.
    pub(in crate::formats) fn address(&self, id: &str) -> Option<&str> {
        match self.target(id)? {
            Target::Address(address) => Some(address),
            Target::Part(_) => None,
        }
    }

    /// Returns the parts of a kind (`styles`, `slide` …), in the order of the file.
    pub(in crate::formats) fn of_kind(&self, kind: &str) -> impl Iterator<Item = &str> {
        let alike = self
            .all
            .iter()
            .filter(move |relation| relation.kind == kind);
        alike.filter_map(|relation| relation.target.part())
    }

    fn target(&self, id: &str) -> Option<&Target> {
        self.by_id.get(id).map(|number| &self.all[*number].target)
    }
}

impl Target {
    fn part(&self) -> Option<&str> {
        match self {
            Self::Part(name) => Some(name),
            Self::Address(_) => None,
        }
    }
}

/// Returns the name of the part a target means; some programs write it escaped, as addresses are.
fn part_name(folder: &str, target: &str, package: &Package<'_>) -> String {
    let target = target.replace('\\', "/");
    let target = target.split('#').next().unwrap_or_default();
    let name = join(folder, target);
    if name.contains('%') && !package.has(&name) {
        return unescaped(&name);
    }
    name
}

fn unescaped(name: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = name.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let code = (byte == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|code| std::str::from_utf8(code).ok());
        match code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            Some(escaped) => {
                bytes.push(escaped);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Returns the path that `target` means from within `folder`.
pub(in crate::formats) fn join(folder: &str, target: &str) -> String {
    let mut path: Vec<&str> = Vec::new();
    let folder = if target.starts_with('/') { "" } else { folder };
    for step in folder.split('/').chain(target.split('/')) {
        match step {
            "" | "." => {}
            ".." => drop(path.pop()),
            step => path.push(step),
        }
    }
    path.join("/")
}

#[cfg(test)]
mod tests {
    use super::{join, unescaped};

    #[test]
    fn targets_are_found_from_the_folder_of_their_part() {
        assert_eq!(join("ppt/slides", "../media/a.png"), "ppt/media/a.png");
        assert_eq!(join("word", "/word/a.xml"), "word/a.xml");
        assert_eq!(join("", "./_rels/.rels"), "_rels/.rels");
        assert_eq!(join("a", "../../../b"), "b");
        assert_eq!(unescaped("a%20b%zz%"), "a b%zz%");
    }
}
