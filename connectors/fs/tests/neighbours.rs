//! Texts show the pictures that lie beside them, as they are now and nothing that a walk leaves out.

use std::os::unix::fs::symlink;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dpe_connector_testing::{Plugin, Remote, Scanned, initialize};
use serde_json::{Value, json};

use crate::plugin::{Folder, connector, enumerated};

/// Begins like a picture, and ends with words that tell it from others.
fn png(words: &str) -> Vec<u8> {
    [
        &b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\0\x03\0\0\0\x02\x08\x06\0\0\0"[..],
        words.as_bytes(),
    ]
    .concat()
}

fn inline(bytes: &[u8]) -> Value {
    json!({"inline": STANDARD.encode(bytes)})
}

/// All pictures of a document, by its name.
fn images(scanned: &Scanned, name: &str) -> Vec<Value> {
    let uri = format!("dpe://t/{name}");
    let item = scanned.items.iter().find(|item| item["file_uri"] == *uri);
    let elements = item.unwrap()["pages"][0]["elements"].as_array();
    let elements = elements.unwrap().iter();
    elements
        .filter(|element| element["category"] == "Image")
        .cloned()
        .collect()
}

fn first_image(scanned: &Scanned, name: &str) -> Value {
    images(scanned, name).remove(0)
}

/// Runs a full round, changes the folder, runs an incremental one with a new process, and has both lead to what a full
/// round finds.
fn changed(folder: &Folder, change: impl FnOnce(&Folder)) -> Scanned {
    let mut remote = Remote::new();
    let first = connector(folder.root(), json!({})).scan(None);
    first.land(&mut remote);
    change(folder);
    let second = connector(folder.root(), json!({})).scan(first.cursor.as_deref());
    assert!(second.incremental);
    second.land(&mut remote);
    assert_eq!(remote, enumerated(folder.root(), json!({})));
    second
}

#[test]
fn a_text_shows_the_picture_beside_it_as_a_picture_within_a_file() {
    let folder = Folder::new();
    folder.write(
        "d/a.md",
        "One ![an island](../img/b%20c.png?raw=1 \"Isle\") here.\n",
    );
    folder.write("d/a.html", "<p><img src='x/y.svg' alt='why'></p>");
    folder.write("d/a.rst", ".. image:: x/y.svg\n");
    folder.write("img/b c.png", png("1"));
    folder.write("d/x/y.svg", "<svg width='1' height='2'></svg>");
    let scanned = connector(folder.root(), json!({})).scan(None);
    let expected = json!({
        "category": "Image", "text": "an island", "mime_type": "image/png", "blob": inline(&png("1")),
        "metadata": {"title": "Isle"},
    });
    assert_eq!(images(&scanned, "d/a.md"), [expected]);
    for name in ["d/a.html", "d/a.rst"] {
        let image = first_image(&scanned, name);
        assert_eq!(
            image["blob"],
            inline(b"<svg width='1' height='2'></svg>"),
            "{name}"
        );
        assert_eq!(image["mime_type"], "image/svg+xml");
        assert!(image["metadata"].get("url").is_none());
    }
}

#[test]
fn addresses_of_anything_but_a_picture_below_the_root_stay() {
    let outside = tempfile::tempdir().unwrap();
    std::fs::write(outside.path().join("secret.png"), png("secret")).unwrap();
    let folder = Folder::new();
    let secret = outside.path().join("secret.png");
    let addresses = [
        "missing.png",
        "../secret.png",
        "fake.png",
        "empty.png",
        "link.png",
        "far/secret.png",
        "ignored.png",
        ".hidden.png",
        "shut/a.png",
        "folder.png",
        "http://h/a.png",
        "notes.txt",
        secret.to_str().unwrap(),
    ];
    let text: Vec<String> = addresses
        .iter()
        .map(|address| format!("![x](<{address}>)\n\n"))
        .collect();
    folder.write("a.md", text.concat());
    folder.write("fake.png", "words");
    folder.write("empty.png", "");
    folder.write("notes.txt", png("notes"));
    symlink(&secret, folder.path("link.png")).unwrap();
    symlink(outside.path(), folder.path("far")).unwrap();
    folder.write(".dpeignore", "ignored.png\n");
    folder.write("ignored.png", png("ignored"));
    folder.write(".hidden.png", png("hidden"));
    folder.write("shut/a.png", png("shut"));
    folder.write("folder.png/x.txt", "x");
    for config in [
        json!({"exclude": ["shut"]}),
        json!({"exclude": ["shut"], "follow_links": true}),
        json!({"exclude": ["shut"], "only": ["a.md"]}),
        json!({"exclude": ["shut"], "only": ["a.md"], "follow_links": true}),
    ] {
        let scanned = connector(folder.root(), config.clone()).scan(None);
        let images = images(&scanned, "a.md");
        let urls: Vec<&Value> = images
            .iter()
            .map(|image| &image["metadata"]["url"])
            .collect();
        assert_eq!(urls, addresses, "{config}");
        assert!(images.iter().all(|image| image.get("blob").is_none()));
    }
}

#[test]
fn a_text_that_somebody_named_shows_what_a_walk_would_find_beside_it() {
    let folder = Folder::new();
    folder.write("d/a.md", "![x](e/b.png)\n\n![y](e/private.png)\n");
    folder.write("d/e/b.png", png(&"long".repeat(30_000)));
    folder.write("d/e/.gitignore", "private.*\n");
    folder.write("d/e/private.png", png("private"));
    folder.write(".git/HEAD", "ref: refs/heads/main\n");
    let mut plugin = connector(folder.root(), json!({"only": ["d/a.md"]}));
    let scanned = plugin.scan(None);
    assert_eq!(scanned.lines(), ["+d/a.md"]);
    let images = images(&scanned, "d/a.md");
    assert_eq!(
        whole(&mut plugin, &images[0]["blob"]),
        png(&"long".repeat(30_000))
    );
    assert_eq!(images[1]["metadata"], json!({"url": "e/private.png"}));
    let walked = connector(folder.root(), json!({})).scan(None);
    assert_eq!(
        first_image(&walked, "d/a.md")["blob"]["size"],
        images[0]["blob"]["size"]
    );
}

fn whole(plugin: &mut Plugin, blob: &Value) -> Vec<u8> {
    let params = json!({"handle": blob["handle"], "offset": 0, "max_bytes": 1 << 20});
    let answer = plugin.call("read_blob", params);
    assert_eq!(answer["result"]["eof"], true, "{answer}");
    STANDARD
        .decode(answer["result"]["data"].as_str().unwrap())
        .unwrap()
}

#[test]
fn what_is_shown_often_or_is_large_has_the_handle_of_its_own_document() {
    let folder = Folder::new();
    folder.write("a.md", "![x](b.png)\n\n![x](./b.png)\n\n![x](large.png)\n");
    folder.write("b.png", png("b"));
    folder.write("large.png", png(&"long".repeat(30_000)));
    let mut plugin = connector(folder.root(), json!({}));
    let scanned = plugin.scan(None);
    let images = images(&scanned, "a.md");
    assert_eq!(images[0], images[1]);
    assert_eq!(whole(&mut plugin, &images[0]["blob"]), png("b"));
    assert_eq!(
        images[2]["blob"],
        first_image(&scanned, "large.png")["blob"]
    );
}

#[test]
fn a_picture_that_the_remote_does_not_take_leaves_its_address_and_a_line() {
    let folder = Folder::new();
    folder.write("a.md", "![x](b.png)\n");
    folder.write("b.png", png(&"x".repeat(2000)));
    let mut params = initialize(&json!({"root": folder.root()}), 32 << 20);
    params["remote_limits"] =
        json!({"max_payload_bytes": 1 << 20, "page_max_bytes": 1 << 20, "blob_max_bytes": 1000});
    let mut plugin = Plugin::spawn(dpe_connector_fs::main);
    plugin.call("initialize", params);
    let scanned = plugin.scan(None);
    assert_eq!(
        first_image(&scanned, "a.md")["metadata"],
        json!({"url": "b.png"})
    );
    let told = plugin.stderr();
    assert!(
        told.contains("the picture b.png beside it has 20"),
        "{told}"
    );
}

#[test]
fn a_text_is_said_anew_when_a_picture_beside_it_is_edited_comes_or_goes() {
    let folder = Folder::new();
    folder.write("a.md", "![x](img/a.png)\n");
    folder.write("later.md", "![x](img/later.png)\n");
    folder.write("plain.md", "No picture.\n");
    folder.write("far.md", "![x](http://h/a.png)\n");
    folder.write("img/a.png", png("1"));
    let edited = changed(&folder, |folder| folder.write("img/a.png", png("2")));
    assert_eq!(edited.lines(), ["+a.md", "+img/a.png", "+later.md"]);
    assert_eq!(first_image(&edited, "a.md")["blob"], inline(&png("2")));
    let came = changed(&folder, |folder| {
        folder.write("img/later.png", png("later"))
    });
    assert_eq!(
        first_image(&came, "later.md")["blob"],
        inline(&png("later"))
    );
    assert!(!came.lines().contains(&"+plain.md".to_owned()));
    let gone = changed(&folder, |folder| folder.remove("img/a.png"));
    assert_eq!(
        first_image(&gone, "a.md")["metadata"],
        json!({"url": "img/a.png"})
    );
    assert!(gone.lines().contains(&"-img/a.png".to_owned()));
}

#[test]
fn a_picture_that_a_rule_leaves_out_is_shown_no_more() {
    let folder = Folder::new();
    folder.write("a.md", "![x](a.png)\n");
    folder.write("a.png", png("1"));
    let scanned = changed(&folder, |folder| folder.write(".dpeignore", "*.png\n"));
    assert_eq!(scanned.lines(), ["-a.png", "+a.md"]);
    assert_eq!(
        first_image(&scanned, "a.md")["metadata"],
        json!({"url": "a.png"})
    );
}

#[test]
fn a_moved_text_shows_what_lies_beside_its_new_place() {
    let folder = Folder::new();
    folder.write("d/a.md", "![x](a.png)\n");
    folder.write("d/a.png", png("d"));
    folder.write("e/a.png", png("e"));
    let scanned = changed(&folder, |folder| folder.rename("d/a.md", "e/a.md"));
    assert_eq!(scanned.lines(), ["d/a.md>e/a.md", "+e/a.md"]);
    assert_eq!(first_image(&scanned, "e/a.md")["blob"], inline(&png("e")));
}

#[test]
fn a_renamed_folder_is_moves_of_what_stays_the_same() {
    let folder = Folder::new();
    folder.write("d/a.md", "![x](a.png)\n");
    folder.write("d/a.png", png("d"));
    let before = enumerated(folder.root(), json!({}));
    let scanned = changed(&folder, |folder| {
        std::fs::rename(folder.path("d"), folder.path("e")).unwrap()
    });
    assert_eq!(
        scanned.lines(),
        ["d/a.md>e/a.md", "d/a.png>e/a.png", "+e/a.md", "+e/a.png"]
    );
    let after = enumerated(folder.root(), json!({}));
    assert!(before.values().eq(after.values()));
}

#[test]
fn without_a_change_no_text_is_read_again() {
    let folder = Folder::new();
    folder.write("a.md", "![x](a.png)\n\n![x](missing.png)\n");
    folder.write("a.png", png("1"));
    // Too young to be believed, all of them are read again, and shown to be the same.
    let first = connector(folder.root(), json!({})).scan(None);
    std::thread::sleep(std::time::Duration::from_millis(2100));
    let second = connector(folder.root(), json!({})).scan(first.cursor.as_deref());
    let third = connector(folder.root(), json!({})).scan(second.cursor.as_deref());
    assert_eq!(third.lines(), Vec::<String>::new());
    // A text that changes alone still knows of the others what they show.
    folder.write("b.txt", "b");
    let fourth = connector(folder.root(), json!({})).scan(third.cursor.as_deref());
    assert_eq!(fourth.lines(), ["+b.txt"]);
    folder.write("missing.png", png("2"));
    let fifth = connector(folder.root(), json!({})).scan(fourth.cursor.as_deref());
    assert_eq!(fifth.lines(), ["+a.md", "+missing.png"]);
}
