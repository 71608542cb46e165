//! What holds for any bytes under any name: a document or a reason, and the same one again.

use std::io::{Cursor, Write};

use dpe_extract::{Input, Limits, extract};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// Extracts a file twice.
pub fn file(name: &str, bytes: &[u8]) {
    let limits = Limits {
        unpacked_bytes: 8 << 20,
        ..Limits::default()
    };
    let name = name.as_bytes();
    let made = || extract(&Input { name, bytes }, &limits);
    assert_eq!(made(), made());
}

/// A package in which one part is anything: a fuzzer does not write archives.
pub struct Package {
    /// The parts that make it one, and their contents.
    pub parts: &'static [(&'static str, &'static str)],
    /// The part that is anything.
    pub open: &'static str,
}

impl Package {
    /// Extracts the package with this content of the open part, twice.
    pub fn with(&self, content: &[u8]) {
        file("a.zip", &self.bytes(content));
    }

    /// Returns the package with this content of the open part.
    pub fn bytes(&self, content: &[u8]) -> Vec<u8> {
        let mut archive = ZipWriter::new(Cursor::new(Vec::new()));
        let stored =
            SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
        let known = self.parts.iter();
        let known = known.map(|(name, text)| (*name, text.as_bytes()));
        for (name, bytes) in known.chain([(self.open, content)]) {
            archive.start_file(name, stored).expect("a short name");
            archive.write_all(bytes).expect("memory takes all");
        }
        archive.finish().expect("memory takes all").into_inner()
    }
}

macro_rules! types {
    ($part:literal, $type:literal) => {
        (
            "[Content_Types].xml",
            concat!(
                "<Types xmlns='http://schemas.openxmlformats.org/package/2006/content-types'>",
                "<Override PartName='/",
                $part,
                "' ContentType='application/vnd.",
                $type,
                "'/></Types>"
            ),
        )
    };
}

macro_rules! relations {
    ($of:literal, $id:literal, $type:literal, $target:literal) => {
        (
            $of,
            concat!(
                "<Relationships xmlns='http://schemas.openxmlformats.org/package/2006/relationships'>",
                "<Relationship Id='", $id, "' Target='", $target, "' Type='",
                "http://schemas.openxmlformats.org/officeDocument/2006/relationships/", $type, "'/></Relationships>"
            ),
        )
    };
}

pub const DOCX: Package = Package {
    parts: &[
        types!(
            "word/document.xml",
            "openxmlformats-officedocument.wordprocessingml.document.main+xml"
        ),
        relations!("_rels/.rels", "r1", "officeDocument", "word/document.xml"),
    ],
    open: "word/document.xml",
};

pub const PPTX: Package = Package {
    parts: &[
        types!(
            "ppt/presentation.xml",
            "openxmlformats-officedocument.presentationml.presentation.main+xml"
        ),
        relations!(
            "_rels/.rels",
            "r1",
            "officeDocument",
            "ppt/presentation.xml"
        ),
        relations!(
            "ppt/_rels/presentation.xml.rels",
            "r1",
            "slide",
            "slides/slide1.xml"
        ),
        (
            "ppt/presentation.xml",
            "<p:presentation xmlns:p='p' xmlns:r='r'><p:sldIdLst><p:sldId id='256' r:id='r1'/></p:sldIdLst></p:presentation>",
        ),
    ],
    open: "ppt/slides/slide1.xml",
};

pub const XLSX: Package = Package {
    parts: &[
        types!(
            "xl/workbook.xml",
            "openxmlformats-officedocument.spreadsheetml.sheet.main+xml"
        ),
        relations!("_rels/.rels", "r1", "officeDocument", "xl/workbook.xml"),
        relations!(
            "xl/_rels/workbook.xml.rels",
            "r1",
            "worksheet",
            "worksheets/sheet1.xml"
        ),
        (
            "xl/workbook.xml",
            "<workbook xmlns:r='r'><sheets><sheet name='1' sheetId='1' r:id='r1'/></sheets></workbook>",
        ),
    ],
    open: "xl/worksheets/sheet1.xml",
};

pub const XLSB: Package = Package {
    parts: &[
        types!("xl/workbook.bin", "ms-excel.sheet.binary.macroEnabled.main"),
        relations!("_rels/.rels", "r1", "officeDocument", "xl/workbook.bin"),
    ],
    open: "xl/workbook.bin",
};

pub const ODT: Package = Package {
    parts: &[("mimetype", "application/vnd.oasis.opendocument.text")],
    open: "content.xml",
};

pub const ODP: Package = Package {
    parts: &[(
        "mimetype",
        "application/vnd.oasis.opendocument.presentation",
    )],
    open: "content.xml",
};

pub const ODS: Package = Package {
    parts: &[("mimetype", "application/vnd.oasis.opendocument.spreadsheet")],
    open: "content.xml",
};

pub const EPUB: Package = Package {
    parts: &[
        ("mimetype", "application/epub+zip"),
        (
            "META-INF/container.xml",
            "<container><rootfiles><rootfile full-path='a.opf'/></rootfiles></container>",
        ),
    ],
    open: "a.opf",
};
