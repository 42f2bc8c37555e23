//! Sessions and streams: what each era makes of the same posts.

use super::*;

#[test]
fn a_modern_request_is_a_session_of_its_own() {
    let mut world = World::new();
    let key = world.connect();
    world.post(key, MODERN_HEADERS, MODERN);
    let route = world.last_route();
    assert_eq!(world.bridge.open, [route.session]);
    assert_eq!(world.got(key), "");
    world.answer(route, "{\"a\":1}");
    let response = world.got(key);
    assert_eq!(status(&response), 200);
    assert!(
        response.contains("Content-Type: application/json\r\n") && response.ends_with("\r\n\r\n{\"a\":1}")
    );
    assert!(!response.contains("Mcp-Session-Id") && world.bridge.open.is_empty());
    // The connection lives on.
    world.post(key, MODERN_HEADERS, MODERN);
    let second = world.last_route();
    assert!(second.session != route.session && second.exchange != route.exchange);
    world.server.answer(second, b"{}".to_vec(), Some(-32601), &mut world.bridge);
    world.carry_out();
    assert_eq!(status(&world.got(key)), 404);
    // What comes late is nothing.
    world.answer(route, "late");
    world.message(route, "late");
    assert_eq!(world.got(key), "");
}

#[test]
fn a_message_before_the_answer_makes_a_stream() {
    let mut world = World::new();
    let key = world.connect();
    world.post(key, MODERN_HEADERS, MODERN);
    let route = world.last_route();
    world.message(route, "{\"n\":1}");
    let response = world.got(key);
    assert!(response.contains("Content-Type: text/event-stream\r\n"), "{response}");
    assert!(response.contains("X-Accel-Buffering: no\r\n"), "{response}");
    assert_eq!(chunks(&response), ["data: {\"n\":1}\n\n"]);
    world.message(route, "2");
    world.server.answer(route, b"3".to_vec(), Some(-32601), &mut world.bridge);
    world.carry_out();
    assert_eq!(chunks(&world.got(key)), ["data: 2\n\n", "data: 3\n\n", ""]);
    world.post(key, MODERN_HEADERS, MODERN);
    assert_ne!(world.last_route(), route);
}

#[test]
fn to_hang_up_is_to_cancel_in_the_modern_era_alone() {
    for streams in [false, true] {
        for broken in [false, true] {
            let mut world = World::new();
            let key = world.connect();
            world.post(key, MODERN_HEADERS, MODERN);
            let route = world.last_route();
            if streams {
                world.message(route, "1");
            }
            if broken {
                world.gone(key);
            } else {
                world.server.ended(key, &mut world.bridge);
                world.carry_out();
                assert_eq!(world.cut, [key]);
            }
            assert!(world.bridge.open.is_empty());
            assert_eq!(world.server.connections(), 0);

            let (header, session) = world.session("2025-11-25");
            let key = world.connect();
            world.post(key, &header, PING);
            let route = world.last_route();
            if streams {
                world.message(route, "1");
            }
            world.server.ended(key, &mut world.bridge);
            world.carry_out();
            assert_eq!(world.bridge.open, [session]);
            // Who only stopped sending still gets an answer.
            world.got(key);
            world.answer(route, "{}");
            assert_eq!(world.got(key).contains("{}"), !streams);
        }
    }
}

#[test]
fn a_session_lives_until_it_is_deleted() {
    let mut world = World::new();
    let (header, session) = world.session("2025-06-18");
    let key = world.connect();
    world.post(key, &header, NOTE);
    assert_eq!(status(&world.got(key)), 202);
    assert_eq!(world.last_route(), Route::session(session));
    world.post(key, &header, PING);
    let route = world.last_route();
    assert_eq!(route.session, session);
    world.server.answer(route, b"{}".to_vec(), Some(-32601), &mut world.bridge);
    world.carry_out();
    assert_eq!(status(&world.got(key)), 200, "errors are answers like others");
    world.post(key, "", PING);
    assert_eq!(status(&world.got(key)), 400);
    world.post(key, "Mcp-Session-Id: 0101\r\n", PING);
    assert_eq!(status(&world.got(key)), 404);
    // Somebody waits in it when it ends.
    world.post(key, &header, PING);
    let listener = world.get(&header);
    world.got(listener);
    let other = world.connect();
    world.send(other, &format!("DELETE /mcp HTTP/1.1\r\nHost: h\r\n{header}\r\n"));
    assert_eq!(status(&world.got(other)), 204);
    assert_eq!(status(&world.got(key)), 404);
    assert_eq!(world.got(listener), "0\r\n\r\n");
    assert!(world.bridge.open.is_empty());
    world.post(key, &header, PING);
    assert_eq!(status(&world.got(key)), 404);
    world.send(other, &format!("DELETE /mcp HTTP/1.1\r\nHost: h\r\n{header}\r\n"));
    assert_eq!(status(&world.got(other)), 404);
    assert_eq!((world.server.exchanges.len(), world.server.kept), (0, 0));
}

#[test]
fn a_stream_goes_on_where_it_broke() {
    let mut world = World::new();
    let (header, _) = world.session("2025-11-25");
    let key = world.connect();
    world.post(key, &header, PING);
    let route = world.last_route();
    world.message(route, "1");
    let x = route.exchange;
    let first = chunks(&world.got(key));
    assert_eq!(first, [format!("id: {x}-0\nretry: 1000\ndata: \n\n"), format!("id: {x}-1\ndata: 1\n\n")]);
    world.message(route, "2");
    world.gone(key);
    world.message(route, "3");
    let key = world.get(&format!("{header}Last-Event-ID: {x}-1\r\n"));
    let replayed = chunks(&world.got(key));
    assert_eq!(replayed.len(), 1);
    assert!(replayed[0].ends_with(&format!("id: {x}-2\ndata: 2\n\nid: {x}-3\ndata: 3\n\n")), "{replayed:?}");
    world.message(route, "4");
    world.answer(route, "5");
    let rest = [format!("id: {x}-4\ndata: 4\n\n"), format!("id: {x}-5\ndata: 5\n\n"), String::new()];
    assert_eq!(chunks(&world.got(key)), rest);
    // Also the end can be had again, and nothing of another session.
    let key = world.get(&format!("{header}Last-Event-ID: {x}-4\r\n"));
    assert_eq!(chunks(&world.got(key)), [format!("id: {x}-5\ndata: 5\n\n"), String::new()]);
    let (other, _) = world.session("2025-11-25");
    for id in [format!("{x}-4"), "x".into(), "999-1".into()] {
        let key = world.get(&format!("{other}Last-Event-ID: {id}\r\n"));
        assert_eq!(status(&world.got(key)), 400, "{id}");
    }
}

#[test]
fn a_sessions_own_stream_waits_for_a_listener() {
    let mut world = World::new();
    let (header, session) = world.session("2025-11-25");
    world.message(Route::session(session), "1");
    let first = world.get(&header);
    let primed = chunks(&world.got(first));
    assert_eq!(primed, ["id: 0-0\nretry: 1000\ndata: \n\nid: 0-1\ndata: 1\n\n"]);
    // Each message goes to one listener, the newest; the older one is there when that leaves.
    let second = world.get(&header);
    assert_eq!(chunks(&world.got(second)), ["id: 0-1\nretry: 1000\ndata: \n\n"]);
    world.message(Route::session(session), "2");
    assert_eq!((world.got(first).as_str(), chunks(&world.got(second)).len()), ("", 1));
    world.gone(second);
    world.message(Route::session(session), "3");
    assert_eq!(chunks(&world.got(first)), ["id: 0-3\ndata: 3\n\n"]);
    world.gone(first);
    world.message(Route::session(session), "4");
    let again = world.get(&format!("{header}Last-Event-ID: 0-2\r\n"));
    assert!(chunks(&world.got(again))[0].ends_with("id: 0-3\ndata: 3\n\nid: 0-4\ndata: 4\n\n"));
    let listeners: Vec<Key> = (0..HTTP_LISTENERS_MAX).map(|_| world.get(&header)).collect();
    assert!(world.got(again).ends_with("0\r\n\r\n"), "the oldest is let go");
    assert!(!world.got(listeners[0]).ends_with("\r\n0\r\n\r\n"));
}

#[test]
fn older_clients_get_no_event_without_data() {
    let mut world = World::new();
    let (header, _) = world.session("2025-06-18");
    let key = world.connect();
    world.post(key, &header, PING);
    let route = world.last_route();
    world.message(route, "1");
    assert_eq!(chunks(&world.got(key)), [format!("id: {}-1\ndata: 1\n\n", route.exchange)]);
    let listener = world.get(&header);
    assert!(chunks(&world.got(listener)).is_empty(), "only a head");
}

#[test]
fn requests_on_one_connection_are_answered_in_their_order() {
    let mut world = World::new();
    let (header, _) = world.session("2025-11-25");
    let key = world.connect();
    let request = |body: &str| {
        format!(
            "POST / HTTP/1.1\r\nHost: h\r\nContent-Type: application/json; charset=utf-8\r\n{header}Content-Length: {}\r\n\r\n{body}",
            body.len()
        )
    };
    let before = world.bridge.messages.len();
    let all =
        [request(PING), request(NOTE), request(PING), "GET /no HTTP/1.1\r\nHost: h\r\n\r\n".into()].concat();
    for piece in all.as_bytes().chunks(100) {
        world.send(key, str::from_utf8(piece).unwrap());
    }
    assert_eq!(world.bridge.messages.len(), before + 1);
    world.answer(world.last_route(), "first");
    let response = world.got(key);
    assert!(response.contains("first") && response.contains("202 Accepted"), "{response}");
    world.answer(world.last_route(), "second");
    let response = world.got(key);
    assert!(response.contains("second") && response.contains("HTTP/1.1 404"), "{response}");
}

#[test]
fn a_large_body_is_for_a_worker() {
    let mut world = World::new();
    let (header, _) = world.session("2025-11-25");
    let key = world.connect();
    let body = format!("{}{PING}", " ".repeat(LARGE_MIN));
    world.post(key, &header, &body);
    let (connection, read) = world.bridge.bodies.pop().expect("a body");
    assert_eq!((connection, read.len()), (key, body.len()));
    world.server.parsed(key, crate::mcp::request::parse(&read), &mut world.bridge);
    world.answer(world.last_route(), "{}");
    assert_eq!(status(&world.got(key)), 200);
    // One that has left meanwhile.
    world.post(key, &header, &body);
    world.gone(key);
    world.server.parsed(key, crate::mcp::request::parse(&read), &mut world.bridge);
}

#[test]
fn a_cancelled_request_leaves_nobody_waiting() {
    let mut world = World::new();
    let (header, _) = world.session("2025-11-25");
    let key = world.connect();
    for streams in [false, true] {
        world.post(key, &header, PING);
        let route = world.last_route();
        if streams {
            world.message(route, "1");
            world.got(key);
        }
        world.server.unanswered(route, &mut world.bridge);
        world.carry_out();
        let response = world.got(key);
        assert_eq!(
            if streams { "0\r\n\r\n" } else { &response[..21] },
            if streams { &response } else { "HTTP/1.1 202 Accepted" }
        );
    }
    assert_eq!(world.server.exchanges.len(), 1, "a stream may be asked for again");
}
