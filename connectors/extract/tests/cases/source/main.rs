// A comment
fn main() {}

