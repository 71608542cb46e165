"""Runs the same connectors under `dpe run` and under the published runner, and compares.

Usage: cross_runner.py DPE DIRECTORY, in the virtual environment that has the published runner.
"""
import concurrent.futures, contextlib, json, os, pathlib, shutil, subprocess, sys

DPE, WORK = sys.argv[1], pathlib.Path(sys.argv[2])
REPOSITORY = pathlib.Path(__file__).resolve().parent.parent
RUNNERS = {"ours": [DPE, "run"], "theirs": [str(pathlib.Path(sys.executable).parent / "dpe-run")]}
PYTHON = os.path.realpath(sys.executable)
EXAMPLE = REPOSITORY / "connectors/examples/mbox"
FIXTURE = REPOSITORY / "tests/contract/fixture"

# Scenarios of the table whose end depends on who is faster, or that take half a minute.
LEFT_OUT = {"no_hello", "dies_after_the_last_batch"}


class Instance:
    """A connector under one runner, with a remote of its own."""

    def __init__(self, directory, runner, definition):
        self.directory, self.runner = directory, runner
        self.directory.mkdir(parents=True)
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(directory), "LANG": "C.UTF-8"}
        self.server = subprocess.Popen(
            [DPE, "serve", "--quiet", "--store", directory / "store", "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE, env=self.environment)
        self.url = json.loads(self.server.stdout.readline())["url"]
        definition = {"definition_version": 1, "id": "cross", "remote": {"url": self.url}, **definition}
        (directory / "definition.json").write_text(json.dumps(definition))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.terminate()
        self.server.wait()

    def run(self):
        """Returns the report and the exit code, without what differs from run to run."""
        command = [*RUNNERS[self.runner], "--state-dir", self.directory / "state",
                   self.directory / "definition.json"]
        ended = subprocess.run(command, env=self.environment, capture_output=True)
        try:
            report = json.loads(ended.stdout)
        except ValueError:
            sys.exit(f"no report: {ended}")
        for member in ("started_at", "ended_at", "remote_url"):
            del report[member]
        report["cursor_held_since"] = report["cursor_held_since"] is not None
        for failure in report["failures"]:
            del failure["message"]
        return {**report, "exit": ended.returncode}

    def remote(self):
        listed = subprocess.run([DPE, "ls", "--json", "--remote", self.url], env=self.environment,
                                capture_output=True, check=True)
        entries = map(json.loads, listed.stdout.splitlines())
        return {entry["file_uri"]: entry["doc_hash"] for entry in entries}


# ---- Sources that change ------------------------------------------------------------------------

def folder(source):
    (source / "docs").mkdir(parents=True)
    for number in range(40):
        (source / "docs" / f"{number}.md").write_text(f"# Document {number}\n\nText of it.\n")
    (source / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x01\0\0\0\x01\x08\0\0\0\0\x3a\x7e\x9b\x55"
                                         + bytes(range(256)) * 600)
    yield
    (source / "docs/0.md").rename(source / "docs/moved.md")
    (source / "docs/1.md").unlink()
    (source / "docs/2.md").write_text("# Document 2\n\nOther text.\n")
    (source / "docs/new.csv").write_text("a,b\n1,2\n")
    yield


def repository(source):
    def git(*arguments):
        who = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
               for what, value in (("NAME", "Ann"), ("EMAIL", "ann@example.org"), ("DATE", "2026-03-03T09:15:00Z"))}
        subprocess.run(["git", "-C", source, *arguments], check=True, capture_output=True, env={
            "PATH": os.environ["PATH"], "HOME": str(source), "GIT_CONFIG_NOSYSTEM": "1", **who})
    source.mkdir(parents=True)
    git("init", "--quiet", "--initial-branch", "main")
    for _ in folder(source / "tree"):
        git("add", "--all")
        git("commit", "--quiet", "--message", "As it is now")
        yield


def mailboxes(source):
    source.mkdir(parents=True)
    sample = (EXAMPLE / "sample.mbox").read_text()
    first, second = sample.split("From bob@", 1)
    (source / "inbox.mbox").write_text(sample)
    yield
    (source / "archive.mbox").write_text(first)
    (source / "inbox.mbox").write_text("From eve@example.org Wed Mar  4 09:15:00 2026\n"
                                       "From: Eve <eve@example.org>\nSubject: Hello\n\nMe, too.\n")
    yield


def bundled(name):
    manifest = WORK / f"{name}.json"
    manifest.write_bytes(subprocess.run([DPE, "connector", "manifest", name], check=True,
                                        capture_output=True).stdout)
    return {"manifest": str(manifest), "command": [DPE, "connector", "serve", name]}


def sources():
    mbox = {"manifest": str(EXAMPLE / "dpe-connector.json"),
            "command": [PYTHON, str(EXAMPLE / "mbox_connector.py")]}
    yield "fs", folder, bundled("fs"), "root"
    yield "git", repository, bundled("git"), "repo"
    yield "mbox", mailboxes, mbox, "path"


def compare_source(name, changes, plugin, member):
    """A full round, one without changes, an incremental one, and a full one to an empty remote."""
    source = WORK / name / "source"
    definition = {"uri_prefix": f"x://{name}/", "plugin": plugin, "config": {member: str(source)}}
    with contextlib.ExitStack() as stack:
        instances = {runner: stack.enter_context(Instance(WORK / name / runner, runner, definition))
                     for runner in RUNNERS}

        def round_of_both(incremental):
            reports = {runner: instance.run() for runner, instance in instances.items()}
            assert reports["ours"] == reports["theirs"], (name, reports)
            assert reports["ours"]["outcome"] == "succeeded", (name, reports)
            assert reports["ours"]["incremental"] == incremental, (name, reports)
            remotes = {runner: instance.remote() for runner, instance in instances.items()}
            assert remotes["ours"] == remotes["theirs"] != {}, (name, remotes)
            return reports["ours"]["counts"], remotes["ours"]

        changing = changes(source)
        next(changing)
        counts, before = round_of_both(False)
        assert counts["created"] == len(before), (name, counts)
        counts, _ = round_of_both(True)
        assert set(counts.values()) == {0}, (name, counts)
        next(changing)
        counts, after = round_of_both(True)
        assert counts["deleted"] and counts["created"], (name, counts)
        assert counts["moved"] or name == "mbox", (name, counts)
        fresh = stack.enter_context(Instance(WORK / name / "fresh", "ours", definition))
        fresh.run()
        assert fresh.remote() == after, name
    print(f"{name}: {len(after)} documents, {counts}")


# ---- The scenarios of the fixture ---------------------------------------------------------------

def compare_scenario(row):
    name, seen = row["name"], {}
    for runner in RUNNERS:
        plugin = {"manifest": str(FIXTURE / "dpe-connector.json"), "command": [PYTHON, str(FIXTURE / "plugin.py")]}
        definition = {"uri_prefix": "t://p/", "plugin": plugin, "config": {"scenario": name},
                      "runner": row.get("runner", {})}
        with Instance(WORK / "scenarios" / name / runner, runner, definition) as instance:
            seen[runner] = [(instance.run(), instance.remote()) for _ in row["rounds"]]
    shutil.rmtree(WORK / "scenarios" / name)
    assert seen["ours"] == seen["theirs"], (name, seen)
    return name


def main():
    for source in sources():
        compare_source(*source)
    table = json.loads((REPOSITORY / "tests/contract/scenarios.json").read_text())
    rows = [row for part in table.values() for row in part if row["name"] not in LEFT_OUT]
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        compared = list(pool.map(compare_scenario, rows))
    print(f"both runners agree about {len(compared)} scenarios")


main()
