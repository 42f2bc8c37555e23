//! Large results on their way from the tool process: raw, compressed, in chunks, interleaved, and
//! what is wrong with some of them.

use pmcp_bridge::wire::protomcp::envelope::Msg;
use pmcp_bridge::wire::protomcp::*;
use ruzstd::encoding::{CompressionLevel, compress_to_vec};
use serde_json::{Value, json};

use crate::support::raw_tool::{Call, Peer, Trio, frame, tool};

const RESULT: &str = "result_json";
const STRUCTURED: &str = "structured_content_json";

fn raw_header(call: &Call, field: &str, size: usize) -> RawHeader {
    RawHeader {
        request_id: call.id.clone(),
        field_name: field.into(),
        size: size as u64,
        ..RawHeader::default()
    }
}

fn zstd_header(call: &Call, field: &str, size: usize, uncompressed: usize) -> RawHeader {
    RawHeader {
        compression: "zstd".into(),
        uncompressed_size: uncompressed as u64,
        ..raw_header(call, field, size)
    }
}

/// A header and the bytes behind it.
fn raw(header: RawHeader, bytes: &[u8]) -> Vec<u8> {
    let mut all = frame("", Msg::RawHeader(header));
    all.extend_from_slice(bytes);
    all
}

fn header(peer: &Peer, call: &Call, field: &str, total_size: usize) {
    let header = StreamHeader { field_name: field.into(), total_size: total_size as u64, chunk_size: 65536 };
    peer.send(&call.id, Msg::StreamHeader(header));
}

fn chunk(peer: &Peer, call: &Call, data: &[u8], is_final: bool) {
    peer.send(&call.id, Msg::StreamChunk(StreamChunk { data: data.into(), r#final: is_final }));
}

fn content(text: &str) -> Vec<u8> {
    json!([{"type": "text", "text": text}]).to_string().into_bytes()
}

/// A text that is neither short nor all the same.
fn long_text(length: usize) -> String {
    (0..).flat_map(|n: u64| format!("{n} é ").chars().collect::<Vec<_>>()).take(length).collect()
}

/// A frame of zstd that inflates to `blocks` times 128 KiB of one byte, and is 4 bytes for each.
pub(crate) fn bomb(blocks: u32) -> Vec<u8> {
    let mut bytes = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38];
    for block in 0..blocks {
        let is_last = u32::from(block + 1 == blocks);
        let header = is_last | 1 << 1 | (128 * 1024) << 3;
        bytes.extend_from_slice(&header.to_le_bytes()[..3]);
        bytes.push(b'x');
    }
    bytes
}

/// Calls; the other side sends these bytes; the result.
#[track_caller]
fn result_of(trio: &mut Trio, bytes: impl FnOnce(&Peer, &Call)) -> Value {
    let id = trio.host.begin_call("any", json!({}));
    let call = trio.peer.call();
    bytes(&trio.peer, &call);
    trio.host.result_of(id)
}

#[track_caller]
fn is_error_that_says(result: &Value, words: &[&str]) {
    assert_eq!(result["isError"], true, "{result}");
    let text = result["content"].to_string().to_lowercase();
    for word in words {
        assert!(text.contains(word), "{word:?} is not said: {text}");
    }
}

#[test]
fn raw_and_compressed_results_arrive_whole() {
    let mut trio = Trio::new(&["any"]);
    for length in [1, 1000, 70_000, 300_000] {
        let text = long_text(length);
        let bytes = content(&text);
        let result = result_of(&mut trio, |peer, call| {
            peer.send_bytes(&raw(raw_header(call, RESULT, bytes.len()), &bytes));
        });
        assert_eq!(result, json!({"content": [{"type": "text", "text": text}]}));

        let small = compress_to_vec(bytes.as_slice(), CompressionLevel::Fastest);
        let result = result_of(&mut trio, |peer, call| {
            let header = zstd_header(call, RESULT, small.len(), bytes.len());
            peer.send_bytes(&raw(header, &small));
        });
        assert_eq!(result, json!({"content": [{"type": "text", "text": text}]}));
    }
    // Not a word of the claimed size is believed.
    let bytes = content("true size");
    let small = compress_to_vec(bytes.as_slice(), CompressionLevel::Fastest);
    for claim in [0, 1, 1 << 20] {
        let result = result_of(&mut trio, |peer, call| {
            peer.send_bytes(&raw(zstd_header(call, RESULT, small.len(), claim), &small));
        });
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(text == "true size" || result["isError"] == true, "{claim}: {result}");
    }
    trio.lives();
}

#[test]
fn a_transfer_may_be_cut_anywhere() {
    let mut trio = Trio::new(&["any"]);
    let text = long_text(200);
    let bytes = content(&text);
    for size in [1, 3, 17] {
        let result = result_of(&mut trio, |peer, call| {
            for piece in raw(raw_header(call, RESULT, bytes.len()), &bytes).chunks(size) {
                peer.send_bytes(piece);
            }
        });
        assert_eq!(result["content"][0]["text"], text);
    }
    // And several in one write.
    let mut trio = Trio::with(vec![tool("any")], |setup| setup, |lists| lists.max_concurrent_calls = 3);
    let ids: Vec<u64> = (0..3).map(|_| trio.host.begin_call("any", json!({}))).collect();
    let calls: Vec<Call> = (0..3).map(|_| trio.peer.call()).collect();
    let mut all = Vec::new();
    for call in &calls {
        all.extend(raw(raw_header(call, RESULT, bytes.len()), &bytes));
    }
    trio.peer.send_bytes(&all);
    for id in ids {
        assert_eq!(trio.host.result_of(id)["content"][0]["text"], text);
    }
}

#[test]
fn chunks_make_a_result() {
    let mut trio = Trio::new(&["any"]);
    let text = long_text(200_000);
    let bytes = content(&text);
    for total in [0, bytes.len()] {
        let result = result_of(&mut trio, |peer, call| {
            header(peer, call, RESULT, total);
            let pieces: Vec<&[u8]> = bytes.chunks(65536).collect();
            for (index, piece) in pieces.iter().enumerate() {
                chunk(peer, call, piece, index + 1 == pieces.len());
            }
        });
        assert_eq!(result, json!({"content": [{"type": "text", "text": text}]}));
    }
    // The last chunk may be empty.
    let result = result_of(&mut trio, |peer, call| {
        header(peer, call, RESULT, 0);
        chunk(peer, call, &content("short"), false);
        chunk(peer, call, b"", true);
    });
    assert_eq!(result["content"][0]["text"], "short");
}

#[test]
fn structured_content_travels_the_same_ways() {
    let mut trio = Trio::new(&["any"]);
    let structured = json!({"text": long_text(100_000)});
    let bytes = structured.to_string().into_bytes();
    let small = compress_to_vec(bytes.as_slice(), CompressionLevel::Fastest);
    let results = [
        result_of(&mut trio, |peer, call| {
            peer.send_bytes(&raw(raw_header(call, STRUCTURED, bytes.len()), &bytes));
        }),
        result_of(&mut trio, |peer, call| {
            let header = zstd_header(call, STRUCTURED, small.len(), bytes.len());
            peer.send_bytes(&raw(header, &small));
        }),
        result_of(&mut trio, |peer, call| {
            header(peer, call, STRUCTURED, bytes.len());
            chunk(peer, call, &bytes, true);
        }),
    ];
    for result in results {
        assert_eq!(result["structuredContent"], structured);
        let text = result["content"][0]["text"].as_str().unwrap();
        assert_eq!(serde_json::from_str::<Value>(text).unwrap(), structured);
    }
}

#[test]
fn transfers_of_several_calls_interleave() {
    let mut trio = Trio::with(vec![tool("any")], |setup| setup, |lists| lists.max_concurrent_calls = 3);
    let ids: Vec<u64> = (0..3).map(|n| trio.host.begin_call("any", json!({"n": n}))).collect();
    let calls: Vec<Call> = (0..3).map(|_| trio.peer.call()).collect();
    let texts: Vec<String> = (0..3).map(|n| format!("{n} {}", long_text(50_000))).collect();
    let all: Vec<Vec<u8>> = texts.iter().map(|text| content(text)).collect();
    for call in &calls[..2] {
        header(&trio.peer, call, RESULT, 0);
    }
    let half = all[0].len() / 2;
    chunk(&trio.peer, &calls[0], &all[0][..half], false);
    chunk(&trio.peer, &calls[1], &all[1][..half], false);
    // A raw one, a frame and control traffic in between.
    trio.peer.send_bytes(&raw(raw_header(&calls[2], RESULT, all[2].len()), &all[2]));
    assert_eq!(trio.host.result_of(ids[2])["content"][0]["text"], texts[2]);
    trio.peer.send(
        "",
        Msg::Log(LogMessage {
            level: "error".into(),
            data_json: "\"in between\"".into(),
            ..LogMessage::default()
        }),
    );
    assert_eq!(trio.host.notification("notifications/message")["data"], "in between");
    chunk(&trio.peer, &calls[1], &all[1][half..], true);
    assert_eq!(trio.host.result_of(ids[1])["content"][0]["text"], texts[1]);
    chunk(&trio.peer, &calls[0], &all[0][half..], true);
    assert_eq!(trio.host.result_of(ids[0])["content"][0]["text"], texts[0]);
}

#[test]
fn a_payload_beyond_the_limit_fails_its_call_and_nothing_else() {
    let mut trio = Trio::with(vec![tool("any")], |setup| setup.args(["--max-message", "256K"]), |_| {});
    let large = vec![b'x'; 2 << 20];
    let result = result_of(&mut trio, |peer, call| {
        peer.send_bytes(&raw(raw_header(call, RESULT, large.len()), &large));
    });
    is_error_that_says(&result, &["max-message"]);
    trio.lives();
    let result = result_of(&mut trio, |peer, call| {
        header(peer, call, RESULT, 1 << 20);
        for _ in 0..16 {
            chunk(peer, call, &large[..65536], false);
        }
        chunk(peer, call, b"", true);
    });
    is_error_that_says(&result, &["max-message"]);
    trio.lives();
    // It grows beyond it without having said so.
    let result = result_of(&mut trio, |peer, call| {
        header(peer, call, RESULT, 0);
        for _ in 0..8 {
            chunk(peer, call, &large[..65536], false);
        }
        chunk(peer, call, b"", true);
    });
    is_error_that_says(&result, &["max-message"]);
    trio.lives();
}

#[test]
fn a_bomb_stops_at_the_bound() {
    let mut trio = Trio::new(&["any"]);
    // 4 GiB and a bit.
    let small = bomb(32_769);
    for claim in [0, 1000, 100 << 30] {
        let result = result_of(&mut trio, |peer, call| {
            peer.send_bytes(&raw(zstd_header(call, RESULT, small.len(), claim), &small));
        });
        is_error_that_says(&result, &[]);
        trio.lives();
    }
    let peak = crate::support::process::memory(trio.host.pid(), "VmHWM");
    assert!(peak < 200 << 20, "the bound is 64 MiB, the peak was {peak} bytes");
}

#[test]
fn a_broken_transfer_fails_its_call_and_nothing_else() {
    let mut trio = Trio::new(&["any"]);
    let bytes = content("a text");
    let small = compress_to_vec(bytes.as_slice(), CompressionLevel::Fastest);
    type Send<'a> = Box<dyn Fn(&Peer, &Call) + 'a>;
    let broken: [(&str, Send<'_>); 8] = [
        (
            "no zstd",
            Box::new(|peer, call| {
                peer.send_bytes(&raw(zstd_header(call, RESULT, 9, 9), b"not zstd!"));
            }),
        ),
        (
            "cut zstd",
            Box::new(|peer, call| {
                let cut = &small[..small.len() - 3];
                peer.send_bytes(&raw(zstd_header(call, RESULT, cut.len(), 0), cut));
            }),
        ),
        (
            "unknown compression",
            Box::new(|peer, call| {
                let header =
                    RawHeader { compression: "brotli".into(), ..raw_header(call, RESULT, bytes.len()) };
                peer.send_bytes(&raw(header, &bytes));
            }),
        ),
        (
            "unknown field",
            Box::new(|peer, call| {
                peer.send_bytes(&raw(raw_header(call, "other_json", bytes.len()), &bytes));
            }),
        ),
        (
            "unknown field of a stream",
            Box::new(|peer, call| {
                header(peer, call, "other_json", 0);
                chunk(peer, call, &bytes, true);
            }),
        ),
        ("chunk without header", Box::new(|peer, call| chunk(peer, call, &bytes, true))),
        (
            "more than it said",
            Box::new(|peer, call| {
                header(peer, call, RESULT, 5);
                chunk(peer, call, &bytes, true);
            }),
        ),
        (
            "no UTF-8",
            Box::new(|peer, call| {
                peer.send_bytes(&raw(raw_header(call, RESULT, 4), b"\xff\xfe\xfd\xfc"));
            }),
        ),
    ];
    for (what, send) in broken {
        let result = result_of(&mut trio, |peer, call| send(peer, call));
        assert_eq!(result["isError"], true, "{what}: {result}");
        let text = result["content"][0]["text"].as_str().unwrap();
        assert!(!text.is_empty(), "{what}");
        trio.lives();
    }
    assert!(trio.host.rest().is_empty());
}

#[test]
fn a_transfer_for_no_call_is_dropped() {
    let mut trio = Trio::new(&["any"]);
    let nobody = Call {
        id: "no such request".into(),
        name: String::new(),
        arguments: String::new(),
        progress_token: String::new(),
    };
    let bytes = content("for nobody");
    trio.peer.send_bytes(&raw(raw_header(&nobody, RESULT, bytes.len()), &bytes));
    chunk(&trio.peer, &nobody, &bytes, true);
    header(&trio.peer, &nobody, RESULT, 0);
    chunk(&trio.peer, &nobody, &bytes, false);
    chunk(&trio.peer, &nobody, &bytes, true);
    trio.lives();
    // Of a cancelled call, cut in the middle.
    let id = trio.host.begin_call("any", json!({}));
    let call = trio.peer.call();
    header(&trio.peer, &call, RESULT, 0);
    chunk(&trio.peer, &call, &bytes, false);
    trio.host.notify("notifications/cancelled", json!({"requestId": id}));
    let envelope = trio.peer.next();
    assert!(matches!(envelope.msg, Some(Msg::Cancel(_))), "{envelope:?}");
    chunk(&trio.peer, &call, &bytes, true);
    trio.lives();
    assert!(trio.host.rest().is_empty());
}
