//! Pictures that PDF keeps as samples (ISO 32000-1 §8.9.5) to PNG, which keeps samples the same way.
//!
//! Gray, RGB and indexed pictures keep their samples. Colours that PNG does not have are converted the
//! simple way, without colour profiles.

use unpdf::parser::raw::stream::{decode_image, decompress};
use unpdf::parser::raw::{PdfDict, PdfObject, RawDocument};

use super::bilevel::{self, Fax};
use super::facts::entry;

/// What a stream came to.
pub(super) struct Samples {
    pub(super) data: Vec<u8>,
    /// The coding that is still to be undone.
    pub(super) codec: Option<&'static str>,
    /// In pixels.
    pub(super) width: usize,
    pub(super) height: usize,
}

/// A picture written anew.
pub(super) struct Png {
    pub(super) bytes: Vec<u8>,
    /// How many bytes of samples were written.
    pub(super) samples: usize,
}

/// How samples mean colours.
#[derive(Clone, Debug, PartialEq)]
enum Colours {
    Gray,
    Rgb,
    Cmyk,
    /// With red, green and blue of each entry.
    Indexed(Vec<u8>),
    /// Amounts of so many inks.
    Inks(usize),
}

impl Colours {
    fn components(&self) -> usize {
        match self {
            Self::Gray | Self::Indexed(_) => 1,
            Self::Rgb => 3,
            Self::Cmyk => 4,
            Self::Inks(count) => *count,
        }
    }
}

/// Writes a picture as PNG; `None` if its coding or its colours are not known.
pub(super) fn png(file: &RawDocument, dict: &PdfDict, samples: Samples) -> Option<Png> {
    let Samples {
        data,
        codec,
        width,
        height,
    } = samples;
    let is_mask = matches!(entry(file, dict, b"ImageMask"), Some(PdfObject::Bool(true)));
    let is_bilevel = is_mask || codec.is_some();
    let mut data = match codec {
        None => data,
        Some("CCITTFaxDecode") => bilevel::fax(&data, &fax(file, dict), width, height)?,
        Some("JBIG2Decode") => {
            let globals = parameters(file, dict)
                .and_then(|parameters| entry(file, parameters, b"JBIG2Globals")?.as_stream())
                .and_then(|globals| decompress(globals).ok());
            bilevel::jbig2(&data, globals.as_deref(), width, height)?
        }
        Some(_) => return None,
    };
    let bits = match entry(file, dict, b"BitsPerComponent").and_then(PdfObject::as_i64) {
        _ if is_bilevel => 1,
        Some(bits @ (1 | 2 | 4 | 8 | 16)) => bits as usize,
        None => 8,
        Some(_) => return None,
    };
    let colours = match entry(file, dict, b"ColorSpace") {
        _ if is_mask => Colours::Gray,
        Some(space) => colours(file, space, 0)?,
        None => Colours::Gray,
    };
    let row = (width * colours.components() * bits).div_ceil(8);
    if data.len() < row * height / 2 {
        return None;
    }
    data.resize(row * height, 0);
    if is_inverted(file, dict) && !matches!(colours, Colours::Indexed(_)) {
        data.iter_mut().for_each(|byte| *byte = !*byte);
    }
    let picture = Picture {
        width,
        height,
        bits,
        colours,
        data,
    };
    match opacity(file, dict, width, height) {
        Some(opacity) => picture.with_opacity(&opacity),
        None => picture.write(),
    }
}

/// The parameters of the last filter.
fn parameters<'d>(file: &'d RawDocument, dict: &'d PdfDict) -> Option<&'d PdfDict> {
    match entry(file, dict, b"DecodeParms")? {
        PdfObject::Array(all) => file.resolve(all.last()?).as_dict(),
        one => one.as_dict(),
    }
}

fn fax(file: &RawDocument, dict: &PdfDict) -> Fax {
    let parameters = parameters(file, dict);
    let number = |name: &[u8]| entry(file, parameters?, name)?.as_i64();
    let flag = |name: &[u8]| match entry(file, parameters?, name)? {
        PdfObject::Bool(flag) => Some(*flag),
        _ => None,
    };
    Fax {
        k: number(b"K").unwrap_or(0),
        columns: number(b"Columns").unwrap_or(1728),
        black_is_1: flag(b"BlackIs1").unwrap_or(false),
        is_aligned: flag(b"EncodedByteAlign").unwrap_or(false),
        has_line_ends: flag(b"EndOfLine").unwrap_or(false),
        has_block_end: flag(b"EndOfBlock").unwrap_or(true),
    }
}

fn is_inverted(file: &RawDocument, dict: &PdfDict) -> bool {
    let decode = entry(file, dict, b"Decode").and_then(PdfObject::as_array);
    let numbers: Vec<f64> = decode
        .unwrap_or_default()
        .iter()
        .filter_map(|number| file.resolve(number).as_f64())
        .collect();
    !numbers.is_empty() && numbers.chunks_exact(2).all(|pair| pair[0] > pair[1])
}

/// Looks up a colour space (§8.6); `depth` bounds those within others.
fn colours(file: &RawDocument, space: &PdfObject, depth: usize) -> Option<Colours> {
    if depth > 4 {
        return None;
    }
    let space = file.resolve(space);
    let parts = space.as_array().unwrap_or_default();
    let part = |number: usize| parts.get(number).map(|part| file.resolve(part));
    let family = space.as_name().or_else(|| part(0)?.as_name())?;
    match family {
        b"DeviceGray" | b"CalGray" | b"G" => Some(Colours::Gray),
        b"DeviceRGB" | b"CalRGB" | b"RGB" => Some(Colours::Rgb),
        b"DeviceCMYK" | b"CMYK" => Some(Colours::Cmyk),
        b"ICCBased" => match entry(file, &part(1)?.as_stream()?.dict, b"N")?.as_i64()? {
            1 => Some(Colours::Gray),
            3 => Some(Colours::Rgb),
            4 => Some(Colours::Cmyk),
            _ => None,
        },
        b"Separation" => Some(Colours::Inks(1)),
        b"DeviceN" => {
            let inks = part(1)?.as_array()?.len();
            (1..=32).contains(&inks).then_some(Colours::Inks(inks))
        }
        b"Indexed" | b"I" => {
            let base = colours(file, part(1)?, depth + 1)?;
            let table = match part(3)? {
                PdfObject::Str(bytes) => bytes.clone(),
                PdfObject::Stream(stream) => decompress(stream).ok()?,
                _ => return None,
            };
            let entries = table.chunks_exact(base.components()).take(256);
            Some(Colours::Indexed(
                entries.flat_map(|entry| rgb(&base, entry)).collect(),
            ))
        }
        _ => None,
    }
}

/// Returns the red, green and blue of a colour in samples of 8 bits.
fn rgb(colours: &Colours, sample: &[u8]) -> [u8; 3] {
    match (colours, sample) {
        (Colours::Rgb, &[red, green, blue]) => [red, green, blue],
        (Colours::Cmyk, &[cyan, magenta, yellow, black]) => {
            let light = |ink: u8| {
                let light = u16::from(255 - ink) * u16::from(255 - black) / 255;
                light as u8
            };
            [light(cyan), light(magenta), light(yellow)]
        }
        (Colours::Indexed(palette), &[index]) => {
            let at = usize::from(index) * 3;
            let entry = palette.get(at..at + 3);
            entry.map_or([0; 3], |entry| [entry[0], entry[1], entry[2]])
        }
        (Colours::Inks(_), inks) => {
            let ink: u32 = inks.iter().map(|ink| u32::from(*ink)).sum();
            [255 - ink.min(255) as u8; 3]
        }
        (_, sample) => [sample.first().copied().unwrap_or(0); 3],
    }
}

/// Returns how opaque each pixel is, where the picture has a mask of its own (§8.9.6.3, §11.6.5.3).
fn opacity(file: &RawDocument, dict: &PdfDict, width: usize, height: usize) -> Option<Vec<u8>> {
    let mask = entry(file, dict, b"SMask").or_else(|| entry(file, dict, b"Mask"))?;
    let mask = mask.as_stream()?;
    let size = |name: &[u8]| usize::try_from(entry(file, &mask.dict, name)?.as_i64()?).ok();
    let (columns, rows) = (size(b"Width")?, size(b"Height")?);
    let pixels = columns.checked_mul(rows)?;
    if pixels == 0 || pixels > 64 << 20 || width * height > 64 << 20 {
        return None;
    }
    let is_stencil = matches!(
        entry(file, &mask.dict, b"ImageMask"),
        Some(PdfObject::Bool(true))
    );
    let bits = if is_stencil {
        1
    } else {
        size(b"BitsPerComponent")?
    };
    let decoded = decode_image(mask, pixels as u64 * 2).ok()?;
    if decoded.codec.is_some() || !matches!(bits, 1 | 2 | 4 | 8 | 16) {
        return None;
    }
    // Where a stencil is 1 nothing is painted; a soft mask has the amounts themselves.
    let is_inverted = is_stencil != is_inverted(file, &mask.dict);
    let samples = unpacked(&decoded.data, columns, rows, bits, true);
    let at = |x: usize, y: usize| {
        let sample = samples.get(y * rows / height * columns + x * columns / width);
        let sample = sample.copied().unwrap_or(255);
        if is_inverted { 255 - sample } else { sample }
    };
    Some(
        (0..height)
            .flat_map(|y| (0..width).map(move |x| at(x, y)).collect::<Vec<_>>())
            .collect(),
    )
}

/// Spreads samples to bytes; rows begin on bytes. `scaled` gives the largest value 255.
fn unpacked(data: &[u8], per_row: usize, rows: usize, bits: usize, scaled: bool) -> Vec<u8> {
    let row = (per_row * bits).div_ceil(8);
    let most = (1u16 << bits.min(8)) - 1;
    let mut samples = Vec::with_capacity(per_row * rows);
    for line in data.chunks(row.max(1)).take(rows) {
        for at in 0..per_row {
            let byte = line.get(at * bits / 8).copied().unwrap_or(0);
            let sample = match bits {
                8 | 16 => byte,
                _ => (byte >> (8 - bits - at * bits % 8)) & most as u8,
            };
            samples.push(match scaled {
                true => (u16::from(sample) * 255 / most) as u8,
                false => sample,
            });
        }
    }
    samples
}

/// A picture whose samples are complete.
struct Picture {
    width: usize,
    height: usize,
    bits: usize,
    colours: Colours,
    data: Vec<u8>,
}

impl Picture {
    fn write(self) -> Option<Png> {
        match &self.colours {
            Colours::Gray => self.encoded(png::ColorType::Grayscale, self.bits, &self.data, None),
            Colours::Rgb if self.bits >= 8 => {
                self.encoded(png::ColorType::Rgb, self.bits, &self.data, None)
            }
            Colours::Indexed(palette) if self.bits <= 8 => {
                // An index without an entry is black, as elsewhere.
                let mut palette = palette.clone();
                palette.resize(3 << self.bits, 0);
                self.encoded(
                    png::ColorType::Indexed,
                    self.bits,
                    &self.data,
                    Some(palette),
                )
            }
            _ => self.encoded(png::ColorType::Rgb, 8, &self.rgb(), None),
        }
    }

    fn with_opacity(self, opacity: &[u8]) -> Option<Png> {
        let rgb = self.rgb();
        let pixels = rgb.chunks_exact(3).zip(opacity);
        let data: Vec<u8> = pixels
            .flat_map(|(rgb, opacity)| [rgb[0], rgb[1], rgb[2], *opacity])
            .collect();
        self.encoded(png::ColorType::Rgba, 8, &data, None)
    }

    fn rgb(&self) -> Vec<u8> {
        let components = self.colours.components();
        let scaled = !matches!(self.colours, Colours::Indexed(_));
        let per_row = self.width * components;
        let samples = unpacked(&self.data, per_row, self.height, self.bits, scaled);
        let pixels = samples.chunks_exact(components);
        pixels
            .flat_map(|sample| rgb(&self.colours, sample))
            .collect()
    }

    fn encoded(
        &self,
        colours: png::ColorType,
        bits: usize,
        data: &[u8],
        palette: Option<Vec<u8>>,
    ) -> Option<Png> {
        let size = |side: usize| u32::try_from(side).ok();
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, size(self.width)?, size(self.height)?);
        encoder.set_color(colours);
        encoder.set_depth(png::BitDepth::from_u8(bits as u8)?);
        encoder.set_compression(png::Compression::Balanced);
        if let Some(palette) = palette {
            encoder.set_palette(palette);
        }
        let mut writer = encoder.write_header().ok()?;
        writer.write_image_data(data).ok()?;
        writer.finish().ok()?;
        Some(Png {
            bytes,
            samples: data.len(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Colours, rgb, unpacked};

    #[test]
    fn samples_of_few_bits_are_spread_row_by_row() {
        assert_eq!(
            unpacked(&[0b1010_0000, 0b0100_0000], 3, 2, 1, true),
            [255, 0, 255, 0, 255, 0]
        );
        assert_eq!(unpacked(&[0x1B], 4, 1, 2, false), [0, 1, 2, 3]);
        assert_eq!(unpacked(&[0xF0], 2, 1, 4, true), [255, 0]);
        assert_eq!(unpacked(&[1, 2], 3, 2, 8, false), [1, 2, 0]);
    }

    #[test]
    fn colours_png_does_not_have_are_converted() {
        assert_eq!(rgb(&Colours::Cmyk, &[255, 0, 0, 0]), [0, 255, 255]);
        assert_eq!(rgb(&Colours::Cmyk, &[0, 0, 0, 255]), [0, 0, 0]);
        assert_eq!(rgb(&Colours::Inks(2), &[55, 100]), [100; 3]);
        assert_eq!(rgb(&Colours::Indexed(vec![1, 2, 3]), &[1]), [0; 3]);
    }
}
