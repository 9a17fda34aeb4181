//! The executors of the trip planner: a forecaster, and a planner that asks it.

use std::time::Duration;

use a2a_kit::{
    AgentCard, AgentError, AgentExecutor, Artifact, BoxError, Client, Part, RequestContext,
    TaskUpdater, agent_fn,
};
use serde::{Deserialize, Serialize};
use tokio_stream::{Stream, StreamExt as _};

/// The weather of a city: the typed answer of the forecaster.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Forecast {
    pub(crate) city: String,
    pub(crate) degrees: i8,
}

/// A trip as typed data, for programs.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Trip {
    pub(crate) city: String,
    pub(crate) date: String,
    pub(crate) booking: String,
}

pub(crate) fn forecaster_card() -> AgentCard {
    AgentCard::new("Forecaster", "Forecasts the weather of a city")
}

pub(crate) fn forecaster() -> impl AgentExecutor {
    agent_fn(async |city: String| {
        let degrees = match city.to_lowercase().as_str() {
            "lisbon" => 24,
            "oslo" => -3,
            // The caller sees this text.
            _ => return Err(AgentError::new(format!("there is no forecast for {city}")).into()),
        };
        Ok::<_, BoxError>(Part::json(&Forecast { city, degrees })?)
    })
}

pub(crate) fn planner_card() -> AgentCard {
    AgentCard::new("Planner", "Plans a trip")
}

/// Plans a trip in a conversation.
pub(crate) struct Planner {
    pub(crate) forecaster: Client,
}

impl AgentExecutor for Planner {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        tokio::select! {
            biased;
            () = context.cancelled() => Ok(updates.cancel("Nothing was booked.").await?),
            done = self.plan(&updates) => done,
        }
    }
}

impl Planner {
    /// Straight-line code, also if the agent is restarted at a question.
    async fn plan(&self, updates: &TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        let city = updates.ask("Where do you want to go?").await?.text();
        let date = updates.ask(format!("When do you want to be in {city}?")).await?.text();

        let forecast = self.forecast(&city).await?;
        let plan = words(format!(
            "On {date} fly to {city}. Expect {} °C. Walk, eat, sleep, repeat. Fly home.",
            forecast.degrees
        ));
        let plan = updates.stream("plan", plan).await?;
        let file = Part::file("plan.txt", "text/plain", plan);
        updates.artifact(Artifact::new("download", file)).await?;

        let answer = updates.ask("Shall I book it?").await?.text();
        if !answer.to_lowercase().starts_with('y') {
            return Ok(updates.reject("As you wish.").await?);
        }
        // Done once, even if the agent is restarted right after it.
        let booking = updates.once("booking", book(&city, &date)).await?;
        let trip = Trip { city, date, booking };
        updates.artifact(Artifact::new("trip", Part::json(&trip)?)).await?;
        Ok(updates.complete(format!("Booked: {}", trip.booking)).await?)
    }

    /// Asks the forecaster, and passes its refusal on.
    async fn forecast(&self, city: &str) -> Result<Forecast, BoxError> {
        let answer = self.forecaster.send(city).await?;
        let Some(task) = answer.task() else { return Err("the forecaster sent no task".into()) };
        if let Some(reason) = task.failure() {
            return Err(AgentError::new(reason).into());
        }
        let answer = task.artifact("answer").ok_or("the forecaster sent no answer")?;
        Ok(answer.parse::<Forecast>()?)
    }
}

/// Stands for the tokens of a language model.
fn words(text: String) -> impl Stream<Item = Result<String, BoxError>> + Send {
    let words: Vec<_> = text.split_inclusive(' ').map(str::to_owned).collect();
    tokio_stream::iter(words).map(Ok).throttle(Duration::from_millis(20))
}

/// Stands for a call that must not be repeated.
async fn book(city: &str, date: &str) -> Result<String, BoxError> {
    Ok(format!("{city}-{date}-{}", a2a_kit::types::fresh_id()))
}
