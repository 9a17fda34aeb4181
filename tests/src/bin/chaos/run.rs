//! One topology from its start to its figures.

use std::{
    sync::{Arc, atomic::Ordering::Relaxed},
    time::Duration,
};

use a2a_tests::chaos::{Behavior, Entry, Evidence, Fault, Load, Resumption, Tally, Work, fenced};
use tokio::{
    task::JoinSet,
    time::{Instant, sleep},
};

use crate::{
    Plan,
    cluster::{Cluster, Service},
    drill::Schedule,
    topology::Topology,
};

/// Interval of progress lines.
const PROGRESS: Duration = Duration::from_secs(5);
/// Time before the first drill, and between two: enough to recover from one.
pub(crate) const PAUSE: Duration = Duration::from_secs(8);
/// Timeout for the last tasks to end.
const LAST: Duration = Duration::from_secs(400);
/// Webhooks reject every 31st delivery.
const BEHAVIOR: Behavior = Behavior::Reject(31);
/// Tasks in flight on each node of an agent with a journal.
const WORK: usize = 4;

/// A cluster under load.
struct Run {
    cluster: Cluster,
    load: Arc<Load>,
    start: Instant,
    told: Instant,
}

/// Runs a topology for its share of the time, until all tasks have ended.
pub(crate) async fn run(topology: Topology, plan: &Plan) -> Result<Arc<Tally>, String> {
    let cluster = Cluster::start(topology, plan).await?;
    let (seed, name) = (plan.seed, topology.name());
    println!("{name}: {} nodes, {} tasks in flight", topology.nodes(), plan.tasks);
    let load = Load::new(cluster.urls(Service::Demo), seed, BEHAVIOR).await;
    let tally = Arc::clone(load.tally());
    let work = [(Service::Programs, Resumption::Fails), (Service::Steps, Resumption::Reruns)]
        .map(|(service, end)| Work::new(cluster.urls(service), seed, end, Arc::clone(&tally)));
    let mut working = JoinSet::new();
    let (running, tasks) = (Arc::clone(&load), plan.tasks);
    working.spawn(async move { running.run(tasks).await });
    for work in &work {
        let work = Arc::clone(work);
        working.spawn(async move { work.run(WORK).await });
    }
    let now = Instant::now();
    let mut run = Run { cluster, load, start: now, told: now };
    // As long as its round is.
    let round = |topology: &Topology| topology.round(&plan.drills);
    let all: Duration = plan.topologies.iter().map(round).sum();
    let share = round(&topology).as_secs_f64() / all.as_secs_f64();
    let time = Duration::from_secs(plan.seconds).mul_f64(share);
    run.drill(topology, plan, now + time).await?;
    run.load.stop();
    work.iter().for_each(|work| work.stop());
    run.say("no more tasks or outages");
    let last = Instant::now() + LAST;
    while !working.is_empty() {
        run.wait(Duration::from_millis(200)).await?;
        while let Some(done) = working.try_join_next() {
            done.map_err(|error| error.to_string())?;
        }
        if Instant::now() > last {
            tally.fault(Fault::Stuck, working.len(), "timeout waiting for the last tasks");
            break;
        }
    }
    let ends = work.iter().flat_map(|work| work.ends()).collect();
    let evidence = Evidence { ends, outages: run.cluster.outages() };
    let entries = Entry::read(&run.cluster.journals())?;
    tally.effects.store(u64::try_from(entries.len()).unwrap_or(u64::MAX), Relaxed);
    let fenced = fenced(&entries, &evidence);
    tally.ran_on.store(fenced.ran_on, Relaxed);
    for (fault, detail) in fenced.violations {
        tally.fault(fault, 1, detail);
    }
    run.print_progress();
    Ok(tally)
}

impl Run {
    /// Holds drills until the time is over; each of them ends.
    async fn drill(&mut self, topology: Topology, plan: &Plan, end: Instant) -> Result<(), String> {
        let drills = topology.drills(&plan.drills);
        let schedule = Schedule::new(&drills, topology.nodes(), plan.seed);
        self.wait(PAUSE).await?;
        for (drill, node) in schedule {
            if Instant::now() + drill.duration() > end {
                // There is time for none, or for a shorter one.
                self.wait(end.saturating_duration_since(Instant::now())).await?;
                return Ok(());
            }
            let disturbance = drill.disturbance().unwrap_or_default();
            let rest = drill.duration().saturating_sub(disturbance);
            if !disturbance.is_zero() {
                self.load.disturb();
            }
            let what = self.cluster.begin(drill, node).await?;
            self.say(&what);
            self.wait(disturbance).await?;
            if !disturbance.is_zero() && !rest.is_zero() {
                self.load.settle(Duration::ZERO);
            }
            self.wait(rest).await?;
            self.cluster.end(drill, node).await?;
            if rest.is_zero() {
                // A restart takes time, too.
                self.load.settle(PAUSE);
            }
            self.say("that is over");
            self.wait(PAUSE).await?;
        }
        Ok(())
    }

    /// Lets time pass, and prints progress.
    async fn wait(&mut self, time: Duration) -> Result<(), String> {
        let end = Instant::now() + time;
        while Instant::now() < end {
            let tick = Duration::from_millis(200);
            sleep(tick.min(end.saturating_duration_since(Instant::now()))).await;
            self.cluster.check()?;
            if self.told.elapsed() >= PROGRESS {
                self.told = Instant::now();
                self.print_progress();
            }
        }
        Ok(())
    }

    fn print_progress(&self) {
        let tally = self.load.tally();
        self.say(&tally.progress());
        for detail in tally.take_details() {
            println!("        ! {detail}");
        }
    }

    fn say(&self, what: &str) {
        println!("{:>4} s  {what}", self.start.elapsed().as_secs());
    }
}
