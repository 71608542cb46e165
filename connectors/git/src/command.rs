//! The user's own `git`, for what needs a network: it knows their credential helpers, keys, proxies
//! and certificates.
//!
//! It never asks anybody anything, runs no hook, and ends when nobody waits for it any more. Users
//! and passwords reach it through its environment, never as arguments.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::iter;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use dpe_connector::{CancelFlag, RpcError};
use dpe_connector_files::shown;

use crate::place::Url;
use crate::said::Said;
use crate::secrets::Secrets;

/// How often it is looked whether git has ended or the request was given up.
const POLL: Duration = Duration::from_millis(10);

/// How long what git wrote may take to arrive after its end: longer than the guard takes to end who
/// holds on to it.
const GRACE: Duration = Duration::from_secs(3);

/// Runs a command in a group of its own, which ends with the command, or as soon as nobody holds the
/// other end of stdin any more, however that came about: first so that git removes what it left half
/// done, then at once. What git starts (ssh, helpers) may wait for a network, and does not end with git.
const GUARD: &str = r#"
exec 3<&0 </dev/null
{ trap '' TERM; read -r _; kill -TERM 0; sleep 1; kill -KILL 0; } <&3 >/dev/null 2>&1 &
trap : TERM
"$@" 3<&- &
wait $!; status=$?
while kill -0 $! 2>/dev/null; do wait $!; status=$?; done
exit $status
"#;

/// What a shell makes of a command that it does not find, or cannot run.
const NOT_STARTED: [i32; 2] = [126, 127];

/// What git writes to stdout is short: one reference, with those of other folders of the same name.
const OUTPUT_BYTES: u64 = 4 << 20;

/// So much is read of a line for people,
const LINE_BYTES: u64 = 8 << 10;

/// and so much of a longer one is left out at its end, where a credential may be cut.
const LINE_END_BYTES: usize = 2 << 10;

/// Name of the secret that the manifest declares.
const TOKEN: &str = "GIT_TOKEN";

/// Who presents a token if the URL does not say it. Hosts that take tokens do not mind.
const TOKEN_USER: &str = "x-access-token";

/// Variables by which a caller of this program that is git itself would lead git astray.
const REMOVED: [&str; 9] = [
    TOKEN,
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// Hands the credential over. The shell is git's own way of running helpers.
const HELPER: &str = r#"!f() { test "$1" = get && printf 'username=%s\npassword=%s\n' "$DPE_GIT_USER" "$DPE_GIT_PASSWORD"; }; f"#;

/// Why git gave nothing.
#[derive(Debug)]
pub(crate) enum Failed {
    /// The request was given up.
    Cancelled(RpcError),
    /// There is no git, or it cannot be started.
    NotStarted(io::Error),
    /// What git said about it.
    Refused(String),
}

/// Runs git for one URL.
pub(crate) struct Runner<'a> {
    /// Where to, with its credentials.
    pub(crate) url: &'a Url,
    /// Where what git says to people goes.
    pub(crate) stderr: &'a mut dyn Write,
    /// Whether anybody still waits.
    pub(crate) cancel: &'a CancelFlag,
}

impl Runner<'_> {
    /// Runs git in `folder`, which is no repository, and returns what it wrote to stdout.
    pub(crate) fn run<A: AsRef<OsStr>>(
        &mut self,
        folder: &Path,
        args: &[A],
    ) -> Result<Vec<u8>, Failed> {
        let mut command = self.command(folder);
        let mut child = command.args(args).spawn().map_err(Failed::NotStarted)?;
        let mut guard = child.stdin.take();
        let (out, lines) = listen(&mut child);
        let secrets = self.secrets();
        let mut said = Said::default();
        let outcome = loop {
            while let Ok(line) = lines.try_recv() {
                said.add(line.hidden(&secrets));
            }
            if let Err(cancelled) = self.cancel.check() {
                drop(guard.take());
                // The guard sees to it that this is soon.
                let _ = child.wait();
                break Err(Failed::Cancelled(cancelled));
            }
            match child.try_wait().map_err(Failed::NotStarted)? {
                Some(status) => break Ok(status),
                None => thread::sleep(POLL),
            }
        };
        let outcome = outcome.and_then(|status| {
            // Both streams end with git, unless something it started holds on to them. That has to go
            // first, for half of an output is like that of another repository.
            drop(guard);
            let output = out.recv_timeout(GRACE).unwrap_or(Err(Cut::Open));
            for line in rest(&lines) {
                said.add(line.hidden(&secrets));
            }
            judged(status, output, &mut said)
        });
        for line in said.into_lines() {
            // Nobody reads it if it cannot be written.
            let _ = writeln!(self.stderr, "git: {line}");
        }
        outcome
    }

    /// Git does not repeat passwords, but it does repeat users, and whom it talks to may repeat more.
    fn secrets(&self) -> Secrets {
        let credential = self.credential();
        let text = |part: &OsString| part.to_string_lossy().into_owned();
        let credential = credential
            .as_ref()
            .map(|(user, password)| (text(user), text(password)));
        let credential = credential
            .as_ref()
            .map(|(user, password)| (&**user, &**password));
        Secrets::of(self.url, credential)
    }

    fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new("/bin/sh");
        command
            .args(["-c", GUARD, "sh", "git"])
            .process_group(0)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // What is said is understood only in part, and that part in one language only.
            .env("LC_ALL", "C")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_ASKPASS", "")
            .env("SSH_ASKPASS", "false")
            .env("SSH_ASKPASS_REQUIRE", "force")
            .env("GIT_ALLOW_PROTOCOL", "https:http:ssh:git:file")
            .env("GIT_CEILING_DIRECTORIES", folder.parent().unwrap_or(folder));
        for name in REMOVED {
            command.env_remove(name);
        }
        self.set_up(&mut command);
        if let Some((user, password)) = self.credential() {
            command.env("DPE_GIT_USER", user);
            command.env("DPE_GIT_PASSWORD", password);
        }
        command
    }

    /// Hands settings over, after those that are in the environment already. Everybody can see the
    /// arguments of a process, and one of them may be a user that is a token.
    fn set_up(&self, command: &mut Command) {
        let count = std::env::var("GIT_CONFIG_COUNT").ok();
        let mut count: usize = count.and_then(|count| count.parse().ok()).unwrap_or(0);
        for (key, value) in self.settings() {
            command.env(format!("GIT_CONFIG_KEY_{count}"), key);
            command.env(format!("GIT_CONFIG_VALUE_{count}"), value);
            count += 1;
        }
        command.env("GIT_CONFIG_COUNT", count.to_string());
    }

    /// Returns settings that come before those of the user.
    fn settings(&self) -> Vec<(String, &str)> {
        let plain = |key: &str, value| (key.to_owned(), value);
        let mut settings = vec![
            plain("core.hooksPath", "/dev/null"),
            // Nothing of git is left when git has ended.
            plain("gc.autoDetach", "false"),
            plain("maintenance.autoDetach", "false"),
        ];
        let Some(origin) = &self.url.origin else {
            return settings;
        };
        if self.credential().is_some() {
            // The empty one takes the user's helpers away: they are not to learn this password.
            settings.push((format!("credential.{origin}.helper"), ""));
            settings.push((format!("credential.{origin}.helper"), HELPER));
        } else if let Some(user) = &self.url.user {
            settings.push((format!("credential.{origin}.username"), user));
        }
        settings
    }

    /// Returns user and password: those of the URL, or the token in the environment.
    fn credential(&self) -> Option<(OsString, OsString)> {
        self.url.origin.as_ref()?;
        let user = self.url.user.as_deref();
        if let Some(password) = &self.url.password {
            return Some((user.unwrap_or_default().into(), password.into()));
        }
        let token = std::env::var_os(TOKEN).filter(|token| !token.is_empty())?;
        Some((user.unwrap_or(TOKEN_USER).into(), token))
    }
}

/// Returns the lines that were still on their way when git ended.
fn rest(lines: &Receiver<Line>) -> impl Iterator<Item = Line> {
    let end = Instant::now() + GRACE;
    iter::from_fn(move || lines.recv_timeout(POLL).ok()).take_while(move |_| Instant::now() < end)
}

/// Returns what git wrote, if its end means that this is all.
fn judged(
    status: ExitStatus,
    output: Result<Vec<u8>, Cut>,
    said: &mut Said,
) -> Result<Vec<u8>, Failed> {
    let is_code = |codes: &[i32]| status.code().is_some_and(|code| codes.contains(&code));
    if is_code(&NOT_STARTED) {
        return Err(Failed::NotStarted(io::ErrorKind::NotFound.into()));
    }
    match output {
        Ok(output) if status.success() => Ok(output),
        // It ends badly because nobody reads on.
        Err(Cut::Long) => Err(Failed::Refused(Cut::Long.to_string())),
        Err(cut) if status.success() => Err(Failed::Refused(cut.to_string())),
        _ => {
            let why = said.take_reason();
            Err(Failed::Refused(
                why.unwrap_or_else(|| format!("git ended with {status}")),
            ))
        }
    }
}

/// Why what git wrote is not all there.
#[derive(Debug)]
enum Cut {
    /// Its end did not come, or reading failed.
    Open,
    /// It is more than git has to say.
    Long,
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open => f.write_str("what git wrote did not end"),
            Self::Long => write!(f, "git wrote more than {OUTPUT_BYTES} bytes"),
        }
    }
}

/// A line for people.
#[derive(Debug, PartialEq, Eq)]
struct Line {
    text: String,
    /// Whether there was more.
    is_cut: bool,
}

impl Line {
    /// Returns the next line that is not empty, the beginning of one that is too long.
    fn next(stderr: &mut impl BufRead) -> io::Result<Option<Self>> {
        loop {
            let mut line = Vec::new();
            stderr
                .by_ref()
                .take(LINE_BYTES)
                .read_until(b'\n', &mut line)?;
            if line.is_empty() {
                return Ok(None);
            }
            let is_cut = line.len() as u64 == LINE_BYTES && !line.ends_with(b"\n");
            if is_cut {
                stderr.skip_until(b'\n')?;
            }
            let line = line.strip_suffix(b"\n").unwrap_or(&line);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if !line.is_empty() {
                let text = shown(line);
                return Ok(Some(Self { text, is_cut }));
            }
        }
    }

    /// Returns the line without these.
    fn hidden(&self, secrets: &Secrets) -> String {
        let mut text = secrets.hide(&self.text);
        if self.is_cut {
            let end = text.floor_char_boundary(text.len().saturating_sub(LINE_END_BYTES));
            text.truncate(end);
            text.push('…');
        }
        text
    }
}

/// Reads what git writes on threads of their own, so that it never waits for us.
fn listen(child: &mut Child) -> (Receiver<Result<Vec<u8>, Cut>>, Receiver<Line>) {
    let (sender, out) = mpsc::channel();
    if let Some(stdout) = child.stdout.take() {
        thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = stdout.take(OUTPUT_BYTES + 1).read_to_end(&mut bytes);
            let _ = sender.send(match read {
                Ok(length) if length as u64 > OUTPUT_BYTES => Err(Cut::Long),
                Ok(_) => Ok(bytes),
                Err(_) => Err(Cut::Open),
            });
        });
    }
    let (sender, lines) = mpsc::channel();
    if let Some(stderr) = child.stderr.take() {
        thread::spawn(move || {
            let mut stderr = BufReader::new(stderr);
            while let Ok(Some(line)) = Line::next(&mut stderr) {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
    }
    (out, lines)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::place::Place;

    #[test]
    fn of_a_line_of_any_length_the_beginning_is_told_without_secrets() {
        let Ok(Place::Url(url)) = Place::parse("https://me:s3cret@h/x") else {
            panic!("it is a URL");
        };
        let secrets = Secrets::of(&url, None);
        // The first line is cut within the password.
        let long = "x".repeat(8192 - 3);
        let said = format!("{long}s3cret{long}{long}\n\r\nnext s3cret\r\nlast");
        let mut said = said.as_bytes();
        let mut lines = Vec::new();
        while let Some(line) = Line::next(&mut said).unwrap() {
            lines.push(line.hidden(&secrets));
        }
        let begins = format!("{}…", "x".repeat(8192 - 2048));
        assert_eq!(lines, [&*begins, "next ***", "last"]);
    }
}
