//! Oversized, deep, numerous and malformed messages.

use std::{fmt::Write as _, time::Duration};

use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use super::{
    Attack, Environment, Verdict, attacks,
    environment::{JSON, at_once, bearer, waiting},
    pipe::Pipe,
};

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "deep JSON", "arrays and objects 100,000 deep, in the envelope and in data" => deep;
        "huge numbers", "1e400, a number of 100,000 digits, negative sizes" => numbers;
        "gzip bomb", "a compressed body, and bodies declared as compressed" => bomb;
        "batch", "100,000 requests in one" => batch;
        "duplicate members", "two ids, two methods, two tokens, 100,000 of one name" => doubles;
        "invalid UTF-8", "in a text, in a name, cut off, surrogates" => utf8;
        "NUL in texts", "ids and texts with NUL and other control characters" => nul;
        "many parts", "messages of 10,000 and 100,000 parts" => parts;
        "huge file", "a part of 7 MiB in base64, one of 20 MiB, and an invalid one" => file;
        "wrong types", "each member of a request as each other type" => types;
        "long ids", "ids of 1 MiB in metric labels and tables" => long_ids;
        "many tasks", "1,100 running tasks of one caller" => tasks;
        "many streams", "300 streams of one caller" => streams;
        "slow reader", "10 long unread streams" => slow_reader;
        "queue of one task", "100 messages to a running task" => queue;
        "long history", "a task with 50 messages, 100 KiB each" => history;
        "unlimited lists", "pages of 2,147,483,647 tasks, with everything in them" => lists;
    }
}

/// Posts bodies that have to be rejected.
async fn rejected(env: &Environment, bodies: impl IntoIterator<Item = Vec<u8>>) -> Verdict {
    let mut summary = Vec::new();
    for (number, body) in bodies.into_iter().enumerate() {
        let reply = env.post(&body).await?;
        let did = reply.rejected().map_err(|why| format!("no. {}: {why}", number + 1))?;
        if !summary.contains(&did) {
            summary.push(did);
        }
    }
    Ok(summary.join(", "))
}

/// Posts bodies that may be valid, which must not cause an internal error.
async fn answered(env: &Environment, bodies: impl IntoIterator<Item = Vec<u8>>) -> Verdict {
    let mut summary = Vec::new();
    for (number, body) in bodies.into_iter().enumerate() {
        let reply = env.post(&body).await?;
        let is_fault = reply.status().is_some_and(|status| status >= 500)
            || reply.text().contains("\"code\":-32603");
        if is_fault || reply.status().is_none() {
            return Err(format!("no. {}: {}", number + 1, reply.summary()));
        }
        let did = reply.summary();
        if !summary.contains(&did) && summary.len() < 3 {
            summary.push(did);
        }
    }
    Ok(summary.join(", "))
}

fn call(method: &str, params: &str) -> Vec<u8> {
    format!("{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"{method}\",\"params\":{params}}}")
        .into_bytes()
}

fn send(message: &str) -> Vec<u8> {
    call(
        "SendMessage",
        &format!("{{\"message\":{{\"messageId\":\"m\",\"role\":\"ROLE_USER\",{message}}}}}"),
    )
}

async fn deep(env: &Environment) -> Verdict {
    let arrays = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let objects = format!("{}1{}", "{\"a\":".repeat(100_000), "}".repeat(100_000));
    rejected(
        env,
        [
            arrays.clone().into_bytes(),
            "[".repeat(1_000_000).into_bytes(),
            call("GetTask", &arrays),
            call("GetTask", &objects),
            send(&format!("\"parts\":[{{\"data\":{arrays}}}]")),
            send(&format!("\"parts\":[{{\"text\":\"x\"}}],\"metadata\":{objects}")),
        ],
    )
    .await
}

async fn numbers(env: &Environment) -> Verdict {
    let digits = "9".repeat(100_000);
    answered(
        env,
        [
            send("\"parts\":[{\"data\":1e400}]"),
            send(&format!("\"parts\":[{{\"data\":{digits}}}]")),
            send(&format!("\"parts\":[{{\"data\":-0.{digits}e-999999}}]")),
            call("ListTasks", "{\"pageSize\":-1}"),
            call("ListTasks", "{\"pageSize\":99999999999999999999}"),
            call("GetTask", "{\"id\":\"x\",\"historyLength\":-2147483648}"),
            call("ListTasks", "{\"statusTimestampAfter\":\"9999999-01-01T00:00:00Z\"}"),
            format!("{{\"jsonrpc\":\"2.0\",\"id\":{digits},\"method\":\"ListTasks\"}}")
                .into_bytes(),
        ],
    )
    .await
}

async fn bomb(env: &Environment) -> Verdict {
    let mut summary = Vec::new();
    for coding in ["gzip", "br", "deflate", "zstd", "gzip, gzip", "identity, gzip"] {
        let headers = format!("{}{JSON}content-encoding: {coding}\r\n", bearer(&env.ann));
        let body = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 0xed, 0xc1, 1, 1];
        let reply = env.request("POST /", &headers, &body).await?;
        let did = reply.rejected()?;
        if !summary.contains(&did) {
            summary.push(did);
        }
    }
    Ok(summary.join(", "))
}

async fn batch(env: &Environment) -> Verdict {
    let one = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ListTasks\"}";
    let many = vec![one; 100_000].join(",");
    rejected(env, [format!("[{many}]").into_bytes(), b"[]".to_vec(), b"[[]]".to_vec()]).await
}

async fn doubles(env: &Environment) -> Verdict {
    let mut many = String::from("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ListTasks\"");
    for _ in 0..100_000 {
        let _written = write!(many, ",\"params\":{{}}");
    }
    many.push('}');
    answered(
        env,
        [
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"ListTasks\"}".to_vec(),
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ListTasks\",\"method\":\"GetTask\"}"
                .to_vec(),
            call("ListTasks", "{\"tenant\":\"a\",\"tenant\":\"b\"}"),
            many.into_bytes(),
        ],
    )
    .await
}

async fn utf8(env: &Environment) -> Verdict {
    let with = |bytes: &[u8]| {
        let mut body =
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"GetTask\",\"params\":{\"id\":\"".to_vec();
        body.extend_from_slice(bytes);
        body.extend_from_slice(b"\"}}");
        body
    };
    rejected(
        env,
        [
            with(&[0xff, 0xfe]),
            with(&[0xc0, 0xaf]),
            with(&[0xed, 0xa0, 0x80]),
            with(&[0xf0, 0x9f]),
            with(b"\\ud800"),
            with(b"\\udc00\\ud800"),
        ],
    )
    .await
}

async fn nul(env: &Environment) -> Verdict {
    answered(
        env,
        [
            call("GetTask", "{\"id\":\"a\\u0000b\"}"),
            call("ListTasks", "{\"contextId\":\"a\\u0000b\"}"),
            call("ListTasks", "{\"tenant\":\"a\\u0000b\"}"),
            send("\"parts\":[{\"text\":\"a\\u0000b\"}]"),
            send("\"contextId\":\"\\u0000\",\"parts\":[{\"text\":\"x\"}]"),
            send("\"parts\":[{\"text\":\"x\"}],\"metadata\":{\"\\u0000\":\"\\u0000\"}"),
        ],
    )
    .await
}

async fn parts(env: &Environment) -> Verdict {
    let many = |count: usize| {
        let parts = vec!["{\"text\":\"x\"}"; count].join(",");
        send(&format!("\"parts\":[{parts}]"))
    };
    rejected(env, [many(10_000), many(100_000)]).await
}

async fn file(env: &Environment) -> Verdict {
    let bytes = "QUJD".repeat(7 << 18);
    let beyond = "QUJD".repeat(5 << 20);
    answered(
        env,
        [
            send(&format!("\"parts\":[{{\"raw\":\"{bytes}\"}}]")),
            send(&format!("\"parts\":[{{\"raw\":\"{beyond}\"}}]")),
            send("\"parts\":[{\"raw\":\"no base64!\"}]"),
            send("\"parts\":[{\"url\":\"file:///etc/passwd\"}]"),
        ],
    )
    .await
}

async fn types(env: &Environment) -> Verdict {
    let values =
        ["null", "true", "0", "-1.5", "\"x\"", "[]", "{}", "[{}]", "{\"\":null}", "\"\\u0000\""];
    let mut bodies = Vec::new();
    for value in values {
        for method in
            ["SendMessage", "GetTask", "ListTasks", "CancelTask", "message/send", "tasks/send"]
        {
            bodies.push(call(method, value));
            for member in ["id", "message", "tenant", "configuration", "metadata", "pageSize"] {
                bodies.push(call(method, &format!("{{\"{member}\":{value}}}")));
            }
        }
        for member in ["messageId", "role", "parts", "taskId", "metadata", "extensions"] {
            bodies.push(call("SendMessage", &format!("{{\"message\":{{\"{member}\":{value}}}}}")));
        }
        bodies.push(value.as_bytes().to_vec());
        bodies.push(
            format!("{{\"jsonrpc\":{value},\"id\":{value},\"method\":{value}}}").into_bytes(),
        );
    }
    let count = bodies.len();
    Ok(format!("{count} requests: {}", answered(env, bodies).await?))
}

async fn long_ids(env: &Environment) -> Verdict {
    let memory = || env.process.as_ref().and_then(super::Process::memory).unwrap_or(0);
    let before = memory();
    for number in 0..200_usize {
        let id = format!("{number}{}", "x".repeat(1 << 20));
        let params = json!({
            "id": id,
            "message": {"role": "user", "parts": [{"type": "text", "text": "echo x"}]},
        });
        let body = call("tasks/send", &params.to_string());
        let headers = format!("{}content-type: application/json\r\n", bearer(&env.ann));
        let reply = env.request("POST /", &headers, &body).await?;
        if reply.status().is_none() {
            return Err(reply.summary());
        }
        if number == 0 && reply.text().contains("\"error\"") {
            return Ok(reply.summary());
        }
    }
    let grown = memory().saturating_sub(before) >> 20;
    if grown > 150 {
        Err(format!("stores {grown} MiB of names"))
    } else {
        Ok(format!("grew by {grown} MiB"))
    }
}

async fn tasks(env: &Environment) -> Verdict {
    let mut begun = Vec::new();
    let mut rejected = 0;
    for _ in 0..1_100 {
        let (_, answer) = env.call(&env.ann, "SendMessage", at_once("slow 8")).await?;
        match answer["result"]["task"]["id"].as_str() {
            Some(id) => begun.push(id.to_owned()),
            None => rejected += 1,
        }
    }
    let time = env.is_served().await;
    if let Some(bob) = &env.bob {
        let (status, answer) = env.call(bob, "SendMessage", waiting("echo hi")).await?;
        if answer.get("result").is_none() {
            return Err(format!("with {} tasks, other callers get HTTP {status}", begun.len()));
        }
    }
    for id in &begun {
        let _ended = env.call(&env.ann, "CancelTask", json!({"id": id})).await;
    }
    match time {
        Ok(time) => Ok(format!(
            "began {}, rejected {rejected}, and served other callers in {time:.0?}",
            begun.len()
        )),
        // The limit of a caller applies to its normal requests too.
        Err(_) if rejected > 0 => Ok(format!("began {}, rejected {rejected}", begun.len())),
        Err(why) => Err(format!("with {} tasks: {why}", begun.len())),
    }
}

/// Opens a stream without reading it.
async fn stream(env: &Environment, text: &str) -> Result<Pipe, String> {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendStreamingMessage", "params": waiting(text)});
    let body = body.to_string();
    let mut pipe = env.pipe().await.map_err(|error| format!("failed to connect: {error}"))?;
    let request = format!(
        "POST / HTTP/1.1\r\nhost: localhost\r\n{}{JSON}content-length: {}\r\n\r\n{body}",
        bearer(&env.ann),
        body.len()
    );
    pipe.write_all(request.as_bytes()).await.map_err(|error| error.to_string())?;
    Ok(pipe)
}

async fn streams(env: &Environment) -> Verdict {
    let mut pipes = Vec::new();
    for _ in 0..300 {
        pipes.push(stream(env, "stream 20 200ms").await?);
    }
    let time = env.is_served().await.map_err(|why| format!("meanwhile: {why}"));
    Ok(format!("has {} of them, and served other callers in {:.0?}", pipes.len(), time?))
}

async fn slow_reader(env: &Environment) -> Verdict {
    let mut pipes = Vec::new();
    for _ in 0..10 {
        pipes.push(stream(env, "stream 10000 0ms").await?);
    }
    // The buffers of ten sockets fill, which nothing reports.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let time = env.is_served().await.map_err(|why| format!("meanwhile: {why}"))?;
    Ok(format!("held {} streams, and served other callers in {time:.0?}", pipes.len()))
}

async fn queue(env: &Environment) -> Verdict {
    let id = env.task("slow 2").await?;
    let (mut taken, mut rejected) = (0, 0);
    for _ in 0..100 {
        let mut params = at_once("more");
        params["message"]["taskId"] = json!(id);
        let (_, answer) = env.call(&env.ann, "SendMessage", params).await?;
        if answer.get("result").is_some() { taken += 1 } else { rejected += 1 }
    }
    let _ended = env.call(&env.ann, "CancelTask", json!({"id": id})).await;
    if rejected == 0 {
        Err(format!("queued all {taken}"))
    } else {
        Ok(format!("took {taken}, rejected {rejected}"))
    }
}

async fn history(env: &Environment) -> Verdict {
    let text = format!("echo {}", "x".repeat(100 << 10));
    let first = env.works("SendMessage", waiting(&text)).await?;
    let context = first["task"]["contextId"].clone();
    for _ in 0..50 {
        let mut params = waiting(&text);
        params["message"]["contextId"] = context.clone();
        env.works("SendMessage", params).await?;
    }
    let page = env.works("ListTasks", json!({"contextId": context, "pageSize": 100})).await?;
    Ok(format!("stores all {}", page["totalSize"]))
}

async fn lists(env: &Environment) -> Verdict {
    let size = i32::MAX;
    answered(
        env,
        [
            call(
                "ListTasks",
                &format!(
                    "{{\"pageSize\":{size},\"includeArtifacts\":true,\"historyLength\":{size}}}"
                ),
            ),
            call(
                "ListTasks",
                "{\"pageSize\":100,\"includeArtifacts\":true,\"historyLength\":2147483647}",
            ),
            call("ListTasks", "{\"pageSize\":0}"),
        ],
    )
    .await
}
