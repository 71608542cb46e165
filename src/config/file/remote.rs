//! The tables `[remote.NAME]`.

use std::ops::Range;

use super::read::{Item, Key, Reader};
use super::{Owner, RemoteEntry};
use crate::config::credential::Credential;
use crate::config::remote::{RemoteLocation, RemoteUrl};

pub(super) const KEYS: [&str; 7] = [
    "url",
    "store",
    "credential",
    "timeout",
    "limit_upload",
    "cacert",
    "client_cert",
];

pub(super) fn read(
    reader: &mut Reader<'_>,
    name: &Key<'_>,
    item: &Item<'_>,
) -> Option<RemoteEntry> {
    let within = format!("remote.{}", name.get_ref());
    let table = reader.table(&within, item)?;
    let (mut url, mut store, mut credential) = (None, None, None);
    let (mut timeout, mut limit_upload, mut cacert, mut client_cert) = (None, None, None, None);
    for (key, item) in table {
        match &**key.get_ref() {
            "url" => url = Some((url_of(reader, item), key.span())),
            "store" => store = Some((reader.path_value("store", item), key.span())),
            "credential" => credential = reader.credential(item),
            "timeout" => timeout = reader.seconds("timeout", item),
            "limit_upload" => limit_upload = reader.rate("limit_upload", item),
            "cacert" => cacert = reader.path_value("cacert", item),
            "client_cert" => client_cert = reader.path_value("client_cert", item),
            _ => reader.unknown(key, &KEYS, &within),
        }
    }
    let location = match (url, store) {
        (Some((url, _)), None) => RemoteLocation::Url(url?),
        (None, Some((store, _))) => RemoteLocation::Store(store?),
        (Some(_), Some((_, span))) => return both(reader, span),
        (None, None) => return neither(reader, name),
    };
    Some(RemoteEntry {
        location,
        credential,
        timeout,
        limit_upload,
        cacert,
        client_cert,
        span: name.span(),
    })
}

fn both<T>(reader: &mut Reader<'_>, span: Range<usize>) -> Option<T> {
    let what = "a remote is behind a URL or in a store, not both";
    let way_out = "leave out `url` or `store`, or make two remotes of it";
    reader.note("dpe::config::two_places", what, way_out, span);
    None
}

fn neither<T>(reader: &mut Reader<'_>, name: &Key<'_>) -> Option<T> {
    let what = format!(
        "the remote `{}` has neither `url` nor `store`",
        name.get_ref()
    );
    let way_out = "add url = \"https://…\", or store = \"path\" for an embedded remote";
    reader.note("dpe::config::no_place", what, way_out, name.span());
    None
}

fn url_of(reader: &mut Reader<'_>, item: &Item<'_>) -> Option<RemoteUrl> {
    let text = reader.string("url", item, "\"https://dpe.example.com/r/42\"")?;
    match RemoteUrl::parse(&text) {
        Ok(url) => Some(url),
        Err(why) => {
            let what = format!("the URL of the remote cannot be used: {why}");
            let way_out = "write it like https://dpe.example.com/r/42; what authorises comes from `credential`, never from the URL";
            reader.note("dpe::config::remote_url", what, way_out, item.span());
            None
        }
    }
}

impl Reader<'_> {
    fn credential(&mut self, item: &Item<'_>) -> Option<Credential> {
        let example = "{ env = \"DPE_AUTHORIZATION\" }";
        let wanted = "where the credential is: exactly one of `env`, `file` and `command`";
        let table = item.get_ref().as_table();
        let table = table.filter(|table| table.len() == 1);
        let (key, value) = self.or_wrong(
            table.and_then(|table| table.iter().next()),
            "credential",
            item,
            wanted,
            example,
        )?;
        match &**key.get_ref() {
            // What somebody else wrote down could send what is in our variables anywhere.
            _ if self.owner == Owner::Stranger => {
                self.strange("its credential would be yours", key.span())
            }
            "env" => Some(Credential::Variable(self.string(
                "env",
                value,
                "\"DPE_AUTHORIZATION\"",
            )?)),
            "file" => Some(Credential::File(self.path_value("file", value)?)),
            "command" => {
                let command = self.strings("command", value, "[\"pass\", \"show\", \"dpe\"]")?;
                Some(Credential::Program(command))
            }
            _ => {
                self.unknown(key, &["env", "file", "command"], "credential");
                None
            }
        }
    }

    /// Refuses to start what somebody else wrote down.
    pub(super) fn may_start(&mut self, what: &str, span: Range<usize>) -> Option<()> {
        match self.owner {
            Owner::Trusted => Some(()),
            Owner::Stranger => self.strange(what, span),
        }
    }

    fn strange<T>(&mut self, what: &str, span: Range<usize>) -> Option<T> {
        let what = format!("this file belongs to another user, and {what}");
        let way_out = "name the file with --config if you trust it, make it your own, or put this table \
             into your own configuration file";
        self.note("dpe::config::stranger", what, way_out, span);
        None
    }
}
