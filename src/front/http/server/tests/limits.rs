//! Bounds of time and number, and what is refused.

use super::*;

#[test]
fn a_session_without_anybody_expires_and_gives_way() {
    let mut world = World::new();
    let (first, _) = world.session("2025-11-25");
    world.pass(Duration::from_secs(500));
    let key = world.connect();
    world.post(key, &first, NOTE);
    assert_eq!(status(&world.got(key)), 202);
    world.pass(Duration::from_secs(500));
    assert_eq!(world.bridge.open.len(), 1, "it was used");
    world.pass(Duration::from_secs(200));
    assert!(world.bridge.open.is_empty());
    // One that is listened to does not.
    let (listened, session) = world.session("2025-11-25");
    world.get(&listened);
    world.pass(Duration::from_secs(5000));
    assert_eq!(world.bridge.open, [session]);
    // There is room for four more, and then only when one was left alone for a while.
    for _ in 0..4 {
        world.session("2025-11-25");
    }
    let key = world.connect();
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}"#;
    world.post(key, "", hello);
    let response = world.got(key);
    assert!(status(&response) == 503 && response.contains("--sessions-max"), "{response}");
    world.pass(HTTP_EVICT_AFTER);
    world.session("2025-11-25");
    assert_eq!(world.bridge.open.len(), 5);
    assert!(world.bridge.open.contains(&session));
}

#[test]
fn what_is_over_is_kept_in_bounds() {
    let mut world = World::new();
    let (header, _) = world.session("2025-11-25");
    let key = world.connect();
    let mut routes = Vec::new();
    for _ in 0..HTTP_FINISHED_MAX + 3 {
        world.post(key, &header, PING);
        let route = world.last_route();
        world.message(route, "1");
        world.answer(route, "2");
        routes.push(route);
    }
    assert_eq!(world.server.exchanges.len(), HTTP_FINISHED_MAX);
    let bytes: usize =
        world.server.exchanges.values().map(|exchange| exchange.stream.as_ref().unwrap().bytes()).sum();
    assert_eq!(world.server.kept, bytes);
    let key = world.get(&format!("{header}Last-Event-ID: {}-0\r\n", routes[2].exchange));
    assert_eq!(status(&world.got(key)), 400);
    let key = world.get(&format!("{header}Last-Event-ID: {}-0\r\n", routes[3].exchange));
    assert_eq!(status(&world.got(key)), 200);
}

#[test]
fn what_cannot_be_a_message_is_refused_by_its_headers() {
    let mut world = World::new();
    let (header, _) = world.session("2025-11-25");
    let hello = "POST /mcp HTTP/1.1\r\nHost: h\r\n";
    for (head, expected) in [
        ("Content-Length: 2\r\n\r\n{}".to_owned(), 415),
        ("Content-Type: text/plain\r\nContent-Length: 2\r\n\r\n{}".to_owned(), 415),
        ("Content-Type: application/json\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n{}".to_owned(), 415),
        ("Content-Type: application/json\r\nAccept: application/json\r\nContent-Length: 2\r\n\r\n{}".to_owned(), 406),
        ("Content-Type: application/json\r\nAccept: text/event-stream\r\nContent-Length: 2\r\n\r\n{}".to_owned(), 406),
        ("Content-Type: application/json\r\nAccept: text/*, application/json;q=0.1\r\nContent-Length: 2\r\n\r\n{}".to_owned(), 400),
        ("Content-Type: Application/JSON\r\nAccept: */*\r\nContent-Length: 2\r\n\r\n{}".to_owned(), 400),
        (format!("Content-Type: application/json\r\nMCP-Protocol-Version: 1\r\n{header}Content-Length: {}\r\n\r\n{PING}", PING.len()), 400),
    ] {
        let key = world.connect();
        world.send(key, &format!("{hello}{head}"));
        assert_eq!(status(&world.got(key)), expected, "{head}");
        assert!(world.closed.is_empty(), "another request may follow");
    }
    for (text, expected) in [
        ("GET /mcp HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(), 405),
        (format!("GET /mcp HTTP/1.1\r\nHost: h\r\nAccept: text/html\r\n{header}\r\n"), 406),
        (format!("GET /mcp HTTP/1.1\r\nHost: h\r\nMCP-Protocol-Version: 2026-07-28\r\n{header}\r\n"), 400),
        ("GET /mcp HTTP/1.1\r\nHost: h\r\nMcp-Session-Id: x\r\n\r\n".to_owned(), 404),
        ("DELETE /mcp HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(), 400),
        ("PUT /mcp HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(), 405),
        ("HEAD /mcp HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(), 405),
        ("GET /sse HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(), 404),
        ("POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\nhello".to_owned(), 404),
        ("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n".to_owned(), 200),
        ("POST /mcp HTTP/1.1\r\nHost: h\r\nExpect: x\r\nContent-Length: 5\r\n\r\nhello".to_owned(), 417),
    ] {
        let key = world.connect();
        world.send(key, &text);
        let response = world.got(key);
        assert_eq!(status(&response), expected, "{text}");
        assert_eq!(response.matches("HTTP/1.1").count(), 1);
        assert_eq!(text.starts_with("HEAD"), response.ends_with("\r\n\r\n") && expected == 405, "{response}");
        world.send(key, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_eq!(status(&world.got(key)), 404, "{text}");
    }
    // What is behind a fault is not believed, nor is a long body waited for.
    for text in [
        "GET / HTTP/1.1\r\n\r\n",
        "POST /x HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
        "POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\n",
        "POST /mcp HTTP/1.1\r\nHost: h\r\nContent-Length: 99999999\r\n\r\n",
    ] {
        let key = world.connect();
        world.send(key, text);
        assert!(world.got(key).contains("Connection: close\r\n") && world.closed.contains(&key), "{text}");
        world.send(key, "GET /x HTTP/1.1\r\nHost: h\r\n\r\n");
        assert_eq!(world.got(key), "");
    }
}

#[test]
fn a_client_may_ask_before_it_sends_a_body() {
    let mut world = World::new();
    let (header, _) = world.session("2025-11-25");
    let key = world.connect();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nExpect: 100-continue\r\n{header}Content-Length: {}\r\n\r\n",
        NOTE.len()
    );
    world.send(key, &head);
    assert_eq!(world.got(key), "HTTP/1.1 100 Continue\r\n\r\n");
    world.send(key, NOTE);
    assert_eq!(status(&world.got(key)), 202);
    world.send(key, &format!("{head}{NOTE}"));
    assert_eq!(status(&world.got(key)), 202);
}

#[test]
fn a_client_of_http_1_0_gets_what_it_understands() {
    let mut world = World::new();
    let (header, _) = world.session("2025-11-25");
    for (connection, closes) in [("", true), ("Connection: Keep-Alive\r\n", false)] {
        let key = world.connect();
        let head = format!(
            "POST /mcp HTTP/1.0\r\nContent-Type: application/json\r\n{connection}{header}Content-Length: {}\r\n\r\n{PING}",
            PING.len()
        );
        world.send(key, &head);
        world.answer(world.last_route(), "{}");
        let response = world.got(key);
        assert_eq!(response.contains("Connection: close"), closes, "{response}");
        assert_eq!(world.closed.contains(&key), closes);
        let key = world.connect();
        world.send(key, &head);
        let route = world.last_route();
        world.message(route, "1");
        world.answer(route, "2");
        let response = world.got(key);
        assert!(!response.contains("chunked") && response.ends_with("data: 2\n\n"), "{response}");
        assert!(world.closed.contains(&key), "the end of the connection is the end of the stream");
    }
}

#[test]
fn those_who_take_their_time_are_left() {
    let mut world = World::new();
    let idle = world.connect();
    let slow_head = world.connect();
    world.send(slow_head, "POST /mcp HT");
    let slow_body = world.connect();
    world.send(slow_body, "POST /mcp HTTP/1.1\r\nHost: h\r\nContent-Length: 10\r\n\r\n1");
    world.pass(HTTP_HEAD_TIMEOUT - HTTP_TICK);
    world.send(slow_head, "T");
    world.send(slow_body, "2");
    world.pass(HTTP_TICK * 2);
    assert_eq!(status(&world.got(slow_head)), 408);
    assert_eq!(world.closed, [slow_head]);
    world.pass(HTTP_BODY_STALL);
    assert_eq!(status(&world.got(slow_body)), 408);
    world.pass(HTTP_KEEP_ALIVE);
    assert_eq!(world.got(idle), "");
    assert!(world.closed.contains(&idle));
    world.pass(HTTP_LINGER + HTTP_TICK);
    assert_eq!((world.cut.len(), world.server.connections()), (3, 0));
    assert_eq!((world.server.deadline(), world.server.incoming), (None, 0));
}

#[test]
fn a_reader_that_takes_nothing_is_left_and_one_that_is_slow_is_not() {
    let mut world = World::new();
    let (header, _) = world.session("2025-11-25");
    let key = world.get(&header);
    world.server.wrote(key, true, 1000);
    for left in (1..10).rev() {
        world.pass(HTTP_WRITE_STALL - HTTP_TICK);
        world.server.wrote(key, true, left);
    }
    world.server.wrote(key, false, 1);
    assert_eq!(world.cut, []);
    world.pass(HTTP_WRITE_STALL + HTTP_TICK);
    assert_eq!(world.cut, [key]);
}

#[test]
fn silence_is_broken_by_comments() {
    let mut world = World::new();
    let (header, _) = world.session("2025-11-25");
    let listener = world.get(&header);
    let waiting = world.connect();
    world.post(waiting, &header, PING);
    let modern = world.connect();
    world.post(modern, MODERN_HEADERS, MODERN);
    let route = world.last_route();
    world.got(listener);
    world.pass(HTTP_QUIET + HTTP_TICK);
    assert_eq!(chunks(&world.got(listener)), [":\n\n"]);
    let begun = world.got(waiting);
    assert!(begun.contains("text/event-stream") && chunks(&begun).len() == 2, "{begun}");
    assert_eq!(chunks(&world.got(modern)), [":\n\n"]);
    world.answer(route, "{}");
    assert_eq!(chunks(&world.got(modern)), ["data: {}\n\n", ""]);
    world.pass(HTTP_QUIET + HTTP_TICK);
    assert_eq!(chunks(&world.got(listener)), [":\n\n"]);
}

#[test]
fn a_client_may_be_asked_to_come_again() {
    let time = Duration::from_secs(2);
    let mut world = World::with(|config| config.stream_time = Some(time));
    let (header, session) = world.session("2025-11-25");
    let key = world.connect();
    world.post(key, &header, PING);
    let route = world.last_route();
    let listener = world.get(&header);
    world.pass(time + HTTP_TICK);
    world.pass(time + HTTP_TICK);
    let x = route.exchange;
    let sent = chunks(&world.got(key));
    assert_eq!(sent.first(), Some(&format!("id: {x}-0\nretry: 1000\ndata: \n\n")));
    assert_eq!(sent.last(), Some(&String::new()), "{sent:?}");
    assert_eq!(chunks(&world.got(listener)).last(), Some(&String::new()));
    world.answer(route, "{}");
    world.message(Route::session(session), "1");
    let again = world.get(&format!("{header}Last-Event-ID: {x}-0\r\n"));
    assert_eq!(chunks(&world.got(again)), [format!("id: {x}-1\ndata: {{}}\n\n"), String::new()]);
    let again = world.get(&format!("{header}Last-Event-ID: 0-0\r\n"));
    assert!(chunks(&world.got(again))[0].ends_with("data: 1\n\n"));
    // The others never come again, so they are never sent away.
    let (header, _) = world.session("2025-06-18");
    let listener = world.get(&header);
    let modern = world.connect();
    world.post(modern, MODERN_HEADERS, MODERN);
    world.pass(time * 5);
    for key in [listener, modern] {
        assert!(!world.got(key).ends_with("\r\n0\r\n\r\n"));
    }
}

#[test]
fn there_is_room_for_so_many_and_the_next_are_told() {
    let mut world = World::with(|config| config.connections_max = 2);
    let keys = [world.connect(), world.connect()];
    let third = world.connect();
    let response = world.got(third);
    assert!(status(&response) == 503 && response.contains("--connections-max"), "{response}");
    assert_eq!(world.closed, [third]);
    for _ in 1..connection::REFUSED_MAX {
        world.connect();
    }
    assert_eq!(world.server.connected(Peer::Unix), None);
    world.pass(HTTP_LINGER + HTTP_TICK);
    assert_eq!(world.server.connections(), 2);
    world.gone(keys[0]);
    let key = world.connect();
    assert_eq!(world.got(key), "");
}

#[test]
fn the_end_is_told_to_all() {
    let mut world = World::new();
    let (header, _) = world.session("2025-11-25");
    let idle = world.connect();
    let waiting = world.connect();
    world.post(waiting, &header, PING);
    let answered = world.connect();
    world.post(answered, &header, PING);
    let route = world.last_route();
    let listener = world.get(&header);
    world.got(listener);
    world.server.stop();
    world.carry_out();
    assert_eq!(world.closed, [idle]);
    assert_eq!(world.server.connected(Peer::Unix), None);
    world.answer(route, "{}");
    let response = world.got(answered);
    assert!(status(&response) == 200 && response.contains("Connection: close"), "{response}");
    world.server.finish(&mut world.bridge);
    world.carry_out();
    assert_eq!(status(&world.got(waiting)), 503);
    assert_eq!(world.got(listener), "0\r\n\r\n");
    assert_eq!(world.closed.len(), 4);
}
