//! The few formats that the rows of large tables speak of by number.

use std::sync::Arc;

/// Names of formats, each with a number.
#[derive(Clone, Debug, Default)]
pub(crate) struct Formats(Vec<Arc<str>>);

impl Formats {
    /// Returns the number of a format, a new one if need be.
    pub(crate) fn number_of(&mut self, format: &Arc<str>) -> u32 {
        let known = self.0.iter().position(|known| known == format);
        let number = known.unwrap_or_else(|| {
            self.0.push(Arc::clone(format));
            self.0.len() - 1
        });
        u32::try_from(number).expect("there are not that many formats")
    }

    /// Returns the format of a number that was given out.
    pub(crate) fn of_number(&self, number: u32) -> &str {
        &self.0[number as usize]
    }
}
