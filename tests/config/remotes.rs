//! Which remote is meant.

use std::fs;

use crate::push::place::{Place, Run};

fn place(toml: &str) -> Place {
    let place = Place::new();
    place.write("a.md", "# A");
    fs::write(place.path().join("dpe.toml"), toml).unwrap();
    place
}

fn pushed_to(run: &Run) -> &str {
    assert_eq!(run.code, Some(0), "{run:?}");
    let line = run.stderr.lines().find(|line| line.starts_with("pushing "));
    line.unwrap().rsplit('/').next().unwrap()
}

const THREE: &str = "
[remote.origin]
store = \"one\"
[remote.second]
store = \"two\"
[remote.third]
store = \"three\"
";

#[test]
fn a_flag_comes_before_the_variable_the_source_the_defaults_and_origin() {
    let toml = format!("{THREE}[source.docs]\nremote = \"second\"\nconfig.root = \"docs\"\n");
    let place = place(&toml);
    assert_eq!(pushed_to(&place.dpe(&["push", "docs"])), "two");
    assert_eq!(
        pushed_to(&place.dpe(&["push", "docs", "--remote", "third"])),
        "three"
    );
    let mut command = place.command();
    command.env("DPE_REMOTE", "origin");
    let by_variable = crate::push::place::run(command.args(["push", "docs"]));
    assert_eq!(pushed_to(&by_variable), "one");
    let plain = format!("{THREE}[defaults]\nremote = \"third\"\n");
    fs::write(place.path().join("dpe.toml"), plain).unwrap();
    assert_eq!(pushed_to(&place.dpe(&["push", "docs"])), "three");
    fs::write(place.path().join("dpe.toml"), THREE).unwrap();
    assert_eq!(pushed_to(&place.dpe(&["push", "docs"])), "one");
    assert_eq!(
        pushed_to(&place.dpe(&["push", "docs", "--remote", "./four"])),
        "four"
    );
}

#[test]
fn a_word_that_is_no_remote_never_becomes_a_store() {
    let place = place(THREE);
    let ran = place.dpe(&["push", "docs", "--remote", "orgin"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("do you mean `origin`?"), "{ran:?}");
    assert!(!place.path().join("orgin").exists());
}

#[test]
fn the_user_has_a_file_below_that_of_the_project() {
    let place = place("[remote.mine]\nstore = \"project\"\n");
    let user = place.path().join("home/.config/dpe");
    fs::create_dir_all(&user).unwrap();
    let toml = "[remote.mine]\nstore = \"user\"\n[remote.work]\nstore = \"work\"\n[defaults]\nremote = \"work\"\n";
    fs::write(user.join("config.toml"), toml).unwrap();
    assert_eq!(pushed_to(&place.dpe(&["push", "docs"])), "work");
    assert_eq!(
        pushed_to(&place.dpe(&["push", "docs", "--remote", "mine"])),
        "project"
    );
    assert!(
        user.join("work").is_dir(),
        "relative to the file that names it"
    );
}

#[test]
fn another_file_can_be_named_and_has_to_be_there() {
    let place = place("broken");
    let file = place.path().join("home/ci.toml");
    fs::write(&file, "[remote.origin]\nstore = \"ci\"\n").unwrap();
    let ran = place.dpe(&["push", "docs", "--config", "home/ci.toml"]);
    assert_eq!(pushed_to(&ran), "ci");
    let ran = place.dpe(&["push", "docs", "--config", "no.toml"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("no.toml"), "{ran:?}");
}

#[test]
fn the_credential_of_a_remote_is_asked_for_where_the_file_says() {
    let place = place("");
    let store = place.path().join("served");
    let mut served = std::process::Command::new(env!("CARGO_BIN_EXE_dpe"))
        .args([
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--grant",
            "Bearer right",
            "*",
            "--store",
        ])
        .arg(&store)
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let stdout = served.stdout.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
    let url = ready["url"].as_str().unwrap();
    let secret = place.path().join("secret");
    fs::write(&secret, "Bearer right\n").unwrap();
    for credential in [
        "{ env = \"MY_TOKEN\" }",
        "{ file = \"secret\" }",
        "{ command = [\"cat\", \"secret\"] }",
    ] {
        let toml = format!("[remote.origin]\nurl = \"{url}\"\ncredential = {credential}\n");
        fs::write(place.path().join("dpe.toml"), toml).unwrap();
        let mut command = place.command();
        command.env("MY_TOKEN", "Bearer right");
        // A remote with a credential of its own gets no other.
        command.env("DPE_AUTHORIZATION", "Bearer wrong");
        let ran = crate::push::place::run(command.args(["push", "docs"]));
        assert_eq!(ran.code, Some(0), "{credential}: {ran:?}");
        let warns = ran.stderr.contains("others can read the credential");
        assert_eq!(warns, credential.contains("file"), "{ran:?}");
    }
    served.kill().unwrap();
    served.wait().unwrap();
}
