//! Pages: those that a format declares, and those of documents whose format has none.
//!
//! A page is what travels as a whole: a connector cuts a large document into messages between
//! pages only (connector contract §13). So a long text has several. Where they end depends on
//! nothing but the content: the same bytes have to give the same hashes with every runner.

use dpe_connector::content::{Element, Metadata, Page};

use crate::made::ELEMENT_OVERHEAD;

/// The most bytes of text a page has, but for the one element that goes beyond it. Escaped in the
/// most wasteful way, six bytes for each, a page still fits the smallest message of a runner
/// (32 MiB, §34) together with its envelope.
const PAGE_BYTES: usize = 4 << 20;

/// Spreads elements over pages; none if there is nothing to read.
pub(crate) fn of(elements: Vec<Element>) -> Vec<Page> {
    spread(elements, Vec::new())
}

/// Spreads the elements of a page that the format declares: it is there even if it is empty, and
/// what goes beyond its size goes on in further pages without a title.
pub(crate) fn declared(
    title: Option<String>,
    page_metadata: Metadata,
    elements: Vec<Element>,
) -> Vec<Page> {
    let page = Page {
        title,
        page_metadata,
        elements: Vec::new(),
    };
    spread(elements, vec![page])
}

fn spread(mut elements: Vec<Element>, mut pages: Vec<Page>) -> Vec<Page> {
    if elements.is_empty() {
        return pages;
    }
    // From the end, so that no element is moved more than once; of a text on one page none is.
    let mut further: Vec<Page> = Vec::new();
    for start in beginnings(&elements).into_iter().rev() {
        further.push(Page {
            elements: elements.split_off(start),
            ..Page::default()
        });
    }
    if !further.is_empty() {
        elements.shrink_to_fit();
    }
    match pages.last_mut() {
        Some(page) => page.elements = elements,
        None => pages.push(Page {
            elements,
            ..Page::default()
        }),
    }
    pages.extend(further.into_iter().rev());
    pages
}

/// Returns where pages begin after the first.
fn beginnings(elements: &[Element]) -> Vec<usize> {
    let mut beginnings = Vec::new();
    let mut used = 0;
    for (index, element) in elements.iter().enumerate() {
        let bytes = size(element);
        used += bytes;
        let is_first = index == beginnings.last().copied().unwrap_or(0);
        if used > PAGE_BYTES && !is_first {
            used = bytes;
            beginnings.push(index);
        }
    }
    beginnings
}

/// Returns how many bytes an element has, its metadata as JSON: with every version as now, or pages would end elsewhere.
fn size(element: &Element) -> usize {
    let texts = [&element.text, &element.text_as_html];
    let texts: usize = texts.into_iter().flatten().map(String::len).sum();
    let mut metadata = Counted(0);
    if !element.metadata.is_empty()
        && serde_json::to_writer(&mut metadata, &element.metadata).is_err()
    {
        metadata.0 = 0;
    }
    texts + metadata.0 + ELEMENT_OVERHEAD
}

/// Bytes that are counted and not kept.
struct Counted(usize);

impl std::io::Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use dpe_connector::content::Category;

    use super::*;

    fn elements(lengths: &[usize]) -> Vec<Element> {
        let element = |&length| Element::text(Category::NarrativeText, "x".repeat(length));
        lengths.iter().map(element).collect()
    }

    fn lengths(pages: &[Page]) -> Vec<usize> {
        pages.iter().map(|page| page.elements.len()).collect()
    }

    #[test]
    fn a_text_of_common_length_is_one_page_and_an_empty_one_none() {
        assert_eq!(lengths(&of(elements(&[]))), Vec::<usize>::new());
        assert_eq!(lengths(&of(elements(&[1000; 500]))), [500]);
    }

    #[test]
    fn a_page_ends_before_the_element_that_would_exceed_it() {
        let quarter = PAGE_BYTES / 4 - ELEMENT_OVERHEAD;
        assert_eq!(lengths(&of(elements(&[quarter; 9]))), [4, 4, 1]);
        assert_eq!(lengths(&of(elements(&[quarter + 1; 9]))), [3, 3, 3]);
        assert_eq!(lengths(&of(elements(&[9 << 20, 1, 9 << 20]))), [1, 1, 1]);
    }

    #[test]
    fn a_declared_page_is_there_without_elements_and_goes_on_when_it_is_too_large() {
        let title = || Some("Sheet".to_owned());
        let empty = declared(title(), Metadata::new(), Vec::new());
        assert_eq!(
            (empty[0].title.clone(), lengths(&empty)),
            (title(), vec![0])
        );
        let large = declared(title(), Metadata::new(), elements(&[9 << 20, 1]));
        assert_eq!(
            (large[1].title.clone(), lengths(&large)),
            (None, vec![1, 1])
        );
    }

    #[test]
    fn all_elements_are_there_in_their_order() {
        let made = elements(
            &(0..3000)
                .map(|number| number * 7 % 9001)
                .collect::<Vec<_>>(),
        );
        let pages = of(made.clone());
        assert!(pages.len() > 1);
        let joined: Vec<Element> = pages.into_iter().flat_map(|page| page.elements).collect();
        assert_eq!(joined, made);
    }
}
