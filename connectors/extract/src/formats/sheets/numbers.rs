//! Values of cells as a person would type them.

use std::collections::HashMap;

use super::dates::{self, Shown};
use crate::numbers::plain;

/// What the formats of a workbook make of its numbers.
#[derive(Debug, Default)]
pub(super) struct Formats {
    /// Whether days count from 1904.
    pub(super) is_1904: bool,
    /// The number format of each cell format.
    pub(super) of_cells: Vec<u16>,
    own: HashMap<u16, Shown>,
}

impl Formats {
    /// Keeps a format that the workbook defines.
    pub(super) fn define(&mut self, number: u16, code: &str) {
        self.own.insert(number, dates::of_code(code));
    }

    /// Returns a number as the cell format shows it.
    pub(super) fn text(&self, number: f64, cell_format: usize) -> String {
        let format = self.of_cells.get(cell_format).copied().unwrap_or(0);
        let shown = self.own.get(&format).copied();
        let shown = shown.unwrap_or_else(|| dates::of_built_in(format));
        let special = match shown {
            Shown::Number => None,
            Shown::Date => dates::date(number, self.is_1904),
            Shown::Duration => dates::duration(number),
        };
        special.unwrap_or_else(|| plain(number))
    }
}

/// Returns a truth value as spreadsheets show it.
pub(super) fn truth(value: bool) -> String {
    let text = if value { "TRUE" } else { "FALSE" };
    text.to_owned()
}

/// Returns the text of an error by its number in binary files ([MS-XLS] §2.5.10).
pub(super) fn error(number: u8) -> &'static str {
    match number {
        0x00 => "#NULL!",
        0x07 => "#DIV/0!",
        0x0F => "#VALUE!",
        0x17 => "#REF!",
        0x1D => "#NAME?",
        0x24 => "#NUM!",
        0x2A => "#N/A",
        0x2B => "#GETTING_DATA",
        _ => "",
    }
}

/// Returns the number that 30 bits and two flags are ([MS-XLS] §2.5.217).
pub(super) fn rk(value: u32) -> f64 {
    let number = match value & 2 {
        0 => f64::from_bits(u64::from(value & !3) << 32),
        _ => f64::from((value as i32) >> 2),
    };
    if value & 1 == 1 {
        number / 100.0
    } else {
        number
    }
}

#[cfg(test)]
mod tests {
    use super::rk;

    #[test]
    fn packed_numbers_are_unpacked() {
        assert_eq!(rk(0x3FF0_0000), 1.0);
        assert_eq!(rk(0x3FF0_0001), 0.01);
        assert_eq!(rk((123_456 << 2) | 2), 123_456.0);
        assert_eq!(rk((-5i32 << 2) as u32 | 3), -0.05);
    }
}
