//! PDF whose structure, outline and furniture the file declares, or prints.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::Write;

use dpe_connector::content::{Category, Element};
use dpe_extract::{Extraction, Input, Limits, extract};
use flate2::Compression;
use flate2::write::ZlibEncoder;

const PAGE: &str = "<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents 4 0 R\
    /Resources<</Font<</F 5 0 R>>>>>>";
const FONT: &str = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>";

/// A PDF of a catalog with more entries, pages (2) and the objects from 3 on, the first of which is the page.
fn pdf(catalog: &str, trailer: &str, objects: &[Vec<u8>]) -> Vec<u8> {
    let first = [
        format!("<</Type/Catalog/Pages 2 0 R{catalog}>>").into_bytes(),
        b"<</Type/Pages/Kids[3 0 R]/Count 1>>".to_vec(),
    ];
    let mut file = b"%PDF-1.7\n".to_vec();
    let mut places = Vec::new();
    for (number, object) in (1..).zip(first.iter().chain(objects)) {
        places.push(file.len());
        file.extend(format!("{number} 0 obj\n").bytes());
        file.extend(object);
        file.extend(b"\nendobj\n");
    }
    let start = file.len();
    let size = places.len() + 1;
    file.extend(format!("xref\n0 {size}\n0000000000 65535 f \n").bytes());
    for place in &places {
        file.extend(format!("{place:010} 00000 n \n").bytes());
    }
    file.extend(
        format!("trailer <</Size {size}/Root 1 0 R{trailer}>>\nstartxref\n{start}\n%%EOF\n")
            .bytes(),
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

fn read(file: &[u8]) -> Extraction {
    let input = Input {
        name: b"a.pdf",
        bytes: file,
    };
    extract(&input, &Limits::default()).unwrap()
}

/// Category and text of each element of the first page, with the level of titles.
fn said(extraction: &Extraction) -> Vec<String> {
    let said = |element: &Element| {
        let level = element.metadata.get("level");
        let level = level.map_or(String::new(), |level| level.to_string());
        let text = element.text.as_deref().unwrap_or_default();
        format!("{:?}{level}: {text}", element.category)
    };
    extraction.pages[0].elements.iter().map(said).collect()
}

/// Text at a place, marked.
fn text(mark: &str, (x, y): (u32, u32), size: u32, text: &str) -> String {
    format!("{mark} BDC BT /F {size} Tf {x} {y} Td ({text}) Tj ET EMC\n")
}

fn content(mcid: u32, place: (u32, u32), said: &str) -> String {
    text(&format!("/P <</MCID {mcid}>>"), place, 10, said)
}

/// Lines of a paragraph.
fn paragraph(mark: &str, top: u32) -> String {
    let lines = (0..4).map(|line| text(mark, (50, top - 12 * line), 10, LINE));
    lines.collect()
}

const LINE: &str = "Some text of a page, which goes on and on for a line of some length";

/// What such lines are said to be.
fn prose() -> String {
    format!("NarrativeText: {}", [LINE; 4].join(" "))
}

/// Two columns, painted line by line across both.
fn two_columns() -> Vec<u8> {
    let mut painted = text(
        "/Artifact <</Type/Pagination/Subtype/Footer>>",
        (50, 20),
        8,
        "A foot",
    );
    painted += &content(0, (50, 700), "One");
    painted += &content(5, (320, 700), "Other");
    painted += &content(1, (50, 680), "The left column begins");
    painted += &content(6, (320, 680), "a");
    painted += &content(7, (400, 680), "b");
    painted += &content(1, (50, 668), "here and goes on.");
    painted += &content(8, (320, 668), "c");
    painted += &content(9, (400, 668), "d");
    painted += &content(2, (50, 640), "\\225");
    painted += &content(3, (70, 640), "An item");
    painted += &content(4, (50, 620), "7.");
    painted += &content(10, (70, 620), "Another");
    painted.into_bytes()
}

/// Its structure, from object 6 on: the document, whose kids are the elements.
fn structure() -> Vec<Vec<u8>> {
    let objects = [
        "<</Type/StructTreeRoot/K 7 0 R/RoleMap<</Heading/H2/Body/P>>>>",
        "<</S/Document/K[8 0 R 9 0 R 10 0 R 11 0 R 12 0 R 7 0 R]/Pg 3 0 R>>",
        "<</S/Heading/K 0/Pg 3 0 R>>",
        "<</S/Body/K<</Type/MCR/MCID 1/Pg 3 0 R>>>>",
        "<</S/L/Pg 3 0 R/K[<</S/LI/K[<</S/Lbl/K 2>><</S/LBody/K<</S/P/K 3>>>>]>>\
            <</S/LI/K[<</S/Lbl/K 4>><</S/LBody/K 10>>]>>]>>",
        "<</S/H3/K 5/Pg 3 0 R>>",
        "<</S/Table/Pg 3 0 R/K[<</S/TR/K[<</S/TH/K 6>><</S/TH/K 7>>]>>\
            <</S/TR/K[<</S/TD/K 8>><</S/TD/K<</S/P/K 9>>>>]>>]>>",
    ];
    objects.map(|object| object.as_bytes().to_vec()).to_vec()
}

const STRUCTURED: [&str; 7] = [
    "Title2: One",
    "NarrativeText: The left column begins here and goes on.",
    "ListItem: An item",
    "ListItem: 7. Another",
    "Title3: Other",
    "Table: a\tb\nc\td",
    "Footer: A foot",
];

#[test]
fn structure_that_the_file_declares_gives_order_headings_items_tables_and_furniture() {
    let mut objects = vec![PAGE.into(), stream("", &two_columns()), FONT.into()];
    objects.extend(structure());
    let read = read(&pdf("/StructTreeRoot 6 0 R", "", &objects));
    assert_eq!(said(&read), STRUCTURED);
    let ordered = read.pages[0].elements[3].metadata.get("ordered");
    assert_eq!(ordered, Some(&true.into()));
    let html = read.pages[0].elements[5].text_as_html.as_deref();
    assert!(html.unwrap().contains("<th>a</th>"));
}

#[test]
fn structure_in_object_streams_for_newer_programs_is_found() {
    let mut objects = vec![PAGE.into(), stream("", &two_columns()), FONT.into()];
    let (mut head, mut body) = (String::new(), Vec::new());
    for (number, object) in (6..).zip(structure()) {
        head += &format!("{} {} ", number + 100, body.len());
        let object = String::from_utf8(object).unwrap();
        // The structure is objects 106 on.
        let object = (6..13).rev().fold(object, |object, number| {
            object.replace(&format!("{number} 0 R"), &format!("{} 0 R", number + 100))
        });
        let object = object.replace("1106", "106").replace("1107", "107");
        let object = object.replace("11010", "110").replace("1108", "108");
        body.extend(object.into_bytes());
        body.push(b' ');
    }
    let dict = format!("/Type/ObjStm/N 7/First {}", head.len());
    objects.push(stream(&dict, &[head.as_bytes(), &body].concat()));
    let file = pdf("/StructTreeRoot 106 0 R", "/XRefStm 9", &objects);
    assert_eq!(said(&read(&file)), STRUCTURED);
}

#[test]
fn structure_that_holds_a_part_of_the_page_gives_its_headings_only() {
    let painted = [
        text("/P <</MCID 0>>", (50, 750), 20, "A heading"),
        paragraph("/P <</MCID 9>>", 700),
    ];
    let objects = vec![
        PAGE.into(),
        stream("", painted.concat().as_bytes()),
        FONT.into(),
        b"<</K<</S/H4/K 0/Pg 3 0 R>>>>".to_vec(),
    ];
    let read = read(&pdf("/StructTreeRoot 6 0 R", "", &objects));
    assert_eq!(said(&read), ["Title4: A heading".to_owned(), prose()]);
}

#[test]
fn paragraphs_in_letters_of_fixed_pitch_are_code_in_structures_too() {
    let code = |mcid: u32, top: u32, said: &str| {
        let painted = content(mcid, (50, top), said);
        painted.replace("/F 10 Tf", "/C 10 Tf")
    };
    let painted = [
        code(0, 700, "let a = 1;"),
        code(1, 688, "  a + b"),
        content(2, (50, 600), "Prose, as most of the page is."),
    ];
    let objects = vec![
        PAGE.replace("/F 5 0 R", "/F 5 0 R/C 6 0 R").into_bytes(),
        stream("", painted.concat().as_bytes()),
        FONT.into(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Courier>>".to_vec(),
        b"<</K[<</S/P/K 0/Pg 3 0 R>><</S/P/K 1/Pg 3 0 R>><</S/P/K 2/Pg 3 0 R>>]>>".to_vec(),
    ];
    let read = read(&pdf("/StructTreeRoot 7 0 R", "", &objects));
    assert_eq!(
        said(&read),
        [
            "CodeSnippet: let a = 1;\n  a + b",
            "NarrativeText: Prose, as most of the page is."
        ]
    );
}

#[test]
fn headings_of_the_outline_are_titles_with_its_levels() {
    let painted = [
        text("/P <<>>", (50, 750), 12, "First part"),
        paragraph("/P <<>>", 700),
        text("/P <<>>", (50, 600), 24, "Below"),
        paragraph("/P <<>>", 550),
    ];
    let objects = vec![
        PAGE.into(),
        stream("", painted.concat().as_bytes()),
        FONT.into(),
        b"<</First 7 0 R/Last 7 0 R/Count 2>>".to_vec(),
        b"<</Title(First part)/Dest[3 0 R/Fit]/First 8 0 R/Next 7 0 R>>".to_vec(),
        b"<</Title(Below)/A<</S/GoTo/D(there)>>/Parent 7 0 R>>".to_vec(),
        b"<</Kids[9 0 R<</Names[(there)<</D[3 0 R/XYZ]>>]>>]>>".to_vec(),
    ];
    let catalog = "/Outlines 6 0 R/Names<</Dests 9 0 R>>";
    assert_eq!(
        said(&read(&pdf(catalog, "", &objects))),
        [
            "Title1: First part".to_owned(),
            prose(),
            "Title2: Below".to_owned(),
            prose()
        ]
    );
}

/// A file of one page with a structure of these kids; `C` is a font of fixed pitch.
fn tagged(painted: &[String], kids: &str, more: &[&str]) -> Vec<u8> {
    let mut objects = vec![
        PAGE.replace("/F 5 0 R", "/F 5 0 R/C 6 0 R").into_bytes(),
        stream("", painted.concat().as_bytes()),
        FONT.into(),
        b"<</Type/Font/Subtype/Type1/BaseFont/Courier>>".to_vec(),
        format!("<</K<</S/Document/Pg 3 0 R/K[{kids}]>>>>").into_bytes(),
    ];
    objects.extend(more.iter().map(|object| object.as_bytes().to_vec()));
    pdf("/StructTreeRoot 7 0 R/Outlines 8 0 R", "", &objects)
}

#[test]
fn levels_of_tagged_headings_stay_with_numbers_and_with_an_outline() {
    let texts = ["A Book", "1 One", "1.1 Two", "1.2 Three", "Four"];
    let painted = (0..).zip(texts);
    let painted = painted.map(|(mcid, said)| content(mcid, (50, 700 - 30 * mcid), said));
    let painted: Vec<String> = painted.collect();
    let kids = "<</S/H1/K 0>><</S/H2/K 1>><</S/H3/K 2>><</S/H3/K 3>><</S/P/K 4>>";
    let titles = [
        "Title1: A Book",
        "Title2: 1 One",
        "Title3: 1.1 Two",
        "Title3: 1.2 Three",
    ];
    let without = tagged(&painted, kids, &[]);
    assert_eq!(said(&read(&without))[..4], titles);
    assert_eq!(said(&read(&without))[4], "NarrativeText: Four");
    let outline = [
        "<</First 9 0 R>>",
        "<</Title(1 One)/Dest[3 0 R/Fit]/Next 10 0 R>>",
        "<</Title(Four)/Dest[3 0 R/Fit]>>",
    ];
    let with = read(&tagged(&painted, kids, &outline));
    assert_eq!(said(&with)[..4], titles);
    assert_eq!(said(&with)[4], "Title1: Four");
    let titles = with.pages[0].elements.iter();
    let mut names = titles.flat_map(|title| title.metadata.keys());
    assert!(names.all(|name| name == "level"));
}

/// Lists of labels and texts; a label is in Courier.
fn lists(lists: &[&[(&str, &str)]]) -> Vec<(String, bool)> {
    let (mut painted, mut kids, mut mcid) = (Vec::new(), String::new(), 0);
    for list in lists {
        kids += "<</S/L/K[";
        for (label, text) in *list {
            let top = 700 - 20 * mcid;
            painted.push(content(mcid, (50, top), label).replace("/F 10", "/C 10"));
            painted.push(content(mcid + 1, (70, top), text));
            let (label, text) = (mcid, mcid + 1);
            kids += &format!("<</S/LI/K[<</S/Lbl/K {label}>><</S/LBody/K {text}>>]>>");
            mcid += 2;
        }
        kids += "]>><</S/P/K 99>>";
    }
    painted.push(content(99, (50, 50), "A paragraph in the end"));
    let read = read(&tagged(&painted, &kids, &[]));
    let items = read.pages[0].elements.iter();
    let items = items.filter(|item| item.category == Category::ListItem);
    let items = items.map(|item| {
        let ordered = item.metadata.get("ordered") == Some(&true.into());
        (item.text.clone().unwrap(), ordered)
    });
    items.collect()
}

#[test]
fn letters_that_fonts_draw_as_bullets_are_none_of_the_text() {
    let items = lists(&[
        &[("o", "An item"), ("o", "Another")],
        &[("a", "First"), ("b", "Second"), ("o", "Last")],
        &[("o", "Alone")],
        &[("1", "One")],
    ]);
    let expected = [
        ("An item", false),
        ("Another", false),
        ("a First", true),
        ("b Second", true),
        ("o Last", true),
        ("Alone", false),
        ("1 One", true),
    ];
    let expected = expected.map(|(text, ordered)| (text.to_owned(), ordered));
    assert_eq!(items, expected);
}

#[test]
fn dash_at_the_beginning_of_an_item_stays_unless_it_stands_apart() {
    let painted = [
        content(0, (50, 700), "-").replace("(-) Tj", "[(-)-20(p name)] TJ"),
        content(1, (50, 680), "-").replace("(-) Tj", "[(-)-1500(An item)] TJ"),
        content(2, (50, 660), "-").replace("(-) Tj", "[(-)5(5 degrees)] TJ"),
        content(3, (50, 640), "-").replace("(-) Tj", "[(\\225)-20(Close)] TJ"),
    ];
    let items = (0..4).map(|mcid| format!("<</S/LI/K<</S/LBody/K {mcid}>>>>"));
    let kids = format!("<</S/L/K[{}]>>", items.collect::<String>());
    let read = read(&tagged(&painted, &kids, &[]));
    let expected = ["-p name", "An item", "-5 degrees", "Close"];
    assert_eq!(
        said(&read),
        expected.map(|text| format!("ListItem: {text}"))
    );
}

#[test]
fn content_that_is_named_again_and_again_is_there_once() {
    let code = content(0, (50, 700), "let a = 1;").replace("/F 10", "/C 10");
    let painted = [
        code,
        content(1, (50, 600), "Prose, as most of the page is."),
    ];
    let kids = format!("<</S/P/K[{}]>><</S/P/K[1 1 1]>>", "0 ".repeat(1000));
    assert_eq!(
        said(&read(&tagged(&painted, &kids, &[]))),
        [
            "CodeSnippet: let a = 1;",
            "NarrativeText: Prose, as most of the page is."
        ]
    );
}

#[test]
fn page_that_is_nearly_all_artifact_is_read_by_its_layout() {
    let painted = [
        content(0, (50, 760), "A page of thirty letters or so"),
        paragraph("/Artifact <<>>", 700),
        paragraph("/Artifact <<>>", 600),
    ];
    let read = read(&tagged(&painted, "<</S/P/K 0>>", &[]));
    assert_eq!(said(&read)[1..], [prose(), prose()]);
}
