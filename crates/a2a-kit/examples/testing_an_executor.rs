//! cargo test -p a2a-kit --features testing --example testing_an_executor
//!
//! An agent that asks back and calls another agent, and its tests: without sockets, with a scripted
//! peer, and against the laws that every executor has to keep.

use a2a_kit::{
    AgentCard, AgentExecutor, Artifact, BoxError, Client, Engine, RequestContext, TaskUpdater,
};

/// Writes a forecast for a city, with the weather of another agent.
struct Forecaster {
    weather: Client,
}

impl AgentExecutor for Forecaster {
    async fn execute(&self, context: RequestContext, updates: TaskUpdater) -> Result<(), BoxError> {
        updates.start().await?;
        let mut city = context.text();
        if city == "weather" {
            city = updates.ask("Which city?").await?.text();
        }
        let forecast = Artifact::new("forecast", format!("{city}: "));
        updates.begin(forecast.clone()).await?;
        let weather = self.weather.send_text(city).await?;
        updates.append_last(Artifact { parts: vec![weather.into()], ..forecast }).await?;
        updates.complete("Have a nice day.").await?;
        Ok(())
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let weather = Client::connect("http://127.0.0.1:8081").await?;
    let card = AgentCard::new("Forecaster", "Writes forecasts");
    Ok(a2a_kit::serve(Engine::new(card, Forecaster { weather }), "127.0.0.1:8080").await?)
}

#[cfg(test)]
mod tests {
    use a2a_kit::{TaskState, client::MessageRequest, testing};

    use super::*;

    fn weather(responses: usize) -> testing::TestAgent {
        (0..responses).fold(testing::TestAgent::new(), |agent, _| agent.then_text("sunny"))
    }

    fn forecaster(weather: &testing::TestAgent) -> Forecaster {
        let card = AgentCard::new("Weather", "Knows the weather");
        Forecaster { weather: Client::from_agent(weather.clone(), card) }
    }

    #[tokio::test]
    async fn city_is_asked_for_and_looked_up() {
        let weather = weather(1);
        let card = AgentCard::new("Forecaster", "Writes forecasts");
        let client = testing::client(&Engine::new(card, forecaster(&weather)));

        let asked = testing::collect(client.stream("weather").await.unwrap()).await;
        asked.assert_text("Which city?");

        let answer = MessageRequest::from("Rome").to_task(&asked.task().unwrap().id);
        let forecast = testing::collect(client.stream(answer).await.unwrap()).await;
        forecast
            .assert_states([TaskState::Working, TaskState::Completed])
            .assert_artifact("forecast", "Rome: sunny");
        assert_eq!(weather.received()[0].text(), "Rome");
    }

    #[tokio::test]
    async fn executor_keeps_the_laws() {
        testing::check(|| forecaster(&weather(4))).await;
    }
}
