//! What office documents become: small ones that the tests write, each for one rule of the mapping.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::io::{Cursor, Write};

use dpe_connector::content::Category;
use dpe_extract::{ExtractError, Extraction, Input, Limits, Reason, extract};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

const WORD: &str =
    "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml";
const SHOW: &str =
    "application/vnd.openxmlformats-officedocument.presentationml.presentation.main+xml";
const BOOK: &str = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml";
const TEXT: &str = "application/vnd.oasis.opendocument.text";
const SLIDES: &str = "application/vnd.oasis.opendocument.presentation";

fn outcome(bytes: &[u8]) -> Result<Extraction, ExtractError> {
    extract(&Input { name: b"a", bytes }, &Limits::default())
}

fn read(bytes: &[u8]) -> Extraction {
    outcome(bytes).unwrap()
}

fn package(parts: &[(&str, &str)]) -> Extraction {
    read(&packed(parts))
}

fn packed(parts: &[(&str, &str)]) -> Vec<u8> {
    let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, text) in parts {
        archive
            .start_file(*name, SimpleFileOptions::default())
            .unwrap();
        archive.write_all(text.as_bytes()).unwrap();
    }
    archive.finish().unwrap().into_inner()
}

fn types(part: &str, content: &str) -> String {
    format!("<Types><Override PartName='/{part}' ContentType='{content}'/></Types>")
}

/// Returns the category and the text of each element of a page.
fn elements(extraction: &Extraction, page: usize) -> Vec<(Category, &str)> {
    let all = extraction.pages[page].elements.iter();
    let said = all.filter_map(|element| Some((element.category, element.text.as_deref()?)));
    said.collect()
}

/// Returns a document of Word with a header.
fn word_with_header(header: &str) -> Extraction {
    package(&[
        ("[Content_Types].xml", &types("word/document.xml", WORD)),
        (
            "word/document.xml",
            "<w:document xmlns:w='w' xmlns:r='r'><w:body><w:p><w:r><w:t>Text</w:t></w:r></w:p><w:sectPr>\
             <w:headerReference w:type='default' r:id='h'/></w:sectPr></w:body></w:document>",
        ),
        (
            "word/_rels/document.xml.rels",
            "<Relationships><Relationship Id='h' Type='x/header' Target='header1.xml'/></Relationships>",
        ),
        (
            "word/header1.xml",
            &format!("<w:hdr xmlns:w='w'><w:p>{header}</w:p></w:hdr>"),
        ),
    ])
}

#[test]
fn words_around_the_number_of_a_page_go_with_it() {
    let field = |name: &str| {
        format!(
            "<w:r><w:fldChar w:fldCharType='begin'/></w:r><w:r><w:instrText> {name} </w:instrText></w:r>\
             <w:r><w:fldChar w:fldCharType='separate'/></w:r><w:r><w:t>7</w:t></w:r>\
             <w:r><w:fldChar w:fldCharType='end'/></w:r>"
        )
    };
    let run = |words: &str| format!("<w:r><w:t xml:space='preserve'>{words}</w:t></w:r>");
    let numbered = [
        run("Page "),
        field("PAGE"),
        run(" of "),
        "<w:fldSimple w:instr='NUMPAGES'><w:r><w:t>9</w:t></w:r></w:fldSimple>".to_owned(),
    ]
    .concat();
    let text = (Category::NarrativeText, "Text");
    assert_eq!(elements(&word_with_header(&numbered), 0), [text]);
    let titled = format!("{}<w:r><w:tab/></w:r>{numbered}", run("Report"));
    assert_eq!(
        elements(&word_with_header(&titled), 0),
        [(Category::Header, "Report"), text]
    );

    let rich = br"{\rtf1{\footer Seite {\field{\*\fldinst PAGE}{\fldrslt 3}}\par}{\header Report \chpgn\tab Page \chpgn\par}Text\par}";
    let report = (Category::Header, "Report");
    assert_eq!(elements(&read(rich), 0), [report, text]);

    let styles = "<o:document-styles xmlns:o='o' xmlns:t='t' xmlns:s='s'><o:master-styles><s:master-page><s:footer><t:p>- \
         <t:page-number>1</t:page-number> -</t:p></s:footer></s:master-page></o:master-styles></o:document-styles>";
    let content = "<o:document xmlns:o='o' xmlns:t='t'><o:body><o:text><t:p>Text</t:p></o:text></o:body></o:document>";
    let open = package(&[
        ("mimetype", TEXT),
        ("content.xml", content),
        ("styles.xml", styles),
    ]);
    assert_eq!(elements(&open, 0), [text]);
}

const PAGE: &str = "<w:fldSimple w:instr='PAGE'><w:r><w:t>9</w:t></w:r></w:fldSimple>";

fn word_run(words: &str) -> String {
    format!("<w:r><w:t xml:space='preserve'>{words}</w:t></w:r>")
}

#[test]
fn words_that_are_not_of_the_numbering_stay_beside_the_number_of_a_page() {
    let text = (Category::NarrativeText, "Text");
    for (before, after, expected) in [
        ("Smith ", "", "Smith"),
        ("Confidential ", "", "Confidential"),
        ("ACME | ", "", "ACME |"),
        ("Einleitung ", "", "Einleitung"),
        ("浙江大学硕士学位论文 - ", " -", "浙江大学硕士学位论文 -  -"),
        ("机密文件第", "页", "机密文件第页"),
    ] {
        let header = [word_run(before), PAGE.to_owned(), word_run(after)].concat();
        let expected = [(Category::Header, expected), text];
        assert_eq!(elements(&word_with_header(&header), 0), expected);

        let coded = |words: &str| {
            let units = words.encode_utf16();
            let coded = units.map(|unit| format!("\\u{}?", unit as i16));
            coded.collect::<String>()
        };
        let (before, after) = (coded(before), coded(after));
        let rich = format!(r"{{\rtf1{{\header\pard {before}{{\chpgn}}{after}\par}}Text\par}}");
        assert_eq!(elements(&read(rich.as_bytes()), 0), expected);
    }
    let header = [word_run("第"), PAGE.to_owned(), word_run("页共9页")].concat();
    let counted = word_with_header(&header);
    assert_eq!(elements(&counted, 0).len(), 2, "9 is a word of the author");
    let header = [word_run("第"), PAGE.to_owned(), word_run("页")].concat();
    assert_eq!(elements(&word_with_header(&header), 0), [text]);
}

#[test]
fn line_beside_the_number_of_a_page_stays() {
    let text = (Category::NarrativeText, "Text");
    let confidential = (Category::Header, "Confidential");
    let end = "<w:r><w:br/></w:r>";
    let (page, word) = (word_run("Page "), word_run("Confidential"));
    for header in [
        [&page, PAGE, end, &word].concat(),
        [&word, end, &page, PAGE].concat(),
    ] {
        let read = word_with_header(&header);
        assert_eq!(elements(&read, 0), [confidential, text]);
    }
    let first = br"{\rtf1{\header Page \chpgn\line Confidential\par}Text\par}";
    assert_eq!(elements(&read(first), 0), [confidential, text]);
    let last = br"{\rtf1{\header Confidential \line Page \chpgn\par}Text\par}";
    assert_eq!(elements(&read(last), 0), [confidential, text]);
}

#[test]
fn hanging_header_with_the_number_of_a_page_is_read() {
    let text = (Category::NarrativeText, "Text");
    let numbered = br"{\rtf1\ansi{\header\pard\fi-360\li360 1.\tab Seite \chpgn\par}Text\par}";
    let expected = [(Category::Header, "1."), text];
    assert_eq!(elements(&read(numbered), 0), expected);
    let dashes = br"{\rtf1\ansi{\footer\pard\fi-360\li360 -\tab \chpgn\tab -\par}Text\par}";
    assert_eq!(elements(&read(dashes), 0), [text]);
}

/// Returns a presentation of one slide with these shapes.
fn show(shapes: &str) -> Extraction {
    package(&[
        ("[Content_Types].xml", &types("ppt/presentation.xml", SHOW)),
        (
            "ppt/presentation.xml",
            "<p:presentation xmlns:p='p' xmlns:r='r'><p:sldIdLst><p:sldId r:id='s'/></p:sldIdLst></p:presentation>",
        ),
        (
            "ppt/_rels/presentation.xml.rels",
            "<Relationships><Relationship Id='s' Type='x/slide' Target='slides/slide1.xml'/></Relationships>",
        ),
        (
            "ppt/slides/slide1.xml",
            &format!(
                "<p:sld xmlns:p='p' xmlns:a='a'><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>"
            ),
        ),
    ])
}

fn shape(placeholder: &str, words: &str) -> String {
    format!(
        "<p:sp><p:nvSpPr><p:nvPr><p:ph type='{placeholder}'/></p:nvPr></p:nvSpPr><p:txBody><a:p>{words}</a:p></p:txBody></p:sp>"
    )
}

fn run(words: &str) -> String {
    format!("<a:r><a:t>{words}</a:t></a:r>")
}

#[test]
fn title_of_a_slide_is_its_first_element() {
    let shapes = [
        shape("body", &run("Body")),
        shape("title", &run("Title")),
        shape("title", &run("Second")),
    ];
    let read = show(&shapes.concat());
    assert_eq!(read.pages[0].title.as_deref(), Some("Title"));
    let expected = [
        (Category::Title, "Title"),
        (Category::NarrativeText, "Body"),
        (Category::Title, "Second"),
    ];
    assert_eq!(elements(&read, 0), expected);

    let frame = |class: &str, words: &str| {
        format!("<d:frame p:class='{class}'><d:text-box><t:p>{words}</t:p></d:text-box></d:frame>")
    };
    let slide = [
        frame("outline", "Body"),
        frame("title", "Title"),
        frame("title", "Second"),
    ];
    let content = format!(
        "<o:document xmlns:o='o' xmlns:t='t' xmlns:d='urn:drawing' xmlns:p='p'><o:body><o:presentation>\
         <d:page>{}</d:page></o:presentation></o:body></o:document>",
        slide.concat()
    );
    let read = package(&[("mimetype", SLIDES), ("content.xml", &content)]);
    assert_eq!(read.pages[0].title.as_deref(), Some("Title"));
    assert_eq!(elements(&read, 0), expected);
}

#[test]
fn footer_of_a_slide_that_only_numbers_it_is_none() {
    let number = "<a:fld type='slidenum'><a:t>4</a:t></a:fld>";
    let shapes = [
        shape("sldNum", &format!("{}{number}", run("Page "))),
        shape("ftr", &run("Footer")),
    ];
    assert_eq!(
        elements(&show(&shapes.concat()), 0),
        [(Category::Footer, "Footer")]
    );
}

/// Returns a workbook of a sheet with these cells, and of one whose part is missing.
fn book(cells: &str) -> Extraction {
    package(&[
        ("[Content_Types].xml", &types("xl/workbook.xml", BOOK)),
        (
            "xl/workbook.xml",
            "<workbook xmlns:r='r'><sheets><sheet name='One' r:id='s'/><sheet name='Lost' r:id='l'/></sheets></workbook>",
        ),
        (
            "xl/_rels/workbook.xml.rels",
            "<Relationships><Relationship Id='s' Type='x/worksheet' Target='sheet1.xml'/></Relationships>",
        ),
        (
            "xl/sheet1.xml",
            &format!("<worksheet><sheetData><row>{cells}</row></sheetData></worksheet>"),
        ),
    ])
}

#[test]
fn values_of_cells_that_are_no_numbers_are_texts() {
    let read = book(
        "<c><v>0.30000000000000004</v></c><c><v>nan</v></c><c><v>-inf</v></c><c><v> 5 </v></c>",
    );
    assert_eq!(elements(&read, 0), [(Category::Table, "0.3\tnan\t-inf\t5")]);
}

#[test]
fn sheet_whose_part_is_missing_is_an_empty_page() {
    let read = book("");
    let titles: Vec<_> = read
        .pages
        .iter()
        .map(|page| page.title.as_deref())
        .collect();
    assert_eq!(titles, [Some("One"), Some("Lost")]);
    assert!(
        read.notes.iter().any(|note| note.contains("Lost")),
        "{:?}",
        read.notes
    );
}

#[test]
fn lists_that_are_only_typed_in_rtf_are_lists() {
    let typed =
        br"{\rtf1\deff0{\fonttbl{\f0\fswiss Arial;}}{\pard\li360\fi-360\bullet\tx360\tab one\par}\
        {\pard\li720\fi-360 (a)\tx360\tab inner\par}{\pard\li360\fi-360\bullet\tx360\tab two\par}\
        {\pard\fi-360\li360 Name:\tab value\par}{\pard 1.\tab no hanging\par}}";
    let read = read(typed);
    let items: Vec<_> = read.pages[0]
        .elements
        .iter()
        .map(|element| {
            let text = element.text.as_deref().unwrap();
            let depth = element
                .metadata
                .get("depth")
                .and_then(|depth| depth.as_u64());
            (
                element.category,
                text,
                depth,
                element.metadata.contains_key("ordered"),
            )
        })
        .collect();
    let expected = [
        (Category::ListItem, "one", None, false),
        (Category::ListItem, "inner", Some(2), true),
        (Category::ListItem, "two", None, false),
        (Category::NarrativeText, "Name:\tvalue", None, false),
        (Category::NarrativeText, "1.\tno hanging", None, false),
    ];
    assert_eq!(items, expected);
}

#[test]
fn paragraphs_of_letters_of_one_width_in_rtf_are_code_unless_most_are() {
    let fonts = r"{\rtf1\deff0{\fonttbl{\f0\fswiss Arial;}{\f1\fmodern Courier;}}";
    let document = |text: &str| read(format!("{fonts}{text}}}").as_bytes());
    let text = r"{\pard A long paragraph of text\par}";
    let code = r"{\pard\f1 if x:\line   y()\par}{\pard\f1   z()\par}";
    assert_eq!(
        elements(&document(&format!("{text}{code}{text}")), 0),
        [
            (Category::NarrativeText, "A long paragraph of text"),
            (Category::CodeSnippet, "if x:\n  y()\n  z()"),
            (Category::NarrativeText, "A long paragraph of text"),
        ]
    );
    let mixed = r"{\pard Call {\f1 y()} now\par}";
    let inside = (Category::NarrativeText, "Call y() now");
    assert_eq!(elements(&document(mixed), 0), [inside]);
    let letter = document(r"{\pard\f1 Dear Sir,\par}{\pard\f1 yes\par}");
    assert_eq!(
        elements(&letter, 0),
        [
            (Category::NarrativeText, "Dear Sir,"),
            (Category::NarrativeText, "yes")
        ]
    );
}

#[test]
fn words_before_a_tab_in_rtf_are_no_labels() {
    let spoken =
        br"{\rtf1\pard\fi-720\li720 Q.\tab Did you see it?\par A.\tab Yes.\par Mix.\tab To stir.\par\bullet\tab\par}";
    let expected = [
        (Category::NarrativeText, "Q.\tDid you see it?"),
        (Category::NarrativeText, "A.\tYes."),
        (Category::NarrativeText, "Mix.\tTo stir."),
    ];
    assert_eq!(elements(&read(spoken), 0), expected);
    let counted = br"{\rtf1\pard\fi-720\li720 A.\tab one\par B.\tab two\par}";
    let expected = [(Category::ListItem, "one"), (Category::ListItem, "two")];
    assert_eq!(elements(&read(counted), 0), expected);
}

/// Returns a document of RTF in which most is in a font of letters of many widths, and no code.
fn rich(text: &str) -> Extraction {
    let head = r"{\rtf1\deff0{\fonttbl{\f0\froman Times;}{\f1\fmodern\fprq1 Courier;}\
        {\f2\fmodern\fcharset128\fprq1 MS Mincho;}}{\stylesheet{\s1 heading 1;}{\s2 HTML Preformatted;}}";
    let most = r"{\pard A paragraph of text that is longer than all the others together, and in Times\par}";
    read(format!("{head}{most}{text}}}").as_bytes())
}

#[test]
fn east_asian_fonts_in_rtf_are_no_code() {
    let japanese = rich(r"{\pard\f2 \u26085?\u26412?\u35486?\par}");
    let expected = (Category::NarrativeText, "\u{65E5}\u{672C}\u{8A9E}");
    assert_eq!(elements(&japanese, 0)[1], expected);
}

#[test]
fn headings_and_items_in_letters_of_code_in_rtf_are_read_like_others() {
    let link = r#"{\field{\*\fldinst HYPERLINK "http://a.example/"}{\fldrslt link}}"#;
    let read = rich(&format!(
        r"{{\pard\ls1\f1   an item {link}\par}}{{\pard\fi-360\li360\f1 1.\tab typed {link}\par}}{{\pard\s1\f1   INT. HOUSE\par}}"
    ));
    let expected = [
        (Category::ListItem, "an item link"),
        (Category::ListItem, "typed link"),
        (Category::Title, "INT. HOUSE"),
    ];
    assert_eq!(elements(&read, 0)[1..], expected);
    for item in &read.pages[0].elements[1..3] {
        assert!(item.metadata.contains_key("links"), "{item:?}");
    }
}

#[test]
fn letters_in_tables_and_notes_of_rtf_do_not_make_code_or_text_of_others() {
    let after_table = rich(r"{\trowd\cellx99\pard\intbl a cell\cell\row}{\pard\f1   code()\par}");
    assert_eq!(
        elements(&after_table, 0)[2],
        (Category::CodeSnippet, "  code()")
    );
    let after_code =
        rich(r"{\trowd\cellx99\pard\intbl\f1 cell()\cell\row}{\pard\par\pard Short\par}");
    assert_eq!(
        elements(&after_code, 0)[2],
        (Category::NarrativeText, "Short")
    );
    let around_note = rich(r"{\pard\f1   code({\footnote\pard\f0 A note})\par}");
    assert_eq!(
        elements(&around_note, 0)[1],
        (Category::CodeSnippet, "  code([^1])")
    );
}

#[test]
fn what_a_style_of_rtf_calls_code_is_code_whatever_most_is_written_in() {
    let head = r"{\rtf1\deff0{\fonttbl{\f0\froman Times;}{\f1\fmodern Courier;}}{\stylesheet{\s2 HTML Preformatted;}}";
    let link = r#"{\field{\*\fldinst HYPERLINK "http://a.example/"}{\fldrslt here}}"#;
    let text =
        format!(r"{{\pard\s2\f1   code()\par}}{{\pard\f1  All is in Courier, {link}\par}}}}");
    let read = read(format!("{head}{text}").as_bytes());
    let expected = [
        (Category::CodeSnippet, "  code()"),
        (Category::NarrativeText, "All is in Courier, here"),
    ];
    assert_eq!(elements(&read, 0), expected);
    let last = &read.pages[0].elements[1];
    assert!(last.metadata.contains_key("links"), "{last:?}");
}

#[test]
fn characters_of_fonts_of_signs_in_rtf_are_those_signs() {
    let fonts = r"{\rtf1{\fonttbl{\f0 Arial;}{\f3\fcharset2 Symbol;}{\f4\fcharset2 Wingdings;}}";
    let words = r"\f0 True{\f3\u210\'d2}{\f3\u945\'61\'62} {\f4\'fc\u-3844\'fc}\par}";
    let signs = format!("{fonts}{words}");
    assert_eq!(
        elements(&read(signs.as_bytes()), 0),
        [(
            Category::NarrativeText,
            "True\u{ae}\u{3b1}\u{3b2} \u{2713}\u{2713}"
        )]
    );
}

#[test]
fn title_of_an_rtf_document_is_one_as_in_other_formats() {
    let titled = br"{\rtf1{\stylesheet{\s1 Title;}{\s2\sbasedon3 Figure;}{\s3 Caption;}{\s4\sbasedon5 Mine;}{\s5 heading 2;}}\
        {\pard\s1 Name\par}{\pard\s2 Shown\par}{\pard\s4 Part\par}{\v Hidden}\par}";
    let read = read(titled);
    assert_eq!(read.head.title.as_deref(), Some("Name"));
    assert!(read.pages[0].elements[0].metadata.is_empty());
    let expected = [
        (Category::Title, "Name"),
        (Category::FigureCaption, "Shown"),
        (Category::Title, "Part"),
        (Category::NarrativeText, "Hidden"),
    ];
    assert_eq!(elements(&read, 0), expected);
}

#[test]
fn check_boxes_of_forms_are_written_as_signs() {
    let check_box = |state: &str| {
        format!(
            "<w:r><w:fldChar w:fldCharType='begin'><w:ffData><w:checkBox>{state}</w:checkBox></w:ffData></w:fldChar></w:r>\
             <w:r><w:instrText> FORMCHECKBOX </w:instrText></w:r><w:r><w:fldChar w:fldCharType='separate'/></w:r>\
             <w:r><w:fldChar w:fldCharType='end'/></w:r>"
        )
    };
    let boxes = [
        "<w:default w:val='0'/>",
        "<w:default w:val='1'/>",
        "<w:default w:val='1'/><w:checked w:val='0'/>",
        "<w:default w:val='0'/><w:checked/>",
    ];
    let boxes: String = boxes.into_iter().map(check_box).collect();
    let body = format!("<w:document xmlns:w='w'><w:body><w:p>{boxes}</w:p></w:body></w:document>");
    let read = package(&[
        ("[Content_Types].xml", &types("word/document.xml", WORD)),
        ("word/document.xml", &body),
    ]);
    assert_eq!(elements(&read, 0), [(Category::NarrativeText, "☐☒☐☒")]);
}

fn open_text(body: &str) -> Extraction {
    let content = format!(
        "<o:document xmlns:o='o' xmlns:t='t' xmlns:d='urn:drawing' xmlns:x='x'><o:body><o:text>{body}\
         </o:text></o:body></o:document>"
    );
    package(&[("mimetype", TEXT), ("content.xml", &content)])
}

#[test]
fn caption_around_its_picture_comes_after_it() {
    let framed = "<t:p t:style-name='Caption'><d:frame><d:image x:href='http://a.example/p.png'/></d:frame>Figure 1</t:p>";
    let read = open_text(framed);
    let kinds: Vec<_> = read.pages[0]
        .elements
        .iter()
        .map(|element| element.category)
        .collect();
    assert_eq!(kinds, [Category::Image, Category::FigureCaption]);
}

#[test]
fn spaces_that_are_said_again_and_again_stay_within_bounds() {
    let some = open_text("<t:p>a<t:s t:c='40'/>b</t:p>");
    let spaced = format!("a{}b", " ".repeat(40));
    assert_eq!(elements(&some, 0), [(Category::NarrativeText, &*spaced)]);
    let many = open_text(&format!(
        "<t:p>a{}b</t:p>",
        "<t:s t:c='1000'/>".repeat(100_000)
    ));
    let length: usize = elements(&many, 0).iter().map(|(_, text)| text.len()).sum();
    assert!((1 << 20..4 << 20).contains(&length), "{length}");
}

#[test]
fn slides_that_no_list_names_are_read_in_the_order_of_their_names() {
    let slide = |words: &str| {
        format!(
            "<p:sld xmlns:p='p' xmlns:a='a'><p:cSld><p:spTree>{}</p:spTree></p:cSld></p:sld>",
            shape("body", &run(words))
        )
    };
    let read = package(&[
        ("[Content_Types].xml", &types("ppt/presentation.xml", SHOW)),
        ("ppt/presentation.xml", "<p:presentation xmlns:p='p'/>"),
        ("ppt/slides/slide10.xml", &slide("Last")),
        ("ppt/slides/slide2.xml", &slide("First")),
    ]);
    assert_eq!(read.pages.len(), 2);
    assert_eq!(elements(&read, 0), [(Category::NarrativeText, "First")]);
    let none = package(&[
        ("[Content_Types].xml", &types("ppt/presentation.xml", SHOW)),
        ("ppt/presentation.xml", "<p:presentation xmlns:p='p'/>"),
    ]);
    assert!(none.pages.is_empty());
}

#[test]
fn drawing_of_open_document_is_not_the_table_within_it() {
    let drawing = packed(&[
        ("mimetype", "application/vnd.oasis.opendocument.graphics"),
        ("content.xml", "<o:document xmlns:o='o'/>"),
        (
            "META-INF/manifest.xml",
            "<m:manifest xmlns:m='m'><m:file-entry m:full-path='Object 1/' \
             m:media-type='application/vnd.oasis.opendocument.spreadsheet'/></m:manifest>",
        ),
    ]);
    let reason = outcome(&drawing).err().map(|error| error.reason);
    assert_eq!(reason, Some(Reason::UnsupportedFormat));
}

#[test]
fn documents_from_before_open_document_are_of_an_unsupported_version() {
    let parts = [
        ("mimetype", "application/vnd.sun.xml.writer"),
        ("content.xml", "<office:document-content/>"),
    ];
    let error = outcome(&packed(&parts)).unwrap_err();
    assert_eq!(error.reason, Reason::UnsupportedVersion);
}

#[test]
fn an_archive_that_was_cut_off_is_called_so() {
    let whole = packed(&[("mimetype", TEXT), ("content.xml", "<o/>")]);
    let error = outcome(&whole[..whole.len() - 30]).unwrap_err();
    assert_eq!(error.reason, Reason::Damaged);
    assert!(error.message.contains("cut off"), "{error}");
}

#[test]
fn rtf_with_a_brace_too_few_or_too_many_is_noted() {
    let notes = |text: &[u8]| read(text).notes;
    assert_eq!(notes(br"{\rtf1 Text\par}"), Vec::<String>::new());
    assert_eq!(notes(b"{\\rtf1 Text\\par}\r\n\0"), Vec::<String>::new());
    let unclosed = notes(br"{\rtf1{\fonttbl{\f0 Arial;} Text\par}");
    assert!(unclosed[0].contains("closing brace"), "{unclosed:?}");
    let early = notes(br"{\rtf1{\fonttbl{\f0 Arial;}}} Text\par}");
    assert!(early[0].contains("last group"), "{early:?}");
}
