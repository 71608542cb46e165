//! Compiles the one file that has to run before `main`.

fn main() {
    const STANDARD_OUTPUT: &str = "src/standard_output.c";
    println!("cargo::rerun-if-changed={STANDARD_OUTPUT}");
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_CFG_UNIX").is_some() {
        // Nothing calls it: without the modifier, linkers leave it out.
        cc::Build::new()
            .file(STANDARD_OUTPUT)
            .link_lib_modifier("+whole-archive")
            .compile("dpe_standard_output");
    }
}
