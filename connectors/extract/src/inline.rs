//! The text of one block, flattened, with what its markup said beside it.
//!
//! Knows no markup language: Markdown and HTML readers both write into it.

use crate::elements::Link;

/// A picture that a text refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Picture {
    /// Text that stands for the picture.
    pub(crate) alt: String,
    /// Address, unless the picture's bytes are in the address itself.
    pub(crate) url: Option<String>,
    /// Media type that a `data:` address declares.
    pub(crate) mime_type: Option<String>,
    /// Title the source gives it.
    pub(crate) title: Option<String>,
    /// Where a click on it leads.
    pub(crate) link: Option<String>,
}

impl Picture {
    /// Returns a picture at an address. The bytes in a `data:` address are not text and stay out.
    pub(crate) fn at(url: &str) -> Self {
        let mut picture = Self::default();
        match data_media_type(url) {
            Some(mime_type) => {
                picture.mime_type = (!mime_type.is_empty()).then(|| mime_type.to_owned());
            }
            None => picture.url = (!url.is_empty()).then(|| url.to_owned()),
        }
        picture
    }
}

/// The flattened text of a block.
#[derive(Debug, Default)]
pub(crate) struct Inline {
    text: String,
    links: Vec<Link>,
    pictures: Vec<Picture>,
    open_links: Vec<(usize, String)>,
    open_pictures: Vec<(usize, Picture)>,
    has_words: bool,
}

/// What an [`Inline`] came to.
#[derive(Debug, Default)]
pub(crate) struct Flat {
    /// Text without white space at its ends.
    pub(crate) text: String,
    /// Links, by where they begin.
    pub(crate) links: Vec<Link>,
    /// Pictures, in order.
    pub(crate) pictures: Vec<Picture>,
    /// Whether the text is more than the stand-in texts of pictures.
    pub(crate) has_words: bool,
}

impl Inline {
    /// Adds text as it is.
    pub(crate) fn push(&mut self, text: &str) {
        self.has_words |= self.open_pictures.is_empty() && !text.trim().is_empty();
        self.text.push_str(text);
    }

    /// Adds text in which a run of white space counts as one space, as HTML reads it.
    pub(crate) fn push_collapsed(&mut self, text: &str) {
        let mut words = text.split(is_html_space).filter(|word| !word.is_empty());
        if text.starts_with(is_html_space) {
            self.space();
        }
        if let Some(word) = words.next() {
            self.push(word);
        }
        for word in words {
            self.space();
            self.push(word);
        }
        if text.ends_with(is_html_space) {
            self.space();
        }
    }

    /// Adds a line end.
    pub(crate) fn line_break(&mut self) {
        if self.text.ends_with(' ') {
            self.text.pop();
        }
        self.text.push('\n');
    }

    /// Makes sure that what follows is on a line of its own.
    pub(crate) fn begin_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.line_break();
        }
    }

    /// Drops white space with which nothing has been written yet.
    pub(crate) fn forget_space(&mut self) {
        self.text.clear();
        for (start, _) in &mut self.open_links {
            *start = 0;
        }
    }

    /// Begins the words of a link.
    pub(crate) fn open_link(&mut self, url: &str) {
        self.open_links.push((self.text.len(), url.to_owned()));
    }

    /// Ends the words of the link begun last.
    pub(crate) fn close_link(&mut self) {
        let Some((start, url)) = self.open_links.pop() else {
            return;
        };
        if url.is_empty() || data_media_type(&url).is_some() {
            return;
        }
        let start = start.min(self.text.len());
        let end = self.text.len();
        self.links.push(Link { start, end, url });
    }

    /// Begins the stand-in text of a picture.
    pub(crate) fn open_picture(&mut self, mut picture: Picture) {
        picture.link = self
            .open_links
            .last()
            .map(|(_, url)| url.clone())
            .filter(|url| !url.is_empty());
        self.open_pictures.push((self.text.len(), picture));
    }

    /// Ends the stand-in text of the picture begun last.
    pub(crate) fn close_picture(&mut self) {
        let Some((start, mut picture)) = self.open_pictures.pop() else {
            return;
        };
        picture.alt = self.text[start.min(self.text.len())..].trim().to_owned();
        self.pictures.push(picture);
    }

    /// Whether there is neither text nor picture.
    pub(crate) fn is_blank(&self) -> bool {
        self.pictures.is_empty() && self.text.trim().is_empty()
    }

    /// Takes what was written and leaves the buffer empty; what is open ends here.
    pub(crate) fn take(&mut self) -> Flat {
        while !self.open_pictures.is_empty() {
            self.close_picture();
        }
        while !self.open_links.is_empty() {
            self.close_link();
        }
        std::mem::take(self).flat()
    }

    /// As [`take`](Self::take), but links go on in what follows, as `<a>` around two paragraphs does.
    pub(crate) fn take_inside_links(&mut self) -> Flat {
        let open: Vec<_> = self
            .open_links
            .iter()
            .map(|(_, url)| (0, url.clone()))
            .collect();
        let flat = self.take();
        self.open_links = open;
        flat
    }

    fn flat(self) -> Flat {
        let end = self.text.trim_end().len();
        let start = self.text[..end].len() - self.text[..end].trim_start().len();
        let mut links: Vec<_> = self
            .links
            .into_iter()
            .filter_map(|link| {
                let from = link.start.clamp(start, end.max(start));
                let to = link.end.clamp(from, end.max(start));
                let words = self.text[from..to].trim_start();
                let from = to - words.len();
                let to = from + words.trim_end().len();
                (from < to).then(|| Link {
                    start: from - start,
                    end: to - start,
                    url: link.url,
                })
            })
            .collect();
        links.sort_by_key(|link| link.start);
        Flat {
            text: self.text[start..end].to_owned(),
            links,
            pictures: self.pictures,
            has_words: self.has_words,
        }
    }

    fn space(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with([' ', '\n']) {
            self.text.push(' ');
        }
    }
}

/// White space as HTML counts it; a no-break space is not.
pub(crate) fn is_html_space(character: char) -> bool {
    matches!(character, ' ' | '\t' | '\n' | '\r' | '\x0C')
}

/// Returns the media type of a `data:` address, without its parameters; `None` for other addresses.
fn data_media_type(url: &str) -> Option<&str> {
    let scheme = url.get(..5)?;
    let rest = url.get(5..)?;
    scheme.eq_ignore_ascii_case("data:").then(|| {
        let end = rest.find([';', ',']).unwrap_or(rest.len());
        &rest[..end]
    })
}

#[cfg(test)]
mod tests {
    use super::{Inline, Picture};

    #[test]
    fn link_keeps_its_words_when_the_text_is_trimmed() {
        let mut inline = Inline::default();
        inline.push("  see ");
        inline.open_link("u");
        inline.push(" here ");
        inline.close_link();
        let flat = inline.take();
        assert_eq!(flat.text, "see  here");
        let link = &flat.links[0];
        assert_eq!(&flat.text[link.start..link.end], "here");
    }

    #[test]
    fn runs_of_white_space_collapse_across_pushes() {
        let mut inline = Inline::default();
        inline.push_collapsed(" a \n b ");
        inline.push_collapsed("\t c\u{A0} d");
        assert_eq!(inline.take().text, "a b c\u{A0} d");
    }

    #[test]
    fn bytes_in_a_data_address_stay_out() {
        let picture = Picture::at("data:image/png;base64,AAAA");
        assert_eq!(picture.url, None);
        assert_eq!(picture.mime_type.as_deref(), Some("image/png"));
    }

    #[test]
    fn stand_in_text_alone_is_no_words() {
        let mut inline = Inline::default();
        inline.open_picture(Picture::at("u"));
        inline.push("logo");
        inline.close_picture();
        let flat = inline.take();
        assert!(!flat.has_words);
        assert_eq!(flat.pictures[0].alt, "logo");
    }
}
