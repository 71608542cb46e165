//! Repositories that somebody made, or that broke: whatever is in them, a round ends and says what is wrong.

use std::fs;

use crate::repository::Repository;

#[test]
fn what_went_is_deleted_even_if_nobody_can_tell_any_more_what_it_was() {
    let repository = Repository::with(&[("a.txt", "a"), ("b", "b"), ("keep.txt", "k")]);
    let blobs = [
        repository.git(&["rev-parse", "HEAD:a.txt"]),
        repository.git(&["rev-parse", "HEAD:b"]),
    ];
    let first = repository.plugin().scan(None);
    repository.git(&["rm", "-q", "a.txt", "b"]);
    repository.commit();
    for blob in blobs {
        fs::remove_file(repository.path(format!(".git/objects/{}/{}", &blob[..2], &blob[2..])))
            .unwrap();
    }
    let second = repository.plugin().scan(first.cursor.as_deref());
    assert_eq!(
        (second.lines(), second.incremental),
        (vec!["-a.txt".into(), "-b".into()], true)
    );
}
