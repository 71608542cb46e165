//! The command `dpe check`.

use std::sync::Arc;

use crate::error::Error;
use crate::json::Writer;
use crate::ops::check::{self, Check, Checked, Wrong};
use crate::sync::event::Observer;
use crate::ui::{Audience, Voice, printable};

use super::context::CommonArgs;
use super::exit::Exit;
use super::signal::Ending;
use super::sources::SourceArgs;
use super::switch::switch;

/// Check whether the remote still holds what was pushed
///
/// Asks the remote for every document that was confirmed, names those that are missing or different, and writes
/// nothing. Ends with 1 if there are any.
#[derive(Debug, clap::Args)]
pub(super) struct CheckArgs {
    #[command(flatten)]
    sources: SourceArgs,

    /// Read and hash the whole source again, and compare the remote with that
    #[arg(long, env = "DPE_DEEP", value_parser = switch())]
    deep: bool,
}

impl CheckArgs {
    /// Runs the command.
    pub(super) async fn run(self, common: &CommonArgs) -> Result<Exit, Error> {
        let voice = common.voice();
        let sources = self.sources.resolve(common)?;
        let check = Check {
            state_dir: common.state_dir()?,
            deep: self.deep,
        };
        let ending = Ending::caught(voice);
        let work = async {
            let observer: Arc<dyn Observer> = Arc::new(Audience::of(voice, false));
            let mut written = Ok(true);
            let mut tell = |wrong: Wrong, uri: &str| {
                if matches!(written, Ok(true)) {
                    written = voice.result(&line(voice, wrong, uri));
                }
            };
            let all = check::check(&check, sources, &observer, &ending.cancel, &mut tell).await;
            drop(observer);
            written.map_err(Error::Output)?;
            if ending.cancel.is_cancelled() {
                return Ok(Exit::Failed);
            }
            let mut exit = Exit::Success;
            for checked in &all {
                exit = exit.max(self.close(voice, checked)?);
            }
            Ok(exit)
        };
        ending.bound(work).await
    }

    /// Tells how the check of one source ended.
    fn close(&self, voice: Voice, checked: &Checked) -> Result<Exit, Error> {
        if let Some(error) = &checked.error {
            voice.failure(error);
            voice.page(&error.failure());
            return Ok(Exit::of_source(error));
        }
        if voice.json {
            voice
                .result(&closing_json(checked))
                .map_err(Error::Output)?;
        }
        let source = printable(&checked.source);
        let compared = match (checked.compared, self.deep) {
            (1, false) => "1 document was pushed".to_owned(),
            (count, false) => format!("{count} documents were pushed"),
            (1, true) => "1 document was compared with the source".to_owned(),
            (count, true) => format!("{count} documents were compared with the source"),
        };
        if checked.is_well() {
            voice.say(&format!(
                "checked {source}: {compared}, and the remote holds all of it"
            ));
            return Ok(Exit::Success);
        }
        let counts = Wrong::ALL.iter().zip(checked.wrong);
        let counts = counts.filter(|(_, count)| *count > 0);
        let counts = counts.map(|(wrong, count)| format!("{count} {}", wrong.name()));
        let counts: Vec<String> = counts.collect();
        voice.warn(self.way_out(checked));
        voice.warn(&format!(
            "checked {source}: {compared}, {}",
            counts.join(", ")
        ));
        Ok(Exit::Partial)
    }

    /// What the next push will do about it.
    fn way_out(&self, checked: &Checked) -> &'static str {
        if checked.was_reset {
            return "nothing is left on the remote below this prefix: the next push notices that, and pushes \
                everything again";
        }
        if self.deep {
            return "`dpe status` shows which of this the next push delivers; it leaves what somebody else wrote or deleted \
                until the file changes. `dpe push FILE` delivers a single file anew";
        }
        "the next push leaves these as they are until their files change; `dpe push FILE` delivers a single file anew"
    }
}

fn line(voice: Voice, wrong: Wrong, uri: &str) -> String {
    match voice.json {
        true => as_json(wrong, uri),
        false => format!("{:<10} {}", wrong.name(), printable(uri)),
    }
}

fn as_json(wrong: Wrong, uri: &str) -> String {
    let mut json = Writer::new();
    json.begin_object();
    json.name("type").string(wrong.name());
    json.name("file_uri").string(uri);
    json.end_object();
    json.into_string()
}

fn closing_json(checked: &Checked) -> String {
    let mut json = Writer::new();
    json.begin_object();
    json.name("type").string("checked");
    json.name("source").string(&checked.source);
    json.name("compared").integer(checked.compared);
    for (wrong, count) in Wrong::ALL.iter().zip(checked.wrong) {
        json.name(wrong.name()).integer(count);
    }
    json.end_object();
    json.into_string()
}
