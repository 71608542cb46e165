//! Texts show the pictures that lie beside them in the tree, as they are in its commit.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dpe_connector_testing::Scanned;
use serde_json::{Value, json};

use crate::repository::{Repository, plugin};

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

/// A commit of texts that show pictures.
fn repository() -> Repository {
    let repository = Repository::new();
    repository.write("docs/a.md", "![x](../img/b%20c.png)\n");
    repository.write("docs/later.html", "<p><img src='later.png'></p>");
    repository.write("docs/plain.md", "No picture.\n");
    repository.write("img/b c.png", png("1"));
    repository.commit();
    repository
}

#[test]
fn a_text_shows_the_blob_beside_it_as_a_picture_within_a_file() {
    let repository = repository();
    repository.write("img/b c.png", png("not committed"));
    let scanned = repository.plugin().scan(None);
    let expected = json!({
        "category": "Image", "text": "x", "mime_type": "image/png", "blob": inline(&png("1")),
    });
    assert_eq!(images(&scanned, "docs/a.md"), [expected]);
}

#[test]
fn addresses_of_what_is_not_enumerated_stay() {
    let repository = Repository::new();
    let addresses = [
        "../out.png",
        "ignored.png",
        ".hidden.png",
        "link.png",
        "fake.png",
        "no/such.png",
        "excluded/a.png",
        "missing.png",
    ];
    let text: Vec<String> = addresses
        .iter()
        .map(|address| format!("![x]({address})\n\n"))
        .collect();
    repository.write("d/a.md", text.concat());
    for name in [
        "out.png",
        "d/ignored.png",
        "d/.hidden.png",
        "d/excluded/a.png",
    ] {
        repository.write(name, png(name));
    }
    repository.write("d/fake.png", "words");
    repository.write("d/.dpeignore", "ignored.png\n");
    repository.link("../out.png", "d/link.png");
    repository.commit();
    let config = json!({"subdir": "d", "exclude": ["excluded"]});
    let scanned = plugin(repository.root(), config).scan(None);
    let images = images(&scanned, "a.md");
    let urls: Vec<&Value> = images
        .iter()
        .map(|image| &image["metadata"]["url"])
        .collect();
    assert_eq!(urls, addresses);
    let whole = repository.plugin().scan(None);
    let found = images_with_bytes(&whole, "d/a.md");
    assert_eq!(found, 2);
}

fn images_with_bytes(scanned: &Scanned, name: &str) -> usize {
    let images = images(scanned, name);
    images
        .iter()
        .filter(|image| image.get("blob").is_some())
        .count()
}

#[test]
fn a_large_picture_has_the_handle_of_its_own_document() {
    let repository = Repository::new();
    repository.write("a.md", "![x](large.png)\n");
    repository.write("large.png", png(&"long".repeat(30_000)));
    repository.commit();
    let scanned = repository.plugin().scan(None);
    let blob = images(&scanned, "a.md")[0]["blob"].clone();
    assert_eq!(blob["size"], png(&"long".repeat(30_000)).len());
    assert_eq!(blob, images(&scanned, "large.png")[0]["blob"]);
}

#[test]
fn a_text_is_told_again_when_a_picture_beside_it_is_edited_comes_or_goes() {
    let repository = repository();
    let edited = repository.changed(|repository| {
        repository.write("img/b c.png", png("2"));
        repository.commit();
    });
    assert_eq!(edited.lines(), ["+docs/a.md", "+img/b%20c.png"]);
    assert_eq!(images(&edited, "docs/a.md")[0]["blob"], inline(&png("2")));
    let came = repository.changed(|repository| {
        repository.write("docs/later.png", png("3"));
        repository.commit();
    });
    assert_eq!(came.lines(), ["+docs/later.html", "+docs/later.png"]);
    let gone = repository.changed(|repository| {
        repository.remove("img/b c.png");
        repository.commit();
    });
    assert_eq!(gone.lines(), ["-img/b%20c.png", "+docs/a.md"]);
    assert_eq!(
        images(&gone, "docs/a.md")[0]["metadata"],
        json!({"url": "../img/b%20c.png"})
    );
}

#[test]
fn a_renamed_folder_is_moves_and_shows_the_same() {
    let repository = repository();
    let before = images(&repository.plugin().scan(None), "docs/a.md");
    let scanned = repository.changed(|repository| {
        repository.rename("docs", "x/docs");
        repository.rename("img", "x/img");
        repository.commit();
    });
    assert_eq!(
        scanned.lines(),
        [
            "docs/a.md>x/docs/a.md",
            "docs/later.html>x/docs/later.html",
            "docs/plain.md>x/docs/plain.md",
            "img/b%20c.png>x/img/b%20c.png",
            "+x/docs/a.md",
            "+x/docs/later.html",
            "+x/docs/plain.md",
            "+x/img/b%20c.png",
        ]
    );
    assert_eq!(images(&scanned, "x/docs/a.md"), before);
}

#[test]
fn of_very_many_pictures_every_text_that_may_show_one_is_told_again() {
    let repository = repository();
    repository.write("words.txt", "b c.png");
    repository.commit();
    let scanned = repository.changed(|repository| {
        for number in 0..101 {
            repository.write(format!("many/{number}.png"), png("x"));
        }
        repository.write("img/b c.png", png("2"));
        repository.commit();
    });
    let lines = scanned.lines();
    let told: Vec<&str> = lines
        .iter()
        .map(String::as_str)
        .filter(|line| !line.starts_with("+many/"))
        .collect();
    let expected = [
        "+docs/a.md",
        "+docs/later.html",
        "+docs/plain.md",
        "+img/b%20c.png",
    ];
    assert_eq!(told, expected);
}
