//! Files that are small and would become large: they become no more than is taken, whatever they name, repeat or
//! leave open.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{Cursor, Write};
use std::time::{Duration, Instant};

use dpe_extract::{Extraction, Input, Limits, Reason, extract};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

fn made(name: &str, bytes: &[u8], limits: &Limits) -> Result<Extraction, Reason> {
    let name = name.as_bytes();
    extract(&Input { name, bytes }, limits).map_err(|error| error.reason)
}

fn package(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in parts {
        let options = SimpleFileOptions::default();
        archive.start_file(*name, options).unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

/// A document of OpenDocument of a kind.
fn open_document(kind: &str, body: &str) -> Vec<u8> {
    let mimetype = format!("application/vnd.oasis.opendocument.{kind}");
    let content = format!(
        "<o:document xmlns:o='o' xmlns:t='t' xmlns:x='x' xmlns:d='d'><o:body><o:{kind}>{body}\
         </o:{kind}></o:body></o:document>"
    );
    package(&[("mimetype", &mimetype), ("content.xml", &content)])
}

fn word(body: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let types = "<Types><Override PartName='/word/document.xml' ContentType='application/vnd.openxmlformats-\
                 officedocument.wordprocessingml.document.main+xml'/></Types>";
    let document = format!("<w:document xmlns:w='w'><w:body>{body}</w:body></w:document>");
    let mut parts = vec![
        ("[Content_Types].xml", types),
        ("word/document.xml", &document),
    ];
    parts.extend(more);
    package(&parts)
}

fn texts(extraction: &Extraction) -> Vec<&str> {
    let elements = extraction.pages.iter().flat_map(|page| &page.elements);
    elements
        .filter_map(|element| element.text.as_deref())
        .collect()
}

#[test]
fn elements_are_counted_in_every_format() {
    let limits = Limits {
        elements: 10,
        ..Limits::default()
    };
    let files: Vec<(&str, Vec<u8>)> = vec![
        ("a.txt", "a\n\n".repeat(11).into()),
        ("a.md", "a\n\n".repeat(11).into()),
        ("a.html", "<p>a</p>".repeat(11).into()),
        ("a.rst", "a\n\n".repeat(11).into()),
        ("a.adoc", "a\n\n".repeat(11).into()),
        ("a.org", "a\n\n".repeat(11).into()),
        (
            "a.rtf",
            format!("{{\\rtf1 {}}}", "a\\par ".repeat(11)).into(),
        ),
        (
            "a.docx",
            word(&"<w:p><w:r><w:t>a</w:t></w:r></w:p>".repeat(11), &[]),
        ),
        ("a.odt", open_document("text", &"<t:p>a</t:p>".repeat(11))),
    ];
    for (name, bytes) in files {
        assert!(made(name, &bytes, &Limits::default()).is_ok(), "{name}");
        assert_eq!(made(name, &bytes, &limits), Err(Reason::TooLarge), "{name}");
    }
}

#[test]
fn pages_are_counted_where_they_are_declared() {
    let limits = Limits {
        pages: 2,
        ..Limits::default()
    };
    let sheet =
        "<x:table><x:table-row><x:table-cell><t:p>a</t:p></x:table-cell></x:table-row></x:table>";
    for (kind, page) in [("spreadsheet", sheet), ("presentation", "<d:page/>")] {
        let two = open_document(kind, &page.repeat(2));
        let three = open_document(kind, &page.repeat(3));
        assert_eq!(made("a", &two, &limits).unwrap().pages.len(), 2, "{kind}");
        assert_eq!(made("a", &three, &limits), Err(Reason::TooLarge), "{kind}");
    }
}

#[test]
fn rows_and_columns_at_the_end_of_all_numbers_are_none() {
    let cell = "<x:table-cell><t:p>a</t:p></x:table-cell>";
    let row = format!("<x:table-row>{cell}</x:table-row>");
    for most in [4_294_967_293_u64, 4_294_967_294, 4_294_967_295] {
        let blank = format!("<x:table-row x:number-rows-repeated='{most}'/>");
        let rows = format!("<x:table>{row}{blank}{row}</x:table>");
        let blank = format!("<x:table-cell x:number-columns-repeated='{most}'/>");
        let columns = format!("<x:table><x:table-row>{cell}{blank}{cell}</x:table-row></x:table>");
        for body in [rows, columns] {
            let sheet = open_document("spreadsheet", &body);
            let extraction = made("a.ods", &sheet, &Limits::default()).unwrap();
            assert_eq!(texts(&extraction), ["a"], "{most}");
        }
    }
}

#[test]
fn blanks_that_are_only_counted_are_not_written_without_end() {
    let spaces = "<t:s t:c='1000'/>".repeat(40_000);
    for (kind, body) in [
        ("text", format!("<t:p>a{spaces}b</t:p>")),
        (
            "spreadsheet",
            format!(
                "<x:table><x:table-row><x:table-cell><t:p>a{spaces}b</t:p></x:table-cell></x:table-row></x:table>"
            ),
        ),
    ] {
        match made("a", &open_document(kind, &body), &Limits::default()) {
            Ok(extraction) => {
                let bytes: usize = texts(&extraction).into_iter().map(str::len).sum();
                assert!(bytes < 20 << 20, "{kind}: {bytes} bytes");
            }
            Err(reason) => assert_eq!(reason, Reason::Bomb, "{kind}"),
        }
    }
}

#[test]
fn name_of_a_commentator_is_not_repeated_without_end() {
    let paragraph = "<w:p><w:r><w:t>a</w:t></w:r></w:p>".repeat(4000);
    let author = "x".repeat(60 << 10);
    let comments = format!(
        "<w:comments xmlns:w='w'><w:comment w:id='0' w:author='{author}'>{paragraph}</w:comment></w:comments>"
    );
    let relations = "<Relationships><Relationship Id='r' Type='http://x/comments' Target='comments.xml'/>\
                     </Relationships>";
    let body = "<w:p><w:r><w:t>a</w:t><w:commentReference w:id='0'/></w:r></w:p>";
    let file = word(
        body,
        &[
            ("word/comments.xml", &comments),
            ("word/_rels/document.xml.rels", relations),
        ],
    );
    match made("a.docx", &file, &Limits::default()) {
        Ok(extraction) => {
            let written = serde_json::to_string(&extraction.pages).unwrap();
            assert!(written.len() < 64 << 20, "{} bytes", written.len());
        }
        Err(reason) => assert_eq!(reason, Reason::Bomb),
    }
}

#[test]
fn rows_of_one_cell_do_not_cost_as_much_as_their_declaration() {
    let declared = "\\cellx1".repeat(4096);
    let rows = "a\\cell\\row ".repeat(20_000);
    let file = format!("{{\\rtf1\\trowd{declared} {rows}}}");
    let extraction = made("a.rtf", file.as_bytes(), &Limits::default()).unwrap();
    let bytes: usize = texts(&extraction).into_iter().map(str::len).sum();
    assert!(bytes < 2 * file.len(), "{bytes} bytes");
}

#[test]
fn words_behind_a_group_that_opens_two_things_are_not_lost() {
    for open in [
        "\\header\\header x",
        "\\footnote\\footnote x",
        "\\shptxt\\header x",
        "\\field\\header x",
        "\\pict\\footnote x",
    ] {
        let file = format!("{{\\rtf1 {{{open}}}Body text\\par}}");
        let extraction = made("a.rtf", file.as_bytes(), &Limits::default()).unwrap();
        let all = texts(&extraction).join("\n");
        assert!(all.contains("Body text"), "{open}: {all}");
    }
}

#[test]
fn links_around_white_space_leave_the_next_paragraph_alone() {
    for (blank, next) in [("&nbsp;", "日本語"), ("<br>", "Öl"), (" ", "Hello")] {
        let page = format!("<p><a href='http://a/'>{blank}</a></p><p>{next}</p>");
        let extraction = made("a.html", page.as_bytes(), &Limits::default()).unwrap();
        let elements = &extraction.pages[0].elements;
        let element = elements
            .iter()
            .find(|element| element.text.as_deref() == Some(next));
        assert!(!element.unwrap().metadata.contains_key("links"), "{page}");
    }
}

#[test]
fn drawing_whose_entities_unfold_without_measure_keeps_its_picture() {
    let value = "<text>a</text>".repeat(500);
    let references = "&e;".repeat(2400);
    let file = format!(
        "<!DOCTYPE svg [<!ENTITY e \"{value}\">]><svg xmlns='http://www.w3.org/2000/svg'>{references}</svg>"
    );
    let extraction = made("a.svg", file.as_bytes(), &Limits::default()).unwrap();
    assert_eq!(texts(&extraction).len(), 0);
    assert!(extraction.pages[0].elements[0].blob.is_some());
    assert!(
        extraction.notes.iter().any(|note| note.contains("unfold")),
        "{:?}",
        extraction.notes
    );
}

#[test]
fn time_for_entities_and_for_words_of_markup_grows_with_the_file_only() {
    let declarations = "<!ENTITY a".repeat(9000);
    let value = "&xy;".repeat(25_000);
    let drawing = format!(
        "<!DOCTYPE svg [{declarations} \"{value}\">]><svg xmlns='http://www.w3.org/2000/svg'/>"
    );
    let words = format!(".. _a: http://a\n\n{}\n", "a_-_-_-".repeat(30_000));
    for (name, file) in [("a.svg", drawing), ("a.rst", words)] {
        let start = Instant::now();
        assert!(made(name, file.as_bytes(), &Limits::default()).is_ok());
        let took = start.elapsed();
        assert!(took < Duration::from_secs(20), "{name}: {took:?}");
    }
}

#[test]
fn rows_shorter_than_the_first_take_time_for_what_they_hold() {
    let file = format!("{}\n{}", ",".repeat(200_000), "a\n".repeat(200_000));
    let begun = Instant::now();
    assert!(made("a.csv", file.as_bytes(), &Limits::default()).is_ok());
    assert!(begun.elapsed() < Duration::from_secs(30));
}
