//! Documents and presentations that are made to cost more than they are worth: they end in time, within the stack,
//! with a document or a reason.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{Cursor, Write};

use dpe_extract::{ExtractError, Extraction, Input, Limits, Reason, extract};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const WORD: &str =
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml";
const SHOW: &str =
    "application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml";
const TEXT: &str = "application/vnd.oasis.opendocument.text";

fn package(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in parts {
        archive
            .start_file(*name, SimpleFileOptions::default())
            .unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn read(parts: &[(&str, &str)]) -> Result<Extraction, ExtractError> {
    let bytes = package(parts);
    let input = Input {
        name: b"a",
        bytes: &bytes,
    };
    extract(&input, &Limits::default())
}

fn types(part: &str, content: &str) -> String {
    format!("<Types><Override PartName='/{part}' ContentType='{content}'/></Types>")
}

fn word(body: &str, more: &[(&str, &str)]) -> Result<Extraction, ExtractError> {
    let types = types("word/document.xml", WORD);
    let document = format!(
        "<w:document xmlns:w='w' xmlns:m='m' xmlns:r='r'><w:body>{body}</w:body></w:document>"
    );
    let mut parts = vec![
        ("[Content_Types].xml", types.as_str()),
        ("word/document.xml", document.as_str()),
    ];
    parts.extend(more);
    read(&parts)
}

fn open_text(body: &str) -> Result<Extraction, ExtractError> {
    let content = format!(
        "<o:document xmlns:o='o' xmlns:t='t' xmlns:d='urn:drawing' xmlns:x='x'><o:body><o:text>{body}\
         </o:text></o:body></o:document>"
    );
    read(&[("mimetype", TEXT), ("content.xml", &content)])
}

fn nested(open: &str, close: &str, times: usize, inner: &str) -> String {
    format!("{}{inner}{}", open.repeat(times), close.repeat(times))
}

fn texts(extraction: &Extraction) -> Vec<&str> {
    let elements = extraction.pages.iter().flat_map(|page| &page.elements);
    elements
        .filter_map(|element| element.text.as_deref())
        .collect()
}

#[test]
fn markup_as_deep_as_is_taken_fits_the_stack() {
    let words = "<w:p><w:r><w:t>deep</w:t></w:r></w:p>";
    for (open, close, times) in [
        ("<w:sdt><w:sdtContent>", "</w:sdtContent></w:sdt>", 120),
        ("<w:tbl><w:tr><w:tc>", "</w:tc></w:tr></w:tbl>", 80),
        (
            "<w:tbl><w:tr><w:tc><w:p/></w:tc><w:tc>",
            "</w:tc></w:tr></w:tbl>",
            80,
        ),
        (
            "<w:p><w:r><w:pict><w:txbxContent>",
            "</w:txbxContent></w:pict></w:r></w:p>",
            60,
        ),
        ("<w:customXml>", "</w:customXml>", 240),
    ] {
        let extraction = word(&nested(open, close, times, words), &[]).unwrap();
        assert!(texts(&extraction).concat().contains("deep"), "{open}");
    }
    let line = nested("<w:ins>", "</w:ins>", 240, "<w:r><w:t>deep</w:t></w:r>");
    let extraction = word(&format!("<w:p>{line}</w:p>"), &[]).unwrap();
    assert_eq!(texts(&extraction), ["deep"]);
    for (open, close, times) in [
        ("<t:list><t:list-item>", "</t:list-item></t:list>", 120),
        (
            "<x:table><x:table-row><x:table-cell/><x:table-cell>",
            "</x:table-cell></x:table-row></x:table>",
            80,
        ),
        ("<d:frame><d:text-box>", "</d:text-box></d:frame>", 120),
        ("<d:g>", "</d:g>", 200),
        ("<t:section>", "</t:section>", 240),
    ] {
        let inner = "<d:frame><d:text-box><t:p>deep</t:p></d:text-box></d:frame>";
        let extraction = open_text(&nested(open, close, times, inner)).unwrap();
        assert!(texts(&extraction).concat().contains("deep"), "{open}");
    }
}

#[test]
fn markup_that_is_deeper_is_a_bomb() {
    let body = nested("<w:customXml>", "</w:customXml>", 300, "");
    assert_eq!(word(&body, &[]).unwrap_err().reason, Reason::Bomb);
    let body = nested("<t:section>", "</t:section>", 300, "");
    assert_eq!(open_text(&body).unwrap_err().reason, Reason::Bomb);
}

#[test]
fn formula_of_scripts_within_scripts_is_read_once() {
    let scripts = nested(
        "<m:sSup><m:e/><m:sup>",
        "</m:sup></m:sSup>",
        110,
        "<m:r><m:t>x</m:t></m:r>",
    );
    let extraction = word(&format!("<w:p><m:oMath>{scripts}</m:oMath></w:p>"), &[]).unwrap();
    assert!(texts(&extraction)[0].contains('x'));
}

#[test]
fn repeated_cells_and_rows_stay_within_bounds() {
    let cell = format!(
        "<x:table-cell x:number-columns-repeated='1000000000'><t:p>{}</t:p></x:table-cell>",
        "word ".repeat(200)
    );
    let row = format!("<x:table-row x:number-rows-repeated='1000000000'>{cell}</x:table-row>");
    let extraction = open_text(&format!("<x:table>{}</x:table>", row.repeat(50))).unwrap();
    let bytes: usize = texts(&extraction).into_iter().map(str::len).sum();
    assert!(bytes < 4 << 20, "{bytes} bytes");
    let spaces = open_text("<t:p>a<t:s t:c='4000000000'/>b</t:p>").unwrap();
    assert!(texts(&spaces)[0].len() < 2000);
}

#[test]
fn notes_and_styles_that_refer_to_themselves_end() {
    let relations = "<Relationships><Relationship Id='f' Type='x/footnotes' Target='f.xml'/>\
        <Relationship Id='s' Type='x/styles' Target='s.xml'/></Relationships>";
    let notes = "<w:footnotes xmlns:w='w'><w:footnote w:id='1'><w:p><w:r><w:t>note</w:t>\
        <w:footnoteReference w:id='1'/></w:r></w:p></w:footnote></w:footnotes>";
    let styles = "<w:styles xmlns:w='w'><w:style w:styleId='a'><w:basedOn w:val='b'/></w:style>\
        <w:style w:styleId='b'><w:basedOn w:val='a'/></w:style></w:styles>";
    let body = "<w:p><w:pPr><w:pStyle w:val='a'/></w:pPr><w:r><w:t>text</w:t><w:footnoteReference w:id='1'/></w:r></w:p>";
    let extraction = word(
        body,
        &[
            ("word/_rels/document.xml.rels", relations),
            ("word/f.xml", notes),
            ("word/s.xml", styles),
        ],
    );
    assert_eq!(texts(&extraction.unwrap()), ["text[^1]", "note[^1]"]);
}

#[test]
fn part_of_many_notes_is_unpacked_once() {
    let relations =
        "<Relationships><Relationship Id='f' Type='x/footnotes' Target='f.xml'/></Relationships>";
    let note = |id: usize| {
        format!("<w:footnote w:id='{id}'><w:p><w:r><w:t>note {id}</w:t></w:r></w:p></w:footnote>")
    };
    let mark = |id: usize| format!("<w:p><w:r><w:footnoteReference w:id='{id}'/></w:r></w:p>");
    let notes: String = (0..2000).map(note).collect();
    let notes = format!("<w:footnotes xmlns:w='w'>{notes}</w:footnotes>");
    let body: String = (0..2000).map(mark).collect();
    let parts = [
        ("word/_rels/document.xml.rels", relations),
        ("word/f.xml", notes.as_str()),
    ];
    let extraction = word(&body, &parts).unwrap();
    assert_eq!(texts(&extraction)[3998..], ["[^2000]", "note 1999"]);
}

#[test]
fn damaged_part_costs_that_part_and_is_noted() {
    let relations = "<Relationships><Relationship Id='f' Type='x/footnotes' Target='f.xml'/>\
        <Relationship Id='s' Type='x/styles' Target='s.xml'/></Relationships>";
    let body = "<w:p><w:r><w:t>text</w:t><w:footnoteReference w:id='1'/></w:r></w:p>";
    let extraction = word(
        body,
        &[
            ("word/_rels/document.xml.rels", relations),
            ("word/f.xml", "<w:footnotes"),
            ("word/s.xml", "\u{1}"),
        ],
    );
    let extraction = extraction.unwrap();
    assert_eq!(texts(&extraction), ["text[^1]"]);
    let parts: Vec<_> = extraction
        .notes
        .iter()
        .map(|note| note.split(": ").nth(1))
        .collect();
    assert_eq!(parts, [Some("word/f.xml"), Some("word/s.xml")]);
}

#[test]
fn slide_that_is_missing_or_damaged_is_an_empty_page() {
    let types = types("ppt/presentation.xml", SHOW);
    let presentation = "<p:presentation xmlns:p='p' xmlns:r='r'><p:sldIdLst><p:sldId id='1' r:id='a'/>\
        <p:sldId id='2' r:id='b'/><p:sldId id='3' r:id='c'/></p:sldIdLst></p:presentation>";
    let relations = "<Relationships><Relationship Id='a' Type='x/slide' Target='slides/slide1.xml'/>\
        <Relationship Id='b' Type='x/slide' Target='slides/slide2.xml'/></Relationships>";
    let slide = "<p:sld xmlns:p='p' xmlns:a='a'><p:cSld><p:spTree><p:sp><p:txBody><a:p><a:r><a:t>words</a:t></a:r></a:p></p:txBody>\
        </p:sp></p:spTree></p:cSld></p:sld>";
    let mut parts = vec![
        ("[Content_Types].xml", types.as_str()),
        ("ppt/presentation.xml", presentation),
        ("ppt/_rels/presentation.xml.rels", relations),
        ("ppt/slides/slide1.xml", slide),
        ("ppt/slides/slide2.xml", "<p:sld"),
    ];
    let extraction = read(&parts).unwrap();
    let elements: Vec<_> = extraction
        .pages
        .iter()
        .map(|page| page.elements.len())
        .collect();
    assert_eq!(elements, [1, 0, 0]);
    assert_eq!(extraction.notes.len(), 2);
    // Without a list of slides those that are there are read.
    parts[1].1 = "<p:presentation";
    assert_eq!(texts(&read(&parts).unwrap()), ["words"]);
}

#[test]
fn encrypted_document_says_so() {
    let manifest = "<m:manifest xmlns:m='m'><m:file-entry m:full-path='content.xml'><m:encryption-data/></m:file-entry></m:manifest>";
    let parts = [
        ("mimetype", TEXT),
        ("content.xml", "\u{1}\u{2}"),
        ("META-INF/manifest.xml", manifest),
    ];
    assert_eq!(read(&parts).unwrap_err().reason, Reason::Encrypted);
}

#[test]
fn document_without_its_main_part_is_damaged() {
    let types = types("word/document.xml", WORD);
    let parts = [("[Content_Types].xml", types.as_str())];
    assert_eq!(read(&parts).unwrap_err().reason, Reason::Damaged);
    let parts = [("mimetype", TEXT), ("content.xml", "<o:document/>")];
    assert_eq!(read(&parts).unwrap_err().reason, Reason::Damaged);
}

const DECK: &str = "application/vnd.oasis.opendocument.presentation";
const BOOK: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml";

fn times_deep(extraction: &Extraction) -> usize {
    texts(extraction).concat().matches("deep").count()
}

#[test]
fn open_document_with_elements_within_their_like_gives_their_text_once() {
    let title = nested("<t:p>", "</t:p>", 200, "deep");
    let content = format!(
        "<o:document xmlns:o='o' xmlns:t='t' xmlns:d='d' xmlns:p='p'><o:body><o:presentation><d:page>\
         <d:frame p:class='title'><d:text-box>{title}</d:text-box></d:frame></d:page></o:presentation></o:body></o:document>"
    );
    let keyword = nested("<m:keyword>", "</m:keyword>", 200, "deep");
    let meta = format!("<m:meta xmlns:m='m'>{keyword}</m:meta>");
    let extraction = read(&[
        ("mimetype", DECK),
        ("content.xml", &content),
        ("meta.xml", &meta),
    ])
    .unwrap();
    assert_eq!(times_deep(&extraction), 1);
    assert_eq!(extraction.head.doc_metadata["keywords"], "deep");

    let table = nested(
        "<x:table><x:table-row><x:table-cell><t:p>",
        "</t:p></x:table-cell></x:table-row></x:table>",
        50,
        "deep",
    );
    let object = format!(
        "<o:document xmlns:o='o' xmlns:t='t' xmlns:x='x'><o:body>{table}</o:body></o:document>"
    );
    let body = "<t:p><d:frame><d:object xmlns:l='l' l:href='./Object 1'/></d:frame></t:p>";
    let content = format!(
        "<o:document xmlns:o='o' xmlns:t='t' xmlns:d='urn:drawing'><o:body><o:text>{body}</o:text></o:body></o:document>"
    );
    let extraction = read(&[
        ("mimetype", TEXT),
        ("content.xml", &content),
        ("Object 1/content.xml", &object),
    ])
    .unwrap();
    assert_eq!(times_deep(&extraction), 1);
}

#[test]
fn comments_within_comments_give_their_text_once() {
    let types = types("ppt/presentation.xml", SHOW);
    let presentation = "<p:presentation xmlns:p='p' xmlns:r='r'><p:sldIdLst><p:sldId id='1' r:id='a'/></p:sldIdLst></p:presentation>";
    let to_slide =
        "<Relationships><Relationship Id='a' Type='x/slide' Target='s.xml'/></Relationships>";
    let to_comments =
        "<Relationships><Relationship Id='a' Type='x/comments' Target='c.xml'/></Relationships>";
    let slide = "<p:sld xmlns:p='p'><p:cSld><p:spTree/></p:cSld></p:sld>";
    let comment = nested(
        "<cm><txBody><p>",
        "</p></txBody></cm>",
        80,
        "<r><t>deep</t></r>",
    );
    let reply =
        "<cm><replyLst><reply><txBody><p><r><t>reply</t></r></p></txBody></reply></replyLst></cm>";
    let comments = format!("<cmLst>{comment}{reply}</cmLst>");
    let extraction = read(&[
        ("[Content_Types].xml", &types),
        ("ppt/presentation.xml", presentation),
        ("ppt/_rels/presentation.xml.rels", to_slide),
        ("ppt/s.xml", slide),
        ("ppt/_rels/s.xml.rels", to_comments),
        ("ppt/c.xml", &comments),
    ])
    .unwrap();
    assert_eq!(texts(&extraction), ["deep", "reply"]);

    let types = self::types("xl/workbook.xml", BOOK);
    let workbook = "<workbook xmlns:r='r'><sheets><sheet name='a' r:id='a'/></sheets></workbook>";
    let to_sheet =
        "<Relationships><Relationship Id='a' Type='x/worksheet' Target='s.xml'/></Relationships>";
    let comment = nested("<comment><text>", "</text></comment>", 100, "<t>deep</t>");
    let extraction = read(&[
        ("[Content_Types].xml", &types),
        ("xl/workbook.xml", workbook),
        ("xl/_rels/workbook.xml.rels", to_sheet),
        ("xl/s.xml", "<worksheet><sheetData/></worksheet>"),
        ("xl/_rels/s.xml.rels", to_comments),
        ("xl/c.xml", &format!("<comments>{comment}</comments>")),
    ])
    .unwrap();
    assert_eq!(texts(&extraction), ["deep"]);
}

#[test]
fn comments_and_footnotes_of_endnotes_are_read() {
    let relations = "<Relationships><Relationship Id='f' Type='x/footnotes' Target='f.xml'/>\
        <Relationship Id='e' Type='x/endnotes' Target='e.xml'/><Relationship Id='c' Type='x/comments' Target='c.xml'/></Relationships>";
    let note = |kind: &str, inner: &str| {
        format!(
            "<w:{kind}s xmlns:w='w'><w:{kind} w:id='1'><w:p><w:r>{inner}</w:r></w:p></w:{kind}></w:{kind}s>"
        )
    };
    let footnotes = note("footnote", "<w:t>foot</w:t>");
    let endnotes = note(
        "endnote",
        "<w:t>end</w:t><w:footnoteReference w:id='1'/><w:commentReference w:id='1'/>",
    );
    let comments = note("comment", "<w:t>said</w:t><w:endnoteReference w:id='1'/>");
    let body = "<w:p><w:r><w:t>text</w:t><w:endnoteReference w:id='1'/></w:r></w:p>";
    let parts = [
        ("word/_rels/document.xml.rels", relations),
        ("word/f.xml", &footnotes),
        ("word/e.xml", &endnotes),
        ("word/c.xml", &comments),
    ];
    let extraction = word(body, &parts).unwrap();
    let found = texts(&extraction).join("\n");
    assert!(found.starts_with("text[^"), "{found}");
    for part in ["end", "foot", "said"] {
        assert_eq!(found.matches(part).count(), 1, "{found}");
    }
}

#[test]
fn fields_within_fields_without_end_are_read_in_time() {
    const MANY: usize = 40_000;
    let mark = |kind: &str| format!("<w:r><w:fldChar w:fldCharType='{kind}'/></w:r>");
    let open = format!("{}{}", mark("begin"), mark("separate")).repeat(MANY);
    let words = "<w:r><w:t>a</w:t></w:r>".repeat(MANY);
    let close = mark("end").repeat(MANY);
    let extraction = word(&format!("<w:p>{open}{words}{close}</w:p>"), &[]).unwrap();
    assert_eq!(texts(&extraction), ["a".repeat(MANY)]);
    let hidden = format!("{}{words}{}", mark("begin"), mark("end"));
    let extraction = word(&format!("<w:p>{hidden}<w:r><w:t>b</w:t></w:r></w:p>"), &[]).unwrap();
    assert_eq!(texts(&extraction), ["b"]);
}

#[test]
fn headers_of_a_sheet_are_compared_in_time() {
    const MANY: usize = 100_000;
    let types = types("xl/workbook.xml", BOOK);
    let workbook = "<workbook xmlns:r='r'><sheets><sheet name='a' r:id='a'/></sheets></workbook>";
    let to_sheet =
        "<Relationships><Relationship Id='a' Type='x/worksheet' Target='s.xml'/></Relationships>";
    let header = |number: usize| format!("<oddHeader>h{:05}</oddHeader>", number % (MANY / 2));
    let headers: String = (0..MANY).map(header).collect();
    let sheet =
        format!("<worksheet><sheetData/><headerFooter>{headers}</headerFooter></worksheet>");
    let extraction = read(&[
        ("[Content_Types].xml", &types),
        ("xl/workbook.xml", workbook),
        ("xl/_rels/workbook.xml.rels", to_sheet),
        ("xl/s.xml", &sheet),
    ])
    .unwrap();
    assert_eq!(texts(&extraction).concat().matches("h00001").count(), 1);
}

/// Returns a record of a binary presentation; a version of 15 holds others.
fn atom(version: u16, kind: u16, data: &[u8]) -> Vec<u8> {
    let length = data.len() as u32;
    [
        &version.to_le_bytes()[..],
        &kind.to_le_bytes(),
        &length.to_le_bytes(),
        data,
    ]
    .concat()
}

fn binary_presentation(times: usize) -> Result<Extraction, ExtractError> {
    let place = atom(0, 0x03F3, &[&7_u32.to_le_bytes()[..], &[0; 16]].concat());
    let list = atom(15, 0x0FF0, &place.repeat(times));
    let mut stream = atom(15, 0x03E8, &list);
    let slide = stream.len() as u32;
    stream.extend(atom(15, 0x03EE, &atom(0, 0x7777, &vec![0; 200_000])));
    let directory = stream.len() as u32;
    let places = [1 << 20 | 1, 0, 1 << 20 | 7, slide];
    let places: Vec<u8> = places
        .iter()
        .flat_map(|place| place.to_le_bytes())
        .collect();
    stream.extend(atom(0, 0x1772, &places));
    let edit = stream.len() as u32;
    let numbers = [0, 0, 0, directory, 1, 0, 0];
    let numbers: Vec<u8> = numbers
        .iter()
        .flat_map(|number: &u32| number.to_le_bytes())
        .collect();
    stream.extend(atom(0, 0x0FF5, &numbers));
    let mut file = cfb::CompoundFile::create(Cursor::new(Vec::new())).unwrap();
    let user = [&[0; 16][..], &edit.to_le_bytes()].concat();
    for (name, bytes) in [("/Current User", &user), ("/PowerPoint Document", &stream)] {
        file.create_stream(name).unwrap().write_all(bytes).unwrap();
    }
    file.flush().unwrap();
    let bytes = file.into_inner().into_inner();
    let input = Input {
        name: b"a.ppt",
        bytes: &bytes,
    };
    extract(&input, &Limits::default())
}

#[test]
fn slide_that_is_listed_again_and_again_is_a_bomb() {
    assert_eq!(binary_presentation(3).unwrap().pages.len(), 3);
    assert_eq!(binary_presentation(400).unwrap_err().reason, Reason::Bomb);
}
