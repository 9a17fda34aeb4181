//! Injection through texts.

use serde_json::{Value, json};

use super::{
    Attack, Environment, Process, Started, Verdict, attacks,
    environment::{JSON, bearer, waiting},
    pipe::Reply,
};

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "log lines", "line breaks and escapes in methods, ids, paths, headers and tokens" => log;
        "audit events", "line breaks and controls in tenants and contexts, in the log and the audit log" => audit;
        "secrets in the log", "tokens and messages are not logged" => secrets;
        "header lines", "line breaks in ids, extensions, origins and versions" => headers;
        "event lines", "line breaks in streamed texts" => events;
        "HTML in errors", "markup in paths, methods and ids" => html;
        "path traversal", "dots, escapes and separators in paths, tenants and cards" => paths;
        "cross-origin", "requests of a page of another origin" => origins;
        "internal errors", "errors and panics of agents" => inner;
        "prototype members", "members called __proto__ and constructor" => members;
        "other HTTP methods", "PUT, PATCH, DELETE, OPTIONS, HEAD and unknown ones" => methods;
    }
}

const MARK: &str = "FORGED-LINE";

async fn log(env: &Environment) -> Verdict {
    let text = format!("x\r\n{MARK}\u{1b}[31m\n{MARK}");
    let (_, answer) = env.call(&env.ann, &text, json!({})).await?;
    if answer.get("error").is_none() {
        return Err(format!("there is no such method: {answer}"));
    }
    for (method, params) in [
        ("GetTask", json!({"id": text})),
        ("ListTasks", json!({"tenant": text, "contextId": text, "pageToken": text})),
        ("SendMessage", waiting(&text)),
    ] {
        env.call(&env.ann, method, params).await?;
    }
    let mut message = waiting("echo x");
    message["message"]["messageId"] = json!(text);
    message["message"]["contextId"] = json!(text);
    env.call(&env.ann, "SendMessage", message).await?;
    let escaped = format!("x%0d%0a{MARK}%1b%5b31m");
    for line in [
        format!("GET /tasks/{escaped}"),
        format!("GET /{escaped}/tasks"),
        format!("GET /{escaped}?{escaped}"),
    ] {
        for headers in [
            bearer(&env.ann),
            format!("{}a2a-version: 1.0\r\nuser-agent: {escaped}\r\n", bearer(&env.ann)),
        ] {
            env.request(&line, &headers, b"").await?;
        }
    }
    let logged = env.logged().await?;
    match logged.lines().any(|line| line.starts_with(MARK) || line.contains('\u{1b}')) {
        true => Err("forged log line".to_owned()),
        false => Ok(format!("wrote {} lines, none forged", logged.lines().count())),
    }
}

async fn audit(env: &Environment) -> Verdict {
    let text = format!("x\r\n{MARK}\u{1b}]0;x\u{7}\u{9b}31m\u{202e}\u{2028}{MARK}");
    let mut lines = 0;
    for form in [&["--debug"][..], &["--audit-log", "-"]] {
        let arguments = [&["--echo", "--store", "memory"], form].concat();
        let mut server = Started::with_variables(env, &arguments, &[("RUST_LOG", "debug")]).await?;
        let mut params = waiting(&text);
        params["tenant"] = json!(text);
        params["message"]["contextId"] = json!(text);
        server.env.call("", "SendMessage", params).await?;
        server.env.call("", "GetTask", json!({"id": text, "tenant": text})).await?;
        server.stop().await?;
        let logged = server.env.process.as_ref().map(Process::logged).unwrap_or_default();
        if !logged.contains(MARK) {
            return Err(format!("{form:?}: the log has no event of the task: {logged}"));
        }
        let is_control = |c: char| c.is_control() || matches!(c, '\u{202e}' | '\u{2028}');
        if let Some(line) =
            logged.lines().find(|line| line.starts_with(MARK) || line.contains(is_control))
        {
            return Err(format!("{form:?}: wrote {line:?}"));
        }
        lines += logged.lines().count();
    }
    Ok(format!("wrote {lines} lines in 2 forms, none forged"))
}

async fn secrets(env: &Environment) -> Verdict {
    let secret = "s3cr3t-of-ann";
    env.call(&env.ann, "SendMessage", waiting(&format!("echo {secret}"))).await?;
    env.call(secret, "SendMessage", waiting("echo x")).await?;
    let line = format!("GET /tasks?access_token={secret}");
    env.request(&line, "", b"").await?;
    let id = env.task("ask").await?;
    let params = json!({"taskId": id, "url": "https://example.com/", "token": secret,
        "authentication": {"scheme": "Bearer", "credentials": secret}});
    env.call(&env.ann, "CreateTaskPushNotificationConfig", params).await?;
    let logged = env.logged().await?;
    let tokens = [Some(secret), Some(&*env.ann), env.bob.as_deref()];
    for token in tokens.into_iter().flatten() {
        if let Some(line) = logged.lines().find(|line| line.contains(token)) {
            return Err(format!("logged a secret: {line}"));
        }
    }
    Ok("logged none of them".to_owned())
}

/// The head of a response has no line from the request.
fn own_head(reply: &Reply) -> Result<(), String> {
    let text = reply.text().to_ascii_lowercase();
    let head = text.split_once("\r\n\r\n").map_or(&*text, |(head, _)| head);
    let forged = head.lines().any(|line| line.starts_with("x-injected"));
    if forged || reply.answers() > 1 { Err(format!("answered {head}")) } else { Ok(()) }
}

async fn headers(env: &Environment) -> Verdict {
    let bearer = bearer(&env.ann);
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
        let reply = env.request("POST /", &headers, body.as_bytes()).await?;
        own_head(&reply)?;
        count += 1;
    }
    for path in
        ["/x%0d%0ax-injected:%20b", "/tasks/x%0d%0ax-injected:%20b", "/a%0d%0ax-injected/tasks"]
    {
        own_head(&env.request(&format!("GET {path}"), &bearer, b"").await?)?;
        count += 1;
    }
    Ok(format!("{count} responses without injected headers"))
}

async fn events(env: &Environment) -> Verdict {
    let forged = "x\n\ndata: {\"forged\":true}\n\nid: 999\nevent: forged\r\rdata: {\"forged\":true}\u{2028}\r\n";
    let body = json!({
        "jsonrpc": "2.0", "id": "a\n\ndata: {\"forged\":true}", "method": "SendStreamingMessage",
        "params": waiting(&format!("echo {forged}")),
    });
    let headers = format!("{}{JSON}", bearer(&env.ann));
    let reply = env.request("POST /", &headers, body.to_string().as_bytes()).await?;
    let text = reply.text();
    let data: Vec<_> =
        text.split(['\r', '\n']).filter_map(|line| line.strip_prefix("data:")).collect();
    if data.is_empty() {
        return Err(format!("no events: {}", reply.summary()));
    }
    for line in &data {
        let event: Value = serde_json::from_str(line.trim()).unwrap_or_default();
        if event["jsonrpc"] != "2.0" || event.get("forged").is_some() {
            return Err(format!("injected event: {line}"));
        }
    }
    if text.lines().any(|line| line.starts_with("event: forged") || line == "id: 999") {
        return Err("injected line".to_owned());
    }
    Ok(format!("{} events, none injected", data.len()))
}

async fn html(env: &Environment) -> Verdict {
    let bearer = bearer(&env.ann);
    let markup = "<script>alert(1)</script>";
    let escaped = "%3Cscript%3Ealert(1)%3C/script%3E";
    let mut replies = vec![
        env.request(&format!("GET /{markup}"), &bearer, b"").await?,
        env.request(
            &format!("GET /tasks/{escaped}"),
            &format!("{bearer}a2a-version: 1.0\r\naccept: text/html\r\n"),
            b"",
        )
        .await?,
        env.request(&format!("GET /{escaped}/{escaped}"), &bearer, b"").await?,
    ];
    let body = format!("{{\"jsonrpc\":\"2.0\",\"id\":\"{markup}\",\"method\":\"{markup}\"}}");
    replies.push(env.post(body.as_bytes()).await?);
    replies.push(env.post(markup.as_bytes()).await?);
    for reply in &replies {
        let head = reply.text().to_ascii_lowercase();
        let head = head.split_once("\r\n\r\n").map_or("", |(head, _)| head);
        let has_text = reply.text().contains(markup);
        if head.contains("text/html") || (has_text && !head.contains("content-type: application/"))
        {
            return Err(format!("unescaped markup: {head}"));
        }
    }
    Ok(format!("{} responses, none as HTML", replies.len()))
}

async fn paths(env: &Environment) -> Verdict {
    let mut summary = Vec::new();
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
        let reply = env.request(&format!("GET {path}"), &bearer(&env.ann), b"").await?;
        let text = reply.text();
        if text.contains("root:") || text.contains("SQLite format") || text.contains("location: //")
        {
            return Err(format!("{path}: {text}"));
        }
        let did = match reply.status() {
            Some(status @ (400..=499 | 501)) => format!("HTTP {status}"),
            None if reply.closed => "closed".to_owned(),
            _ => return Err(format!("{path}: {}", reply.summary())),
        };
        if !summary.contains(&did) {
            summary.push(did);
        }
    }
    Ok(summary.join(", "))
}

async fn origins(env: &Environment) -> Verdict {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": waiting("in")});
    let body = body.to_string();
    // Requests without a preflight.
    for kind in
        ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""]
    {
        let kind =
            if kind.is_empty() { String::new() } else { format!("content-type: {kind}\r\n") };
        let headers =
            format!("{}{kind}origin: https://evil.test\r\na2a-version: 1.0\r\n", bearer(&env.ann));
        env.request("POST /", &headers, body.as_bytes()).await?.rejected()?;
    }
    let asks = "origin: https://evil.test\r\naccess-control-request-method: POST\r\naccess-control-request-headers: authorization\r\n";
    let reply = env.request("OPTIONS /", asks, b"").await?;
    let head = reply.text().to_ascii_lowercase();
    match head.contains("access-control-allow-credentials: true") {
        true => Err(format!("allows credentials of the browser: {head}")),
        false => {
            Ok("rejected requests without a preflight, and allows no credentials of the browser"
                .to_owned())
        }
    }
}

async fn inner(env: &Environment) -> Verdict {
    let mut summary = Vec::new();
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
        // Some run for the requested time.
        let answer = env.works("SendMessage", super::environment::at_once(word)).await?;
        let id = answer["task"]["id"].clone();
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        let (_, task) = env.call(&env.ann, "GetTask", json!({"id": id})).await?;
        let text = task.to_string();
        for inner in ["src/", ".rs:", "panicked at", "RUST_BACKTRACE", "/root/"] {
            if text.contains(inner) {
                return Err(format!("{word}: discloses {inner:?}: {text}"));
            }
        }
        summary.push(task["result"]["status"]["state"].as_str().unwrap_or("no task").to_owned());
        let _ended = env.call(&env.ann, "CancelTask", json!({"id": id})).await;
    }
    summary.sort();
    summary.dedup();
    Ok(summary.join(", ").replace("TASK_STATE_", ""))
}

async fn members(env: &Environment) -> Verdict {
    let mut params = waiting("echo x");
    params["message"]["metadata"] =
        json!({"__proto__": {"admin": true}, "constructor": 1, "": 2, "$ref": "#"});
    params["metadata"] = json!({"owner": "bob", "tenant": "bob", "caller": "bob"});
    params["message"]["owner"] = json!("bob");
    params["owner"] = json!("bob");
    let answer = env.works("SendMessage", params).await?;
    let id = answer["task"]["id"].as_str().unwrap_or_default();
    env.works("GetTask", json!({"id": id})).await?;
    Ok("stored as data, and the task belongs to the caller".to_owned())
}

async fn methods(env: &Environment) -> Verdict {
    let mut summary = Vec::new();
    for method in ["PUT", "PATCH", "DELETE", "PROPFIND", "MADEUP", "TRACE"] {
        for path in ["/", "/tasks", "/.well-known/agent-card.json", "/healthz"] {
            let reply = env.request(&format!("{method} {path}"), &bearer(&env.ann), b"").await?;
            let did = reply.rejected().map_err(|why| format!("{method} {path}: {why}"))?;
            let did: String = did.split_whitespace().take(2).collect::<Vec<_>>().join(" ");
            if !summary.contains(&did) {
                summary.push(did);
            }
        }
    }
    Ok(summary.join(", "))
}
