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
    case::{Binding, CASES, Case, What},
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
    let task_ids = match case.what {
        What::Get => tasks(server).await,
        What::Send | What::Stream => vec![String::new()],
    };
    match case.binding {
        Binding::JsonRpc | Binding::Rest => {
            let host = server.http.to_string();
            let requests: Arc<[_]> = task_ids.iter().map(|id| case.request(&host, id)).collect();
            for number in 0..case.in_flight {
                let mut connection = http1::Connection::open(server.http).await;
                let (shared, requests) = (shared.clone(), requests.clone());
                asking.spawn(async move {
                    for request in requests.iter().cycle().skip(start(number, case, &requests)) {
                        connection.ask(request, case).await;
                        if !shared.goes_on() {
                            break;
                        }
                    }
                });
            }
        }
        Binding::Grpc => {
            let calls: Arc<[_]> = task_ids.iter().map(|id| case.call(id)).collect();
            let mut connection = grpc::Connection::open(server.grpc).await;
            for number in 0..case.in_flight {
                if number > 0 && number.is_multiple_of(grpc::SHARING) {
                    connection = grpc::Connection::open(server.grpc).await;
                }
                let (mut connection, shared) = (connection.clone(), shared.clone());
                let calls = calls.clone();
                asking.spawn(async move {
                    for (path, message) in calls.iter().cycle().skip(start(number, case, &calls)) {
                        connection.ask(path, message, case).await;
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

/// The first request of a client, so that the clients are spread over all requests.
fn start<T>(number: usize, case: &Case, requests: &[T]) -> usize {
    number * requests.len() / case.in_flight
}

/// How many tasks GetTask reads in turn: a single task would stay in the processor's caches.
const TASKS: usize = 20_000;

/// Creates the tasks for GetTask, and returns their ids.
async fn tasks(server: &Server) -> Vec<String> {
    let send =
        CASES.iter().find(|case| (case.binding, case.what) == (Binding::JsonRpc, What::Send));
    let send = send.expect("it is a case");
    let request = send.request(&server.http.to_string(), "");
    let mut connection = http1::Connection::open(server.http).await;
    let mut ids = Vec::with_capacity(TASKS);
    while ids.len() < TASKS {
        connection.ask(&request, send).await;
        let text = String::from_utf8_lossy(connection.last());
        let (_, rest) = text.split_once(r#""task":{"id":""#).expect("the answer has a task");
        ids.push(rest.split('"').next().expect("its id ends").to_owned());
    }
    ids
}
