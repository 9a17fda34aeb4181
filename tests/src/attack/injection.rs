//! Text that becomes something else where it is written.

use serde_json::{Value, json};

use super::{
    Attack, Scene, Verdict, attacks,
    pipe::Reply,
    scene::{JSON, bearer, waiting},
};

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "log lines", "line breaks and escapes in methods, ids, paths, headers and tokens" => log;
        "secrets in the log", "what was in tokens and messages is not in it" => secrets;
        "header lines", "line breaks in ids, extensions, origins and versions" => headers;
        "event lines", "line breaks in what is streamed" => events;
        "HTML in errors", "markup in paths, methods and ids" => html;
        "path traversal", "dots, escapes and separators in paths, tenants and cards" => paths;
        "cross-origin", "requests of a page of somebody else's" => origins;
        "inner errors", "what makes agents fail and panic" => inner;
        "prototype members", "members called __proto__ and constructor" => members;
        "other methods of HTTP", "PUT, PATCH, DELETE, OPTIONS, HEAD and made-up ones" => methods;
    }
}

const MARK: &str = "FORGED-LINE";

async fn log(scene: &Scene) -> Verdict {
    let text = format!("x\r\n{MARK}\u{1b}[31m\n{MARK}");
    let (_, answer) = scene.call(&scene.ann, &text, json!({})).await?;
    if answer.get("error").is_none() {
        return Err(format!("there is no such method: {answer}"));
    }
    for (method, params) in [
        ("GetTask", json!({"id": text})),
        ("ListTasks", json!({"tenant": text, "contextId": text, "pageToken": text})),
        ("SendMessage", waiting(&text)),
    ] {
        scene.call(&scene.ann, method, params).await?;
    }
    let mut message = waiting("echo x");
    message["message"]["messageId"] = json!(text);
    message["message"]["contextId"] = json!(text);
    scene.call(&scene.ann, "SendMessage", message).await?;
    let escaped = format!("x%0d%0a{MARK}%1b%5b31m");
    for line in [
        format!("GET /tasks/{escaped}"),
        format!("GET /{escaped}/tasks"),
        format!("GET /{escaped}?{escaped}"),
    ] {
        for headers in [
            bearer(&scene.ann),
            format!("{}a2a-version: 1.0\r\nuser-agent: {escaped}\r\n", bearer(&scene.ann)),
        ] {
            scene.request(&line, &headers, b"").await?;
        }
    }
    let logged = scene.logged().await?;
    match logged.lines().any(|line| line.starts_with(MARK) || line.contains('\u{1b}')) {
        true => Err("has a line in its log that it did not write".to_owned()),
        false => Ok(format!("wrote {} lines, none of them forged", logged.lines().count())),
    }
}

async fn secrets(scene: &Scene) -> Verdict {
    let secret = "s3cr3t-of-ann";
    scene.call(&scene.ann, "SendMessage", waiting(&format!("echo {secret}"))).await?;
    scene.call(secret, "SendMessage", waiting("echo x")).await?;
    let line = format!("GET /tasks?access_token={secret}");
    scene.request(&line, "", b"").await?;
    let id = scene.task("ask").await?;
    let params = json!({"taskId": id, "url": "https://example.com/", "token": secret,
        "authentication": {"scheme": "Bearer", "credentials": secret}});
    scene.call(&scene.ann, "CreateTaskPushNotificationConfig", params).await?;
    let logged = scene.logged().await?;
    let tokens = [Some(secret), Some(&*scene.ann), scene.bob.as_deref()];
    for token in tokens.into_iter().flatten() {
        if let Some(line) = logged.lines().find(|line| line.contains(token)) {
            return Err(format!("logged a secret: {line}"));
        }
    }
    Ok("logged none of them".to_owned())
}

/// The head of an answer has no line that came from the request.
fn own_head(reply: &Reply) -> Result<(), String> {
    let text = reply.text().to_ascii_lowercase();
    let head = text.split_once("\r\n\r\n").map_or(&*text, |(head, _)| head);
    let forged = head.lines().any(|line| line.starts_with("x-injected"));
    if forged || reply.answers() > 1 { Err(format!("answered {head}")) } else { Ok(()) }
}

async fn headers(scene: &Scene) -> Verdict {
    let bearer = bearer(&scene.ann);
    let line_break = "a\\r\\nx-injected: b";
    let body =
        format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{line_break}\",\"method\":\"{line_break}\"}}");
    let mut count = 0;
    for more in [
        "",
        "a2a-extensions: urn:a%0d%0ax-injected:b\r\n",
        "a2a-extensions: urn:a\u{85}x-injected:b\r\n",
        "origin: http://a%0d%0ax-injected:b\r\n",
        "a2a-version: 1.0%0d%0ax-injected:b\r\n",
        "last-event-id: 1%0d%0ax-injected:b\r\n",
        "traceparent: 00-a%0d%0ax-injected\r\n",
    ] {
        let headers = format!("{bearer}content-type: application/json\r\n{more}");
        let reply = scene.request("POST /", &headers, body.as_bytes()).await?;
        own_head(&reply)?;
        count += 1;
    }
    for path in
        ["/x%0d%0ax-injected:%20b", "/tasks/x%0d%0ax-injected:%20b", "/a%0d%0ax-injected/tasks"]
    {
        own_head(&scene.request(&format!("GET {path}"), &bearer, b"").await?)?;
        count += 1;
    }
    Ok(format!("{count} answers, each with its own head"))
}

async fn events(scene: &Scene) -> Verdict {
    let forged = "x\n\ndata: {\"forged\":true}\n\nid: 999\nevent: forged\r\rdata: {\"forged\":true}\u{2028}\r\n";
    let body = json!({
        "jsonrpc": "2.0", "id": "a\n\ndata: {\"forged\":true}", "method": "SendStreamingMessage",
        "params": waiting(&format!("echo {forged}")),
    });
    let headers = format!("{}{JSON}", bearer(&scene.ann));
    let reply = scene.request("POST /", &headers, body.to_string().as_bytes()).await?;
    let text = reply.text();
    let data: Vec<_> =
        text.split(['\r', '\n']).filter_map(|line| line.strip_prefix("data:")).collect();
    if data.is_empty() {
        return Err(format!("no events: {}", reply.told()));
    }
    for line in &data {
        let event: Value = serde_json::from_str(line.trim()).unwrap_or_default();
        if event["jsonrpc"] != "2.0" || event.get("forged").is_some() {
            return Err(format!("an event that is none of its own: {line}"));
        }
    }
    if text.lines().any(|line| line.starts_with("event: forged") || line == "id: 999") {
        return Err("a line that is none of its own".to_owned());
    }
    Ok(format!("{} events, all its own", data.len()))
}

async fn html(scene: &Scene) -> Verdict {
    let bearer = bearer(&scene.ann);
    let markup = "<script>alert(1)</script>";
    let escaped = "%3Cscript%3Ealert(1)%3C/script%3E";
    let mut replies = vec![
        scene.request(&format!("GET /{markup}"), &bearer, b"").await?,
        scene
            .request(
                &format!("GET /tasks/{escaped}"),
                &format!("{bearer}a2a-version: 1.0\r\naccept: text/html\r\n"),
                b"",
            )
            .await?,
        scene.request(&format!("GET /{escaped}/{escaped}"), &bearer, b"").await?,
    ];
    let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{markup}\",\"method\":\"{markup}\"}}");
    replies.push(scene.post(body.as_bytes()).await?);
    replies.push(scene.post(markup.as_bytes()).await?);
    for reply in &replies {
        let head = reply.text().to_ascii_lowercase();
        let head = head.split_once("\r\n\r\n").map_or("", |(head, _)| head);
        let has_text = reply.text().contains(markup);
        if head.contains("text/html") || (has_text && !head.contains("content-type: application/"))
        {
            return Err(format!("markup as such: {head}"));
        }
    }
    Ok(format!("{} answers, none a page", replies.len()))
}

async fn paths(scene: &Scene) -> Verdict {
    let mut told = Vec::new();
    for path in [
        "/../../../../etc/passwd",
        "/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/..%2f..%2f..%2fetc%2fpasswd/tasks",
        "/.well-known/../../etc/passwd",
        "/.well-known/agent-card.json/../../../etc/passwd",
        "/.well-known/%2e%2e%2fa2a.db",
        "/.well-known/agent-card.json%00.txt",
        "/tasks/..%2f..%2fa2a.db",
        "/..\\..\\windows\\win.ini",
        "/file:///etc/passwd",
        "//evil.test/tasks",
        "/%c0%ae%c0%ae/etc/passwd",
        "/a2a.db",
        "/.git/config",
        "/.env",
        "/debug/pprof",
    ] {
        let reply = scene.request(&format!("GET {path}"), &bearer(&scene.ann), b"").await?;
        let text = reply.text();
        if text.contains("root:") || text.contains("SQLite format") || text.contains("location: //")
        {
            return Err(format!("{path}: {text}"));
        }
        let did = match reply.status() {
            Some(status @ (400..=499 | 501)) => format!("HTTP {status}"),
            None if reply.closed => "closed".to_owned(),
            _ => return Err(format!("{path}: {}", reply.told())),
        };
        if !told.contains(&did) {
            told.push(did);
        }
    }
    Ok(told.join(", "))
}

async fn origins(scene: &Scene) -> Verdict {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": waiting("in")});
    let body = body.to_string();
    // What a page may send without asking first.
    for kind in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
    {
        let kind =
            if kind.is_empty() { String::new() } else { format!("content-type: {kind}\r\n") };
        let headers = format!(
            "{}{kind}origin: https://evil.test\r\na2a-version: 1.0\r\n",
            bearer(&scene.ann)
        );
        scene.request("POST /", &headers, body.as_bytes()).await?.refused()?;
    }
    let asks = "origin: https://evil.test\r\naccess-control-request-method: POST\r\naccess-control-request-headers: authorization\r\n";
    let reply = scene.request("OPTIONS /", asks, b"").await?;
    let head = reply.text().to_ascii_lowercase();
    match head.contains("access-control-allow-credentials: true") {
        true => Err(format!("lets pages use what a browser has: {head}")),
        false => {
            Ok("refused what needs no asking, and lets no page use a browser's credentials"
                .to_owned())
        }
    }
}

async fn inner(scene: &Scene) -> Verdict {
    let mut told = Vec::new();
    for word in [
        "panic",
        "fail",
        "reject",
        "form",
        "html",
        "help",
        "stream 99999999999999999999",
        "slow -1",
        "stream 5 99999999999h",
    ] {
        // Some of them go on for as long as they are asked to.
        let answer = scene.works("SendMessage", super::scene::at_once(word)).await?;
        let id = answer["task"]["id"].clone();
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        let (_, task) = scene.call(&scene.ann, "GetTask", json!({"id": id})).await?;
        let text = task.to_string();
        for inner in ["src/", ".rs:", "panicked at", "RUST_BACKTRACE", "/root/"] {
            if text.contains(inner) {
                return Err(format!("{word}: tells {inner:?}: {text}"));
            }
        }
        told.push(task["result"]["status"]["state"].as_str().unwrap_or("no task").to_owned());
        let _ended = scene.call(&scene.ann, "CancelTask", json!({"id": id})).await;
    }
    told.sort();
    told.dedup();
    Ok(told.join(", ").replace("TASK_STATE_", ""))
}

async fn members(scene: &Scene) -> Verdict {
    let mut params = waiting("echo x");
    params["message"]["metadata"] =
        json!({"__proto__": {"admin": true}, "constructor": 1, "": 2, "$ref": "#"});
    params["metadata"] = json!({"owner": "bob", "tenant": "bob", "caller": "bob"});
    params["message"]["owner"] = json!("bob");
    params["owner"] = json!("bob");
    let answer = scene.works("SendMessage", params).await?;
    let id = answer["task"]["id"].as_str().unwrap_or_default();
    scene.works("GetTask", json!({"id": id})).await?;
    Ok("kept as data, the task is its sender's".to_owned())
}

async fn methods(scene: &Scene) -> Verdict {
    let mut told = Vec::new();
    for method in ["PUT", "PATCH", "DELETE", "PROPFIND", "MADEUP", "TRACE"] {
        for path in ["/", "/tasks", "/.well-known/agent-card.json", "/healthz"] {
            let reply =
                scene.request(&format!("{method} {path}"), &bearer(&scene.ann), b"").await?;
            let did = reply.refused().map_err(|why| format!("{method} {path}: {why}"))?;
            let did: String = did.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
            if !told.contains(&did) {
                told.push(did);
            }
        }
    }
    Ok(told.join(", "))
}
