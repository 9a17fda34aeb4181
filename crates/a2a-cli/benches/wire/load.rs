//! Asks a server for as long as a figure takes.

use std::{
    fmt,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use tokio::{task::JoinSet, time::Instant};

use crate::{
    case::{Binding, Case, What},
    grpc, http1,
    server::Server,
};

/// Until everything is as it stays.
const WARM: Duration = Duration::from_millis(400);
/// What is measured.
const SPAN: Duration = Duration::from_secs(2);

/// What was seen of a server.
#[derive(Clone, Copy)]
pub(crate) struct Figures {
    /// Answers in a second.
    pub(crate) rate: f64,
    /// Processor time of the server for one, in seconds.
    pub(crate) cpu: f64,
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.0}/s, {:.1} µs of processor time each", self.rate, self.cpu * 1e6)
    }
}

/// Those that ask share this.
#[derive(Default)]
struct Shared {
    answers: AtomicU64,
    is_over: AtomicBool,
}

impl Shared {
    /// Counts an answer, and says whether there is to be another.
    fn goes_on(&self) -> bool {
        self.answers.fetch_add(1, Ordering::Relaxed);
        !self.is_over.load(Ordering::Relaxed)
    }
}

pub(crate) async fn run(case: &'static Case, server: &Server) -> Figures {
    let shared = Arc::<Shared>::default();
    let mut asking = JoinSet::new();
    let task_id = match case.what {
        What::Get => task(server).await,
        What::Send | What::Stream => String::new(),
    };
    match case.binding {
        Binding::JsonRpc | Binding::Rest => {
            let request = case.request(&server.http.to_string(), &task_id);
            for _ in 0..case.in_flight {
                let mut connection = http1::Connection::open(server.http).await;
                let (shared, request) = (shared.clone(), request.clone());
                asking.spawn(async move {
                    loop {
                        connection.ask(&request, case).await;
                        if !shared.goes_on() {
                            break;
                        }
                    }
                });
            }
        }
        Binding::Grpc => {
            let (path, message) = case.call(&task_id);
            let mut connection = grpc::Connection::open(server.grpc).await;
            for number in 0..case.in_flight {
                if number > 0 && number.is_multiple_of(grpc::SHARING) {
                    connection = grpc::Connection::open(server.grpc).await;
                }
                let (mut connection, shared) = (connection.clone(), shared.clone());
                let (path, message) = (path.clone(), message.clone());
                asking.spawn(async move {
                    loop {
                        connection.ask(&path, &message, case).await;
                        if !shared.goes_on() {
                            break;
                        }
                    }
                });
            }
        }
    }
    // A task that fails ends the bench, in place of a figure without it.
    let ended = async {
        while let Some(ended) = asking.join_next().await {
            ended.expect("every answer is good");
        }
    };
    let figures = async {
        tokio::time::sleep(WARM).await;
        let (begun, cpu) = (Instant::now(), server.cpu());
        let before = shared.answers.load(Ordering::Relaxed);
        tokio::time::sleep(SPAN).await;
        let answers = shared.answers.load(Ordering::Relaxed) - before;
        let (time, cpu) = (begun.elapsed(), server.cpu() - cpu);
        shared.is_over.store(true, Ordering::Relaxed);
        let answers = f64::from(u32::try_from(answers).expect("they are few"));
        assert!(answers > 0.0, "{}: no answer", case.name());
        Figures { rate: answers / time.as_secs_f64(), cpu: cpu.as_secs_f64() / answers }
    };
    tokio::join!(figures, ended).0
}

/// A task that is there to be read.
async fn task(server: &Server) -> String {
    let case =
        Case { binding: Binding::JsonRpc, what: What::Send, in_flight: 1, rate: 0.0, cpu: None };
    let mut connection = http1::Connection::open(server.http).await;
    connection.ask(&case.request(&server.http.to_string(), ""), &case).await;
    let text = String::from_utf8_lossy(connection.last()).into_owned();
    let (_, rest) = text.split_once(r#""task":{"id":""#).expect("the answer has a task");
    rest.split('"').next().expect("its id ends").to_owned()
}
