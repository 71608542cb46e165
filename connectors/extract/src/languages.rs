//! The table of languages: extensions, whole names and interpreters that mean each.
//!
//! A language's name is the `file_type` of its files; where the registry of hash contract §10 has a
//! name (`xml`), it is that one. Knows nothing of the languages themselves.

/// One row: a language and what means it, all in lowercase.
struct Language {
    name: &'static str,
    extensions: &'static [&'static str],
    names: &'static [&'static str],
    interpreters: &'static [&'static str],
}

const fn language(name: &'static str, extensions: &'static [&'static str]) -> Language {
    Language {
        name,
        extensions,
        names: &[],
        interpreters: &[],
    }
}

impl Language {
    const fn named(self, names: &'static [&'static str]) -> Self {
        Self { names, ..self }
    }

    const fn run_by(self, interpreters: &'static [&'static str]) -> Self {
        Self {
            interpreters,
            ..self
        }
    }
}

static LANGUAGES: &[Language] = &[
    language("ada", &["adb", "ads"]),
    language("applescript", &["applescript"]),
    language("assembly", &["s", "asm", "nasm"]),
    language("astro", &["astro"]),
    language("awk", &["awk"]).run_by(&["awk", "gawk", "mawk"]),
    language("batch", &["bat", "cmd"]),
    language("bibtex", &["bib"]),
    language("bicep", &["bicep"]),
    language("c", &["c", "h"]),
    language("clojure", &["clj", "cljs", "cljc", "edn"]),
    language("cmake", &["cmake"]).named(&["cmakelists.txt"]),
    language("cobol", &["cob", "cbl"]),
    language("coffeescript", &["coffee"]),
    language("common_lisp", &["lisp", "lsp"]).run_by(&["sbcl"]),
    language(
        "cpp",
        &[
            "cpp", "cc", "cxx", "c++", "hpp", "hh", "hxx", "h++", "ino", "ipp", "tpp",
        ],
    ),
    language("crystal", &["cr"]).run_by(&["crystal"]),
    language("csharp", &["cs", "csx"]),
    language("css", &["css"]),
    language("cuda", &["cu", "cuh"]),
    language("cython", &["pyx", "pxd"]),
    language("d", &["d"]),
    language("dart", &["dart"]),
    language("diff", &["diff", "patch"]),
    language("dockerfile", &["dockerfile"]).named(&["dockerfile", "containerfile"]),
    language("dot", &["gv"]),
    language("elisp", &["el"]),
    language("elixir", &["ex", "exs"]).run_by(&["elixir"]),
    language("elm", &["elm"]),
    language("env", &["env"]).named(&[".env"]),
    language("erlang", &["erl", "hrl"]).run_by(&["escript"]),
    language("fish", &["fish"]).run_by(&["fish"]),
    language("fortran", &["f", "f77", "f90", "f95", "f03", "f08"]),
    language("fsharp", &["fs", "fsi", "fsx"]),
    language("gettext", &["po", "pot"]),
    language("gherkin", &["feature"]),
    language("gleam", &["gleam"]),
    language("glsl", &["glsl", "vert", "frag"]),
    language("go", &["go"]),
    language("go_mod", &[]).named(&["go.mod", "go.work"]),
    language("graphql", &["graphql", "gql", "graphqls"]),
    language("groovy", &["groovy", "gradle"])
        .named(&["jenkinsfile"])
        .run_by(&["groovy"]),
    language("haml", &["haml"]),
    language("handlebars", &["hbs", "handlebars"]),
    language("haskell", &["hs", "lhs"]).run_by(&["runhaskell", "runghc"]),
    language("haxe", &["hx"]),
    language("hcl", &["hcl", "tf", "tfvars"]),
    language("hlsl", &["hlsl"]),
    language("idl", &["idl", "webidl"]),
    language("ignore", &[]).named(&[
        ".gitignore",
        ".dockerignore",
        ".npmignore",
        ".ignore",
        ".dpeignore",
        ".prettierignore",
        ".eslintignore",
    ]),
    language(
        "ini",
        &[
            "ini",
            "cfg",
            "conf",
            "cnf",
            "desktop",
            "service",
            "editorconfig",
        ],
    )
    .named(&[
        ".editorconfig",
        ".gitconfig",
        ".gitmodules",
        ".npmrc",
        ".pylintrc",
        ".flake8",
        ".coveragerc",
    ]),
    language("java", &["java"]),
    language("javascript", &["js", "mjs", "cjs", "jsx"]).run_by(&["node", "nodejs", "bun"]),
    language("jinja", &["j2", "jinja", "jinja2"]),
    language("json5", &["json5"]),
    language("jsonc", &["jsonc"]).named(&["tsconfig.json", "jsconfig.json", "devcontainer.json"]),
    language("jsonnet", &["jsonnet", "libsonnet"]),
    language("julia", &["jl"]).run_by(&["julia"]),
    language("just", &["just"]).named(&["justfile", ".justfile"]),
    language("kotlin", &["kt", "kts"]),
    language("latex", &["tex", "sty", "cls", "ltx"]),
    language("less", &["less"]),
    language("linker_script", &["ld", "lds"]),
    language("llvm", &["ll"]),
    language("lua", &["lua"]).run_by(&["lua", "luajit"]),
    language("m4", &["m4", "ac"]),
    language("makefile", &["mk", "mak", "make", "am"])
        .named(&["makefile", "gnumakefile", "bsdmakefile"])
        .run_by(&["make"]),
    language("meson", &[]).named(&["meson.build", "meson_options.txt"]),
    language("nim", &["nim", "nims"]),
    language("nix", &["nix"]),
    language("objective_c", &["m", "mm"]),
    language("ocaml", &["ml", "mli", "mll", "mly"]).run_by(&["ocaml"]),
    language("pascal", &["pas", "pp", "dpr", "lpr"]),
    language("perl", &["pl", "pm", "t", "pod"]).run_by(&["perl"]),
    language("php", &["php", "phtml"]).run_by(&["php"]),
    language("plantuml", &["puml", "plantuml"]),
    language("powershell", &["ps1", "psm1", "psd1"]).run_by(&["pwsh", "powershell"]),
    language("prisma", &["prisma"]),
    language("prolog", &["pro", "prolog"]).run_by(&["swipl"]),
    language("properties", &["properties"]),
    language("protobuf", &["proto"]),
    language("pug", &["pug", "jade"]),
    language("puppet", &["epp"]),
    language("python", &["py", "pyi", "pyw"])
        .named(&["sconstruct", "sconscript"])
        .run_by(&["python", "pypy"]),
    language("qml", &["qml"]),
    language("r", &["r"]).run_by(&["rscript", "Rscript"]),
    language("racket", &["rkt"]).run_by(&["racket"]),
    language("ruby", &["rb", "rake", "gemspec", "erb"])
        .named(&[
            "gemfile",
            "rakefile",
            "vagrantfile",
            "guardfile",
            "podfile",
            "brewfile",
        ])
        .run_by(&["ruby"]),
    language("rust", &["rs"]).run_by(&["rust-script"]),
    language("sass", &["sass"]),
    language("scala", &["scala", "sc", "sbt"]).run_by(&["scala"]),
    language("scheme", &["scm", "ss", "sld"]).run_by(&["guile"]),
    language("scss", &["scss"]),
    language("shell", &["sh", "bash", "zsh", "ksh", "dash", "bats"])
        .named(&[
            ".bashrc",
            ".bash_profile",
            ".profile",
            ".zshrc",
            ".zprofile",
            ".zshenv",
            ".envrc",
            "pkgbuild",
        ])
        .run_by(&["sh", "bash", "dash", "zsh", "ksh", "ash", "bats"]),
    language("solidity", &["sol"]),
    language("sparql", &["rq", "sparql"]),
    language("sql", &["sql", "ddl", "dml", "psql"]),
    language("starlark", &["bzl", "star"]).named(&[
        "build.bazel",
        "workspace.bazel",
        "module.bazel",
    ]),
    language("svelte", &["svelte"]),
    language("swift", &["swift"]),
    language("systemverilog", &["sv", "svh"]),
    language("tcl", &["tcl"]).run_by(&["tclsh", "wish", "expect"]),
    language("thrift", &["thrift"]),
    language("toml", &["toml"]).named(&[
        "cargo.lock",
        "poetry.lock",
        "uv.lock",
        "pdm.lock",
        "pipfile",
        "gopkg.lock",
    ]),
    language("turtle", &["ttl", "n3", "nt", "nq"]),
    language("typescript", &["ts", "tsx", "mts", "cts"]).run_by(&["deno", "ts-node", "tsx"]),
    language("typst", &["typ"]),
    language("vala", &["vala", "vapi"]),
    language("vb", &["vb", "vbs", "bas"]),
    language("verilog", &["v", "vh"]),
    language("vhdl", &["vhd", "vhdl"]),
    language("vim", &["vim"]).named(&[".vimrc", "vimrc"]),
    language("vue", &["vue"]),
    language("wat", &["wat", "wast"]),
    language("wgsl", &["wgsl"]),
    language(
        "xml",
        &[
            "xml", "xsd", "xsl", "xslt", "rss", "atom", "plist", "csproj", "vcxproj", "fsproj",
            "props", "targets", "wsdl", "gml", "kml", "gpx", "xliff", "xlf", "dtd", "opml", "rdf",
            "owl", "resx",
        ],
    ),
    language("yaml", &["yaml", "yml"]).named(&[".clang-format", ".clang-tidy", ".prettierrc"]),
    language("zig", &["zig", "zon"]),
];

/// Returns the language that a whole file name in lowercase means.
pub(crate) fn by_name(name: &[u8]) -> Option<&'static str> {
    LANGUAGES
        .iter()
        .find(|language| language.names.iter().any(|known| known.as_bytes() == name))
        .map(|language| language.name)
}

/// Returns the language that an extension in lowercase means.
pub(crate) fn by_extension(extension: &str) -> Option<&'static str> {
    LANGUAGES
        .iter()
        .find(|language| language.extensions.contains(&extension))
        .map(|language| language.name)
}

/// Returns the language that an interpreter runs.
pub(crate) fn by_interpreter(interpreter: &str) -> Option<&'static str> {
    LANGUAGES
        .iter()
        .find(|language| language.interpreters.contains(&interpreter))
        .map(|language| language.name)
}

#[cfg(test)]
pub(crate) fn all() -> impl Iterator<Item = &'static str> {
    LANGUAGES.iter().map(|language| language.name)
}

#[cfg(test)]
pub(crate) fn extensions() -> impl Iterator<Item = &'static &'static str> {
    LANGUAGES.iter().flat_map(|language| language.extensions)
}
