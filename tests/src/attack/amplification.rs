//! Making the server call one victim often, or keep the webhooks of others waiting.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    time::{Instant, sleep},
};

use super::{Attack, Canary, Scene, Verdict, attacks, scene::at_once, webhook::ALLOWED};

/// More places where receivers may be: one for each attack, as each host has a share of its own.
pub(super) const RECEIVERS: &str = "127.0.0.8/29";
const VICTIM: &str = "127.0.0.8";
const FAILING: &str = "127.0.0.9";
const HANGING: &str = "127.0.0.10";

const TAKEN: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
const BUSY: &str = "HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n";

/// What a task may have at one host, and a host in retries, by default.
const PER_HOST: usize = 5;
const RETRIES: usize = 20;

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "webhooks at one victim", "100 of one task, at the same time, under spellings of one host" => victim;
        "webhooks by messages", "one more with each of 20 messages to a task" => messages;
        "retries of one victim", "50 webhooks of 10 tasks at a host that fails" => retries;
        "slow webhooks of one caller", "60 at a host that never answers, beside one of another caller" => fairness;
        "service ports", "SSH, mail, DNS, databases and port 0" => ports;
    }
}

async fn register(scene: &Scene, token: &str, task: &str, url: &str) -> Result<bool, String> {
    let params = json!({"taskId": task, "url": url});
    let (_, answer) = scene.call(token, "CreateTaskPushNotificationConfig", params).await?;
    Ok(answer.get("error").is_none())
}

async fn victim(scene: &Scene) -> Verdict {
    let victim = Canary::start(VICTIM, TAKEN).await;
    let port = victim.address.port();
    let id = scene.task("slow 1").await?;
    let urls: Vec<String> = (0..100)
        .map(|number| match number % 4 {
            0 => format!("http://{VICTIM}:{port}/{number}"),
            1 => format!("http://2130706440:{port}/{number}"),
            2 => format!("http://0x7f.8:{port}/{number}"),
            _ => format!("http://[::ffff:{VICTIM}]:{port}/{number}"),
        })
        .collect();
    let registered = urls.iter().map(|url| register(scene, &scene.ann, &id, url));
    let registered = join_all(registered).await.into_iter().collect::<Result<Vec<_>, _>>()?;
    let taken = registered.iter().filter(|taken| **taken).count();
    sleep(Duration::from_secs(3)).await;
    let calls = victim.calls();
    // The task has two events at most that webhooks get from here on.
    if taken > PER_HOST || calls > 2 * PER_HOST {
        return Err(format!("took {taken} of 100, and made {calls} calls"));
    }
    Ok(format!("took {taken} of 100, and made {calls} calls"))
}

async fn messages(scene: &Scene) -> Verdict {
    let id = scene.task("ask").await?;
    for number in 0..20 {
        let mut params = at_once("ask");
        params["message"]["taskId"] = json!(id);
        params["message"]["messageId"] = json!(format!("m{number}"));
        let config = json!({"url": format!("http://{VICTIM}:9/{number}")});
        params["configuration"]["taskPushNotificationConfig"] = config;
        // Some are refused because the task has enough messages that wait.
        let _answer = scene.call(&scene.ann, "SendMessage", params).await?;
    }
    let list = scene.works("ListTaskPushNotificationConfigs", json!({"taskId": id})).await?;
    let kept = list["configs"].as_array().map_or(0, Vec::len);
    match kept {
        1..=PER_HOST => Ok(format!("kept {kept}")),
        _ => Err(format!("kept {kept} webhooks of one task at one host: {list}")),
    }
}

async fn retries(scene: &Scene) -> Verdict {
    const TASKS: usize = 10;
    let victim = Canary::start(FAILING, BUSY).await;
    for _ in 0..TASKS {
        let id = scene.task("slow 1").await?;
        for number in 0..PER_HOST {
            let url = format!("{}{number}", victim.url());
            if !register(scene, &scene.ann, &id, &url).await? {
                return Err(format!("refused webhook {number} of a task"));
            }
        }
    }
    // Without a bound each is tried five times by then.
    sleep(Duration::from_secs(7)).await;
    let calls = victim.calls();
    let most = TASKS * PER_HOST + RETRIES + 1;
    if calls > most {
        return Err(format!("made {calls} calls of 50 webhooks, of {most} at most"));
    }
    Ok(format!("made {calls} calls of 50 webhooks"))
}

async fn fairness(scene: &Scene) -> Verdict {
    let Some(mallory) = &scene.bob else { return Ok("has one caller only".to_owned()) };
    let hanging = TcpListener::bind((HANGING, 0)).await.map_err(|error| error.to_string())?;
    let address = hanging.local_addr().map_err(|error| error.to_string())?;
    for number in 0..60 {
        let mut params = at_once("slow 1");
        params["message"]["messageId"] = json!(format!("slow {number}"));
        let config = json!({"url": format!("http://{address}/{number}")});
        params["configuration"]["taskPushNotificationConfig"] = config;
        let (status, answer): (u16, Value) = scene.call(mallory, "SendMessage", params).await?;
        if status != 200 {
            return Err(format!("could not be tried: HTTP {status} {answer}"));
        }
    }
    let receiver = Canary::start(ALLOWED, TAKEN).await;
    let id = scene.task("slow 1").await?;
    if !register(scene, &scene.ann, &id, &receiver.url()).await? {
        return Err("refused the webhook of somebody else".to_owned());
    }
    let start = Instant::now();
    while receiver.calls() == 0 {
        // A call that hangs takes 15 s.
        if start.elapsed() > Duration::from_secs(10) {
            return Err("kept the webhook of somebody else waiting".to_owned());
        }
        sleep(Duration::from_millis(20)).await;
    }
    Ok(format!("called the webhook of somebody else in {:.1?}", start.elapsed()))
}

async fn ports(scene: &Scene) -> Verdict {
    let id = scene.task("ask").await?;
    let mut refused = 0;
    for port in [0, 22, 23, 25, 53, 110, 143, 389, 445, 465, 587, 1433, 3306, 5432, 6379, 9200] {
        for host in ["hooks.example", "8.8.8.8", ALLOWED, "[2606:4700::1111]"] {
            for scheme in ["http", "https"] {
                let url = format!("{scheme}://{host}:{port}/");
                if register(scene, &scene.ann, &id, &url).await? {
                    return Err(format!("took {url}"));
                }
                refused += 1;
            }
        }
    }
    let port = scene.canary.address.port();
    match register(scene, &scene.ann, &id, &format!("http://{ALLOWED}:{port}/")).await? {
        true => Ok(format!("refused {refused}, and took another port")),
        false => Err("refused a port of no service".to_owned()),
    }
}
