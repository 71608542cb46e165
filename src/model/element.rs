//! The element object: its schema, its judgement, its preimage (hash contract §5, §6).

use super::blob::BlobRef;
use super::category::{Category, ContentFields};
use super::contract::Contract;
use super::depth;
use super::fields::{self, Slot, Undefined};
use super::hash::Hash;
use super::preimage::Preimage;
use super::violation::{Code, Violation};
use crate::json::canonical::Sink;
use crate::json::{Kind, Value};

/// A valid element object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementObject {
    /// Its content_hash.
    pub hash: Hash,
    /// The blob it references.
    pub blob: Option<BlobRef>,
}

/// Validates and hashes an element object.
///
/// # Errors
/// The first violation in the order of hash contract §6.1.
pub fn element(value: Value<'_>, contract: Contract) -> Result<ElementObject, Violation> {
    depth::check(value, None)?;
    hash(value, &mut Preimage::new(contract))
}

/// Steps 1 to 4 and the hash.
pub(super) fn hash(value: Value<'_>, preimage: &mut Preimage) -> Result<ElementObject, Violation> {
    let element = Element::read(value, BlobForm::Reference)?;
    let blob = element.reference();
    element.write(blob, preimage)?;
    let hash = preimage.finish();
    Ok(ElementObject { hash, blob })
}

/// What `blob` has to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BlobForm {
    /// A blob reference: on the wire to a remote.
    Reference,
    /// An object that says where the bytes are: in what a connector delivers (connector contract
    /// §12), taken for a well-formed reference here.
    Source,
    /// Either of them: in what a person hands over as one JSON text.
    Either,
}

/// An element whose members have been judged, except for the numbers in its metadata.
pub(super) struct Element<'t> {
    category: &'static Category,
    text: Slot<'t>,
    text_as_html: Slot<'t>,
    blob: Slot<'t>,
    mime_type: Slot<'t>,
    metadata: Slot<'t>,
}

impl<'t> Element<'t> {
    /// Steps 1 to 4 up to the numbers, which [`Element::write`] judges: they come last in both.
    pub(super) fn read(value: Value<'t>, form: BlobForm) -> Result<Self, Violation> {
        let members = Members::of(value)?;
        let category = category(members.category)?;
        members.refuse_undefined(category)?;
        let text = fields::optional_string(members.text, "text")?;
        let text_as_html = fields::optional_string(members.text_as_html, "text_as_html")?;
        let blob = judged_blob(members.blob, form)?;
        let mime_type = fields::optional_string(members.mime_type, "mime_type")?;
        let metadata = fields::optional_object(members.metadata, "metadata")?;
        Ok(Self {
            category,
            text,
            text_as_html,
            blob,
            mime_type,
            metadata,
        })
    }

    /// Returns the byte source or the reference.
    pub(super) fn blob(&self) -> Slot<'t> {
        self.blob
    }

    /// Writes the canonical form with `blob` as the reference.
    pub(super) fn write(
        &self,
        blob: Option<BlobRef>,
        sink: &mut (impl Sink + ?Sized),
    ) -> Result<(), Violation> {
        if let Some(blob) = blob {
            sink.put(b"{\"blob\":");
            blob.put_quoted(sink);
            sink.put(b",\"category\":\"");
        } else {
            sink.put(b"{\"category\":\"");
        }
        sink.put(self.category.name.as_bytes());
        sink.put(b"\",\"metadata\":");
        fields::write_metadata(self.metadata, "metadata", sink)?;
        fields::write_string(",\"mime_type\":", self.mime_type, sink);
        fields::write_string(",\"text\":", self.text, sink);
        fields::write_string(",\"text_as_html\":", self.text_as_html, sink);
        sink.put(b"}");
        Ok(())
    }

    /// Returns the reference, if that is what the element has.
    pub(super) fn reference(&self) -> Option<BlobRef> {
        BlobRef::parse(&self.blob?.as_str()?).ok()
    }
}

/// The members by name, unjudged.
#[derive(Default)]
struct Members<'t> {
    category: Slot<'t>,
    text: Slot<'t>,
    text_as_html: Slot<'t>,
    blob: Slot<'t>,
    mime_type: Slot<'t>,
    metadata: Slot<'t>,
    undefined: Undefined<'t>,
}

impl<'t> Members<'t> {
    fn of(value: Value<'t>) -> Result<Self, Violation> {
        let members = value
            .members()
            .ok_or_else(|| Violation::here("an element is an object"))?;
        let mut all = Self::default();
        for (name, value) in members {
            let slot = match &*name {
                "category" => &mut all.category,
                "text" => &mut all.text,
                "text_as_html" => &mut all.text_as_html,
                "blob" => &mut all.blob,
                "mime_type" => &mut all.mime_type,
                "metadata" => &mut all.metadata,
                _ => {
                    all.undefined.add(name);
                    continue;
                }
            };
            *slot = Some(value);
        }
        Ok(all)
    }

    /// Step 3. A content field the category does not allow is undefined, even if it is null.
    fn refuse_undefined(&self, category: &Category) -> Result<(), Violation> {
        let mut undefined = self.undefined.clone();
        let (has_html, has_blob) = match category.fields {
            ContentFields::Text => (false, false),
            ContentFields::Html => (true, false),
            ContentFields::Blob => (false, true),
        };
        if !has_html && self.text_as_html.is_some() {
            undefined.add("text_as_html".into());
        }
        if !has_blob && self.blob.is_some() {
            undefined.add("blob".into());
        }
        if !has_blob && self.mime_type.is_some() {
            undefined.add("mime_type".into());
        }
        undefined.refuse("an element of this category")
    }
}

/// Step 1 for the mandatory member, and step 2.
fn category(slot: Slot<'_>) -> Result<&'static Category, Violation> {
    let value = fields::mandatory(slot, "category")?;
    let name = value
        .as_str()
        .ok_or_else(|| fields::wrong_type("category", "a string"))?;
    Category::from_name(&name).ok_or_else(|| {
        let message = format!("`{name}` is no element category");
        Violation::new(Code::CategoryUnknown, "/category".to_owned(), message)
    })
}

fn judged_blob(slot: Slot<'_>, form: BlobForm) -> Result<Slot<'_>, Violation> {
    let Some(value) = fields::present(slot) else {
        return Ok(None);
    };
    match form {
        BlobForm::Source | BlobForm::Either if value.kind() == Kind::Object => Ok(Some(value)),
        BlobForm::Source => Err(fields::wrong_type("blob", "an object naming a byte source")),
        BlobForm::Reference | BlobForm::Either => {
            let text = value
                .as_str()
                .ok_or_else(|| fields::wrong_type("blob", "a string"))?;
            BlobRef::parse(&text).map_err(|error| {
                Violation::new(Code::Validation, "/blob".to_owned(), error.to_string())
            })?;
            Ok(Some(value))
        }
    }
}
