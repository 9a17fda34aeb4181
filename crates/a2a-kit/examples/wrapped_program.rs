//! cargo run -p a2a-kit --features exec --example wrapped_program
//!
//! An agent made of a program in another language: its output is streamed as it comes.

#![allow(clippy::print_stdout, reason = "examples print")]

use std::time::Duration;

use a2a_kit::{Client, Engine, Server, exec::Exec};
use tokio::sync::oneshot;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let script = "for word in $(cat); do echo $word | tr a-z A-Z; sleep 0.3; done";
    let program = Exec::shell(script).with_timeout(Duration::from_secs(60));
    // A missing program is an error here, and not in the first task.
    program.check()?;
    let engine = Engine::new(program.card("Shouter", "Repeats its input, louder"), program.clone());
    let listener = a2a_kit::http::bind("127.0.0.1:8080").await?;
    let (stop, stopped) = oneshot::channel::<()>();
    let server = Server::from(engine).serve(listener, async { drop(stopped.await) });
    let server = tokio::spawn(server);

    let client = Client::connect("localhost:8080").await?;
    let mut events = client.stream("one two three").await?;
    while let Some(event) = events.next().await {
        let event = event?;
        if event.artifact_update().is_some() {
            print!("{}", event.text());
        }
    }
    println!();
    drop(stop);
    server.await??;
    // Programs that still run get SIGTERM, and 4 s.
    program.stopped().await;
    Ok(())
}
