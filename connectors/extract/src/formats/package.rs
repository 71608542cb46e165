//! ZIP archives: what the package is, by its entries.

use crate::format::Format;
use crate::formats::{archive, docx, epub, odf, pptx, sheets};
use crate::package::Package;
use crate::reading::Reading;
use crate::reason::Reason;
use crate::{Document, ExtractError, xml};

/// What the entries of an archive make of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Word,
    Presentation,
    Workbook,
    BinaryWorkbook,
    OpenText,
    OpenSpreadsheet,
    OpenPresentation,
    Book,
    Files,
}

/// What the media types of OpenDocument begin with.
const OPEN_DOCUMENT: &[u8] = b"application/vnd.oasis.opendocument.";

/// What those of the programs before it begin with.
const OPEN_OFFICE_1: &[u8] = b"application/vnd.sun.xml.";

/// Reads an archive.
///
/// # Errors
///
/// Those of its reader; `unsupported_format` if it is an OpenDocument of a kind that is not read, and
/// `unsupported_version` if it is from before OpenDocument.
pub(crate) fn read(
    format: Format,
    bytes: &[u8],
    reading: &mut Reading<'_>,
) -> Result<Document, ExtractError> {
    let mut package = Package::open(bytes, reading)?;
    match kind(&mut package, reading)? {
        Kind::Word => docx::read(format, &mut package, reading),
        Kind::Presentation => pptx::read(format, &mut package, reading),
        Kind::OpenText => odf::read_text(format, &mut package, reading),
        Kind::OpenPresentation => odf::read_presentation(format, &mut package, reading),
        Kind::Workbook => sheets::read_xlsx(format, &mut package, reading),
        Kind::BinaryWorkbook => sheets::read_xlsb(format, &mut package, reading),
        Kind::OpenSpreadsheet => sheets::read_ods(format, &mut package, reading),
        Kind::Book => epub::read(format.as_type("epub"), &mut package, reading),
        Kind::Files => archive::read(format.as_type("zip"), &mut package, reading),
    }
}

fn kind(package: &mut Package<'_>, reading: &mut Reading<'_>) -> Result<Kind, ExtractError> {
    if let Some(declared) = package.part("mimetype", reading)? {
        let declared = declared.trim_ascii();
        if let Some(kind) = declared_kind(declared) {
            return Ok(kind);
        }
        // A drawing, a formula or a database; documents within it are not what it is.
        if declared.starts_with(OPEN_DOCUMENT) {
            return Err(ExtractError::unsupported());
        }
        if declared.starts_with(OPEN_OFFICE_1) {
            let message = "a document of OpenOffice.org 1";
            return Err(ExtractError::new(Reason::UnsupportedVersion, message));
        }
    }
    if package.has("META-INF/container.xml") {
        return Ok(Kind::Book);
    }
    let declared = office_kind(package, reading);
    let declared = reading.tolerated("[Content_Types].xml", declared)?;
    if let Some(kind) = declared.flatten() {
        return Ok(kind);
    }
    if let Some(kind) = manifest_kind(package, reading)? {
        return Ok(kind);
    }
    Ok(kind_by_names(package).unwrap_or(Kind::Files))
}

/// Looks for what the manifest of an OpenDocument package without `mimetype` says of the whole.
fn manifest_kind(
    package: &mut Package<'_>,
    reading: &mut Reading<'_>,
) -> Result<Option<Kind>, ExtractError> {
    let manifest = package.part("META-INF/manifest.xml", reading);
    let manifest = reading.tolerated("the manifest", manifest)?.flatten();
    let Some(manifest) = manifest.filter(|_| package.has("content.xml")) else {
        return Ok(None);
    };
    let kinds = memchr::memmem::find_iter(&manifest, OPEN_DOCUMENT);
    Ok(kinds.filter_map(|at| declared_kind(&manifest[at..])).next())
}

/// Looks for the parts that programs name alike, for packages that lost the list of their types.
fn kind_by_names(package: &Package<'_>) -> Option<Kind> {
    let names = [
        ("word/document.xml", Kind::Word),
        ("ppt/presentation.xml", Kind::Presentation),
        ("xl/workbook.xml", Kind::Workbook),
        ("xl/workbook.bin", Kind::BinaryWorkbook),
    ];
    let known = names.into_iter().find(|(name, _)| package.has(name));
    known.map(|(_, kind)| kind)
}

fn declared_kind(media_type: &[u8]) -> Option<Kind> {
    if media_type == b"application/epub+zip" {
        return Some(Kind::Book);
    }
    let open = media_type.strip_prefix(OPEN_DOCUMENT)?;
    let kinds: [(&[u8], Kind); 3] = [
        (b"text", Kind::OpenText),
        (b"spreadsheet", Kind::OpenSpreadsheet),
        (b"presentation", Kind::OpenPresentation),
    ];
    kinds
        .into_iter()
        .find(|(name, _)| open.starts_with(name))
        .map(|(_, kind)| kind)
}

/// Looks for the part that the package says is the document, by its content type (ECMA-376 part 2).
fn office_kind(
    package: &mut Package<'_>,
    reading: &mut Reading<'_>,
) -> Result<Option<Kind>, ExtractError> {
    let Some(types) = package.part("[Content_Types].xml", reading)? else {
        return Ok(None);
    };
    let text = xml::text(&types)?;
    let tree = xml::parse(&text, reading)?;
    let kinds = [
        ("wordprocessingml.document.main+xml", Kind::Word),
        ("wordprocessingml.template.main+xml", Kind::Word),
        ("ms-word.document.macroEnabled.main+xml", Kind::Word),
        ("ms-word.template.macroEnabledTemplate.main+xml", Kind::Word),
        ("presentationml.presentation.main+xml", Kind::Presentation),
        ("presentationml.slideshow.main+xml", Kind::Presentation),
        ("presentationml.template.main+xml", Kind::Presentation),
        (
            "ms-powerpoint.presentation.macroEnabled.main+xml",
            Kind::Presentation,
        ),
        (
            "ms-powerpoint.slideshow.macroEnabled.main+xml",
            Kind::Presentation,
        ),
        (
            "ms-powerpoint.template.macroEnabled.main+xml",
            Kind::Presentation,
        ),
        ("spreadsheetml.sheet.main+xml", Kind::Workbook),
        ("spreadsheetml.template.main+xml", Kind::Workbook),
        ("ms-excel.sheet.macroEnabled.main+xml", Kind::Workbook),
        ("ms-excel.template.macroEnabled.main+xml", Kind::Workbook),
        ("ms-excel.addin.macroEnabled.main+xml", Kind::Workbook),
        (
            "ms-excel.sheet.binary.macroEnabled.main",
            Kind::BinaryWorkbook,
        ),
    ];
    let declared = tree.root_element().children();
    let declared = declared.filter_map(|child| xml::attribute(child, "ContentType"));
    let kind = declared
        .filter_map(|declared| kinds.iter().find(|(end, _)| declared.ends_with(end)))
        .map(|(_, kind)| *kind)
        .next();
    Ok(kind)
}
