//! The commands that write and show the configuration.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::push::place::{Place, Run, run};

fn place(toml: &str) -> Place {
    let place = Place::new();
    place.write("a.md", "# A");
    fs::write(place.path().join("dpe.toml"), toml).unwrap();
    place
}

fn toml(place: &Place) -> String {
    fs::read_to_string(place.path().join("dpe.toml")).unwrap()
}

fn done(place: &Place, arguments: &[&str]) -> Run {
    let ran = place.dpe(arguments);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    ran
}

#[test]
fn init_writes_what_the_next_push_takes() {
    let place = Place::new();
    place.write("a.md", "# A");
    fs::create_dir(place.path().join("node_modules")).unwrap();
    fs::write(place.path().join("node_modules/x.md"), "# X").unwrap();
    let shown = done(&place, &["init", "-n", "--prefix", "dpe://mine/"]);
    assert!(shown.stderr.contains("[remote.origin]"), "{shown:?}");
    assert!(!place.path().join("dpe.toml").exists());
    done(&place, &["init", "--prefix", "dpe://mine/"]);
    done(&place, &["push"]);
    assert_eq!(place.dpe(&["ls"]).stdout, "dpe://mine/docs/a.md\n");
}

#[test]
fn init_writes_nothing_over() {
    let place = place("# mine\n");
    fs::create_dir(place.path().join("node_modules")).unwrap();
    let ran = place.dpe(&["init"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert_eq!(toml(&place), "# mine\n");
    assert!(!place.path().join(".dpeignore").exists());
    fs::remove_file(place.path().join("dpe.toml")).unwrap();
    fs::write(place.path().join(".dpeignore"), "# also mine\n").unwrap();
    done(&place, &["init"]);
    let kept = fs::read_to_string(place.path().join(".dpeignore")).unwrap();
    assert_eq!(kept, "# also mine\n");
}

#[test]
fn a_setting_is_changed_and_everything_else_stays_as_it_is() {
    let before = "# Ours.\n\n[remote.origin]   # the one\nstore = 's'\n\n[defaults]\ntimeout = 30  # seconds\n";
    let place = place(before);
    let file = place.path().join("dpe.toml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o640)).unwrap();
    done(&place, &["config", "set", "defaults.timeout", "60"]);
    assert_eq!(toml(&place), before.replace("30", "60"));
    let mode = file.metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o640);
    done(&place, &["config", "set", "defaults.max_delete", "10%"]);
    done(&place, &["config", "unset", "defaults.max_delete"]);
    assert_eq!(toml(&place), before.replace("30", "60"));
    let absent = place.dpe(&["config", "unset", "defaults.max_delete"]);
    assert_eq!(absent.code, Some(1), "{absent:?}");
}

#[test]
fn a_link_stays_a_link_and_line_ends_stay() {
    let place = Place::new();
    let real = place.path().join("home/real.toml");
    fs::write(&real, "[remote.origin]\r\nstore = \"s\"\r\n").unwrap();
    symlink(&real, place.path().join("dpe.toml")).unwrap();
    done(&place, &["config", "set", "remote.origin.store", "t"]);
    assert!(place.path().join("dpe.toml").is_symlink());
    let text = fs::read_to_string(&real).unwrap();
    assert_eq!(text, "[remote.origin]\r\nstore = \"t\"\r\n");
}

#[test]
fn what_would_not_load_is_not_written() {
    let before = "[remote.origin]\nurl = \"https://h/r\"\n";
    let place = place(before);
    for (key, value) in [
        ("defaults.timout", "60"),
        ("defaults.timeout", "soon"),
        ("remote.origin.store", "both"),
        ("remote.origin.credential", "Bearer hunter2"),
        ("remote.origin.url", "https://me:hunter2@h/r"),
        ("source.a.remote", "orign"),
        ("", "x"),
    ] {
        let ran = place.dpe(&["config", "set", key, value]);
        assert_eq!(ran.code, Some(3), "{key}: {ran:?}");
        assert!(!ran.stderr.contains("hunter2"), "{ran:?}");
        assert_eq!(toml(&place), before, "{key}");
    }
}

#[test]
fn the_origin_of_each_value_is_told_by_precedence() {
    let place = place("[defaults]\ntimeout = 40\n");
    let origin = |command: &mut std::process::Command| {
        let ran = run(command.args(["config", "list", "--show-origin"]));
        let line = ran
            .stdout
            .lines()
            .find(|line| line.contains("defaults.timeout="));
        line.unwrap().to_owned()
    };
    let file = place.path().join("dpe.toml");
    let expected = format!("{}:2\tdefaults.timeout=40", file.display());
    assert_eq!(origin(&mut place.command()), expected);
    let mut command = place.command();
    assert_eq!(
        origin(command.env("DPE_TIMEOUT", "50")),
        "variable DPE_TIMEOUT\tdefaults.timeout=50"
    );
    let mut command = place.command();
    assert_eq!(
        origin(command.env("DPE_TIMEOUT", "50").args(["--timeout", "60"])),
        "flag --timeout\tdefaults.timeout=60"
    );
    fs::remove_file(&file).unwrap();
    done(
        &place,
        &["config", "set", "--user", "defaults.timeout", "20"],
    );
    let user = place.path().join("home/.config/dpe/config.toml");
    let expected = format!("{}:2\tdefaults.timeout=20", user.display());
    assert_eq!(origin(&mut place.command()), expected);
    fs::remove_file(&user).unwrap();
    assert_eq!(origin(&mut place.command()), "default\tdefaults.timeout=30");
    let got = place.dpe(&["config", "get", "defaults.max_delete"]);
    assert_eq!((got.code, &*got.stdout), (Some(1), ""));
}

#[test]
fn remotes_are_added_renamed_and_removed_with_the_sources_that_use_them() {
    let place = place("# kept\n\n");
    done(&place, &["remote", "add", "one", "./store"]);
    done(
        &place,
        &[
            "remote",
            "add",
            "two",
            "https://h/r",
            "--credential-env",
            "TWO",
        ],
    );
    done(
        &place,
        &[
            "source",
            "add",
            "docs",
            "docs",
            "--remote",
            "one",
            "--exclude",
            "x/**",
        ],
    );
    let listed = done(&place, &["remote", "list", "-v"]).stdout;
    assert!(listed.contains("two\thttps://h/r\tenv TWO"), "{listed}");
    let again = place.dpe(&["remote", "add", "one", "./other"]);
    assert_eq!(again.code, Some(3), "{again:?}");
    done(&place, &["push"]);
    assert!(place.path().join("store").is_dir());
    let refused = place.dpe(&["remote", "remove", "one"]);
    assert_eq!(refused.code, Some(3), "{refused:?}");
    assert!(refused.stderr.contains("docs"), "{refused:?}");
    done(&place, &["remote", "rename", "one", "origin"]);
    done(&place, &["push"]);
    let gone = done(&place, &["source", "remove", "docs"]);
    assert!(gone.stderr.contains("dpe rm -r dpe://docs/"), "{gone:?}");
    done(&place, &["remote", "remove", "origin"]);
    assert!(toml(&place).starts_with("# kept\n\n[remote.two]"));
    let unknown = place.dpe(&["remote", "show", "tow"]);
    assert!(unknown.stderr.contains("do you mean `two`?"), "{unknown:?}");
}

#[test]
fn a_remote_is_tried_without_writing() {
    let place = place("[remote.origin]\nstore = \"store\"\n");
    let missing = place.dpe(&["remote", "test", "origin"]);
    assert_eq!(missing.code, Some(3), "{missing:?}");
    assert!(!place.path().join("store").exists());
    let mut served = std::process::Command::new(env!("CARGO_BIN_EXE_dpe"))
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--grant",
            "Bearer w",
            "dpe://docs/",
            "--store",
        ])
        .arg(place.path().join("served"))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let stdout = served.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
    let url = ready["url"].as_str().unwrap();
    let test = |prefix: &str| {
        let mut command = place.command();
        command.env("DPE_AUTHORIZATION", "Bearer w");
        let ran = run(command.args(["remote", "test", url, "--json", "--prefix", prefix]));
        let told: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
        (
            ran.code,
            told["write"].clone(),
            told["clock_ahead_s"].clone(),
        )
    };
    let (code, write, clock) = test("dpe://docs/");
    assert_eq!((code, write), (Some(0), "allowed".into()));
    assert!(clock.is_null() || clock.as_i64().unwrap().abs() <= 1);
    let (code, write, _) = test("dpe://other/");
    assert_eq!((code, write), (Some(1), "denied".into()));
    served.kill().unwrap();
    served.wait().unwrap();
}
