//! Images: their bytes in the item or behind a handle (connector contract §14).

use std::fs;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dpe_connector_testing::{Plugin, Scanned, initialize};
use serde_json::{Value, json};

use crate::plugin::{Folder, connector, connector_limited};

/// A PNG of 3 by 2 pixels as far as its header goes, `length` bytes long.
fn png(length: usize) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1A\n\0\0\0\rIHDR\0\0\0\x03\0\0\0\x02\x08\x06\0\0\0".to_vec();
    let rest = length - bytes.len();
    bytes.extend((0..rest).map(|index| (index / 251) as u8));
    bytes
}

fn image(scanned: &Scanned, name: &str) -> Value {
    let uri = format!("dpe://t/{name}");
    let item = scanned.items.iter().find(|item| item["file_uri"] == *uri);
    item.unwrap()["pages"][0]["elements"][0].clone()
}

fn read(plugin: &mut Plugin, handle: &Value, offset: u64, max_bytes: u64) -> Value {
    let params = json!({"handle": handle, "offset": offset, "max_bytes": max_bytes});
    plugin.call("read_blob", params)
}

/// Reads all of a blob, a runner's chunk at a time.
fn whole(plugin: &mut Plugin, handle: &Value) -> Vec<u8> {
    let mut bytes = Vec::new();
    loop {
        let answer = read(plugin, handle, bytes.len() as u64, 1 << 20);
        let chunk = answer["result"]["data"].as_str();
        let chunk = STANDARD
            .decode(chunk.unwrap_or_else(|| panic!("{answer}")))
            .unwrap();
        bytes.extend(chunk);
        if answer["result"]["eof"] == true {
            return bytes;
        }
    }
}

#[test]
fn a_small_image_travels_in_its_item_and_a_large_one_behind_a_handle() {
    let folder = Folder::new();
    let (small, large) = (png(64 << 10), png((64 << 10) + 1));
    folder.write("small.png", &small);
    folder.write("large.png", &large);
    folder.write("huge.png", png((5 << 20) + 3));
    folder.write("a.svg", "<svg width='1' height='2'></svg>");
    let mut plugin = connector(folder.root(), json!({}));
    let scanned = plugin.scan(None);
    let inline = |bytes: &[u8]| json!({"inline": STANDARD.encode(bytes)});
    assert_eq!(image(&scanned, "small.png")["blob"], inline(&small));
    let svg = image(&scanned, "a.svg");
    assert_eq!(svg["blob"], inline(b"<svg width='1' height='2'></svg>"));
    assert_eq!(svg["mime_type"], "image/svg+xml");
    let found = image(&scanned, "large.png");
    assert_eq!(found["blob"]["size"], large.len());
    assert_eq!(found["metadata"], json!({"width": 3, "height": 2}));
    assert!(whole(&mut plugin, &found["blob"]["handle"]) == large);
    let huge = image(&scanned, "huge.png");
    assert!(whole(&mut plugin, &huge["blob"]["handle"]) == png((5 << 20) + 3));
    assert_ne!(found["blob"]["handle"], huge["blob"]["handle"]);
}

#[test]
fn chunks_fit_a_message_however_much_is_asked_for() {
    let folder = Folder::new();
    folder.write("a.png", png(200_000));
    let mut plugin = connector_limited(folder.root(), json!({}), 16 << 10);
    let scanned = plugin.scan(None);
    let handle = &image(&scanned, "a.png")["blob"]["handle"];
    let answer = read(&mut plugin, handle, 0, u64::from(u32::MAX));
    let data = answer["result"]["data"].as_str().unwrap();
    assert_eq!(STANDARD.decode(data).unwrap().len(), 12288 * 3 / 4);
    assert_eq!(answer["result"]["eof"], false);
}

#[test]
fn a_handle_ends_with_the_next_round() {
    let folder = Folder::new();
    folder.write("a.png", png(100_000));
    let mut plugin = connector(folder.root(), json!({}));
    let scanned = plugin.scan(None);
    let handle = image(&scanned, "a.png")["blob"]["handle"].clone();
    for _ in 0..2 {
        assert_eq!(read(&mut plugin, &handle, 99_999, 5)["result"]["eof"], true);
    }
    let again = plugin.scan(None);
    assert_eq!(read(&mut plugin, &handle, 0, 5)["error"]["code"], -32002);
    let handle = &image(&again, "a.png")["blob"]["handle"];
    assert!(read(&mut plugin, handle, 0, 5).get("result").is_some());
    let unknown = read(&mut plugin, &json!("/etc/passwd"), 0, 5);
    assert_eq!(unknown["error"]["code"], -32002);
}

#[test]
fn an_image_that_changed_since_the_scan_is_worth_another_round() {
    let folder = Folder::new();
    folder.write("a.png", png(100_000));
    let mut plugin = connector(folder.root(), json!({}));
    let scanned = plugin.scan(None);
    let handle = &image(&scanned, "a.png")["blob"]["handle"];
    assert!(read(&mut plugin, handle, 0, 5).get("result").is_some());
    folder.write("a.png", png(100_001));
    let error = &read(&mut plugin, handle, 5, 5)["error"];
    assert_eq!(error["code"], -32003);
    assert_eq!(error["data"]["retryable"], true);
}

/// `max_file_bytes` bounds what is held in memory; an image is not.
#[test]
fn an_image_may_be_as_large_as_the_remote_takes() {
    let folder = Folder::new();
    folder.write("fits.png", png(100_000));
    folder.write("large.png", png(100_001));
    let config = json!({"root": folder.root(), "max_file_bytes": 1000});
    let mut params = initialize(&config, 32 << 20);
    params["remote_limits"] = json!({
        "max_payload_bytes": 1 << 20,
        "page_max_bytes": 1 << 20,
        "blob_max_bytes": 100_000,
    });
    let mut plugin = Plugin::spawn(dpe_connector_fs::main);
    plugin.call("initialize", params);
    let scanned = plugin.scan(None);
    assert_eq!(scanned.lines(), ["+fits.png", "!large.png content_invalid"]);
    let message = scanned.items[1]["message"].as_str().unwrap();
    assert!(
        message.contains("the remote takes in one blob (100000)"),
        "{message}"
    );
}

#[test]
fn a_renamed_image_is_a_move_and_an_edited_one_is_not() {
    let folder = Folder::new();
    folder.write("a.png", png(3 << 20));
    folder.write("b.png", png((3 << 20) + 1));
    let mut plugin = connector(folder.root(), json!({}));
    let cursor = plugin.scan(None).cursor.unwrap();
    folder.rename("a.png", "sub/c.png");
    let lines = plugin.scan(Some(&cursor)).lines();
    assert_eq!(lines, ["a.png>sub/c.png", "+sub/c.png"]);
    // Only its last byte differs, far behind what is looked at for the document.
    let mut bytes = png(3 << 20);
    *bytes.last_mut().unwrap() ^= 1;
    fs::write(folder.path("sub/c.png"), bytes).unwrap();
    fs::remove_file(folder.path("b.png")).unwrap();
    let lines = plugin.scan(Some(&cursor)).lines();
    assert_eq!(lines, ["-a.png", "-b.png", "+sub/c.png"]);
}
