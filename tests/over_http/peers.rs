//! The published client of the protocol against our server.

use dpe::model::FileUri;
use dpe_sdk::http::DpeClient;
use dpe_sdk::protocol::{BlobSource, Precondition};
use dpe_sdk::{CONTRACT, ExpandedDocument};
use serde_json::json;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

use super::served::Served;
use super::wire::Wire;

/// Limits so small that everything beyond a few sentences has to be staged, in chunks.
const TIGHT: [&str; 4] = ["--max-payload-bytes", "4096", "--blob-chunk-bytes", "1000"];

fn parse(document: &serde_json::Value) -> ExpandedDocument {
    ExpandedDocument::parse(&document.to_string(), CONTRACT).unwrap()
}

/// A document of `pages` pages with `elements` elements each, and a picture of `bytes` on the last.
fn illustrated(pages: usize, elements: usize, reference: &str, edition: u32) -> ExpandedDocument {
    let mut all: Vec<_> = (0..pages)
        .map(|page| {
            let elements: Vec<_> = (0..elements)
                .map(|element| {
                    json!({"category": "NarrativeText",
                           "text": format!("sentence {element} of page {page}, as it was written down")})
                })
                .collect();
            json!({"elements": elements})
        })
        .collect();
    all.push(json!({"title": format!("edition {edition}"), "elements": [
        {"category": "Image", "blob": reference, "mime_type": "image/png"}]}));
    parse(&json!({"file_type": "pdf", "pages": all}))
}

fn reference(bytes: &[u8]) -> String {
    let digest = Sha256::digest(bytes);
    let digits: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digits}")
}

#[tokio::test]
async fn peer_delivers_in_chunks_updates_moves_and_deletes() {
    let store = TempDir::new().unwrap();
    let served = Served::start(store.path(), &TIGHT);
    let client = DpeClient::new(&served.url).unwrap();
    let picture: Vec<u8> = (0..20_011_u32).map(|n| (n * n % 251) as u8).collect();
    let image = reference(&picture);
    let bytes = picture.clone();
    let mut blobs = move |wanted: &str| {
        (wanted == reference(&bytes)).then(|| BlobSource::from_bytes(bytes.clone()))
    };

    let first = illustrated(12, 60, &image, 1);
    let created = client
        .deliver(
            "peer://a",
            &first,
            Precondition::IfAbsent,
            Some(&mut blobs),
            None,
        )
        .await
        .unwrap();
    assert_eq!(created.status.as_str(), "created");
    assert_eq!(created.doc_hash, first.doc_hash(CONTRACT).unwrap());

    // The picture is part of the document: nobody is asked for its bytes again.
    let second = illustrated(13, 60, &image, 2);
    let base = Precondition::BaseHash(created.doc_hash);
    let updated = client
        .deliver("peer://a", &second, base, None, None)
        .await
        .unwrap();
    assert_eq!(updated.status.as_str(), "updated");
    assert_eq!((updated.delta.added, updated.delta.removed), (60, 0));

    let moved = client
        .move_document("peer://a", "peer://b", &updated.doc_hash)
        .await
        .unwrap();
    assert_eq!(moved.doc_hash, updated.doc_hash);
    assert_eq!(client.head("peer://a").await.unwrap(), None);
    let skeleton = client.get_skeleton("peer://b").await.unwrap().unwrap();
    assert_eq!(skeleton.pages.len(), 14);

    client.delete("peer://b", &updated.doc_hash).await.unwrap();
    assert_eq!(client.head("peer://b").await.unwrap(), None);
    served.kill();
    let store = dpe::server::Store::open(store.path(), dpe::server::OpenMode::MustExist).unwrap();
    let gone = store
        .elements(&FileUri::parse("peer://b").unwrap())
        .unwrap();
    assert!(gone.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn peer_reads_back_what_the_program_pushed_and_finds_nothing_to_add() {
    let wire = Wire::new(&TIGHT).await;
    let docs = wire.path("docs");
    std::fs::create_dir(&docs).unwrap();
    let long: String = (0..400)
        .map(|n| format!("Paragraph {n} of a text.\n\n"))
        .collect();
    std::fs::write(docs.join("long.md"), format!("# Long\n\n{long}")).unwrap();
    std::fs::write(docs.join("short.txt"), "Short.\n").unwrap();
    std::fs::write(docs.join("table.csv"), "a,b\n1,2\n").unwrap();
    let mut png =
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x02\0\0\0\x01\x08\0\0\0\0\x3a\x7e\x9b\x55".to_vec();
    png.extend((0..9000_u32).map(|n| (n * n % 249) as u8));
    std::fs::write(docs.join("picture.png"), &png).unwrap();
    let pushed = wire
        .run(&["push", "docs", "--prefix", "peer://docs/"])
        .await;
    assert_eq!(pushed.code, Some(0), "{pushed:?}");

    let client = DpeClient::new(&wire.served.url).unwrap();
    let listed = client.list_page("", None, None).await.unwrap();
    let uris: Vec<_> = listed
        .documents
        .iter()
        .map(|entry| &*entry.file_uri)
        .collect();
    let expected = ["long.md", "picture.png", "short.txt", "table.csv"];
    assert_eq!(uris, expected.map(|name| format!("peer://docs/{name}")));
    for entry in &listed.documents {
        // The peer recomputes every hash from the skeleton.
        let skeleton = client.get_skeleton(&entry.file_uri).await.unwrap().unwrap();
        assert_eq!(skeleton.doc_hash, entry.doc_hash);
    }
    // The same picture, put together and delivered by the peer, is there already.
    let image = json!({"category": "Image", "blob": reference(&png), "mime_type": "image/png",
                       "metadata": {"width": 2, "height": 1}});
    let picture = parse(&json!({"file_type": "png", "pages": [{"elements": [image]}]}));
    let uri = "peer://docs/picture.png";
    let delivered = client
        .deliver(uri, &picture, Precondition::IfAbsent, None, None)
        .await
        .unwrap();
    assert_eq!(delivered.status.as_str(), "unchanged");
}
