//! Usage of language models, in the metadata of tasks.

use std::{fmt, str::FromStr};

use a2a_core::{
    v1::AgentExtension,
    well_known::{Struct, Value},
};
use async_trait::async_trait;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::Extension;

/// Declares that tasks report what their models used, to callers that activate it.
///
/// The report is a member of the metadata of the terminal status update, and hence of the task,
/// under [`URI`](Self::URI). The executor writes it: it knows the numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct UsageExtension;

/// What the models of a task used.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct UsageReport {
    /// The tokens read, those from a cache included.
    pub input_tokens: u64,
    /// Of these, read from a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cached_input_tokens: Option<u64>,
    /// Of these, written to a cache.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache_write_tokens: Option<u64>,
    /// The tokens written, reasoning included.
    pub output_tokens: u64,
    /// Of these, reasoning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reasoning_tokens: Option<u64>,
    /// The calls of models that were completed.
    pub model_calls: u64,
    /// The calls of tools that returned.
    pub tool_calls: u64,
    /// The price of the calls of models, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
    /// Whether more was used than is reported: a call was cut or canceled, or its provider or its
    /// price is missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
    /// What the tasks used that were delegated to other agents, which is not part of the numbers
    /// above; `None` without such tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delegated: Option<DelegatedUsage>,
}

/// What delegated tasks used, with what they delegated in turn.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct DelegatedUsage {
    /// The delegated tasks.
    pub tasks: u64,
    /// Of these, the tasks whose agent reported nothing.
    pub unreported: u64,
    /// The tokens read, as the agents reported them.
    pub input_tokens: u64,
    /// The tokens written, as the agents reported them.
    pub output_tokens: u64,
    /// The price, as the agents reported it; `None` if they reported none, or several currencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<Cost>,
}

/// A price.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(clippy::exhaustive_structs, reason = "an amount of money has nothing else")]
pub struct Cost {
    /// The amount.
    pub amount: Amount,
    /// The currency, such as `USD`.
    pub currency: String,
}

/// An amount of money in 10⁻⁹ units of its currency. Its text, also in JSON, is a decimal number
/// such as `0.0025`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Amount(u64);

impl Amount {
    /// An amount in 10⁻⁹ units.
    pub const fn from_nanos(nanos: u64) -> Self {
        Self(nanos)
    }

    /// The amount in 10⁻⁹ units.
    pub const fn nanos(self) -> u64 {
        self.0
    }
}

const NANOS: u64 = 1_000_000_000;

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0 / NANOS)?;
        match self.0 % NANOS {
            0 => Ok(()),
            nanos => write!(f, ".{}", format!("{nanos:09}").trim_end_matches('0')),
        }
    }
}

/// The text is not an [`Amount`].
#[derive(Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("expected a decimal number with at most nine decimal places, such as 0.0025")]
#[non_exhaustive]
pub struct InvalidAmount;

a2a_core::debug_as_chain!(InvalidAmount);

impl FromStr for Amount {
    type Err = InvalidAmount;

    fn from_str(text: &str) -> Result<Self, InvalidAmount> {
        let (units, nanos) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        if !is_number(units) || !is_number(nanos) || nanos.len() > 9 {
            return Err(InvalidAmount);
        }
        let units: u64 = units.parse().map_err(|_error| InvalidAmount)?;
        let nanos: u64 = format!("{nanos:0<9}").parse().map_err(|_error| InvalidAmount)?;
        let amount = units.checked_mul(NANOS).and_then(|units| units.checked_add(nanos));
        amount.map(Self).ok_or(InvalidAmount)
    }
}

impl Serialize for Amount {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

impl UsageExtension {
    /// The URI of the extension, and the metadata key.
    pub const URI: &str = "urn:x-a2a:usage:1";

    /// Reads the report from the metadata of a task or a status update; `None` if it is missing or
    /// malformed.
    pub fn read(metadata: Option<&Struct>) -> Option<UsageReport> {
        let report = serde_json::to_value(metadata?.get(Self::URI)?).ok()?;
        serde_json::from_value(report).ok()
    }

    /// Writes the report into the metadata of a status update.
    pub fn write(metadata: &mut Option<Struct>, report: &UsageReport) {
        if let Ok(report) = serde_json::to_value(report) {
            metadata.get_or_insert_default().insert(Self::URI, Value::from(report));
        }
    }
}

#[async_trait]
impl Extension for UsageExtension {
    fn declaration(&self) -> AgentExtension {
        AgentExtension::new(Self::URI, "Reports the tokens that a task used")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_is_read_as_written_and_leaves_out_what_is_unknown() {
        let report = UsageReport {
            input_tokens: 12,
            cached_input_tokens: Some(8),
            output_tokens: 3,
            model_calls: 1,
            ..UsageReport::default()
        };
        let mut metadata = None;
        UsageExtension::write(&mut metadata, &report);
        let json = serde_json::to_string(&metadata).unwrap();
        let expected = r#"{"urn:x-a2a:usage:1":{"cachedInputTokens":8,"inputTokens":12,"modelCalls":1,"outputTokens":3,"toolCalls":0}}"#;
        assert_eq!(json, expected);
        assert_eq!(UsageExtension::read(metadata.as_ref()), Some(report));
        assert_eq!(UsageExtension::read(None), None);
    }

    #[test]
    fn cost_is_a_decimal_string() {
        let amount = Amount::from_nanos(2_500_000);
        let delegated = DelegatedUsage { tasks: 2, unreported: 1, ..DelegatedUsage::default() };
        let report = UsageReport {
            cost: Some(Cost { amount, currency: "EUR".to_owned() }),
            delegated: Some(delegated),
            ..UsageReport::default()
        };
        let json = serde_json::to_value(&report).unwrap();
        assert_eq!(json["cost"], serde_json::json!({"amount": "0.0025", "currency": "EUR"}));
        assert_eq!(json["delegated"]["unreported"], 1);
        assert_eq!(serde_json::from_value::<UsageReport>(json).unwrap(), report);
    }

    #[test]
    fn amount_is_read_as_it_is_shown_and_nothing_else_is_an_amount() {
        for (text, nanos) in [
            ("0", 0),
            ("3", 3_000_000_000),
            ("0.000000001", 1),
            ("12.5", 12_500_000_000),
            ("18446744073.709551615", u64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(Amount::from_nanos(nanos)), "{text}");
            assert_eq!(Amount::from_nanos(nanos).to_string(), text);
        }
        assert_eq!("1.50".parse(), Ok(Amount::from_nanos(1_500_000_000)));
        let invalid =
            ["", ".", "1.", ".5", "-1", "+1", "1e3", "1,5", "0.0000000001", "18446744074"];
        for text in invalid {
            assert_eq!(text.parse::<Amount>(), Err(InvalidAmount), "{text:?}");
        }
    }
}
