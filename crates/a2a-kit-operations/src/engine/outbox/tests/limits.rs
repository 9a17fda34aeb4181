//! Concurrency limits and retry budgets of deliveries.

use super::*;

/// Stores webhooks of many tasks, at one host and of one caller each.
async fn crowd(scene: &Scene, caller: &str, host: &str, tasks: usize) {
    for number in 0..tasks {
        let id = format!("{caller}-{host}-{number}");
        let task = Task { id: id.clone(), context_id: "c".into(), ..Task::default() };
        let config = TaskPushNotificationConfig {
            id: id.clone(),
            task_id: id,
            url: format!("https://{host}"),
            ..Default::default()
        };
        let new = NewTask::new(Arc::new(task), vec![event(1)])
            .with_pushes([EventId::FIRST])
            .with_webhooks([config.into()]);
        let scope = Scope::new("", &Caller::authenticated(caller));
        scene.store.insert(&scope, new).await.unwrap();
    }
}

/// Makes every webhook with these ids slow.
fn slow(scene: &Scene, ids: impl Iterator<Item = String>, takes: Duration) {
    let mut answers = scene.sender.answers.lock().unwrap();
    answers.extend(ids.map(|id| (&*id.leak(), Answer::Take(takes))));
}

#[tokio::test(start_paused = true)]
async fn slow_host_is_limited_and_does_not_delay_others() {
    let mut scene = Scene::new(&[], Vec::new()).await;
    let takes = Duration::from_secs(10);
    // Different callers, so that only the host limit applies.
    for caller in 0..50 {
        crowd(&scene, &format!("m{caller}"), "slow", 2).await;
    }
    let ids = (0..50).flat_map(|caller| (0..2).map(move |n| format!("m{caller}-slow-{n}")));
    slow(&scene, ids, takes);
    let running = scene.start();
    let first = scene.call().await.time;
    crowd(&scene, "bob", "quick", 1).await;
    running.outbox.wake();
    let mut at_once = 1;
    let quick = loop {
        let call = scene.call().await;
        if call.config_id == "bob-quick-0" {
            break call.time;
        }
        at_once += 1;
    };
    assert!(quick - first < Duration::from_secs(5), "{:?}", quick - first);
    assert_eq!(at_once, scene.config.push.concurrency_per_host);
    // All of them arrive, within the limit.
    let mut times = vec![first; at_once];
    while times.len() < 100 {
        times.push(scene.call().await.time);
    }
    for (earlier, later) in times.iter().zip(&times[scene.config.push.concurrency_per_host..]) {
        assert!(*later - *earlier >= takes, "{:?}", *later - *earlier);
    }
    assert!(scene.is_quiet().await);
}

#[tokio::test(start_paused = true)]
async fn caller_with_many_webhooks_does_not_delay_others() {
    let mut scene = Scene::new(&[], Vec::new()).await;
    let takes = Duration::from_secs(10);
    // Different hosts, so that only the caller limit applies.
    for host in 0..100 {
        crowd(&scene, "mallory", &format!("h{host}"), 2).await;
    }
    let ids = (0..100).flat_map(|host| (0..2).map(move |n| format!("mallory-h{host}-{n}")));
    slow(&scene, ids, takes);
    let running = scene.start();
    let first = scene.call().await.time;
    crowd(&scene, "bob", "quick", 1).await;
    running.outbox.wake();
    let mut at_once = 1;
    let quick = loop {
        let call = scene.call().await;
        if call.config_id == "bob-quick-0" {
            break call.time;
        }
        at_once += 1;
    };
    assert!(quick - first < Duration::from_secs(5), "{:?}", quick - first);
    assert_eq!(at_once, scene.config.push.concurrency_per_caller);
    for _ in at_once..200 {
        scene.call().await;
    }
    assert!(scene.is_quiet().await);
}

#[tokio::test(start_paused = true)]
async fn failing_host_has_a_retry_budget() {
    const WEBHOOKS: usize = 30;
    let mut scene = Scene::new(&[], Vec::new()).await;
    crowd(&scene, "mallory", "victim", WEBHOOKS).await;
    {
        let mut answers = scene.sender.answers.lock().unwrap();
        for number in 0..WEBHOOKS {
            let id: &str = format!("mallory-victim-{number}").leak();
            answers.extend((0..100).map(|_| (id, Answer::Fail(None))));
        }
    }
    let begun = Instant::now();
    let _running = scene.start();
    let dead = async || scene.store.dead_letters(&DeadLetterQuery::default()).await.unwrap();
    while dead().await.len() < WEBHOOKS {
        tokio::time::sleep(Duration::from_secs(60)).await;
    }
    let minutes = usize::try_from(begun.elapsed().as_secs() / 60).unwrap();
    let attempts = scene.config.push.attempts;
    assert!(dead().await.iter().all(|letter| letter.attempts == attempts), "{:?}", dead().await);
    let mut calls = 0;
    while scene.calls.try_recv().is_ok() {
        calls += 1;
    }
    // No event is given up without a call for each attempt, and the budget holds.
    assert_eq!(calls, WEBHOOKS * usize::try_from(attempts).unwrap());
    let most = WEBHOOKS + 20 + minutes + 1;
    assert!(calls <= most, "{calls} calls in {minutes} min");
    // Nor is it left unused.
    assert!(minutes < 2 * calls, "{calls} calls in {minutes} min");
}

#[tokio::test(start_paused = true)]
async fn recovered_host_regains_its_retry_budget() {
    const WEBHOOKS: usize = 40;
    let mut scene = Scene::new(&[], Vec::new()).await;
    crowd(&scene, "ann", "back", WEBHOOKS).await;
    {
        let mut answers = scene.sender.answers.lock().unwrap();
        for number in 0..WEBHOOKS {
            let id: &str = format!("ann-back-{number}").leak();
            answers.extend((0..2).map(|_| (id, Answer::Fail(None))));
        }
    }
    let _running = scene.start();
    let mut calls = 0;
    while !scene.is_quiet().await {
        calls += 1;
    }
    // `is_quiet` takes a call each time.
    assert_eq!(calls, WEBHOOKS * 3);
    assert!(scene.store.dead_letters(&DeadLetterQuery::default()).await.unwrap().is_empty());
}
