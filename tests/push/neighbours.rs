//! Texts arrive with the pictures that lie beside them.

use super::images::stored;
use super::place::{Place, counts};

fn png(words: &str) -> Vec<u8> {
    let head = b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\0\x03\0\0\0\x02\x08\x06\0\0\0";
    [&head[..], words.as_bytes()].concat()
}

/// A place of two texts, of which one shows a small picture and a large one.
fn place(small: &[u8], large: &[u8]) -> Place {
    let place = Place::new();
    place.write("d/a.md", "![x](img/a.png)\n\n![x](img/large.png)\n");
    place.write("d/plain.md", "No picture.\n");
    place.write("d/img/a.png", small);
    place.write("d/img/large.png", large);
    assert_eq!(place.pushed(), counts(4, 0, 0, 0, 0));
    place
}

#[test]
fn a_text_arrives_with_the_bytes_of_its_pictures_and_a_second_push_writes_nothing() {
    let (small, large) = (png("1"), png(&"long".repeat(300_000)));
    let place = place(&small, &large);
    for picture in [&small, &large] {
        assert!(stored(&place, "d/a.md", picture).is_some_and(|found| found == *picture));
    }
    assert!(stored(&place, "d/plain.md", &small).is_none());
    assert_eq!(place.pushed(), counts(0, 0, 0, 0, 4));
}

#[test]
fn an_edited_picture_is_an_update_of_itself_and_of_the_text_that_shows_it() {
    let place = place(&png("1"), &png(&"long".repeat(300_000)));
    place.write("d/img/a.png", png("2"));
    assert_eq!(place.pushed(), counts(0, 2, 0, 0, 2));
    assert!(stored(&place, "d/a.md", &png("2")).is_some());
    assert!(stored(&place, "d/a.md", &png("1")).is_none());
    place.remove("d/img/a.png");
    assert_eq!(place.pushed(), counts(0, 1, 0, 1, 2));
    assert!(stored(&place, "d/a.md", &png("2")).is_none());
    place.write("d/img/a.png", png("3"));
    assert_eq!(place.pushed(), counts(1, 1, 0, 0, 2));
    assert!(stored(&place, "d/a.md", &png("3")).is_some());
    assert_eq!(place.remote(), place.fresh_remote());
}

#[test]
fn a_renamed_folder_is_moves_and_nothing_else() {
    let small = png("1");
    let place = place(&small, &png(&"long".repeat(300_000)));
    place.rename("d", "e");
    assert_eq!(place.pushed(), counts(0, 0, 4, 0, 0));
    assert!(stored(&place, "e/a.md", &small).is_some());
    assert_eq!(place.remote(), place.fresh_remote());
}
