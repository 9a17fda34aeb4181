//! Scripted agents in a Rust application.
#![allow(clippy::unwrap_used, reason = "a test that can't be set up fails")]

use std::{fs, sync::Arc};

use a2a_core::{
    Error, ErrorKind, Message, Task, TaskState,
    v1::{SendMessageRequest, send_message_response::Payload},
};
use a2a_kit_operations::{
    Agent, Call, Engine, Scope, agent_fn,
    store::{MemoryStore, TaskStore as _},
};
use a2a_kit_script::{Builtins, Script, ScriptError, TestAgent};

const OFFICE: &str = r#"
    [card]
    name = "Office"

    [[rule]]
    when = { word = "closed" }
    fault = { error = { name = "UNSUPPORTED_OPERATION", text = "the office is closed" } }

    [[rule]]
    when = { word = "broken" }
    fault = { respond = { status = 502, content_type = "text/html", body = "<h1>Bad</h1>" } }

    [[rule]]
    when = { word = "pay" }
    steps = [{ state = "auth-required" }, { wait_until = "authorized" }, { state = "completed" }]

    [[rule]]
    when = { word = "work" }
    steps = [
        { state = "working" },
        { artifact = { name = "work", text = "done" } },
        { state = "completed" },
    ]

    [default]
    steps = [{ artifact = { name = "echo", text = "{text}" } }, { state = "completed" }]
"#;

fn office() -> Script {
    Script::parse("office.toml", OFFICE).unwrap()
}

async fn send(agent: &impl Agent, text: &str) -> Result<Task, Error> {
    let message = Some(Message::user(text));
    let request = SendMessageRequest { message, ..SendMessageRequest::default() };
    let reply = agent.send_message(Call::new(request)).await?;
    let Some(Payload::Task(task)) = reply.response.payload else { unreachable!("no task") };
    Ok(task)
}

#[tokio::test]
async fn script_is_an_agent_in_the_same_process() {
    let agent = office().agent();
    assert_eq!(send(&agent, "hello").await.unwrap().artifacts[0].text(), "hello");
    let closed = send(&agent, "closed").await.unwrap_err();
    assert_eq!(closed.kind(), ErrorKind::UnsupportedOperation);
    assert_eq!(closed.message(), "the office is closed");
}

#[tokio::test]
async fn steps_that_wait_for_nothing_are_one_write() {
    let store = Arc::new(MemoryStore::new());
    let script = office();
    let agent =
        Engine::builder(script.card(), script).shared_store(Arc::clone(&store) as _).build();
    let task = send(&agent, "work").await.unwrap();
    assert_eq!((task.state(), task.artifacts[0].text().as_str()), (TaskState::Completed, "done"));
    let stored = store.get(&Scope::default(), &task.id).await.unwrap().unwrap();
    assert_eq!(stored.version, 1);
}

#[tokio::test]
async fn layer_injects_faults_into_the_responses_of_a_binding() {
    let script = office();
    let faults = script.faults().unwrap();
    let bindings = a2a_kit_jsonrpc::router(faults.agent(Arc::new(script.engine())));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = a2a_kit_http::HttpServer::new(faults.layer(bindings));
    let server = tokio::spawn(server.serve(listener, std::future::pending()));
    let client = a2a_kit_jsonrpc::Client::new(&url).unwrap();
    assert_eq!(send(&client, "hello").await.unwrap().artifacts[0].text(), "hello");
    let broken = send(&client, "broken").await.unwrap_err();
    assert_eq!(broken.message(), "Bad");
    server.abort();
}

#[tokio::test]
async fn waiting_task_goes_on_once_it_is_authorized() {
    let script = office();
    let agent = script.agent();
    let waiting = send(&agent, "pay").await.unwrap();
    assert!(!script.authorize("another task"));
    assert!(script.authorize(&waiting.id));
}

#[tokio::test]
async fn step_runs_the_behaviour_with_its_name() {
    let shout = agent_fn(async |text: String| text.to_uppercase());
    let builtins = Builtins::new().with("shout", shout);
    let text = "[default]\nsteps = [{ builtin = \"shout\" }]";
    let agent = builtins.clone().parse("shouter.toml", text).unwrap().agent();
    let request =
        SendMessageRequest { message: Some(Message::user("hey")), ..SendMessageRequest::default() };
    let reply = agent.send_message(Call::new(request)).await.unwrap();
    assert!(format!("{reply:?}").contains("HEY"), "{reply:?}");

    let whisper = text.replace("shout", "whisper");
    for (builtins, expected) in [(builtins, ", expected shout"), (Builtins::new(), "")] {
        let error = builtins.parse("s.toml", &whisper).unwrap_err().to_string();
        let key = "s.toml:2: default.steps[0]";
        assert_eq!(error, format!("{key}: unknown builtin \"whisper\"{expected}"));
    }
}

#[test]
fn script_that_can_not_be_read_is_an_error_with_all_problems() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("script.toml");
    assert!(matches!(Script::read(&path), Err(ScriptError::Unreadable { .. })));
    fs::write(&path, "x".repeat((1 << 20) + 1)).unwrap();
    assert!(matches!(Script::read(&path), Err(ScriptError::TooLarge(_))));
    fs::write(&path, "rules = []\n[[rule]]\n").unwrap();
    let Err(ScriptError::Invalid(problems)) = Script::read(&path) else { unreachable!() };
    let places: Vec<_> = problems.iter().map(|one| (one.line, one.key.as_str())).collect();
    assert_eq!(places, [(2, "rule[0]"), (1, "rules")]);
}

#[tokio::test]
async fn messages_that_a_script_does_not_know_are_for_the_next_one() {
    let first =
        "[[rule]]\nwhen = { word = \"a\" }\nsteps = [{ state = \"completed\", text = \"1\" }]";
    let both = Script::parse("first.toml", first).unwrap().or_else(office());
    assert_eq!(both.card().name, "Office");
    let agent = both.agent();
    assert_eq!(send(&agent, "a").await.unwrap().status_text(), "1");
    assert_eq!(send(&agent, "b").await.unwrap().artifacts[0].text(), "b");
    assert!(send(&agent, "closed").await.is_err());
}

#[tokio::test]
async fn queued_responses_come_before_those_of_the_script() {
    let agent = TestAgent::from(office()).then_fail(Error::unavailable("busy"));
    let busy = send(&agent, "hello").await.unwrap_err();
    assert_eq!((busy.kind(), busy.message()), (ErrorKind::Unavailable, "busy"));
    assert_eq!(send(&agent, "again").await.unwrap().artifacts[0].text(), "again");
    assert_eq!(send(&agent, "closed").await.unwrap_err().kind(), ErrorKind::UnsupportedOperation);
    let texts: Vec<_> = agent.received().iter().map(|call| call.text()).collect();
    assert_eq!(texts, ["hello", "again", "closed"]);
}
