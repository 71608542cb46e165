//! Repositories that somebody made, or that broke: whatever is in them, a round ends and says what is wrong.

use std::fs;
use std::process::Command;

use serde_json::json;

use crate::repository::{Repository, plugin, run};

/// An id that no content has.
const FALSE_ID: &str = "1111111111111111111111111111111111111111";

impl Repository {
    /// Stores an object of this kind as it is, whatever it says, and returns its id.
    fn object(&self, kind: &str, bytes: &[u8]) -> String {
        self.write("raw", bytes);
        self.git(&["hash-object", "-t", kind, "-w", "--literally", "raw"])
    }

    /// Stores an object under an id that is not its own.
    fn object_as(&self, id: &str, kind: &str, bytes: &[u8]) {
        let own = self.object(kind, bytes);
        let place = |id: &str| self.path(format!(".git/objects/{}/{}", &id[..2], &id[2..]));
        fs::create_dir_all(place(id).parent().unwrap()).unwrap();
        fs::rename(place(&own), place(id)).unwrap();
    }

    /// Makes a commit of a tree, without the program, which would look into it.
    fn commit_of(&self, tree: &str) -> String {
        let who = "A U Thor <author@example.com> 1700000000 +0000";
        let text = format!("tree {tree}\nauthor {who}\ncommitter {who}\n\nx\n");
        let commit = self.object("commit", text.as_bytes());
        self.write(".git/refs/heads/main", format!("{commit}\n"));
        commit
    }
}

/// One entry of a tree.
fn entry(mode: &str, name: &str, id: &str) -> Vec<u8> {
    let digits = id.as_bytes().chunks(2);
    let id = digits.map(|two| u8::from_str_radix(std::str::from_utf8(two).unwrap(), 16).unwrap());
    format!("{mode} {name}\0")
        .into_bytes()
        .into_iter()
        .chain(id)
        .collect()
}

#[test]
fn a_commit_that_is_its_own_ancestor_is_an_error() {
    let repository = Repository::with(&[("a.txt", "a")]);
    let tree = repository.git(&["rev-parse", "HEAD^{tree}"]);
    let who = "A U Thor <author@example.com> 1700000000 +0000";
    let text = format!("tree {tree}\nparent {FALSE_ID}\nauthor {who}\ncommitter {who}\n\nx\n");
    repository.object_as(FALSE_ID, "commit", text.as_bytes());
    repository.write(".git/refs/heads/main", format!("{FALSE_ID}\n"));
    let scanned = plugin(repository.root(), json!({"mode": "history"})).scan(None);
    assert_eq!(scanned.lines(), ["!work source_unavailable"]);
}

#[test]
fn a_tree_within_itself_is_an_error() {
    let repository = Repository::new();
    let tree = [entry("40000", "d", FALSE_ID), entry("40000", "e", FALSE_ID)].concat();
    repository.object_as(FALSE_ID, "tree", &tree);
    repository.commit_of(FALSE_ID);
    let error = repository.plugin().failing_scan(None);
    assert!(
        error["message"]
            .as_str()
            .unwrap()
            .contains("nested too deep"),
        "{error}"
    );
}

#[test]
fn of_two_entries_of_one_name_the_first_counts() {
    let repository = Repository::new();
    let (one, two) = (
        repository.object("blob", b"one"),
        repository.object("blob", b"two"),
    );
    let both = [
        entry("100644", "a.txt", &one),
        entry("100644", "a.txt", &two),
    ]
    .concat();
    let tree = repository.object("tree", &both);
    repository.commit_of(&tree);
    let first = repository.plugin().scan(None);
    assert_eq!(first.lines(), ["+a.txt"]);
    assert_eq!(first.items[0]["pages"][0]["elements"][0]["text"], "one");
}

#[test]
fn packs_without_a_byte_do_no_harm() {
    let repository = Repository::with(&[("a.txt", "a")]);
    for name in ["pack-0", "multi-pack-index"] {
        for ending in [".pack", ".idx"] {
            repository.write(format!(".git/objects/pack/{name}{ending}"), "");
        }
    }
    assert_eq!(repository.plugin().scan(None).lines(), ["+a.txt"]);
}

#[test]
fn an_empty_index_of_packs_does_no_harm() {
    let repository = Repository::with(&[("a.txt", "a")]);
    repository.write(".git/objects/pack/multi-pack-index", "");
    repository.write(".git/objects/info/commit-graph", "");
    repository.write(".git/packed-refs", "");
    assert_eq!(repository.plugin().scan(None).lines(), ["+a.txt"]);
    let scanned = plugin(repository.root(), json!({"mode": "history"})).scan(None);
    assert_eq!(scanned.lines(), ["+work"]);
}

#[test]
fn a_size_that_nothing_can_have_is_not_believed() {
    let repository = Repository::new();
    let header = |kind: &str| stored(format!("{kind} 999999999999999999\0x").as_bytes());
    let place = |id: &str| format!(".git/objects/{}/{}", &id[..2], &id[2..]);
    repository.write(place(FALSE_ID), header("blob"));
    let tree = repository.object("tree", &entry("100644", "a.txt", FALSE_ID));
    repository.commit_of(&tree);
    assert_eq!(
        repository.plugin().scan(None).lines(),
        ["!a.txt content_invalid"]
    );
    repository.write(place(FALSE_ID), header("tree"));
    repository.commit_of(FALSE_ID);
    assert_eq!(repository.plugin().failing_scan(None)["code"], -32003);
}

#[test]
fn a_pipe_in_place_of_a_file_is_not_waited_for() {
    for name in [
        "HEAD",
        "config",
        "packed-refs",
        "shallow",
        "refs/heads/main",
    ] {
        let repository = Repository::with(&[("a.txt", "a")]);
        let file = repository.path(format!(".git/{name}"));
        if file.exists() {
            fs::remove_file(&file).unwrap();
        }
        run(Command::new("mkfifo").arg(&file));
        for mode in ["files", "history"] {
            let error = plugin(repository.root(), json!({"mode": mode})).failing_scan(None);
            let message = error["message"].as_str().unwrap();
            assert!(message.contains("neither a file nor a folder"), "{message}");
        }
    }
}

#[test]
fn a_tag_that_is_none_leads_nowhere() {
    let repository = Repository::with(&[("a.txt", "a")]);
    let tag = repository.object("tag", b"garbage");
    repository.write(".git/refs/tags/bad", format!("{tag}\n"));
    for reference in ["bad", "bad^{commit}", "bad~1"] {
        let error = plugin(repository.root(), json!({"ref": reference})).failing_scan(None);
        assert_eq!(error["code"], -32003, "{reference}: {error}");
    }
}

#[test]
fn no_memory_is_taken_for_an_object_that_only_says_it_is_gigantic() {
    // The smallest that is not read, so that some machine would have so much.
    let length = (512 << 20) + 1;
    let repository = Repository::with(&[("a.txt", "a")]);
    let header = |kind: &str| stored(format!("{kind} {length}\0x").as_bytes());
    let place = format!(".git/objects/{}/{}", &FALSE_ID[..2], &FALSE_ID[2..]);
    repository.write(&place, header("blob"));
    let entries = [
        entry("100644", "image.png", FALSE_ID),
        entry("100644", "text.md", FALSE_ID),
    ];
    let tree = repository.object("tree", &entries.concat());
    repository.commit_of(&tree);
    assert_eq!(
        repository.plugin().scan(None).lines(),
        ["!image.png content_invalid", "!text.md content_invalid"]
    );
    let is_refused = |error: &str| error.contains("allocation limit");
    repository.write(&place, header("tree"));
    repository.commit_of(FALSE_ID);
    let error = repository.plugin().failing_scan(None);
    assert!(is_refused(error["message"].as_str().unwrap()), "{error}");
    repository.write(&place, header("commit"));
    repository.write(".git/refs/heads/main", format!("{FALSE_ID}\n"));
    let mut history = plugin(repository.root(), json!({"mode": "history"}));
    let error = history.failing_scan(None);
    assert!(is_refused(error["message"].as_str().unwrap()), "{error}");
}

/// Returns bytes as zlib stores them without compressing (RFC 1950, RFC 1951).
fn stored(bytes: &[u8]) -> Vec<u8> {
    let length = u16::try_from(bytes.len()).unwrap();
    let (mut a, mut b) = (1_u32, 0_u32);
    for byte in bytes {
        a = (a + u32::from(*byte)) % 65521;
        b = (b + a) % 65521;
    }
    let mut all = vec![0x78, 0x01, 0x01];
    all.extend(length.to_le_bytes());
    all.extend((!length).to_le_bytes());
    all.extend(bytes);
    all.extend((b << 16 | a).to_be_bytes());
    all
}

#[test]
fn what_went_is_deleted_even_if_nobody_can_tell_any_more_what_it_was() {
    let repository = Repository::with(&[("a.txt", "a"), ("b", "b"), ("keep.txt", "k")]);
    let blobs = [
        repository.git(&["rev-parse", "HEAD:a.txt"]),
        repository.git(&["rev-parse", "HEAD:b"]),
    ];
    let first = repository.plugin().scan(None);
    repository.git(&["rm", "-q", "a.txt", "b"]);
    repository.commit();
    for blob in blobs {
        fs::remove_file(repository.path(format!(".git/objects/{}/{}", &blob[..2], &blob[2..])))
            .unwrap();
    }
    let second = repository.plugin().scan(first.cursor.as_deref());
    assert_eq!(
        (second.lines(), second.incremental),
        (vec!["-a.txt".into(), "-b".into()], true)
    );
}
