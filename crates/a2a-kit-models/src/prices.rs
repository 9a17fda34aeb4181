//! What models cost.

use std::collections::BTreeMap;

use a2a_kit_operations::extension::{Amount, Cost};
use serde::Deserialize;

use crate::model::Usage;

/// The currency of costs that providers report.
const DOLLARS: &str = "USD";
/// Prices are for this many tokens.
const TOKENS: u128 = 1_000_000;

/// The prices of models, by their whole names, such as `openai/gpt-x`.
///
/// Deserializes from a map of [`Price`], such as the tables of a TOML file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct Prices(BTreeMap<String, Price>);

/// The price of a million tokens of a model.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
#[non_exhaustive]
pub struct Price {
    /// Of tokens read.
    pub input: Amount,
    /// Of tokens read from a cache; `None` for that of `input`.
    #[serde(default)]
    pub cached_input: Option<Amount>,
    /// Of tokens read and written to a cache; `None` for that of `input`.
    #[serde(default)]
    pub cache_write: Option<Amount>,
    /// Of tokens written.
    pub output: Amount,
    /// The currency, such as `EUR`.
    pub currency: String,
}

impl Price {
    /// A price without a reduction for caches.
    pub fn new(input: Amount, output: Amount, currency: impl Into<String>) -> Self {
        Self { input, cached_input: None, cache_write: None, output, currency: currency.into() }
    }

    fn of(&self, usage: &Usage) -> Amount {
        let cached = usage.cached_input.unwrap_or(0).min(usage.input);
        let written = usage.cache_write.unwrap_or(0).min(usage.input - cached);
        let parts = [
            (usage.input - cached - written, self.input),
            (cached, self.cached_input.unwrap_or(self.input)),
            (written, self.cache_write.unwrap_or(self.input)),
            (usage.output, self.output),
        ];
        let parts = parts.map(|(tokens, price)| u128::from(tokens) * u128::from(price.nanos()));
        let nanos = parts.into_iter().fold(TOKENS / 2, u128::saturating_add) / TOKENS;
        Amount::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

impl Prices {
    /// Adds the price of a model.
    #[must_use]
    pub fn with(mut self, model: impl Into<String>, price: Price) -> Self {
        self.0.insert(model.into(), price);
        self
    }

    /// The price of a model.
    pub(crate) fn of(&self, provider: &str, model: &str) -> Option<&Price> {
        self.0.get(&format!("{provider}/{model}"))
    }

    /// What a call of a model cost: as its provider reports it or, if the price is in another
    /// currency than dollars, or the provider reports nothing, by its price.
    pub(crate) fn cost(&self, provider: &str, model: &str, usage: &Usage) -> Option<Cost> {
        let price = self.of(provider, model);
        let is_in_dollars = price.is_none_or(|price| price.currency == DOLLARS);
        if let (true, Some(nanos)) = (is_in_dollars, usage.cost) {
            return Some(Cost { amount: Amount::from_nanos(nanos), currency: DOLLARS.to_owned() });
        }
        price.map(|price| Cost { amount: price.of(usage), currency: price.currency.clone() })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn prices() -> Prices {
        let prices = json!({
            "openai/gpt-x": {
                "input": "2.50", "cached_input": "0.25", "output": "10", "currency": "USD"
            },
            "anthropic/claude-x": {
                "input": "3", "cache_write": "3.75", "output": "15", "currency": "EUR"
            },
        });
        serde_json::from_value(prices).unwrap()
    }

    fn cost(name: &str, usage: &Usage) -> Option<String> {
        let (provider, name) = name.split_once('/').unwrap();
        prices()
            .cost(provider, name, usage)
            .map(|cost| format!("{} {}", cost.amount, cost.currency))
    }

    #[test]
    fn cost_of_a_call_is_the_sum_of_its_kinds_of_tokens() {
        let mut usage = Usage { input: 1_000, output: 100, ..Usage::default() };
        assert_eq!(cost("openai/gpt-x", &usage).as_deref(), Some("0.0035 USD"));
        (usage.cached_input, usage.cache_write) = (Some(800), Some(100));
        assert_eq!(cost("openai/gpt-x", &usage).as_deref(), Some("0.0017 USD"));
        assert_eq!(cost("anthropic/claude-x", &usage).as_deref(), Some("0.004575 EUR"));
        assert_eq!(cost("openai/gpt-X", &usage), None, "names are exact");
        // More from a cache than there is: as if all were.
        usage.cached_input = Some(u64::MAX);
        assert_eq!(cost("openai/gpt-x", &usage).as_deref(), Some("0.00125 USD"));
        let usage = Usage { input: u64::MAX, output: u64::MAX, ..Usage::default() };
        assert_eq!(cost("openai/gpt-x", &usage).as_deref(), Some("18446744073.709551615 USD"));
    }

    #[test]
    fn provider_knows_better_but_in_dollars_only() {
        let usage = Usage { input: 1_000, cost: Some(7), ..Usage::default() };
        assert_eq!(cost("openai/gpt-x", &usage).as_deref(), Some("0.000000007 USD"));
        assert_eq!(cost("openrouter/a/b", &usage).as_deref(), Some("0.000000007 USD"));
        assert_eq!(cost("anthropic/claude-x", &usage).as_deref(), Some("0.003 EUR"));
    }

    #[test]
    fn misspelled_member_of_a_price_is_an_error() {
        let price = json!({"a/b": {"input": "1", "ouput": "1", "currency": "USD"}});
        let error = serde_json::from_value::<Prices>(price).unwrap_err().to_string();
        assert!(error.contains("ouput"), "{error}");
        let price = json!({"a/b": {"input": 1.5, "output": "1", "currency": "USD"}});
        assert!(serde_json::from_value::<Prices>(price).is_err(), "a float is no amount");
    }
}
