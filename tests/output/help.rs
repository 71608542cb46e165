//! Help, completions and manual.

use crate::push::place::{Place, run};

#[test]
fn without_a_word_short_help_is_shown_on_stderr() {
    let ran = Place::new().dpe(&[]);
    assert_eq!((ran.code, &*ran.stdout), (Some(64), ""), "{ran:?}");
    assert!(ran.stderr.contains("Usage: dpe"), "{ran:?}");
    assert!(ran.stderr.contains("Deliver what changed"), "{ran:?}");
    assert!(!ran.stderr.contains("--cacert"), "{ran:?}");
}

#[test]
fn help_is_short_with_h_and_long_with_help() {
    let place = Place::new();
    let [short, long, word] =
        [&["push", "-h"][..], &["push", "--help"], &["help", "push"]].map(|line| place.dpe(line));
    for ran in [&short, &long, &word] {
        assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{ran:?}");
    }
    assert!(!short.stdout.contains("--cacert"));
    assert!(long.stdout.contains("--cacert"));
    assert!(long.stdout.contains("A second push"));
    assert_eq!(long.stdout, word.stdout);
    let whole = place.dpe(&["--help"]);
    for line in [
        "  0    all is well",
        "  64   the command line is wrong",
        "  143  ended",
    ] {
        assert!(whole.stdout.contains(line), "{line}: {whole:?}");
    }
}

#[test]
fn values_of_variables_are_not_shown_in_help() {
    let place = Place::new();
    let mut command = place.command();
    command
        .args(["push", "--help"])
        .env("DPE_PREFIX", "dpe://mine/");
    let ran = run(&mut command);
    assert!(ran.stdout.contains("[env: DPE_PREFIX]"), "{ran:?}");
    assert!(!ran.stdout.contains("dpe://mine/"), "{ran:?}");
}

#[test]
fn the_version_is_told_and_a_slip_of_the_hand_is_understood() {
    let place = Place::new();
    let version = format!("dpe {}\n", env!("CARGO_PKG_VERSION"));
    assert_eq!(place.dpe(&["-V"]).stdout, version);
    let ran = place.dpe(&["pusch", "docs"]);
    assert_eq!(ran.code, Some(64));
    assert!(ran.stderr.contains("'push'"), "{ran:?}");
}

/// The shell itself completes, with what the program prints.
#[test]
fn bash_completes_commands_and_flags() {
    let place = Place::new();
    let dpe = env!("CARGO_BIN_EXE_dpe");
    let script = format!(
        "source <({dpe} completions bash)\n\
         complete_line() {{ COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); \
         _dpe dpe \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD - 1]}}\"; echo \"${{COMPREPLY[@]}}\"; }}\n\
         complete_line dpe pu\n\
         complete_line dpe push --max-d\n"
    );
    let mut bash = std::process::Command::new("bash");
    let ran = run(bash.args(["-c", &script]).current_dir(place.path()));
    assert_eq!(ran.stdout, "push\n--max-delete\n", "{ran:?}");
}

#[test]
fn every_shell_gets_its_completions() {
    let place = Place::new();
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let ran = place.dpe(&["completions", shell]);
        assert_eq!((ran.code, &*ran.stderr), (Some(0), ""), "{shell}");
        assert!(ran.stdout.contains("max-delete"), "{shell}");
    }
    assert_eq!(place.dpe(&["completions", "sh"]).code, Some(64));
}

#[test]
fn the_manual_has_a_page_for_each_command() {
    let place = Place::new();
    let page = place.dpe(&["man"]);
    assert_eq!(page.code, Some(0));
    assert!(page.stdout.contains(".TH dpe 1"), "{page:?}");
    assert!(page.stdout.contains("the command line is wrong"));
    assert_eq!(place.dpe(&["man", "share/man1"]).code, Some(0));
    for name in ["dpe.1", "dpe-push.1", "dpe-connector-check.1"] {
        let path = place.path().join("share/man1").join(name);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.contains(".SH NAME"), "{name}");
    }
    std::fs::write(place.path().join("file"), "").unwrap();
    let ran = place.dpe(&["man", "file/man1"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("file/man1"), "{ran:?}");
}
