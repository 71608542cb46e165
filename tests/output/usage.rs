//! Wrong command lines, for people and for programs.

use serde_json::Value;

use crate::push::place::{Place, Run, run};

fn error(ran: &Run) -> Value {
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let [line] = lines[..] else {
        panic!("{ran:?}");
    };
    let object: Value = serde_json::from_str(line).unwrap();
    assert_eq!(object["type"], "error", "{ran:?}");
    object["error"].clone()
}

#[test]
fn with_json_a_wrong_command_line_is_an_object_too() {
    let place = Place::new();
    for arguments in [
        &["pusch", "--json"][..],
        &["--json", "push", "docs", "--max-delete", "many"],
        &["show", "no uri", "--json"],
        &["rm", "--json", ""],
        &["rm", "--json", "-r", ""],
        &["push", "--json", "docs", "--ref", "main"],
    ] {
        let ran = place.dpe(arguments);
        assert_eq!(ran.code, Some(64), "{ran:?}");
        let error = error(&ran);
        assert_eq!(error["code"], "dpe::usage", "{ran:?}");
        assert!(
            !error["message"].as_str().unwrap().contains('\n'),
            "{ran:?}"
        );
        assert!(error["help"].is_string(), "{ran:?}");
        assert!(!ran.stderr.is_empty(), "{ran:?}");
    }
    let mut command = place.command();
    let ran = run(command.arg("pusch").env("DPE_JSON", "1"));
    assert_eq!(error(&ran)["code"], "dpe::usage");
}

#[test]
fn the_runner_of_the_contract_answers_a_wrong_command_line_with_nothing() {
    let ran = Place::new().dpe(&["run", "--json", "--no-such-flag"]);
    assert_eq!((ran.code, &*ran.stdout), (Some(64), ""), "{ran:?}");
}

#[test]
fn a_name_for_standard_input_without_it_is_a_wrong_command_line() {
    let place = Place::new();
    place.write("a.md", "# One\n");
    let ran = place.dpe(&["extract", "--name", "b.md", "docs/a.md"]);
    assert_eq!(ran.code, Some(64), "{ran:?}");
    assert!(ran.stderr.contains("--name"), "{ran:?}");
}

#[test]
fn colours_are_where_they_are_wanted_and_nowhere_else() {
    let place = Place::new();
    let coloured = |arguments: &[&str], variables: &[(&str, &str)]| {
        let mut command = place.command();
        let command = command.args(arguments).envs(variables.iter().copied());
        run(command).stderr.contains('\u{1b}')
    };
    for wrong in [&["pusch"][..], &["ls"]] {
        let with = |flags: &[&'static str]| [wrong, flags].concat();
        assert!(!coloured(wrong, &[]));
        assert!(coloured(&with(&["--color", "always"]), &[]), "{wrong:?}");
        assert!(coloured(wrong, &[("DPE_COLOR", "always")]));
        assert!(coloured(wrong, &[("CLICOLOR_FORCE", "1")]));
        assert!(!coloured(
            wrong,
            &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]
        ));
        let never = with(&["--color=never"]);
        assert!(!coloured(&never, &[("CLICOLOR_FORCE", "1")]));
        assert!(!coloured(&never, &[("DPE_COLOR", "always")]));
    }
    assert_eq!(place.dpe(&["ls", "--color", "pink"]).code, Some(64));
}
