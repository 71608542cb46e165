//! The properties that are fuzzed, held against texts that chance puts together from the words of a format: they
//! get past the first check, and further than bytes would.

#![allow(clippy::unwrap_used, reason = "a test may panic")]

#[path = "../../../fuzz/src/parsers.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "a library elsewhere, of which not all is needed here"
)]
mod parsers;

use dpe_extract::{Input, Limits, extract};
use parsers::{DOCX, EPUB, ODP, ODS, ODT, PPTX, Package, XLSX, file};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

const VALUES: &[&str] = &[
    "",
    "0",
    "1",
    "-1",
    "2",
    "3",
    "9",
    "255",
    "65535",
    "4294967296",
    "18446744073709551616",
    "A1",
    "XFD1048576",
    "A1:B2",
    "r1",
    "rId1",
    "true",
    "1.5",
    "1e308",
    "title",
    "Heading1",
    "text",
    "date",
    "2024-02-30",
    "P1D",
    "#a",
    "http://a/",
    "Pictures/1.png",
    "../../etc",
    "s",
    "str",
    "inlineStr",
    "begin",
    "separate",
    "end",
    "nextPage",
    "restart",
];

/// A tree of elements with these names and attributes, as deep and wide as chance will have it.
fn tree(
    names: &'static [&'static str],
    attributes: &'static [&'static str],
) -> impl Strategy<Value = String> {
    let attribute = (select(attributes), select(VALUES)).prop_map(|(name, value)| (name, value));
    let leaf = prop_oneof![
        Just(String::new()),
        "[ a-z0-9\u{e9}\u{4e00}\\n\\t]{0,8}",
        select(VALUES).prop_map(str::to_owned),
    ];
    leaf.prop_recursive(8, 64, 6, move |inner| {
        let parts = (
            select(names),
            vec(attribute.clone(), 0..4),
            vec(inner, 0..6),
        );
        parts.prop_map(|(name, mut attributes, inner)| {
            attributes.sort_unstable();
            attributes.dedup_by_key(|(name, _)| *name);
            let attributes: String = attributes
                .iter()
                .map(|(name, value)| format!(" {name}='{value}'"))
                .collect();
            format!("<{name}{attributes}>{}</{name}>", inner.concat())
        })
    })
}

const SPACES: &str = "xmlns:w='w' xmlns:r='r' xmlns:a='a' xmlns:p='p' xmlns:wp='wp' xmlns:mc='mc' xmlns:v='v' \
    xmlns:m='m' xmlns:office='office' xmlns:text='text' xmlns:table='table' xmlns:draw='draw' xmlns:style='style' \
    xmlns:presentation='presentation' xmlns:xlink='xlink' xmlns:dc='dc' xmlns:opf='opf'";

fn any_of(package: &Package, root: &str, inner: &str) {
    let content = format!("<{root} {SPACES}>{inner}</{root}>");
    package.with(content.as_bytes());
}

const WORD: &[&str] = &[
    "w:body",
    "w:p",
    "w:r",
    "w:t",
    "w:tbl",
    "w:tr",
    "w:tc",
    "w:tcPr",
    "w:gridSpan",
    "w:vMerge",
    "w:pPr",
    "w:pStyle",
    "w:numPr",
    "w:ilvl",
    "w:numId",
    "w:outlineLvl",
    "w:hyperlink",
    "w:fldChar",
    "w:instrText",
    "w:fldSimple",
    "w:br",
    "w:tab",
    "w:sectPr",
    "w:type",
    "w:sdt",
    "w:sdtContent",
    "w:ins",
    "w:del",
    "w:moveFrom",
    "w:drawing",
    "a:blip",
    "w:footnoteReference",
    "w:commentReference",
    "w:sym",
    "mc:AlternateContent",
    "mc:Choice",
    "mc:Fallback",
    "w:pict",
    "v:imagedata",
    "v:textbox",
    "w:txbxContent",
    "m:oMath",
    "m:r",
    "m:t",
    "m:f",
    "w:ruby",
    "w:altChunk",
    "w:object",
];
const WORD_ATTRIBUTES: &[&str] = &[
    "w:val",
    "w:type",
    "w:id",
    "r:id",
    "r:embed",
    "w:fldCharType",
    "w:instr",
    "w:char",
    "w:font",
    "w:anchor",
    "descr",
    "name",
];
const SLIDE: &[&str] = &[
    "p:cSld",
    "p:spTree",
    "p:sp",
    "p:grpSp",
    "p:pic",
    "p:graphicFrame",
    "p:nvSpPr",
    "p:nvPr",
    "p:ph",
    "p:cNvPr",
    "p:txBody",
    "a:p",
    "a:pPr",
    "a:r",
    "a:t",
    "a:br",
    "a:fld",
    "a:tbl",
    "a:tr",
    "a:tc",
    "a:txBody",
    "a:graphic",
    "a:graphicData",
    "a:blip",
    "a:hlinkClick",
    "a:buAutoNum",
    "mc:AlternateContent",
    "mc:Choice",
    "mc:Fallback",
    "p:extLst",
    "p:transition",
];
const SLIDE_ATTRIBUTES: &[&str] = &[
    "type", "idx", "lvl", "gridSpan", "rowSpan", "hMerge", "vMerge", "r:id", "r:embed", "descr",
    "title", "name", "uri",
];
const SHEET: &[&str] = &[
    "sheetData",
    "row",
    "c",
    "v",
    "f",
    "is",
    "t",
    "r",
    "rPh",
    "mergeCells",
    "mergeCell",
    "hyperlinks",
    "hyperlink",
    "headerFooter",
    "oddHeader",
    "dimension",
    "drawing",
    "legacyDrawing",
    "cols",
    "col",
    "sheetPr",
    "tableParts",
];
const SHEET_ATTRIBUTES: &[&str] = &[
    "r", "t", "s", "ref", "r:id", "spans", "min", "max", "location", "display", "hidden",
];
const OPEN: &[&str] = &[
    "office:body",
    "office:text",
    "office:spreadsheet",
    "office:presentation",
    "text:h",
    "text:p",
    "text:span",
    "text:list",
    "text:list-item",
    "text:s",
    "text:tab",
    "text:line-break",
    "text:a",
    "text:note",
    "text:note-body",
    "text:note-citation",
    "table:table",
    "table:table-row",
    "table:table-cell",
    "table:covered-table-cell",
    "table:table-header-rows",
    "draw:page",
    "draw:frame",
    "draw:image",
    "draw:text-box",
    "draw:object",
    "draw:g",
    "draw:custom-shape",
    "office:annotation",
    "presentation:notes",
    "text:tracked-changes",
    "text:section",
    "text:index-body",
    "office:binary-data",
    "text:ruby",
];
const OPEN_ATTRIBUTES: &[&str] = &[
    "text:outline-level",
    "text:c",
    "text:style-name",
    "table:number-columns-repeated",
    "table:number-rows-repeated",
    "table:number-columns-spanned",
    "table:number-rows-spanned",
    "table:name",
    "office:value",
    "office:value-type",
    "office:date-value",
    "office:time-value",
    "office:boolean-value",
    "xlink:href",
    "draw:name",
    "presentation:class",
];
const BOOK: &[&str] = &[
    "metadata",
    "dc:title",
    "dc:creator",
    "dc:language",
    "dc:date",
    "meta",
    "manifest",
    "item",
    "spine",
    "itemref",
    "guide",
];
const BOOK_ATTRIBUTES: &[&str] = &[
    "id",
    "href",
    "media-type",
    "idref",
    "properties",
    "name",
    "content",
    "toc",
    "linear",
];
const RICH: &[&str] = &[
    "{",
    "}",
    "\\rtf1",
    "\\ansi",
    "\\ansicpg932",
    "\\ansicpg99999",
    "\\fonttbl",
    "\\f0",
    "\\fcharset128",
    "\\u-3913",
    "\\uc0",
    "\\uc9999",
    "\\'82",
    "\\'a0",
    "\\bin5",
    "\\bin99999999",
    "\\pict",
    "\\pngblip",
    "\\wmetafile8",
    "89504e47",
    "\\trowd",
    "\\cellx100",
    "\\cell",
    "\\row",
    "\\nestcell",
    "\\nestrow",
    "\\itap2",
    "\\intbl",
    "\\par",
    "\\footnote",
    "\\header",
    "\\field",
    "\\fldinst",
    "\\fldrslt",
    "\\*",
    "\\stylesheet",
    "\\s1",
    "\\outlinelevel0",
    "\\ls1",
    "\\listtext",
    "\\info",
    "\\title",
    "\\creatim",
    "\\yr99999",
    "\\deleted",
    "\\upr",
    "\\ud",
    "\\htmlrtf",
    "\\fromhtml1",
    "\\htmltag",
    "\\mac",
    " a ",
    "\n",
];
const MAIL: &[&str] = &[
    "From: a <a@b>\n",
    "To: =?utf-8?q?=C3?= <\n",
    "Subject: =?x?b?!!?=\n",
    "Date: 99 Foo\n",
    "MIME-Version: 1.0\n",
    "Content-Type: multipart/mixed; boundary=a\n",
    "Content-Type: multipart/alternative; boundary=\"b\"\n",
    "Content-Type: text/html; charset=utf-7\n",
    "Content-Type: message/rfc822\n",
    "Content-Type: image/png; name=a.png\n",
    "Content-Type: application/zip; name=a.zip\n",
    "Content-Transfer-Encoding: base64\n",
    "Content-Transfer-Encoding: quoted-printable\n",
    "Content-ID: <a>\n",
    "Content-Disposition: attachment; filename*=utf-8''%ff\n",
    "\n",
    "--a\n",
    "--a--\n",
    "--b\n",
    "--b--\n",
    "UEsDBA==\n",
    "=C3=\n",
    "<img src=cid:a>\n",
    "From a Mon Jan  1 00:00:00 2001\n",
    "words\n",
];
const PORTABLE: &[&str] = &[
    "%PDF-1.4\n",
    "1 0 obj",
    "2 0 obj",
    "3 0 obj",
    "endobj\n",
    "<<",
    ">>",
    "/Type",
    "/Catalog",
    "/Pages",
    "/Page",
    "/Kids",
    "[",
    "]",
    "1 0 R",
    "2 0 R",
    "3 0 R",
    "/Count 1",
    "/Count 2147483647",
    "/Contents",
    "/Resources",
    "/XObject",
    "/Font",
    "/MediaBox",
    "/Length 9",
    "/Filter",
    "/FlateDecode",
    "/LZWDecode",
    "/Width 99999",
    "/Height 99999",
    "/Subtype",
    "/Image",
    "/Parent",
    "stream\n",
    "\nendstream\n",
    "BT",
    "ET",
    "(a) Tj",
    "xref\n",
    "0 4\n",
    "0000000000 65535 f \n",
    "trailer\n",
    "/Root 1 0 R",
    "/Size 4",
    "/Prev 0",
    "startxref\n0\n",
    "%%EOF",
    " ",
    "\n",
    "<41",
    "(",
    ")",
    "/Encrypt",
    "/PageLabels",
    "/Nums",
];

fn joined(words: &'static [&'static str], most: usize) -> impl Strategy<Value = String> {
    vec(select(words), 0..most).prop_map(|words| words.concat())
}

#[test]
fn packages_are_of_the_formats_they_are_meant_for() {
    let cases = [
        (
            &DOCX,
            "docx",
            "<w:document xmlns:w='w'><w:body><w:p><w:r><w:t>words</w:t></w:r></w:p></w:body></w:document>",
        ),
        (
            &PPTX,
            "pptx",
            "<p:sld xmlns:p='p' xmlns:a='a'><p:cSld><p:spTree><p:sp><p:txBody><a:p><a:r><a:t>words</a:t></a:r></a:p></p:txBody></p:sp></p:spTree></p:cSld></p:sld>",
        ),
        (
            &XLSX,
            "xlsx",
            "<worksheet><sheetData><row><c t='inlineStr'><is><t>words</t></is></c></row></sheetData></worksheet>",
        ),
        (
            &ODT,
            "odt",
            "<o:document-content xmlns:o='o' xmlns:t='t'><o:body><o:text><t:p>words</t:p></o:text></o:body></o:document-content>",
        ),
        (
            &ODP,
            "odp",
            "<o:document-content xmlns:o='o' xmlns:t='t' xmlns:d='d'><o:body><o:presentation><d:page><d:frame><d:text-box><t:p>words</t:p></d:text-box></d:frame></d:page></o:presentation></o:body></o:document-content>",
        ),
        (
            &ODS,
            "ods",
            "<o:document-content xmlns:o='o' xmlns:t='t' xmlns:c='c'><o:body><o:spreadsheet><c:table><c:table-row><c:table-cell><t:p>words</t:p></c:table-cell></c:table-row></c:table></o:spreadsheet></o:body></o:document-content>",
        ),
    ];
    for (package, file_type, content) in cases {
        let bytes = package.bytes(content.as_bytes());
        let input = Input {
            name: b"a.zip",
            bytes: &bytes,
        };
        let made = extract(&input, &Limits::default()).unwrap();
        assert_eq!(made.head.file_type, file_type);
        let text = made.pages[0].elements[0].text.as_deref();
        assert_eq!(text, Some("words"), "{file_type}: {made:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_words_in_a_document_are_read_or_refused(inner in tree(WORD, WORD_ATTRIBUTES)) {
        any_of(&DOCX, "w:document", &format!("<w:body>{inner}</w:body>"));
    }

    #[test]
    fn any_words_on_a_slide_are_read_or_refused(inner in tree(SLIDE, SLIDE_ATTRIBUTES)) {
        any_of(&PPTX, "p:sld", &format!("<p:cSld><p:spTree>{inner}</p:spTree></p:cSld>"));
    }

    #[test]
    fn any_words_in_a_sheet_are_read_or_refused(inner in tree(SHEET, SHEET_ATTRIBUTES)) {
        any_of(&XLSX, "worksheet", &inner);
        any_of(&XLSX, "worksheet", &format!("<sheetData>{inner}</sheetData>"));
    }

    #[test]
    fn any_words_of_opendocument_are_read_or_refused(inner in tree(OPEN, OPEN_ATTRIBUTES)) {
        for (package, body) in [(&ODT, "text"), (&ODP, "presentation"), (&ODS, "spreadsheet")] {
            let inner = format!("<office:body><office:{body}>{inner}</office:{body}></office:body>");
            any_of(package, "office:document-content", &inner);
        }
    }

    #[test]
    fn any_words_about_a_book_are_read_or_refused(inner in tree(BOOK, BOOK_ATTRIBUTES)) {
        any_of(&EPUB, "opf:package", &inner);
    }

    #[test]
    fn any_words_of_rich_text_are_read_or_refused(words in joined(RICH, 60)) {
        file("a.rtf", format!("{{\\rtf1 {words}").as_bytes());
    }

    #[test]
    fn any_words_of_mail_are_read_or_refused(words in joined(MAIL, 40)) {
        file("a.eml", words.as_bytes());
        file("a.mbox", words.as_bytes());
    }

    #[test]
    fn any_words_of_pdf_are_read_or_refused(words in joined(PORTABLE, 80)) {
        file("a.pdf", format!("%PDF-1.4\n{words}").as_bytes());
    }
}

#[test]
fn link_without_words_before_a_paragraph_is_no_link_of_the_paragraph() {
    for page in [
        "<p><a href='http://a/'>&nbsp;</a></p><p>\u{65e5}\u{672c}\u{8a9e}</p>",
        "<div><a href='http://a/'><br></a><p>\u{d6}l</p></div>",
    ] {
        let input = Input {
            name: b"a.html",
            bytes: page.as_bytes(),
        };
        let made = extract(&input, &Limits::default()).unwrap();
        let element = &made.pages[0].elements[0];
        assert!(element.metadata.is_empty(), "{element:?}");
    }
}

/// Returns the texts of all elements.
fn texts(name: &str, bytes: &[u8]) -> Vec<String> {
    let input = Input {
        name: name.as_bytes(),
        bytes,
    };
    let made = extract(&input, &Limits::default()).unwrap();
    let elements = made.pages.into_iter().flat_map(|page| page.elements);
    elements.filter_map(|element| element.text).collect()
}

#[test]
fn rows_and_columns_that_no_program_takes_are_nowhere() {
    let cell = |text: &str| format!("<c:table-cell><t:p>{text}</t:p></c:table-cell>");
    let (first, last) = (cell("first"), cell("last"));
    let far = "<c:table-row c:number-rows-repeated='4294967294'/>";
    let wide = "<c:table-cell c:number-columns-repeated='4294967294'/>";
    for rows in [
        format!("<c:table-row>{first}</c:table-row>{far}<c:table-row>{last}</c:table-row>"),
        format!("<c:table-row>{first}{wide}{last}</c:table-row>"),
    ] {
        let content = format!(
            "<o:document-content xmlns:o='o' xmlns:t='t' xmlns:c='c'><o:body><o:spreadsheet><c:table>{rows}</c:table>\
             </o:spreadsheet></o:body></o:document-content>"
        );
        let package = ODS.bytes(content.as_bytes());
        assert_eq!(texts("a.ods", &package), ["first"]);
    }
}

#[test]
fn second_destination_in_a_group_of_rich_text_loses_nothing() {
    let rich = br"{\rtf1\ansi before\par {\header\header head}after\par}";
    let found = texts("a.rtf", rich);
    for word in ["before", "head", "after"] {
        assert!(found.iter().any(|text| text.contains(word)), "{found:?}");
    }
}
