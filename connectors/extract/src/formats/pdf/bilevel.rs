//! Pictures in black and white, coded as fax machines do (ISO 32000-1 §7.4.6) or as JBIG2 (§7.4.7).

use hayro_ccitt::{DecodeSettings, DecoderContext, EncodingMode};
use hayro_jbig2::Image;

/// No fax is wider.
const MOST_COLUMNS: i64 = 1 << 17;

/// How a fax is coded (table 11).
pub(super) struct Fax {
    pub(super) k: i64,
    pub(super) columns: i64,
    pub(super) black_is_1: bool,
    pub(super) is_aligned: bool,
    pub(super) has_line_ends: bool,
    pub(super) has_block_end: bool,
}

/// Returns the samples of a fax, a bit each, as far as they can be read.
pub(super) fn fax(data: &[u8], fax: &Fax, width: usize, height: usize) -> Option<Vec<u8>> {
    if !(1..=MOST_COLUMNS).contains(&fax.columns) {
        return None;
    }
    let settings = DecodeSettings {
        columns: u32::try_from(fax.columns).ok()?,
        rows: u32::try_from(height).ok()?,
        end_of_block: fax.has_block_end,
        end_of_line: fax.has_line_ends,
        rows_are_byte_aligned: fax.is_aligned,
        encoding: match fax.k {
            0 => EncodingMode::Group3_1D,
            k if k < 0 => EncodingMode::Group4,
            k => EncodingMode::Group3_2D {
                k: u32::try_from(k).ok()?,
            },
        },
        invert_black: false,
    };
    let mut rows = Rows::white(width, height);
    let decoded = hayro_ccitt::decode(data, &mut rows, &mut DecoderContext::new(settings));
    if decoded.is_err() && rows.is_untouched() {
        return None;
    }
    let mut samples = rows.samples;
    if fax.black_is_1 {
        samples.iter_mut().for_each(|byte| *byte = !*byte);
    }
    Some(samples)
}

/// Returns the samples of a JBIG2 picture: white is 1.
pub(super) fn jbig2(
    data: &[u8],
    globals: Option<&[u8]>,
    width: usize,
    height: usize,
) -> Option<Vec<u8>> {
    let image = Image::new_embedded(data, globals).ok()?;
    let pixels = u64::from(image.width()) * u64::from(image.height());
    // What it says of itself has to be what the file says of it, more or less.
    if pixels
        > (width as u64 * height as u64)
            .saturating_mul(4)
            .max(1 << 20)
    {
        return None;
    }
    let mut rows = Rows::white(width, height);
    let decoded = image.decode(&mut rows);
    if decoded.is_err() && rows.is_untouched() {
        return None;
    }
    Some(rows.samples)
}

/// Rows of pixels, eight to a byte, white as 1.
struct Rows {
    width: usize,
    height: usize,
    stride: usize,
    samples: Vec<u8>,
    row: usize,
    column: usize,
}

impl Rows {
    fn white(width: usize, height: usize) -> Self {
        let stride = width.div_ceil(8);
        Self {
            width,
            height,
            stride,
            samples: vec![0xFF; stride * height],
            row: 0,
            column: 0,
        }
    }

    fn is_untouched(&self) -> bool {
        self.row == 0 && self.column == 0
    }

    fn push(&mut self, is_white: bool, count: usize) {
        if self.row < self.height && !is_white {
            for column in self.column..(self.column + count).min(self.width) {
                self.samples[self.row * self.stride + column / 8] &= !(0x80 >> (column % 8));
            }
        }
        self.column += count;
    }

    fn end(&mut self) {
        self.row += 1;
        self.column = 0;
    }
}

impl hayro_ccitt::Decoder for Rows {
    fn push_pixel(&mut self, white: bool) {
        self.push(white, 1);
    }

    fn push_pixel_chunk(&mut self, white: bool, chunk_count: u32) {
        self.push(white, chunk_count as usize * 8);
    }

    fn next_line(&mut self) {
        self.end();
    }
}

impl hayro_jbig2::Decoder for Rows {
    fn push_pixel(&mut self, black: bool) {
        self.push(!black, 1);
    }

    fn push_pixel_chunk(&mut self, black: bool, chunk_count: u32) {
        self.push(!black, chunk_count as usize * 8);
    }

    fn next_line(&mut self) {
        self.end();
    }
}
