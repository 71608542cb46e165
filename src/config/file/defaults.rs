//! What can be set by flag, variable and file: one table of all of it.
//!
//! The precedence, the listing of the configuration and its reference are made from this table.

use std::collections::BTreeMap;
use std::path::Path;

use super::DefaultEntry;
use super::read::{Item, Reader};
use super::values;
use crate::config::network::Rate;

/// Something that can be set in three places.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Its key below `defaults`.
    pub key: &'static str,
    /// Its flag.
    pub flag: &'static str,
    /// Its variable.
    pub variable: &'static str,
    /// What values it takes.
    pub kind: SettingKind,
    /// The value if nobody says anything, where that is one.
    pub default: Option<&'static str>,
    /// What holds if nobody says anything, in words.
    pub usual: &'static str,
}

/// What values a setting takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SettingKind {
    /// The name of a remote.
    Remote,
    /// A path; in a file, relative to the file.
    Path,
    /// A number of seconds.
    Seconds,
    /// Bytes a second.
    Rate,
    /// A number of documents, or a share of them.
    DeleteLimit,
}

/// All of them, in the order in which they are listed.
pub const SETTINGS: [Setting; 7] = [
    Setting {
        key: "remote",
        flag: "--remote",
        variable: "DPE_REMOTE",
        kind: SettingKind::Remote,
        default: None,
        usual: "the only remote, or `origin`, or the embedded one of the user",
    },
    Setting {
        key: "state_dir",
        flag: "--state-dir",
        variable: "DPE_STATE_DIR",
        kind: SettingKind::Path,
        default: None,
        usual: "that of the user",
    },
    Setting {
        key: "max_delete",
        flag: "--max-delete",
        variable: "DPE_MAX_DELETE",
        kind: SettingKind::DeleteLimit,
        default: None,
        usual: "half of the documents, or 20",
    },
    Setting {
        key: "timeout",
        flag: "--timeout",
        variable: "DPE_TIMEOUT",
        kind: SettingKind::Seconds,
        default: Some("30"),
        usual: "30",
    },
    Setting {
        key: "limit_upload",
        flag: "--limit-upload",
        variable: "DPE_LIMIT_UPLOAD",
        kind: SettingKind::Rate,
        default: None,
        usual: "none",
    },
    Setting {
        key: "cacert",
        flag: "--cacert",
        variable: "DPE_CACERT",
        kind: SettingKind::Path,
        default: None,
        usual: "none",
    },
    Setting {
        key: "client_cert",
        flag: "--client-cert",
        variable: "DPE_CLIENT_CERT",
        kind: SettingKind::Path,
        default: None,
        usual: "none",
    },
];

/// Reads the table `defaults`.
pub(super) fn read(
    reader: &mut Reader<'_>,
    item: &Item<'_>,
) -> BTreeMap<&'static str, DefaultEntry> {
    let mut defaults = BTreeMap::new();
    let known = SETTINGS.map(|setting| setting.key);
    let Some(table) = reader.table("defaults", item) else {
        return defaults;
    };
    for (key, value) in table {
        let name = key.get_ref();
        let Some(setting) = SETTINGS.iter().find(|setting| setting.key == name) else {
            reader.unknown(key, &known, "defaults");
            continue;
        };
        if let Some(text) = reader.setting(setting, value) {
            let entry = DefaultEntry {
                value: text,
                span: value.span(),
            };
            defaults.insert(setting.key, entry);
        }
    }
    defaults
}

impl Reader<'_> {
    fn setting(&mut self, setting: &Setting, value: &Item<'_>) -> Option<String> {
        match setting.kind {
            SettingKind::Remote => self.string(setting.key, value, "\"origin\""),
            SettingKind::Path => {
                let path = self.path_value(setting.key, value)?;
                self.unicode(setting.key, value, &path)
            }
            SettingKind::Seconds => Some(self.seconds(setting.key, value)?.to_string()),
            SettingKind::Rate => Some(self.rate(setting.key, value)?.0.to_string()),
            SettingKind::DeleteLimit => self.delete_limit(setting.key, value),
        }
    }

    pub(super) fn seconds(&mut self, key: &str, value: &Item<'_>) -> Option<u32> {
        let seconds = values::integer(value.get_ref()).and_then(|value| value.try_into().ok());
        self.or_wrong(seconds, key, value, "a number of seconds", "60")
    }

    pub(super) fn rate(&mut self, key: &str, value: &Item<'_>) -> Option<Rate> {
        let text = values::plain(value.get_ref());
        let rate = text.and_then(|text| text.parse().ok());
        self.or_wrong(rate, key, value, "a number of bytes a second", "\"512K\"")
    }

    pub(super) fn delete_limit(&mut self, key: &str, value: &Item<'_>) -> Option<String> {
        let text = values::plain(value.get_ref()).filter(|text| {
            let (digits, most) = match text.strip_suffix('%') {
                Some(digits) => (digits, 100),
                None => (text.as_str(), u64::MAX),
            };
            let number = digits.parse::<u64>();
            !digits.starts_with('+') && number.is_ok_and(|number| number <= most)
        });
        let wanted = "a number of documents, or a share of them";
        self.or_wrong(text, key, value, wanted, "\"10%\"")
    }

    fn unicode(&mut self, key: &str, value: &Item<'_>, path: &Path) -> Option<String> {
        let text = path.to_str().map(str::to_owned);
        self.or_wrong(text, key, value, "a path in valid Unicode", "\"state\"")
    }
}

#[cfg(test)]
mod tests {
    use super::SETTINGS;

    /// The reference of all keys.
    const REFERENCE: &str = include_str!("../../../docs/configuration.md");

    #[test]
    fn every_setting_has_its_row_in_the_reference() {
        for setting in SETTINGS {
            let row = format!(
                "| `{}` | `{}` | `{}` |",
                setting.key, setting.flag, setting.variable
            );
            assert!(REFERENCE.contains(&row), "{row}");
        }
    }

    #[test]
    fn every_key_of_remotes_and_sources_is_in_the_reference() {
        for key in super::super::remote::KEYS
            .iter()
            .chain(&super::super::source::KEYS)
        {
            assert!(REFERENCE.contains(&format!("`{key}`")), "{key}");
        }
    }
}
