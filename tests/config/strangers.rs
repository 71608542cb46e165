//! A configuration file above us that belongs to somebody else.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;

use crate::push::place::{Place, run};

/// Some user who is neither root nor we.
const SOMEBODY: u32 = 65_532;

/// Runs only where files can be given away.
fn place(toml: &str) -> Option<Place> {
    let place = Place::new();
    place.write("a.md", "# A");
    let file = place.path().join("dpe.toml");
    fs::write(&file, toml).unwrap();
    chown(&file, Some(SOMEBODY), None).ok()?;
    Some(place)
}

#[test]
fn what_a_stranger_wrote_starts_nothing_and_gets_no_credential() {
    for toml in [
        "[remote.a]\nurl = \"https://h/r\"\ncredential = { command = [\"touch\", \"ran\"] }\n",
        "[remote.a]\nurl = \"https://h/r\"\ncredential = { env = \"HOME\" }\n",
        "[source.a]\nconnector = \"./m.json\"\ncommand = [\"touch\", \"ran\"]\n",
    ] {
        let Some(place) = place(toml) else {
            return;
        };
        let ran = place.dpe(&["push", "docs"]);
        assert_eq!(ran.code, Some(3), "{ran:?}");
        assert!(ran.stderr.contains("belongs to another user"), "{ran:?}");
        assert!(!place.path().join("ran").exists());
    }
}

#[test]
fn a_strangers_file_without_such_things_is_read() {
    let Some(place) = place("[remote.a]\nstore = \"shared\"\n") else {
        return;
    };
    let ran = place.dpe(&["push", "docs"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert!(place.path().join("shared").is_dir());
}

#[test]
fn a_file_that_is_named_is_trusted() {
    let toml = "[remote.a]\nstore = \"shared\"\ncredential = { env = \"X\" }\n";
    let Some(place) = place(toml) else {
        return;
    };
    let ran = place.dpe(&["push", "docs", "--config", "dpe.toml"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
}

#[test]
fn roots_file_is_everybodys() {
    let place = Place::new();
    place.write("a.md", "# A");
    let file = place.path().join("dpe.toml");
    fs::write(
        &file,
        "[remote.a]\nstore = \"home/s\"\ncredential = { env = \"X\" }\n",
    )
    .unwrap();
    let open = fs::Permissions::from_mode(0o777);
    for directory in ["", "home", "docs"] {
        fs::set_permissions(place.path().join(directory), open.clone()).unwrap();
    }
    if chown(place.docs(), Some(SOMEBODY), None).is_err() {
        return;
    }
    let mut command = place.command();
    let ran = run(command.uid(SOMEBODY).args(["push", "docs"]));
    assert_eq!(ran.code, Some(0), "{ran:?}");
}
