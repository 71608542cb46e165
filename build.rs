//! Compiles the one file that has to run before `main`.

fn main() {
    const INHERITED: &str = "src/inherited.c";
    println!("cargo::rerun-if-changed={INHERITED}");
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_CFG_UNIX").is_some() {
        // Nothing calls it: without the modifier, linkers leave it out.
        cc::Build::new()
            .file(INHERITED)
            .link_lib_modifier("+whole-archive")
            .compile("dpe_inherited");
    }
}
