//! Making the server call forbidden addresses.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::sleep;

use super::{Attack, Canary, Environment, Verdict, attacks, environment::waiting};

/// An allowed address of test receivers.
pub(super) const ALLOWED: &str = "127.0.0.2";
/// Another one, for a receiver that never responds.
const HANGING: &str = "127.0.0.15";

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "loopback", "127.0.0.1, ::1, 127.1, 0.0.0.0, localhost and its spellings" => loopback;
        "private networks", "10/8, 172.16/12, 192.168/16, 100.64/10, fc00::/7, fe80::/10" => private;
        "cloud metadata", "169.254.169.254 and its names" => metadata;
        "IPv6 with IPv4 in it", "mapped, compatible, 6to4 and NAT64 addresses of loopback" => mapped;
        "numeric addresses", "decimal, octal, hexadecimal and short forms of loopback" => numbers;
        "names for loopback", "names that resolve to loopback" => names;
        "user information", "a host in front of an @, and credentials" => userinfo;
        "other schemes", "file, gopher, ftp, data, unix and no scheme" => schemes;
        "redirect", "an allowed receiver that redirects to loopback" => redirect;
        "endless response", "an allowed receiver that responds with 64 MiB" => endless;
        "hanging receiver", "an allowed receiver that never responds" => hanging;
        "many webhooks", "500 for one task" => many;
        "header injection", "tokens, schemes and addresses with line breaks" => injection;
        "long URL", "an address of 1 MiB" => long;
        "with the first message", "the same in the configuration of a send" => in_send;
    }
}

/// Registers webhooks for a running task, none of which may reach the canary.
async fn none(env: &Environment, urls: Vec<String>) -> Verdict {
    let before = env.canary.calls();
    let id = env.task("slow 1").await?;
    let (mut rejected, mut taken) = (0, Vec::new());
    for url in &urls {
        let params = json!({"taskId": id, "url": url});
        let (_, answer) = env.call(&env.ann, "CreateTaskPushNotificationConfig", params).await?;
        if answer.get("error").is_some() { rejected += 1 } else { taken.push(url.clone()) }
    }
    sleep(Duration::from_millis(if taken.is_empty() { 100 } else { 1_800 })).await;
    let calls = env.canary.calls() - before;
    if calls > 0 {
        return Err(format!("called what it should not, {calls} times"));
    }
    let summary = match taken.len() {
        0 => String::new(),
        count => format!(", took {count} and did not call them"),
    };
    Ok(format!("rejected {rejected} of {}{summary}", urls.len()))
}

fn port(env: &Environment) -> u16 {
    env.canary.address.port()
}

fn hosts(env: &Environment, hosts: &[&str]) -> Vec<String> {
    hosts.iter().map(|host| format!("http://{host}:{}/", port(env))).collect()
}

async fn loopback(env: &Environment) -> Verdict {
    none(
        env,
        hosts(
            env,
            &[
                "127.0.0.1",
                "127.1",
                "127.255.255.254",
                "[::1]",
                "0.0.0.0",
                "0",
                "[::]",
                "localhost",
                "LOCALHOST",
                "localhost.",
                "a.localhost",
                "127.0.0.1.",
            ],
        ),
    )
    .await
}

async fn private(env: &Environment) -> Verdict {
    none(
        env,
        hosts(
            env,
            &[
                "10.0.0.1",
                "172.16.0.1",
                "172.31.255.255",
                "192.168.0.1",
                "100.64.0.1",
                "198.18.0.1",
                "192.0.0.1",
                "224.0.0.1",
                "255.255.255.255",
                "240.0.0.1",
                "[fc00::1]",
                "[fd12::1]",
                "[fe80::1]",
                "[ff02::1]",
            ],
        ),
    )
    .await
}

async fn metadata(env: &Environment) -> Verdict {
    let mut urls =
        hosts(env, &["169.254.169.254", "169.254.170.2", "[fd00:ec2::254]", "2852039166"]);
    urls.push("http://169.254.169.254/latest/meta-data/".to_owned());
    urls.push("http://metadata.google.internal/".to_owned());
    none(env, urls).await
}

async fn mapped(env: &Environment) -> Verdict {
    none(
        env,
        hosts(
            env,
            &[
                "[::ffff:127.0.0.1]",
                "[::ffff:7f00:1]",
                "[::127.0.0.1]",
                "[2002:7f00:1::]",
                "[64:ff9b::127.0.0.1]",
                "[::ffff:169.254.169.254]",
                "[::ffff:10.0.0.1]",
            ],
        ),
    )
    .await
}

async fn numbers(env: &Environment) -> Verdict {
    none(
        env,
        hosts(
            env,
            &[
                "2130706433",
                "0x7f000001",
                "0x7f.1",
                "0177.0.0.1",
                "017700000001",
                "127.0.1",
                "0x7f.0x0.0x0.0x1",
                "\u{ff11}\u{ff12}\u{ff17}.0.0.1",
                "127\u{3002}0\u{3002}0\u{3002}1",
            ],
        ),
    )
    .await
}

async fn names(env: &Environment) -> Verdict {
    none(
        env,
        hosts(
            env,
            &[
                "localhost.localdomain",
                "ip6-localhost",
                "ip6-loopback",
                "localtest.me",
                "lvh.me",
                "127.0.0.1.nip.io",
                "host.docker.internal",
                "kubernetes.default.svc",
            ],
        ),
    )
    .await
}

async fn userinfo(env: &Environment) -> Verdict {
    let port = port(env);
    none(
        env,
        vec![
            format!("http://example.com@127.0.0.1:{port}/"),
            format!("http://{ALLOWED}:{port}@127.0.0.1:{port}/"),
            format!("http://ann:secret@{ALLOWED}:{port}/"),
            format!("http://127.0.0.1:{port}#@example.com/"),
            format!("http://127.0.0.1:{port}\\@example.com/"),
            format!("http://{ALLOWED}%00@127.0.0.1:{port}/"),
        ],
    )
    .await
}

async fn schemes(env: &Environment) -> Verdict {
    let port = port(env);
    none(
        env,
        vec![
            "file:///etc/passwd".to_owned(),
            format!("gopher://127.0.0.1:{port}/_x"),
            format!("ftp://127.0.0.1:{port}/"),
            format!("ws://127.0.0.1:{port}/"),
            "data:text/plain,x".to_owned(),
            "unix:/run/docker.sock".to_owned(),
            "javascript:alert(1)".to_owned(),
            format!("//127.0.0.1:{port}/"),
            format!("127.0.0.1:{port}"),
            String::new(),
        ],
    )
    .await
}

/// Lets the server deliver to an allowed receiver.
async fn deliver(env: &Environment, receiver: &Canary) -> Verdict {
    let id = env.task("slow 1").await?;
    let params = json!({"taskId": id, "url": receiver.url()});
    env.works("CreateTaskPushNotificationConfig", params).await?;
    for _ in 0..100 {
        if receiver.calls() > 0 {
            sleep(Duration::from_millis(300)).await;
            return Ok(format!("called it {} times", receiver.calls()));
        }
        sleep(Duration::from_millis(100)).await;
    }
    Err("never called an allowed receiver".to_owned())
}

async fn redirect(env: &Environment) -> Verdict {
    let before = env.canary.calls();
    let mut summary = Vec::new();
    for status in ["301 Moved", "302 Found", "307 Temporary", "308 Permanent"] {
        let location = env.canary.url();
        let answer =
            format!("HTTP/1.1 {status}\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
        let receiver = Canary::start(ALLOWED, answer).await;
        summary.push(deliver(env, &receiver).await?);
    }
    match env.canary.calls() - before {
        0 => Ok("did not follow".to_owned()),
        calls => Err(format!("followed {calls} times")),
    }
}

async fn endless(env: &Environment) -> Verdict {
    let mut answer = b"HTTP/1.1 200 OK\r\n\r\n".to_vec();
    answer.resize(64 << 20, b'x');
    let receiver = Canary::start(ALLOWED, answer).await;
    deliver(env, &receiver).await
}

async fn hanging(env: &Environment) -> Verdict {
    // A separate host, as each has its own share of calls.
    let listener = tokio::net::TcpListener::bind((HANGING, 0)).await.map_err(|e| e.to_string())?;
    let address = listener.local_addr().map_err(|error| error.to_string())?;
    let mut ids = Vec::new();
    for _ in 0..20 {
        let id = env.task("slow 1").await?;
        let params = json!({"taskId": id, "url": format!("http://{address}/")});
        env.works("CreateTaskPushNotificationConfig", params).await?;
        ids.push(id);
    }
    let time = env.is_served().await?;
    // Another receiver still gets its events.
    let receiver = Canary::start(ALLOWED, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let summary = deliver(env, &receiver).await?;
    Ok(format!("served other callers in {time:.0?}, and another receiver: {summary}"))
}

async fn many(env: &Environment) -> Verdict {
    let id = env.task("ask").await?;
    let (mut taken, mut rejected) = (0, 0);
    for number in 0..500 {
        let params =
            json!({"taskId": id, "id": format!("{number}"), "url": "https://example.com/"});
        let (_, answer) = env.call(&env.ann, "CreateTaskPushNotificationConfig", params).await?;
        if answer.get("error").is_some() { rejected += 1 } else { taken += 1 }
    }
    if rejected == 0 {
        Err(format!("took all {taken}"))
    } else {
        Ok(format!("took {taken}, rejected {rejected}"))
    }
}

async fn injection(env: &Environment) -> Verdict {
    let receiver = Canary::start(ALLOWED, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    let id = env.task("slow 1").await?;
    let url = receiver.url();
    let mut summary = (0, 0);
    for params in [
        json!({"taskId": id, "url": url, "token": "a\r\nx-injected: b"}),
        json!({"taskId": id, "url": url, "authentication": {"scheme": "Bearer\r\nx-injected:", "credentials": "a"}}),
        json!({"taskId": id, "url": url, "authentication": {"scheme": "Bearer", "credentials": "a\nx-injected: b"}}),
        json!({"taskId": id, "url": format!("{url}\r\nx-injected: b")}),
        json!({"taskId": id, "url": format!("{url}%0d%0ax-injected:%20b")}),
    ] {
        let (_, answer) = env.call(&env.ann, "CreateTaskPushNotificationConfig", params).await?;
        if answer.get("error").is_some() { summary.0 += 1 } else { summary.1 += 1 }
    }
    Ok(format!("rejected {}, accepted {} without an injected header", summary.0, summary.1))
}

async fn long(env: &Environment) -> Verdict {
    let url = format!("https://example.com/{}", "x".repeat(1 << 20));
    let id = env.task("ask").await?;
    let (status, answer) = env
        .call(&env.ann, "CreateTaskPushNotificationConfig", json!({"taskId": id, "url": url}))
        .await?;
    let summary = answer["error"]["message"].as_str().unwrap_or("taken").to_owned();
    if status < 500 { Ok(summary) } else { Err(summary) }
}

async fn in_send(env: &Environment) -> Verdict {
    let before = env.canary.calls();
    let urls = hosts(env, &["127.0.0.1", "[::ffff:127.0.0.1]", "2130706433", "localhost"]);
    let mut rejected = 0;
    for url in &urls {
        let mut params = waiting("echo x");
        params["configuration"] = json!({"taskPushNotificationConfig": {"url": url}});
        let (_, answer): (u16, Value) = env.call(&env.ann, "SendMessage", params).await?;
        rejected += usize::from(answer.get("error").is_some());
    }
    sleep(Duration::from_millis(500)).await;
    match env.canary.calls() - before {
        0 => Ok(format!("rejected {rejected} of {}", urls.len())),
        calls => Err(format!("called what it should not, {calls} times")),
    }
}
