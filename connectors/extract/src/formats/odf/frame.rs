//! Frames and shapes: pictures, text boxes, objects, tables on slides (ODF 1.3 part 3, 10).

use roxmltree::Node;

use super::Reader;
use super::object;
use super::text::{Beside, Line};
use crate::formats::ooxml::properties::text_of;
use crate::formats::ooxml::relations::join;
use crate::inline::{Flat, Picture};
use crate::{ExtractError, addressed, pictures, xml};

impl<'t> Reader<'_, '_, '_, 't> {
    /// Adds the picture of a frame, and notes what else is in it, or in a shape. `link` is where a click leads.
    pub(super) fn shape(
        &mut self,
        node: Node<'t, 't>,
        link: Option<&'t str>,
        line: &mut Line<'t>,
    ) -> Result<(), ExtractError> {
        match node.tag_name().name() {
            "frame" => return self.frame(node, link, line),
            "a" | "g" => {
                let link = xml::attribute(node, "href").or(link);
                for child in node
                    .children()
                    .filter(|child| super::block::is_drawn(*child))
                {
                    self.shape(child, link, line)?;
                }
            }
            // A small picture of the slide that the notes are about; and what a shape is glued to.
            "page-thumbnail" | "control" | "glue-point" | "enhanced-geometry" => {}
            _ => {
                let mut children = node.children().filter(Node::is_element);
                if children.any(|child| !matches!(child.tag_name().name(), "title" | "desc")) {
                    line.beside.push(Beside::Blocks(node));
                }
            }
        }
        Ok(())
    }

    fn frame(
        &mut self,
        frame: Node<'t, 't>,
        link: Option<&'t str>,
        line: &mut Line<'t>,
    ) -> Result<(), ExtractError> {
        let child = |name| frame.children().find(|child| xml::is(*child, name));
        if child("object").or_else(|| child("object-ole")).is_some() {
            line.beside.push(Beside::Object(frame, link));
            return Ok(());
        }
        // Beside a table there is only a picture of it.
        if child("table").is_some() {
            line.beside.push(Beside::Blocks(frame));
            return Ok(());
        }
        let picture = self.framed(frame, link)?;
        picture
            .into_iter()
            .for_each(|picture| line.inline.picture(picture));
        // The text of a box, or one written across a picture.
        let boxes = frame.children().filter(|child| {
            let is_box = xml::is(*child, "text-box") || xml::is(*child, "image");
            is_box && child.first_element_child().is_some()
        });
        line.beside.extend(boxes.map(Beside::Blocks));
        Ok(())
    }

    /// Reads the object in a frame, or the picture that stands for it if there is nothing to read.
    pub(super) fn object(
        &mut self,
        frame: Node<'t, 't>,
        link: Option<&str>,
    ) -> Result<(), ExtractError> {
        for object in frame.children().filter(Node::is_element) {
            let is_read = match object.tag_name().name() {
                "object" | "object-ole" => match xml::attribute(object, "href") {
                    Some(part) => self.object_part(&join("", part))?,
                    None => object::read(object, &mut self.flow),
                },
                _ => false,
            };
            if is_read {
                return Ok(());
            }
        }
        let picture = self.framed(frame, link)?;
        self.flow.paragraph(Flat::of_picture(picture));
        Ok(())
    }

    /// Returns the first picture in a frame that is there, as the frame describes it.
    fn framed(
        &mut self,
        frame: Node<'_, '_>,
        link: Option<&str>,
    ) -> Result<Option<Picture>, ExtractError> {
        let said = |name| {
            let child = frame.children().find(|child| xml::is(*child, name));
            child.map(text_of).filter(|text| !text.trim().is_empty())
        };
        for image in frame.children().filter(|child| xml::is(*child, "image")) {
            if let Some(mut picture) = self.picture(image)? {
                picture.alt = said("desc").unwrap_or_default().trim().to_owned();
                picture.title = said("title");
                picture.link = link.map(str::to_owned);
                return Ok(Some(picture));
            }
        }
        Ok(None)
    }

    fn picture(&mut self, image: Node<'_, '_>) -> Result<Option<Picture>, ExtractError> {
        let Some(target) = xml::attribute(image, "href").filter(|target| !target.is_empty()) else {
            return Ok(self.inline_picture(image));
        };
        let part = join("", target);
        if self.package.has(&part) {
            return self.pictures.of_part(&part, self.package, self.reading);
        }
        let picture = Picture::at(target);
        Ok(picture
            .url
            .as_deref()
            .is_some_and(|url| url.contains("://"))
            .then_some(picture))
    }

    /// Returns the picture whose bytes stand in the text itself.
    fn inline_picture(&mut self, image: Node<'_, '_>) -> Option<Picture> {
        let data = image
            .children()
            .find(|child| xml::is(*child, "binary-data"))?;
        let bytes = addressed::base64(text_of(data).as_bytes())?;
        let media_type = pictures::media_type(&bytes, "");
        Some(Picture::of_bytes(self.reading.blob(bytes), media_type))
    }
}
