//! Repositories behind URLs, and the cache.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;

use dpe_connector_testing::{Plugin, Remote};
use serde_json::{Value, json};

use crate::repository::{Repository, enumerated, git, run};

/// A cache of its own for every test.
struct Cached {
    repository: Repository,
    cache: tempfile::TempDir,
}

impl Cached {
    fn of(repository: Repository) -> Self {
        let cache = tempfile::tempdir().unwrap();
        Self { repository, cache }
    }

    fn with(files: &[(&str, &str)]) -> Self {
        Self::of(Repository::with(files))
    }

    fn url(&self) -> String {
        format!("file://{}", self.repository.root().display())
    }

    fn plugin(&self, mut config: Value) -> Plugin {
        config["repo"] = json!(self.url());
        config["cache"] = json!(self.cache.path());
        Plugin::start(dpe_connector_git::main, &config)
    }

    /// The bare repository in the cache.
    fn folder(&self) -> PathBuf {
        let entries = fs::read_dir(self.cache.path()).unwrap();
        let mut paths = entries.map(|entry| entry.unwrap().path());
        paths.find(|path| path.is_dir()).unwrap()
    }
}

#[test]
fn a_url_gives_what_the_repository_gives() {
    let cached = Cached::with(&[("a.txt", "a"), ("b.txt", "b")]);
    let mut remote = Remote::new();
    let first = cached.plugin(json!({})).scan(None);
    first.land(&mut remote);
    assert_eq!(first.lines(), ["+a.txt", "+b.txt"]);
    let second = cached.plugin(json!({})).scan(first.cursor.as_deref());
    assert_eq!((second.lines(), second.incremental), (Vec::new(), true));
    cached.repository.rename("a.txt", "c.txt");
    cached.repository.remove("b.txt");
    cached.repository.commit();
    let third = cached.plugin(json!({})).scan(first.cursor.as_deref());
    assert_eq!(third.lines(), ["a.txt>c.txt", "-b.txt", "+c.txt"]);
    third.land(&mut remote);
    assert_eq!(remote, enumerated(cached.repository.root(), json!({})));
}

#[test]
fn a_url_of_a_shallow_repository_gives_what_that_has() {
    let cached = Cached::with(&[("a.txt", "1")]);
    cached.repository.write("a.txt", "2");
    cached.repository.commit();
    let from = format!("file://{}", cached.repository.root().display());
    let shallow = cached.repository.beside("shallow");
    let to = shallow.to_str().unwrap();
    let clone = ["clone", "-q", "--depth=1", &from, to];
    run(&mut git(cached.repository.root(), &clone));
    let config = json!({
        "repo": format!("file://{}", shallow.display()),
        "cache": cached.cache.path(),
    });
    let scanned = Plugin::start(dpe_connector_git::main, &config).scan(None);
    assert_eq!(scanned.lines(), ["+a.txt"]);
}

#[test]
fn the_cache_may_vanish_or_be_damaged_at_any_time() {
    let cached = Cached::with(&[("a.txt", "a")]);
    let first = cached.plugin(json!({})).scan(None);
    cached.repository.write("b.txt", "b");
    cached.repository.commit();
    let damages: [fn(&Path); 4] = [
        |folder| fs::remove_dir_all(folder).unwrap(),
        |folder| fs::remove_dir_all(folder.join("objects")).unwrap(),
        |folder| fs::write(folder.join("HEAD"), "nonsense").unwrap(),
        |folder| {
            fs::remove_dir_all(folder.join("objects")).unwrap();
            fs::create_dir(folder.join("objects")).unwrap();
        },
    ];
    for damage in damages {
        damage(&cached.folder());
        let scanned = cached.plugin(json!({})).scan(first.cursor.as_deref());
        // The first commit is an ancestor, so it was fetched again too.
        assert_eq!(
            (scanned.lines(), scanned.incremental),
            (vec!["+b.txt".to_owned()], true)
        );
    }
}

#[test]
fn a_lost_blob_is_an_error_once_and_then_fetched_again() {
    let cached = Cached::with(&[("a.txt", "a"), ("b.txt", "b")]);
    cached.plugin(json!({})).scan(None);
    let blob = cached.repository.git(&["rev-parse", "HEAD:a.txt"]);
    let object = cached
        .folder()
        .join(format!("objects/{}/{}", &blob[..2], &blob[2..]));
    fs::remove_file(object).unwrap();
    let scanned = cached.plugin(json!({})).scan(None);
    assert_eq!(scanned.lines(), ["!a.txt source_unavailable", "+b.txt"]);
    assert!(cached.folder().exists(), "somebody may be fetching into it");
    assert_eq!(
        cached.plugin(json!({})).scan(None).lines(),
        ["+a.txt", "+b.txt"]
    );
}

#[test]
fn a_lost_commit_is_an_error_once_and_then_fetched_again() {
    let cached = Cached::with(&[("a.txt", "a")]);
    let first = cached.repository.git(&["rev-parse", "HEAD"]);
    cached.repository.commit();
    let lines = || cached.plugin(json!({"mode": "history"})).scan(None).lines();
    assert_eq!(lines(), ["+work"]);
    let object = format!("objects/{}/{}", &first[..2], &first[2..]);
    fs::remove_file(cached.folder().join(object)).unwrap();
    assert_eq!(lines(), ["!work source_unavailable"]);
    assert_eq!(lines(), ["+work"]);
}

#[test]
fn what_is_wrong_with_the_configuration_costs_nothing_of_the_cache() {
    let cached = Cached::with(&[("a.txt", "a")]);
    cached.plugin(json!({})).scan(None);
    let mark = cached.folder().join("mark");
    fs::write(&mark, "").unwrap();
    let error = cached.plugin(json!({"subdir": "dosc"})).failing_scan(None);
    assert!(
        error["message"].as_str().unwrap().contains("dosc"),
        "{error}"
    );
    assert!(mark.exists());
}

#[test]
fn a_refused_fetch_costs_nothing_of_the_cache() {
    let cached = Cached::with(&[("a.txt", "a")]);
    let first = cached.plugin(json!({})).scan(None);
    let mark = cached.folder().join("mark");
    fs::write(&mark, "").unwrap();
    cached.repository.write("b.txt", "b");
    cached.repository.commit();
    // It answers, and cannot give what it has.
    let tree = cached.repository.git(&["rev-parse", "HEAD^{tree}"]);
    let object = format!(".git/objects/{}/{}", &tree[..2], &tree[2..]);
    cached.repository.rename(&object, "away");
    let failing = || {
        cached
            .plugin(json!({}))
            .failing_scan(first.cursor.as_deref())
    };
    assert_eq!(failing()["data"], json!({"retryable": true}));
    assert!(mark.exists());
    cached.repository.rename("away", &object);
    // It does not answer.
    let away = cached.repository.beside("gone");
    fs::rename(cached.repository.root(), &away).unwrap();
    assert_eq!(failing()["data"], json!({"retryable": true}));
    fs::rename(&away, cached.repository.root()).unwrap();
    let next = cached.plugin(json!({})).scan(first.cursor.as_deref());
    assert_eq!(
        (next.lines(), next.incremental),
        (vec!["+b.txt".to_owned()], true)
    );
    assert!(mark.exists());
    let beside = fs::read_dir(cached.cache.path()).unwrap();
    assert_eq!(beside.count(), 2, "the repository and its lock");
}

#[test]
fn what_a_killed_fetch_leaves_in_the_cache_is_no_obstacle() {
    let cached = Cached::with(&[("a.txt", "a")]);
    let first = cached.plugin(json!({})).scan(None);
    let references = fs::read_dir(cached.folder().join("refs/dpe")).unwrap();
    let reference = references.map(|entry| entry.unwrap().path()).next();
    fs::write(reference.unwrap().with_extension("lock"), "").unwrap();
    fs::create_dir(cached.folder().with_extension("new")).unwrap();
    cached.repository.write("b.txt", "b");
    cached.repository.commit();
    let next = cached.plugin(json!({})).scan(first.cursor.as_deref());
    assert_eq!(
        (next.lines(), next.incremental),
        (vec!["+b.txt".to_owned()], true)
    );
}

#[test]
fn a_reference_that_leads_to_no_commit_costs_nothing_of_the_cache() {
    let cached = Cached::with(&[("a.txt", "a")]);
    cached.repository.git(&["tag", "blob", "HEAD:a.txt"]);
    for mode in ["files", "history"] {
        let config = json!({"ref": "blob", "mode": mode});
        cached.plugin(config.clone()).failing_scan(None);
        let mark = cached.folder().join("mark");
        fs::write(&mark, "").unwrap();
        let error = cached.plugin(config).failing_scan(None);
        let message = error["message"].as_str().unwrap();
        assert!(message.contains("blob leads to a blob"), "{message}");
        assert!(mark.exists());
    }
}

#[test]
fn the_cache_may_be_deleted_while_rounds_begin() {
    let cached = Cached::with(&[("a.txt", "a")]);
    let is_over = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(std::sync::atomic::Ordering::Relaxed) {
                let _ = fs::remove_dir_all(cached.cache.path());
                std::thread::sleep(Duration::from_millis(40));
            }
        });
        let answers: Vec<Value> = (0..5)
            .map(|_| {
                let mut plugin = cached.plugin(json!({}));
                let id = plugin.send("scan", json!({"cursor": null}));
                plugin.receive(id)
            })
            .collect();
        is_over.store(true, std::sync::atomic::Ordering::Relaxed);
        for answer in answers {
            // Whatever it comes to, waiting helps.
            let may_pass = answer["error"]["data"]["retryable"] == true;
            assert!(answer.get("result").is_some() || may_pass, "{answer}");
        }
    });
    assert_eq!(cached.plugin(json!({})).scan(None).lines(), ["+a.txt"]);
}

#[test]
fn a_force_push_is_followed() {
    let cached = Cached::with(&[("a.txt", "a")]);
    cached.repository.write("b.txt", "b");
    cached.repository.commit();
    let first = cached.plugin(json!({})).scan(None);
    cached.repository.git(&["reset", "-q", "--hard", "HEAD~1"]);
    cached.repository.write("c.txt", "c");
    cached.repository.commit();
    let second = cached.plugin(json!({})).scan(first.cursor.as_deref());
    assert_eq!(
        (second.lines(), second.incremental),
        (vec!["-b.txt".into(), "+c.txt".into()], true)
    );
    // Without the cache the old commit is asked for by its name.
    fs::remove_dir_all(cached.folder()).unwrap();
    let third = cached.plugin(json!({})).scan(first.cursor.as_deref());
    assert_eq!(
        (third.lines(), third.incremental),
        (
            vec!["-b.txt".into(), "+a.txt".into(), "+c.txt".into()],
            false
        )
    );
    // Then nobody has it any more.
    fs::remove_dir_all(cached.folder()).unwrap();
    let expire = ["reflog", "expire", "--expire=now", "--all"];
    cached.repository.git(&expire);
    cached.repository.git(&["gc", "-q", "--prune=now"]);
    let fourth = cached.plugin(json!({})).scan(first.cursor.as_deref());
    assert_eq!(
        (fourth.lines(), fourth.incremental),
        (vec!["+a.txt".into(), "+c.txt".into()], false)
    );
}

#[test]
fn a_force_push_of_an_unrelated_history_leads_to_what_a_full_round_gives() {
    for keeps_cache in [true, false] {
        let cached = Cached::with(&[("a.txt", "a"), ("b.txt", "b")]);
        let mut remote = Remote::new();
        let first = cached.plugin(json!({})).scan(None);
        first.land(&mut remote);
        cached
            .repository
            .git(&["checkout", "-q", "--orphan", "other"]);
        cached.repository.remove("b.txt");
        cached.repository.write("c.txt", "c");
        cached.repository.commit();
        cached.repository.git(&["branch", "-q", "-M", "main"]);
        if !keeps_cache {
            fs::remove_dir_all(cached.folder()).unwrap();
        }
        let second = cached.plugin(json!({})).scan(first.cursor.as_deref());
        assert!(!second.incremental);
        second.land(&mut remote);
        assert_eq!(remote, enumerated(cached.repository.root(), json!({})));
    }
}

#[test]
fn references_of_the_other_side_are_found_as_git_finds_them() {
    let cached = Cached::with(&[("a.txt", "1")]);
    let first = cached.repository.git(&["rev-parse", "HEAD"]);
    cached.repository.git(&["tag", "-a", "v1", "-m", "one"]);
    cached.repository.git(&["branch", "deep/old"]);
    cached.repository.write("a.txt", "2");
    cached.repository.commit();
    for reference in ["v1", "refs/tags/v1", "deep/old", "heads/deep/old", &first] {
        let scanned = cached.plugin(json!({"ref": reference})).scan(None);
        assert_eq!(
            scanned.items[0]["pages"][0]["elements"][0]["text"], "1",
            "{reference}"
        );
    }
    for reference in ["old", "nope", "HEAD~1", "*"] {
        let error = cached.plugin(json!({"ref": reference})).failing_scan(None);
        assert_eq!(
            (&error["code"], error.get("data")),
            (&json!(-32003), None),
            "{reference}"
        );
    }
}

#[test]
fn the_other_side_may_have_no_commits_or_another_hash() {
    let cached = Cached::of(Repository::new());
    let empty = cached.plugin(json!({})).scan(None);
    assert_eq!(empty.lines(), Vec::<String>::new());
    cached.repository.write("a.txt", "a");
    cached.repository.commit();
    let next = cached.plugin(json!({})).scan(empty.cursor.as_deref());
    assert_eq!(
        (next.lines(), next.incremental),
        (vec!["+a.txt".to_owned()], true)
    );
    let sha256 = Repository::made(&["init", "-q", "-b", "main", "--object-format=sha256"]);
    sha256.write("a.txt", "a");
    sha256.commit();
    let scanned = Cached::of(sha256).plugin(json!({})).scan(None);
    assert_eq!(scanned.lines(), ["+a.txt"]);
}

#[test]
fn a_history_can_be_fetched() {
    let cached = Cached::with(&[("a.txt", "a")]);
    let scanned = cached.plugin(json!({"mode": "history"})).scan(None);
    assert_eq!(scanned.lines(), ["+work"]);
    assert_eq!(scanned.items[0]["pages"][0]["elements"][0]["text"], "x");
}

#[test]
fn two_rounds_may_fetch_at_once() {
    let cached = Cached::with(&[("a.txt", "a")]);
    let rounds: Vec<_> = (0..4)
        .map(|_| {
            let mut plugin = cached.plugin(json!({}));
            std::thread::spawn(move || plugin.scan(None).lines())
        })
        .collect();
    for round in rounds {
        assert_eq!(round.join().unwrap(), ["+a.txt"]);
    }
}

#[test]
fn a_place_that_is_not_there_may_come_back() {
    let cached = Cached::with(&[("a.txt", "a")]);
    let mut plugin = cached.plugin(json!({}));
    fs::remove_dir_all(cached.repository.root()).unwrap();
    let error = plugin.failing_scan(None);
    assert_eq!(error["code"], -32003);
    assert_eq!(error["data"], json!({"retryable": true}));
}

/// Serves HTTP that asks for a password, and returns its address and the credentials it was given.
fn asking_server(host: &str) -> Option<(String, mpsc::Receiver<String>)> {
    let listener = TcpListener::bind((host, 0)).ok()?;
    let address = listener.local_addr().unwrap().to_string();
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = Vec::new();
            let mut buffer = [0; 4096];
            while !request.windows(4).any(|window| window == b"\r\n\r\n") {
                match stream.read(&mut buffer) {
                    Ok(0) | Err(_) => break,
                    Ok(read) => request.extend_from_slice(&buffer[..read]),
                }
            }
            let request = String::from_utf8_lossy(&request).into_owned();
            for line in request.lines() {
                if let Some(value) = line.strip_prefix("Authorization: ") {
                    let _ = sender.send(value.to_owned());
                }
            }
            let answer = "HTTP/1.1 401 Unauthorized\r\nWWW-Authenticate: Basic realm=\"x\"\r\n\
                Content-Length: 0\r\nConnection: close\r\n\r\n";
            let _ = stream.write_all(answer.as_bytes());
        }
    });
    Some((address, receiver))
}

#[test]
fn the_password_of_a_url_reaches_its_host_and_nobody_else() {
    let found = asking_server("127.0.0.1").unwrap();
    presents_its_password_only_to(found);
}

#[test]
fn the_host_of_a_url_may_be_an_address_of_ipv6() {
    // Some machines have none.
    if let Some(found) = asking_server("::1") {
        presents_its_password_only_to(found);
    }
}

fn presents_its_password_only_to((address, given): (String, mpsc::Receiver<String>)) {
    use base64::Engine as _;
    let cache = tempfile::tempdir().unwrap();
    let repo = format!("http://me:s3cret@{address}/docs.git?token=s3cret2");
    let config = json!({"repo": repo, "cache": cache.path()});
    let mut plugin = Plugin::start(dpe_connector_git::main, &config);
    let error = plugin.failing_scan(None);
    let expected = base64::engine::general_purpose::STANDARD.encode("me:s3cret");
    assert_eq!(
        given.recv_timeout(Duration::from_secs(5)).unwrap(),
        format!("Basic {expected}")
    );
    let said = format!("{error} {}", plugin.stderr());
    assert!(said.contains(&address), "{said}");
    assert!(!said.contains("s3cret"), "{said}");
}

#[test]
fn a_fetch_is_given_up_when_nobody_waits_any_more() {
    // Takes connections and says nothing.
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let cache = tempfile::tempdir().unwrap();
    let repo = format!("http://{}/docs.git", listener.local_addr().unwrap());
    let config = json!({"repo": repo, "cache": cache.path()});
    let mut plugin = Plugin::start(dpe_connector_git::main, &config);
    let id = plugin.send("scan", json!({"cursor": null}));
    let _connection = listener.accept().unwrap();
    plugin.cancel(id);
    let answer = plugin.receive(id);
    assert_eq!(answer["error"]["code"], -32001);
    plugin.hang_up();
}
