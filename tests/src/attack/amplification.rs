//! Making the server flood one host, or delay the webhooks of other callers.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::{
    net::TcpListener,
    time::{Instant, sleep},
};

use super::{
    Attack, Canary, Environment, Verdict, attacks, environment::at_once, webhook::ALLOWED,
};

/// Further allowed hosts of receivers, one per attack, as each host has its own share.
pub(super) const RECEIVERS: &str = "127.0.0.8/29";
const VICTIM: &str = "127.0.0.8";
const FAILING: &str = "127.0.0.9";
const HANGING: &str = "127.0.0.10";

const TAKEN: &str = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
const BUSY: &str = "HTTP/1.1 503 Busy\r\ncontent-length: 0\r\n\r\n";

/// Default limits of webhooks per task and host, and of retries per host.
const PER_HOST: usize = 5;
const RETRIES: usize = 20;

pub(super) fn all() -> Vec<Attack> {
    attacks! {
        "webhooks at one host", "100 concurrent ones of one task, with spellings of one host" => victim;
        "webhooks by messages", "one more with each of 20 messages to a task" => messages;
        "retries at one host", "50 webhooks of 10 tasks at a host that fails" => retries;
        "slow webhooks of one caller", "60 at a host that never responds, and one of another caller" => fairness;
        "service ports", "SSH, mail, DNS, databases and port 0" => ports;
    }
}

async fn register(env: &Environment, token: &str, task: &str, url: &str) -> Result<bool, String> {
    let params = json!({"taskId": task, "url": url});
    let (_, answer) = env.call(token, "CreateTaskPushNotificationConfig", params).await?;
    Ok(answer.get("error").is_none())
}

async fn victim(env: &Environment) -> Verdict {
    let victim = Canary::start(VICTIM, TAKEN).await;
    let port = victim.address.port();
    let id = env.task("slow 1").await?;
    let urls: Vec<String> = (0..100)
        .map(|number| match number % 4 {
            0 => format!("http://{VICTIM}:{port}/{number}"),
            1 => format!("http://2130706440:{port}/{number}"),
            2 => format!("http://0x7f.8:{port}/{number}"),
            _ => format!("http://[::ffff:{VICTIM}]:{port}/{number}"),
        })
        .collect();
    let registered = urls.iter().map(|url| register(env, &env.ann, &id, url));
    let registered = join_all(registered).await.into_iter().collect::<Result<Vec<_>, _>>()?;
    let taken = registered.iter().filter(|taken| **taken).count();
    // That a call is not made takes time to see.
    sleep(Duration::from_secs(3)).await;
    let calls = victim.calls();
    // At most two more events of the task are delivered.
    if taken > PER_HOST || calls > 2 * PER_HOST {
        return Err(format!("took {taken} of 100, and made {calls} calls"));
    }
    Ok(format!("took {taken} of 100, and made {calls} calls"))
}

async fn messages(env: &Environment) -> Verdict {
    let id = env.task("ask").await?;
    for number in 0..20 {
        let mut params = at_once("ask");
        params["message"]["taskId"] = json!(id);
        params["message"]["messageId"] = json!(format!("m{number}"));
        let config = json!({"url": format!("http://{VICTIM}:9/{number}")});
        params["configuration"]["taskPushNotificationConfig"] = config;
        // Some are rejected because the queue of the task is full.
        let _answer = env.call(&env.ann, "SendMessage", params).await?;
    }
    let list = env.works("ListTaskPushNotificationConfigs", json!({"taskId": id})).await?;
    let kept = list["configs"].as_array().map_or(0, Vec::len);
    match kept {
        1..=PER_HOST => Ok(format!("stored {kept}")),
        _ => Err(format!("stored {kept} webhooks of one task at one host: {list}")),
    }
}

async fn retries(env: &Environment) -> Verdict {
    const TASKS: usize = 10;
    let victim = Canary::start(FAILING, BUSY).await;
    for _ in 0..TASKS {
        let id = env.task("slow 1").await?;
        for number in 0..PER_HOST {
            let url = format!("{}{number}", victim.url());
            if !register(env, &env.ann, &id, &url).await? {
                return Err(format!("rejected webhook {number} of a task"));
            }
        }
    }
    // Without a limit, each has had five attempts by then.
    sleep(Duration::from_secs(7)).await;
    let calls = victim.calls();
    let most = TASKS * PER_HOST + RETRIES + 1;
    if calls > most {
        return Err(format!("made {calls} calls of 50 webhooks, of {most} at most"));
    }
    Ok(format!("made {calls} calls of 50 webhooks"))
}

async fn fairness(env: &Environment) -> Verdict {
    let Some(mallory) = &env.bob else { return Ok("the server has one caller only".to_owned()) };
    let hanging = TcpListener::bind((HANGING, 0)).await.map_err(|error| error.to_string())?;
    let address = hanging.local_addr().map_err(|error| error.to_string())?;
    for number in 0..60 {
        let mut params = at_once("slow 1");
        params["message"]["messageId"] = json!(format!("slow {number}"));
        let config = json!({"url": format!("http://{address}/{number}")});
        params["configuration"]["taskPushNotificationConfig"] = config;
        let (status, answer): (u16, Value) = env.call(mallory, "SendMessage", params).await?;
        if status != 200 {
            return Err(format!("could not run: HTTP {status} {answer}"));
        }
    }
    let receiver = Canary::start(ALLOWED, TAKEN).await;
    let id = env.task("slow 1").await?;
    if !register(env, &env.ann, &id, &receiver.url()).await? {
        return Err("rejected the webhook of another caller".to_owned());
    }
    let start = Instant::now();
    while receiver.calls() == 0 {
        // A call that hangs takes 15 s.
        if start.elapsed() > Duration::from_secs(10) {
            return Err("delayed the webhook of another caller".to_owned());
        }
        sleep(Duration::from_millis(20)).await;
    }
    Ok(format!("called the webhook of another caller in {:.1?}", start.elapsed()))
}

async fn ports(env: &Environment) -> Verdict {
    let id = env.task("ask").await?;
    let mut rejected = 0;
    for port in [0, 22, 23, 25, 53, 110, 143, 389, 445, 465, 587, 1433, 3306, 5432, 6379, 9200] {
        for host in ["hooks.example", "8.8.8.8", ALLOWED, "[2606:4700::1111]"] {
            for scheme in ["http", "https"] {
                let url = format!("{scheme}://{host}:{port}/");
                if register(env, &env.ann, &id, &url).await? {
                    return Err(format!("took {url}"));
                }
                rejected += 1;
            }
        }
    }
    let port = env.canary.address.port();
    match register(env, &env.ann, &id, &format!("http://{ALLOWED}:{port}/")).await? {
        true => Ok(format!("rejected {rejected}, and took another port")),
        false => Err("rejected another port".to_owned()),
    }
}
