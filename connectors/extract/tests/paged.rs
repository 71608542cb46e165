//! PDF, books and archives made to be read at great cost, and what they hold apart from text.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{Cursor, Write};

use dpe_connector::content::Category;
use dpe_extract::{ExtractError, Extraction, Input, Limits, Reason, extract};
use flate2::Compression;
use flate2::write::ZlibEncoder;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

fn read(name: &str, bytes: &[u8]) -> Result<Extraction, ExtractError> {
    let name = name.as_bytes();
    extract(&Input { name, bytes }, &Limits::default())
}

fn reason(name: &str, bytes: &[u8]) -> Option<Reason> {
    read(name, bytes).err().map(|error| error.reason)
}

fn zip(entries: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, content) in entries {
        let options = SimpleFileOptions::default();
        writer.start_file(*name, options).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn texts_of_an_archive_show_the_pictures_beside_them() {
    let gif = b"GIF89a\x01\0\x01\0\0\0\0;";
    let archive = zip(&[
        (
            "docs/a.md",
            b"![dot](../img/dot%201.gif) ![far](http://a/b.gif) ![gone](c.gif)",
        ),
        (
            "docs/sub/b.html",
            b"<img src='/img/dot 1.gif?x=1' alt='dot'><img src='../a.md'>",
        ),
        ("img/dot 1.gif", gif),
    ]);
    let extraction = read("a.zip", &archive).unwrap();
    let pictures = |page: usize| {
        let elements = extraction.pages[page].elements.iter();
        let images = elements.filter(|element| element.category == Category::Image);
        let told = images.map(|image| {
            let url = image.metadata.get("url").and_then(|url| url.as_str());
            (image.blob.is_some(), image.mime_type.as_deref(), url)
        });
        told.collect::<Vec<_>>()
    };
    let dot = (true, Some("image/gif"), None);
    let at = |url| (false, None, Some(url));
    assert_eq!(pictures(0), [dot, at("http://a/b.gif"), at("c.gif")]);
    assert_eq!(pictures(1), [dot, at("../a.md")]);
    assert_eq!(pictures(2).len(), 1);
    assert_eq!(extraction.blobs, [gif.to_vec()]);
}

fn texts(extraction: &Extraction) -> Vec<Vec<&str>> {
    let pages = extraction.pages.iter().map(|page| {
        let elements = page.elements.iter();
        elements
            .filter_map(|element| element.text.as_deref())
            .collect()
    });
    pages.collect()
}

/// A PDF of objects 1 (catalog), 2 (pages) and those given from 3 on; 3 is the page.
fn pdf(objects: &[Vec<u8>]) -> Vec<u8> {
    pdf_with("", objects)
}

/// Such a PDF with entries more in its catalog.
fn pdf_with(entries: &str, objects: &[Vec<u8>]) -> Vec<u8> {
    let catalog = format!("<</Type/Catalog/Pages 2 0 R{entries}>>");
    let first: [&[u8]; 2] = [catalog.as_bytes(), b"<</Type/Pages/Kids[3 0 R]/Count 1>>"];
    let all = first.into_iter().chain(objects.iter().map(Vec::as_slice));
    let mut file = b"%PDF-1.7\n".to_vec();
    let mut places = Vec::new();
    for (number, object) in (1..).zip(all) {
        places.push(file.len());
        file.extend(format!("{number} 0 obj\n").bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let start = file.len();
    file.extend(format!("xref\n0 {}\n0000000000 65535 f \n", places.len() + 1).bytes());
    for place in &places {
        file.extend(format!("{place:010} 00000 n \n").bytes());
    }
    let size = places.len() + 1;
    file.extend(
        format!("trailer <</Size {size}/Root 1 0 R>>\nstartxref\n{start}\n%%EOF\n").bytes(),
    );
    file
}

fn stream(dict: &str, content: &[u8]) -> Vec<u8> {
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(content).unwrap();
    let packed = packed.finish().unwrap();
    let head = format!(
        "<<{dict}/Filter/FlateDecode/Length {}>>stream\n",
        packed.len()
    );
    let mut object = head.into_bytes();
    object.extend(packed);
    object.extend(b"\nendstream");
    object
}

const PAGE: &str = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 200 200]/Contents 4 0 R\
    /Resources<</Font<</F 5 0 R>>/XObject<</X 6 0 R>>>>>>";
const FONT: &str = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>";

#[test]
fn page_of_many_bytes_in_few_is_a_bomb() {
    let zeros = vec![b' '; 40 << 20];
    let file = pdf(&[PAGE.into(), stream("", &zeros), FONT.into()]);
    assert_eq!(reason("a.pdf", &file), Some(Reason::Bomb));
}

#[test]
fn objects_deep_in_objects_are_a_bomb() {
    let deep = "[".repeat(200_000).into_bytes();
    let file = pdf(&[PAGE.into(), stream("", b""), FONT.into(), deep.clone()]);
    assert_eq!(reason("a.pdf", &file), Some(Reason::Bomb));
    let within = [b"9 0 ".to_vec(), deep].concat();
    let file = pdf(&[PAGE.into(), stream("/Type/ObjStm/N 1/First 4", &within)]);
    assert_eq!(reason("a.pdf", &file), Some(Reason::Bomb));
}

#[test]
fn picture_may_hold_any_bytes() {
    let page = PAGE.replace("/X 6 0 R", "/X 6 0 R/Y 7 0 R");
    let samples = |start: &[u8]| [start, &[b'['; 400]].concat()[..400].to_vec();
    let picture = |samples: &[u8]| {
        let dict = "<</Subtype/Image/Width 20/Height 20/BitsPerComponent 8/ColorSpace/DeviceGray/Length 400>>";
        [dict.as_bytes(), b"stream\n", samples, b"\nendstream"].concat()
    };
    let file = pdf(&[
        page.into(),
        stream("", b"/X Do /Y Do"),
        FONT.into(),
        picture(&samples(b"obj")),
        picture(&samples(b"\nendobj obj")),
    ]);
    let read = read("a.pdf", &file).unwrap();
    assert_eq!(read.pages[0].elements.len(), 2);
}

#[test]
fn objects_without_bound_are_a_bomb_wherever_the_parser_would_go_after_them() {
    let headers = "9 0 obj ".repeat(100_000).into_bytes();
    let file = pdf(&[PAGE.into(), stream("", b""), FONT.into(), headers]);
    assert_eq!(reason("a.pdf", &file), Some(Reason::Bomb));
    let within = [
        &b"<</A<<>>stream\n]]) endstream/B"[..],
        &b"[".repeat(100_000),
    ]
    .concat();
    let file = pdf(&[PAGE.into(), stream("", b""), FONT.into(), within]);
    assert_eq!(reason("a.pdf", &file), Some(Reason::Bomb));
    let unended = "<</A 1>>stream\n".to_owned();
    let many: Vec<Vec<u8>> = (0..3000).map(|_| unended.clone().into_bytes()).collect();
    let last = stream("", b"");
    let file = pdf(&[vec![PAGE.into()], many, vec![last]].concat());
    assert_eq!(reason("a.pdf", &file), Some(Reason::Bomb));
}

/// Reads a page with words of a file whose catalog has `entry`, as it is and with a table of references that is
/// wrong; objects from 6 on are those given.
fn assert_words_are_read(entry: &str, objects: &[String]) {
    let words = stream("", b"BT /F 10 Tf 20 20 Td (Words) Tj ET");
    let mut all = vec![PAGE.into(), words, FONT.into()];
    all.extend(objects.iter().map(|object| object.clone().into_bytes()));
    let file = pdf_with(entry, &all);
    let (head, rest) = file.split_at(9);
    for file in [&file, &[head, b"% moved\n", rest].concat()] {
        assert_eq!(texts(&read("a.pdf", file).unwrap()), [["Words"]], "{entry}");
    }
}

#[test]
fn outline_without_end_and_form_within_itself_leave_the_pages_as_they_are() {
    let mut entries = vec!["<</First 7 0 R>>".to_owned()];
    entries.extend((8..20_000).map(|next| format!("<</Title(a)/Next {next} 0 R>>")));
    assert_words_are_read("/Outlines 6 0 R", &entries);
    let fields = ["<</Fields[7 0 R]>>", "<</Kids[8 0 R]>>", "<</Kids[7 0 R]>>"];
    assert_words_are_read("/AcroForm 6 0 R", &fields.map(str::to_owned));
    let mut twice = vec!["<</Fields[7 0 R]>>".to_owned()];
    twice.extend((8..60).map(|next| format!("<</Kids[{next} 0 R {next} 0 R]>>")));
    assert_words_are_read("/AcroForm 6 0 R", &twice);
}

#[test]
fn content_of_arrays_within_arrays_costs_what_is_behind_them() {
    let content = format!(
        "BT /F 10 Tf 20 20 Td (Words) Tj ET {}",
        "[ 1 ".repeat(200_000)
    );
    let file = pdf(&[PAGE.into(), stream("", content.as_bytes()), FONT.into()]);
    assert_eq!(texts(&read("a.pdf", &file).unwrap()), [["Words"]]);
}

#[test]
fn forms_that_paint_each_other_many_times_do_not_cost_more_than_their_text_is_worth() {
    let content = stream("", b"BT /F 10 Tf 20 20 Td (Words) Tj ET /X Do");
    let mut objects = vec![PAGE.into(), content, FONT.into()];
    for level in 0..11 {
        let next = 7 + level;
        let dict = format!(
            "/Type/XObject/Subtype/Form/BBox[0 0 9 9]/Resources<</XObject<</X {next} 0 R>>>>"
        );
        objects.push(stream(&dict, "/X Do ".repeat(40).as_bytes()));
    }
    let read = read("a.pdf", &pdf(&objects)).unwrap();
    assert_eq!(texts(&read), [["Words"]]);
}

#[test]
fn pages_that_are_their_own_children_end() {
    let page = "<</Type/Pages/Kids[3 0 R 2 0 R]/Count 9/Parent 2 0 R>>";
    // No page can be found; that there is one is not claimed.
    let read = read("a.pdf", &pdf(&[page.into()]));
    assert!(read.is_err() || read.unwrap().pages.is_empty());
}

#[test]
fn archive_in_archive_without_end_is_a_bomb() {
    let mut archive = zip(&[("a.txt", b"word")]);
    for _ in 0..10 {
        archive = zip(&[("a.zip", &archive)]);
    }
    assert_eq!(reason("a.zip", &archive), Some(Reason::Bomb));
}

#[test]
fn archive_that_unpacks_without_measure_is_a_bomb() {
    let zeros = vec![b'0'; 48 << 20];
    assert_eq!(
        reason("a.zip", &zip(&[("a.txt", &zeros)])),
        Some(Reason::Bomb)
    );
    let limits = Limits {
        entries: 3,
        ..Limits::default()
    };
    let many = zip(&[("a", b"1"), ("b", b"2"), ("c", b"3"), ("d", b"4")]);
    let input = Input {
        name: b"a.zip",
        bytes: &many,
    };
    assert_eq!(extract(&input, &limits).unwrap_err().reason, Reason::Bomb);
}

#[test]
fn archive_is_refused_only_if_all_its_documents_are() {
    let half = zip(&[("a.epub", b"PK\x03\x04"), ("b.txt", b"word")]);
    let extraction = read("a.zip", &half).unwrap();
    assert_eq!(texts(&extraction), [["word"]]);
    assert!(
        extraction.notes[0].starts_with("a.epub: "),
        "{:?}",
        extraction.notes
    );
    assert_eq!(
        reason("a.zip", &zip(&[("a.epub", b"PK\x03\x04")])),
        Some(Reason::Damaged)
    );
    assert!(
        read("a.zip", &zip(&[("a.exe", b"MZ")]))
            .unwrap()
            .pages
            .is_empty()
    );
}

const CONTAINER: &[u8] = br#"<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">
    <rootfiles><rootfile full-path="O/b.opf" media-type="application/oebps-package+xml"/></rootfiles></container>"#;

const PACKAGE: &[u8] = br#"<package xmlns="http://www.idpf.org/2007/opf"><metadata xmlns:dc="http://purl.org/dc/elements/1.1/">
    <dc:title>Book</dc:title><dc:creator>A</dc:creator><dc:creator>B</dc:creator></metadata><manifest>
    <item id="a" href="t/a%20b.xhtml" media-type="application/xhtml+xml"/>
    <item id="s" href="t/a%20b.xhtml#part" media-type="application/xhtml+xml"/>
    <item id="m" href="missing.xhtml" media-type="application/xhtml+xml"/>
    </manifest><spine><itemref idref="a"/><itemref idref="s"/><itemref idref="m"/><itemref idref="none"/></spine></package>"#;

const CHAPTER: &[u8] = br#"<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml"><head><title/></head><body>
    <p><a id="x"/>Words</p><svg xmlns="http://www.w3.org/2000/svg"><image href="../i.gif"/></svg></body></html>"#;

fn book(more: &[(&str, &[u8])]) -> Vec<u8> {
    let mut entries: Vec<(&str, &[u8])> = vec![
        ("mimetype", b"application/epub+zip"),
        ("META-INF/container.xml", CONTAINER),
        ("O/b.opf", PACKAGE),
        ("O/t/a b.xhtml", CHAPTER),
        ("O/i.gif", b"GIF89a\x05\0\x04\0\0\0\0"),
    ];
    entries.extend(more);
    zip(&entries)
}

#[test]
fn book_has_a_page_for_each_text_of_its_spine() {
    let extraction = read("a.epub", &book(&[])).unwrap();
    assert_eq!(extraction.head.title.as_deref(), Some("Book"));
    assert_eq!(extraction.head.doc_metadata["author"], "A, B");
    assert_eq!(texts(&extraction), [vec!["Words"], vec![]]);
    assert_eq!(extraction.blobs, [b"GIF89a\x05\0\x04\0\0\0\0"]);
    assert_eq!(
        extraction.notes,
        ["the package has no part O/missing.xhtml"]
    );
}

#[test]
fn bomb_among_the_pictures_of_a_book_is_one() {
    let chapter = br#"<html xmlns="http://www.w3.org/1999/xhtml"><body><p>Words</p><img src="z.png"/></body></html>"#;
    let zeros = vec![0; 48 << 20];
    let book = zip(&[
        ("mimetype", b"application/epub+zip"),
        ("META-INF/container.xml", CONTAINER),
        ("O/b.opf", PACKAGE),
        ("O/t/a b.xhtml", chapter),
        ("O/t/z.png", &zeros),
    ]);
    assert_eq!(reason("a.epub", &book), Some(Reason::Bomb));
}

#[test]
fn book_with_encrypted_texts_is_encrypted_and_one_with_obfuscated_fonts_is_not() {
    let encryption = |algorithm: &str| {
        format!(
            "<encryption><EncryptedData><EncryptionMethod Algorithm='{algorithm}'/><CipherData>\
             <CipherReference URI='O/t/a%20b.xhtml'/></CipherData></EncryptedData></encryption>"
        )
    };
    let locked = encryption("http://www.w3.org/2001/04/xmlenc#aes128-cbc");
    let locked = book(&[("META-INF/encryption.xml", locked.as_bytes())]);
    assert_eq!(reason("a.epub", &locked), Some(Reason::Encrypted));
    let fonts = encryption("http://www.idpf.org/2008/embedding");
    let fonts = book(&[("META-INF/encryption.xml", fonts.as_bytes())]);
    assert_eq!(reason("a.epub", &fonts), None);
}

#[test]
fn what_a_text_in_an_archive_says_of_itself_does_not_change_where_it_is() {
    let note = b"---\npath: hello\nfile_type: other\nauthor: ann\n---\n\nwords\n";
    let inner = zip(&[("b.md", note)]);
    let archive = zip(&[("posts/a.md", note), ("in.zip", &inner)]);
    let pages = read("a.zip", &archive).unwrap().pages;
    let facts = |page: usize, name: &str| pages[page].page_metadata[name].clone();
    assert_eq!(
        (facts(0, "path"), facts(0, "file_type")),
        ("posts/a.md".into(), "md".into())
    );
    assert_eq!(facts(0, "author"), "ann");
    assert_eq!(
        (facts(1, "path"), facts(1, "file_type")),
        ("in.zip/b.md".into(), "md".into())
    );
}

#[test]
fn a_pdf_without_pages_is_damaged_and_no_empty_document() {
    let empty = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n\
        trailer<</Root 1 0 R/Size 3>>\n%%EOF";
    assert_eq!(reason("a.pdf", empty), Some(Reason::Damaged));
}

#[test]
fn a_pdf_that_was_cut_off_is_damaged_or_noted() {
    let whole = include_bytes!("cases/pdf/libreoffice.pdf");
    assert!(read("a.pdf", whole).unwrap().notes.is_empty());
    for sixteenths in 1..16 {
        let cut = &whole[..whole.len() * sixteenths / 16];
        match read("a.pdf", cut) {
            Ok(extraction) => assert!(!extraction.notes.is_empty(), "{sixteenths}"),
            Err(error) => assert_eq!(error.reason, Reason::Damaged, "{sixteenths}"),
        }
    }
}

#[test]
fn a_pdf_for_the_owners_of_certificates_is_encrypted() {
    let locked = b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj\n\
        3 0 obj<</Type/Page/Parent 2 0 R>>endobj\n4 0 obj<</Filter/Adobe.PubSec/V 4/SubFilter/adbe.pkcs7.s5/Length 128\
        /CF<</DefaultCryptFilter<</CFM/AESV2/Length 128/Recipients[<3082>]>>>>>>endobj\n\
        trailer<</Root 1 0 R/Size 5/Encrypt 4 0 R>>\n%%EOF";
    assert_eq!(reason("a.pdf", locked), Some(Reason::Encrypted));
}

#[test]
fn what_stands_before_the_header_of_a_pdf_is_passed_over() {
    let whole = include_bytes!("cases/pdf/libreoffice.pdf");
    let expected = read("a.pdf", whole).unwrap();
    for before in ["\n", "Content-Type: application/pdf\r\n\r\n"] {
        let found = read("a.pdf", &[before.as_bytes(), whole].concat()).unwrap();
        assert_eq!(found.pages, expected.pages);
        assert!(found.notes.is_empty(), "{:?}", found.notes);
    }
}

#[test]
fn an_archive_whose_directory_counts_nothing_is_damaged() {
    let mut archive = zip(&[("a.txt", b"text")]);
    let end = archive.len() - 22;
    archive[end + 8..end + 12].fill(0);
    assert_eq!(reason("a.zip", &archive), Some(Reason::Damaged));
    let empty = zip(&[]);
    assert_eq!(read("a.zip", &empty).unwrap().pages, []);
}
