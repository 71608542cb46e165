//! Frames and shapes: pictures, text boxes, objects, tables on slides (ODF 1.3 part 3, 10).

use roxmltree::Node;

use super::Reader;
use super::text::{Beside, Line};
use crate::formats::ooxml::properties::text_of;
use crate::formats::ooxml::relations::join;
use crate::inline::Picture;
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
        let object = child("object").or_else(|| child("object-ole"));
        let mut picture = None;
        for image in frame.children().filter(|child| xml::is(*child, "image")) {
            picture = self.picture(image)?;
            if picture.is_some() {
                break;
            }
        }
        if let Some(picture) = &mut picture {
            picture.alt = child("desc")
                .map(text_of)
                .unwrap_or_default()
                .trim()
                .to_owned();
            let title = child("title")
                .map(text_of)
                .filter(|title| !title.trim().is_empty());
            picture.title = title;
            picture.link = link.map(str::to_owned);
        }
        if let Some(object) = object {
            line.beside.push(match xml::attribute(object, "href") {
                Some(part) => Beside::Part(join("", part), picture),
                None => Beside::Object(object, picture),
            });
            return Ok(());
        }
        picture
            .into_iter()
            .for_each(|picture| line.inline.picture(picture));
        // The text of a box, a table on a slide, and a text written across a picture.
        let blocks = ["text-box", "table", "image"];
        for block in frame.children().filter(Node::is_element) {
            match block.tag_name().name() {
                "table" => {
                    line.beside.push(Beside::Blocks(frame));
                    break;
                }
                name if blocks.contains(&name) && block.first_element_child().is_some() => {
                    line.beside.push(Beside::Blocks(block));
                }
                _ => {}
            }
        }
        Ok(())
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
