//! File systems that are not mounted when a push runs. The mounts are those of a namespace of our own, so that nobody
//! else sees them; where none is to be had, the connector's own tests have to do.

use std::process::Command;

use super::place::{Place, Run, run};

/// Runs a script in which `dpe` is this program, as the root of a mount namespace; nothing if the system has none for us.
fn mounting(place: &Place, script: &str) -> Option<Run> {
    let unshare = ["--map-root-user", "--mount"];
    let is_possible = Command::new("unshare").args(unshare).arg("true").status();
    if !is_possible.is_ok_and(|status| status.success()) {
        return None;
    }
    let mut command = Command::new("unshare");
    command
        .args(unshare)
        .args(["sh", "-ec", script])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", place.path().join("home"))
        .env("dpe", env!("CARGO_BIN_EXE_dpe"))
        .current_dir(place.path());
    Some(run(&mut command))
}

#[test]
fn what_lay_on_a_file_system_below_the_root_stays_while_that_is_not_mounted() {
    let place = Place::new();
    place.write("a.md", "# One\n");
    let ran = mounting(
        &place,
        r#"
        mkdir docs/disk; mount -t tmpfs none docs/disk; echo two > docs/disk/b.md
        $dpe push -q docs
        umount docs/disk
        for again in 1 2; do $dpe push docs && exit 9 || test $? = 1; done
        $dpe ls
        rmdir docs/disk
        $dpe push -q docs
        echo --; $dpe ls
        "#,
    );
    let Some(ran) = ran else { return };
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let kept = "dpe://docs/a.md\ndpe://docs/disk/b.md\n--\ndpe://docs/a.md\n";
    assert_eq!(ran.stdout, kept, "{ran:?}");
    assert!(
        ran.stderr.contains("dpe://docs/disk/: another file system"),
        "{ran:?}"
    );
}

#[test]
fn a_root_on_another_file_system_that_has_nothing_of_what_was_pushed_deletes_nothing() {
    let place = Place::new();
    place.write("not-mounted.md", "# This disk is not mounted\n");
    let ran = mounting(
        &place,
        r#"
        mount -t tmpfs none docs; echo one > docs/a.md; echo two > docs/b.md
        (cd / && $dpe push -q "$OLDPWD/docs")
        umount docs
        $dpe push docs && exit 9 || test $? = 3
        $dpe ls
        "#,
    );
    let Some(ran) = ran else { return };
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.stdout, "dpe://docs/a.md\ndpe://docs/b.md\n", "{ran:?}");
}
