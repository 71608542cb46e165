//! Sources by name, by path, and all of them.

use std::fs;

use crate::push::place::{Place, Report, Run, run};

const TWO: &str = r#"
[remote.origin]
store = "store"

[source.handbook]
prefix = "dpe://handbook/"
config = { root = "docs", exclude = ["drafts/**"] }

[source.other]
config.root = "other"
"#;

fn place(toml: &str) -> Place {
    let place = Place::new();
    place.write("a.md", "# A");
    place.write("guide/b.md", "# B");
    place.write("drafts/c.md", "# C");
    fs::create_dir(place.path().join("other")).unwrap();
    fs::write(place.path().join("other/d.md"), "# D").unwrap();
    fs::write(place.path().join("dpe.toml"), toml).unwrap();
    place
}

fn below(place: &Place, directory: &str, arguments: &[&str]) -> Run {
    let directory = place.path().join(directory);
    run(place.command().current_dir(directory).args(arguments))
}

fn reports(run: &Run) -> Vec<Report> {
    let lines = run.stdout.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn listed(place: &Place) -> String {
    place.dpe(&["ls"]).stdout
}

#[test]
fn without_an_argument_every_source_is_pushed_from_any_directory_below() {
    let place = place(TWO);
    let pushed = below(&place, "docs/guide", &["push", "--json"]);
    assert_eq!(pushed.code, Some(0), "{pushed:?}");
    let created: Vec<u64> = reports(&pushed)
        .iter()
        .map(|one| one.counts.created)
        .collect();
    assert_eq!(created, [2, 1]);
    assert_eq!(
        listed(&place),
        "dpe://handbook/a.md\ndpe://handbook/guide/b.md\ndpe://other/d.md\n"
    );
    assert!(place.path().join("store").is_dir(), "relative to the file");
}

#[test]
fn without_a_file_nothing_to_push_is_wrong_usage_that_says_what_to_type() {
    let place = Place::new();
    let ran = place.dpe(&["push"]);
    assert_eq!(ran.code, Some(64), "{ran:?}");
    assert!(ran.stderr.contains("dpe push ./docs"), "{ran:?}");
    assert!(ran.stderr.contains("dpe init"), "{ran:?}");
}

#[test]
fn a_source_and_its_folder_with_the_same_prefix_are_one_instance() {
    let place = place("[source.handbook]\nconfig.root = \"docs\"\n");
    assert_eq!(place.dpe(&["push", "handbook"]).code, Some(0));
    let same = place.dpe(&["push", "--json", "docs", "--prefix", "dpe://handbook/"]);
    assert_eq!(same.code, Some(0), "{same:?}");
    let counts = &reports(&same)[0].counts;
    assert_eq!((counts.created, counts.unchanged), (0, 3), "{same:?}");
}

#[test]
fn a_path_inside_a_source_belongs_to_it() {
    let place = place(TWO);
    assert_eq!(place.dpe(&["push"]).code, Some(0));
    place.write("a.md", "# A2");
    place.write("guide/b.md", "# B2");
    let one = below(&place, "docs", &["push", "--json", "a.md"]);
    assert_eq!(one.code, Some(0), "{one:?}");
    let [report] = &reports(&one)[..] else {
        panic!("{one:?}");
    };
    assert_eq!((report.counts.updated, report.counts.unchanged), (1, 0));
    let part = place.dpe(&["push", "docs/guide"]);
    assert!(
        part.stderr.contains("is a part of the source handbook"),
        "{part:?}"
    );
    assert!(part.stderr.contains("1 updated"), "{part:?}");
    assert!(!listed(&place).contains("dpe://guide/"));
}

#[test]
fn a_name_is_a_source_before_it_is_a_folder_and_that_is_said() {
    let place = place("[source.docs]\nconfig.root = \"other\"\n");
    let named = place.dpe(&["push", "docs"]);
    assert_eq!(named.code, Some(0), "{named:?}");
    assert!(named.stderr.contains("docs is the source of"), "{named:?}");
    assert_eq!(listed(&place), "dpe://docs/d.md\n");
    let folder = place.dpe(&["push", "./docs", "--prefix", "dpe://folder/"]);
    assert_eq!(folder.code, Some(0), "{folder:?}");
    assert!(listed(&place).contains("dpe://folder/a.md"));
}

#[test]
fn a_name_that_is_nothing_is_told_with_the_nearest() {
    let place = place(TWO);
    let ran = place.dpe(&["push", "hanbook"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stderr.contains("do you mean `handbook`?"), "{ran:?}");
}

#[test]
fn what_is_excluded_later_goes_from_the_remote() {
    let place = place("[source.handbook]\nconfig.root = \"docs\"\n");
    assert_eq!(place.dpe(&["push"]).code, Some(0));
    let toml = "[source.handbook]\nconfig = { root = \"docs\", exclude = [\"drafts/\"] }\n";
    fs::write(place.path().join("dpe.toml"), toml).unwrap();
    let ran = place.dpe(&["push", "--json"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    let counts = &reports(&ran)[0].counts;
    assert_eq!((counts.deleted, counts.unchanged), (1, 2), "{ran:?}");
}

#[test]
fn what_a_source_says_of_deletes_and_conflicts_is_done() {
    let toml = "[source.handbook]\nmax_delete = 1\nconflict = { commit = \"report\" }\nconfig.root = \"docs\"\n";
    let place = place(toml);
    assert_eq!(place.dpe(&["push"]).code, Some(0));
    let other = place.path().join("other.json");
    let document = r#"{"file_type":"text/markdown","pages":[]}"#;
    fs::write(&other, document).unwrap();
    let uri = "dpe://handbook/a.md";
    let removed = place.dpe(&["rm", uri]);
    assert_eq!(removed.code, Some(0), "{removed:?}");
    place.write("a.md", "# Changed");
    let ran = place.dpe(&["push", "--json"]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    let failures = &reports(&ran)[0].failures;
    assert_eq!(failures[0].file_uri.as_deref(), Some(uri), "{ran:?}");
    for name in ["guide/b.md", "drafts/c.md"] {
        place.remove(name);
    }
    let ran = place.dpe(&["push", "--json"]);
    assert_eq!(ran.code, Some(3), "{ran:?}");
    assert!(ran.stdout.contains("mass_delete"), "{ran:?}");
    let ran = place.dpe(&["push", "--json", "--max-delete", "2"]);
    assert!(!ran.stdout.contains("mass_delete"), "{ran:?}");
}

#[test]
fn a_repository_is_a_source_too() {
    let place = place(
        "[source.code]\nconnector = \"git\"\nconfig = { repo = \"docs\", subdir = \"guide\" }\n",
    );
    for arguments in [
        &["init", "-q"][..],
        &["add", "."],
        &[
            "-c",
            "user.name=u",
            "-c",
            "user.email=u@h",
            "commit",
            "-qm",
            "x",
        ],
    ] {
        let mut git = std::process::Command::new("git");
        let done = git.args(arguments).current_dir(place.docs()).status();
        assert!(done.unwrap().success());
    }
    let ran = place.dpe(&["push", "code"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(listed(&place), "dpe://code/b.md\n");
}

#[test]
fn a_connector_of_somebody_else_is_started_with_what_the_file_gives_it() {
    let place = place("");
    let example = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("connectors/examples");
    let manifest = find(&example, "dpe-connector.json");
    let toml = format!(
        "[source.notes]\nconnector = {manifest:?}\ncommand = [\"sh\", \"-c\", \"exit 7\"]\n"
    );
    fs::write(place.path().join("dpe.toml"), toml).unwrap();
    let ran = place.dpe(&["push", "notes"]);
    assert!(matches!(ran.code, Some(2 | 3)), "{ran:?}");
    assert!(ran.stderr.contains("notes"), "{ran:?}");
}

fn find(directory: &std::path::Path, name: &str) -> std::path::PathBuf {
    let mut open = vec![directory.to_owned()];
    while let Some(directory) = open.pop() {
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.ends_with(name) {
                return path;
            }
        }
    }
    panic!("there is no {name}");
}
