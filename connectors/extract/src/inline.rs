//! The text of one block, flattened, with what its markup said beside it.
//!
//! Knows no markup language: the readers of all formats write into it.

use std::ops::Range;

use dpe_connector::content::BlobSource;

use crate::cuts::Cuts;
use crate::elements::{Link, VALUE_BYTES};
use crate::paging;

/// A picture that a text refers to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Picture {
    /// Text that stands for the picture.
    pub(crate) alt: String,
    /// Address, unless the picture's bytes are in the address itself.
    pub(crate) url: Option<String>,
    /// Media type that a `data:` address declares, or that of the bytes.
    pub(crate) mime_type: Option<String>,
    /// The picture's bytes, if they are in the file.
    pub(crate) blob: Option<BlobSource>,
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
            None => picture.url = is_address(url).then(|| url.to_owned()),
        }
        picture
    }

    /// Returns a picture whose bytes are in the file.
    pub(crate) fn of_bytes(blob: BlobSource, mime_type: Option<&str>) -> Self {
        Self {
            blob: Some(blob),
            mime_type: mime_type.map(str::to_owned),
            ..Self::default()
        }
    }
}

/// The flattened text of a block.
#[derive(Debug, Default)]
pub(crate) struct Inline {
    text: String,
    links: Vec<Link>,
    pictures: Vec<Picture>,
    open_link: Option<OpenLink>,
    open_pictures: Vec<(usize, Picture)>,
    has_words: bool,
    /// Where numbers of pages were left out.
    left_out: Vec<usize>,
}

/// A link whose words have begun. Links do not nest: texts made of many links inside each other would
/// otherwise be written once per link.
#[derive(Debug)]
struct OpenLink {
    start: usize,
    url: String,
    has_picture: bool,
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

impl Flat {
    /// Takes the white space off the ends of the text, and of the words of links.
    pub(crate) fn trim(&mut self) {
        self.text.truncate(self.text.trim_end().len());
        self.drop_start(0);
        self.text.shrink_to_fit();
    }

    /// Takes bytes off the beginning of the text, which have to end with a character, and the white space behind them.
    pub(crate) fn drop_start(&mut self, bytes: usize) {
        let rest = &self.text[bytes.min(self.text.len())..];
        let start = self.text.len() - rest.trim_start().len();
        self.text.drain(..start);
        let text = &self.text;
        self.links.retain_mut(|link| {
            let from = link.start.saturating_sub(start).min(text.len());
            let to = link.end.saturating_sub(start).min(text.len());
            let words = text[from..to].trim_start();
            link.start = to - words.len();
            link.end = link.start + words.trim_end().len();
            link.start < link.end
        });
    }

    /// Returns what is left when the text was used.
    pub(crate) fn into_pictures(self) -> Self {
        Self {
            pictures: self.pictures,
            ..Self::default()
        }
    }

    /// Returns a picture without words around it.
    pub(crate) fn of_picture(picture: Option<Picture>) -> Self {
        Self {
            pictures: picture.into_iter().collect(),
            ..Self::default()
        }
    }
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
            // A number at the end of the line is still on this line.
            self.bound_left_out();
        }
        self.text.push('\n');
    }

    /// Makes sure that what follows is on a line of its own.
    pub(crate) fn begin_line(&mut self) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.line_break();
        }
    }

    /// Says that the number of a page would stand here. What is there for its sake only goes with it, see
    /// [`take`](Self::take).
    pub(crate) fn leave_out_number(&mut self) {
        self.left_out.push(self.text.len());
    }

    /// Drops white space with which nothing has been written yet.
    pub(crate) fn forget_space(&mut self) {
        self.text.clear();
        self.links.clear();
        self.left_out.clear();
        if let Some(link) = &mut self.open_link {
            link.start = 0;
        }
    }

    /// Begins the words of a link; one that is open ends here, as in HTML.
    pub(crate) fn open_link(&mut self, url: &str) {
        self.close_link();
        if is_address(url) {
            self.open_link = Some(OpenLink {
                start: self.text.len(),
                url: url.to_owned(),
                has_picture: false,
            });
        }
    }

    /// Ends the words of the open link.
    pub(crate) fn close_link(&mut self) {
        if let Some(OpenLink { start, url, .. }) = self.open_link.take() {
            let end = self.text.len();
            let start = start.min(end);
            self.links.push(Link { start, end, url });
        }
    }

    /// As [`close_link`](Self::close_link), but a link within the page whose words are only a mark
    /// (`#`, `¶`, `↩`) is for the mouse and not for reading: mark and link are dropped.
    pub(crate) fn close_link_of_page(&mut self) {
        if let Some(link) = &self.open_link
            && link.url.starts_with('#')
            && let Some(words) = self.text.get(link.start..)
            && !words.contains(char::is_alphanumeric)
        {
            self.text.truncate(link.start);
            self.open_link = None;
            self.bound_left_out();
        }
        self.close_link();
    }

    /// Adds a picture whose stand-in text is not shown where the picture is.
    pub(crate) fn picture(&mut self, mut picture: Picture) {
        if let Some(link) = &mut self.open_link
            && !std::mem::replace(&mut link.has_picture, true)
            && picture.link.is_none()
        {
            picture.link = Some(link.url.clone());
        }
        self.pictures.push(picture);
    }

    /// Begins the stand-in text of a picture. Of the pictures in one link the first has its address.
    pub(crate) fn open_picture(&mut self, mut picture: Picture) {
        if let Some(link) = &mut self.open_link
            && !std::mem::replace(&mut link.has_picture, true)
        {
            picture.link = Some(link.url.clone());
        }
        self.open_pictures.push((self.text.len(), picture));
    }

    /// Ends the stand-in text of the picture begun last. Words of a picture inside the stand-in text of
    /// another are the other's.
    pub(crate) fn close_picture(&mut self) {
        let Some((start, mut picture)) = self.open_pictures.pop() else {
            return;
        };
        if self.open_pictures.is_empty() {
            picture.alt = self.text[start.min(self.text.len())..].trim().to_owned();
        }
        self.pictures.push(picture);
    }

    /// Sets the stand-in text of the last picture that has none; it is not part of the text here.
    pub(crate) fn describe_last_picture(&mut self, alt: &str) {
        if let Some(picture) = self.pictures.last_mut().filter(|last| last.alt.is_empty()) {
            picture.alt = alt.to_owned();
        }
    }

    /// Returns what was written so far.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Whether there is neither text nor picture.
    pub(crate) fn is_blank(&self) -> bool {
        self.pictures.is_empty() && self.text.trim().is_empty()
    }

    /// Takes what was written and leaves the buffer empty; what is open ends here. Between tabs and line ends where
    /// numbers of pages were left out, what remains is not text if it only numbers pages (`Page`, `Page of`, `- -`).
    pub(crate) fn take(&mut self) -> Flat {
        let mut flat = self.take_code();
        flat.trim();
        flat
    }

    /// As [`take`](Self::take), with the white space at the ends: of code.
    pub(crate) fn take_code(&mut self) -> Flat {
        self.end();
        std::mem::take(self).flat()
    }

    /// Ends what is open.
    fn end(&mut self) {
        while !self.open_pictures.is_empty() {
            self.close_picture();
        }
        self.close_link();
        self.drop_left_overs();
    }

    /// Moves numbers that were left out behind the end of the text to its end.
    fn bound_left_out(&mut self) {
        let end = self.text.len();
        let behind = self.left_out.iter_mut().rev();
        behind.take_while(|at| **at > end).for_each(|at| *at = end);
    }

    fn drop_left_overs(&mut self) {
        let numbers = std::mem::take(&mut self.left_out);
        self.cut(paging::left_overs(&self.text, &numbers));
        self.has_words &= !self.text.trim().is_empty();
    }

    /// Takes ranges of bytes, in order, out of the text, and out of the words of links.
    fn cut(&mut self, ranges: Vec<Range<usize>>) {
        if ranges.is_empty() {
            return;
        }
        let cuts = Cuts::of(ranges);
        self.text = cuts.rest(&self.text);
        let links = self.links.iter_mut();
        let links = links.flat_map(|link| [&mut link.start, &mut link.end]);
        let pictures = self.open_pictures.iter_mut().map(|picture| &mut picture.0);
        let open = self.open_link.iter_mut().map(|link| &mut link.start);
        for at in links.chain(pictures).chain(open).chain(&mut self.left_out) {
            *at = cuts.moved(*at);
        }
    }

    fn flat(self) -> Flat {
        Flat {
            text: self.text,
            links: self.links,
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

/// Whether a text leads somewhere; what is of absurd length or carries bytes does not.
fn is_address(url: &str) -> bool {
    !url.is_empty() && url.len() <= VALUE_BYTES && data_media_type(url).is_none()
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
    fn links_and_pictures_inside_each_other_are_not_written_twice() {
        let mut inline = Inline::default();
        inline.open_link("outer");
        inline.push("a ");
        inline.open_link("inner");
        inline.open_picture(Picture::at("p"));
        inline.open_picture(Picture::at("q"));
        inline.push("b");
        let flat = inline.take();
        assert_eq!(flat.text, "a b");
        let words = flat
            .links
            .iter()
            .map(|link| (&flat.text[link.start..link.end], &*link.url));
        assert_eq!(words.collect::<Vec<_>>(), [("a", "outer"), ("b", "inner")]);
        let pictures = flat
            .pictures
            .iter()
            .map(|picture| (&*picture.alt, picture.link.as_deref()));
        assert_eq!(
            pictures.collect::<Vec<_>>(),
            [("", None), ("b", Some("inner"))]
        );
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

    /// Writes a text in which `#` is the number of a page.
    fn without_numbers(text: &str) -> String {
        let mut inline = Inline::default();
        for (index, part) in text.split('#').enumerate() {
            if index > 0 {
                inline.leave_out_number();
            }
            inline.push(part);
        }
        let flat = inline.take();
        assert_eq!(flat.has_words, !flat.text.is_empty());
        flat.text
    }

    #[test]
    fn what_only_names_the_number_of_a_page_goes_with_it() {
        for (text, expected) in [
            ("Page #", ""),
            ("- # -", ""),
            ("Report\tDraft\tPage #", "Report\tDraft"),
            ("Page # of #\tReport", "Report"),
            ("Smith #", "Smith"),
            ("Page", "Page"),
        ] {
            assert_eq!(without_numbers(text), expected, "{text}");
        }
    }

    #[test]
    fn number_before_a_line_end_is_of_the_line_it_ends() {
        let mut inline = Inline::default();
        inline.push("Page ");
        inline.leave_out_number();
        inline.line_break();
        inline.push("Confidential ");
        inline.line_break();
        inline.push("Page ");
        inline.leave_out_number();
        assert_eq!(inline.take().text, "Confidential");
    }

    #[test]
    fn links_keep_their_words_when_something_before_them_goes() {
        let mut inline = Inline::default();
        inline.open_link("gone");
        inline.push("Page ");
        inline.leave_out_number();
        inline.close_link();
        inline.push("\tsee ");
        inline.open_link("u");
        inline.push("here");
        let flat = inline.take();
        assert_eq!(flat.text, "see here");
        let words = flat
            .links
            .iter()
            .map(|link| (&flat.text[link.start..link.end], &*link.url));
        assert_eq!(words.collect::<Vec<_>>(), [("here", "u")]);
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
