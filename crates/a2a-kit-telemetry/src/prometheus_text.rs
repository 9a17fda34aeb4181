//! Reads our own metrics in the Prometheus text format, as metrics of OTLP.

use std::{collections::BTreeMap, time::SystemTime};

use opentelemetry_proto::tonic::{
    common::v1::{AnyValue, KeyValue, any_value},
    metrics::v1::{
        AggregationTemporality, Gauge, Histogram, HistogramDataPoint, Metric, NumberDataPoint, Sum,
        metric::Data, number_data_point::Value,
    },
};

const CUMULATIVE: i32 = AggregationTemporality::Cumulative as i32;

/// Parses what [`Prometheus::render`](crate::Prometheus::render) wrote. `begun` is when its counters
/// began.
pub(crate) fn parse(text: &str, begun: SystemTime) -> Vec<Metric> {
    let times = [nanos(begun), nanos(SystemTime::now())];
    let mut metrics = Vec::new();
    let mut samples: Vec<Sample<'_>> = Vec::new();
    let (mut family, mut kind, mut help) = ("", "", "");
    for line in text.lines().chain([""]) {
        match line.strip_prefix("# ").map(|comment| comment.splitn(3, ' ').collect::<Vec<_>>()) {
            Some(words) => match words[..] {
                ["HELP", _, text] => help = text,
                ["TYPE", name, of] => (family, kind) = (name, of),
                _ => {}
            },
            None if line.is_empty() => {
                metrics.extend(metric(family, kind, help, &samples, times));
                samples.clear();
                (family, kind, help) = ("", "", "");
            }
            None => samples.extend(sample(line)),
        }
    }
    metrics
}

struct Sample<'a> {
    name: &'a str,
    labels: Vec<(&'a str, String)>,
    value: f64,
}

/// Parses `name{label="value"} 1.5`.
fn sample(line: &str) -> Option<Sample<'_>> {
    let (series, value) = line.rsplit_once(' ')?;
    let value = value.parse().ok()?;
    let Some((name, mut rest)) = series.strip_suffix('}').and_then(|it| it.split_once('{')) else {
        return Some(Sample { name: series, labels: Vec::new(), value });
    };
    let mut labels = Vec::new();
    while let Some((label, quoted)) = rest.split_once("=\"") {
        let mut text = String::new();
        let mut characters = quoted.char_indices();
        let end = loop {
            match characters.next()? {
                (index, '"') => break index,
                (_, '\\') => match characters.next()?.1 {
                    'n' => text.push('\n'),
                    other => text.push(other),
                },
                (_, other) => text.push(other),
            }
        };
        labels.push((label.trim_start_matches(','), text));
        rest = &quoted[end + 1..];
    }
    Some(Sample { name, labels, value })
}

fn metric(
    name: &str,
    kind: &str,
    help: &str,
    samples: &[Sample<'_>],
    times: [u64; 2],
) -> Option<Metric> {
    let points = || samples.iter().map(|sample| number(sample, times)).collect();
    let data = match kind {
        "counter" => Data::Sum(Sum {
            data_points: points(),
            aggregation_temporality: CUMULATIVE,
            is_monotonic: true,
        }),
        "gauge" => Data::Gauge(Gauge { data_points: points() }),
        "histogram" => Data::Histogram(Histogram {
            data_points: histograms(name, samples, times),
            aggregation_temporality: CUMULATIVE,
        }),
        _ => return None,
    };
    let unit = if name.ends_with("_seconds") { "s" } else { "" };
    Some(Metric {
        name: name.to_owned(),
        description: help.to_owned(),
        unit: unit.to_owned(),
        data: Some(data),
        ..Metric::default()
    })
}

fn number(sample: &Sample<'_>, [begun, now]: [u64; 2]) -> NumberDataPoint {
    NumberDataPoint {
        attributes: attributes(&sample.labels),
        start_time_unix_nano: begun,
        time_unix_nano: now,
        value: Some(Value::AsDouble(sample.value)),
        ..NumberDataPoint::default()
    }
}

/// One point for each set of labels. Its buckets are cumulative in the text, and not in OTLP.
fn histograms(
    name: &str,
    samples: &[Sample<'_>],
    [begun, now]: [u64; 2],
) -> Vec<HistogramDataPoint> {
    let mut points: BTreeMap<Vec<(&str, String)>, (HistogramDataPoint, u64)> = BTreeMap::new();
    for Sample { name: series, labels, value } in samples {
        let (bounds, labels): (Vec<_>, Vec<_>) =
            labels.iter().cloned().partition(|(label, _)| *label == "le");
        let (point, below) = points.entry(labels).or_default();
        match series.strip_prefix(name) {
            Some("_sum") => point.sum = Some(*value),
            Some("_count") => point.count = whole(*value),
            Some("_bucket") => {
                let all = whole(*value);
                point.bucket_counts.push(all.saturating_sub(*below));
                *below = all;
                let bound = bounds.first().and_then(|(_, bound)| bound.parse::<f64>().ok());
                point.explicit_bounds.extend(bound.filter(|bound| bound.is_finite()));
            }
            _ => {}
        }
    }
    let complete = |(labels, (point, _)): (Vec<_>, (HistogramDataPoint, u64))| HistogramDataPoint {
        attributes: attributes(&labels),
        start_time_unix_nano: begun,
        time_unix_nano: now,
        ..point
    };
    points.into_iter().map(complete).collect()
}

fn attributes(labels: &[(&str, String)]) -> Vec<KeyValue> {
    labels.iter().map(|(name, value)| attribute(name, value)).collect()
}

/// An attribute of a point or of the resource.
pub(crate) fn attribute(key: &str, value: &str) -> KeyValue {
    KeyValue {
        key: key.to_owned(),
        value: Some(AnyValue { value: Some(any_value::Value::StringValue(value.to_owned())) }),
        ..KeyValue::default()
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "counts are whole")]
fn whole(value: f64) -> u64 {
    value as u64
}

fn nanos(time: SystemTime) -> u64 {
    let since = time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_gauges_and_histograms_are_those_of_the_text() {
        let text = "# HELP a_total Texts\n# TYPE a_total counter\na_total{x=\"say \\\"hi\\\"\",y=\"2\"} 3\n\n\
                    # TYPE g gauge\ng 1.5\n\n\
                    # TYPE t_seconds histogram\nt_seconds_bucket{le=\"0.5\"} 2\n\
                    t_seconds_bucket{le=\"1\"} 5\nt_seconds_bucket{le=\"+Inf\"} 6\n\
                    t_seconds_sum 4.5\nt_seconds_count 6\n\n";
        let metrics = parse(text, SystemTime::UNIX_EPOCH);
        let [counter, gauge, histogram] = &metrics[..] else { panic!("{metrics:?}") };
        let Some(Data::Sum(sum)) = &counter.data else { panic!("{counter:?}") };
        assert_eq!(counter.description, "Texts");
        assert!(sum.is_monotonic);
        assert_eq!(sum.data_points[0].value, Some(Value::AsDouble(3.0)));
        assert_eq!(
            sum.data_points[0].attributes,
            [attribute("x", "say \"hi\""), attribute("y", "2")]
        );
        let Some(Data::Gauge(gauge)) = &gauge.data else { panic!("{gauge:?}") };
        assert_eq!(gauge.data_points[0].value, Some(Value::AsDouble(1.5)));
        let Some(Data::Histogram(data)) = &histogram.data else { panic!("{histogram:?}") };
        let point = &data.data_points[0];
        assert_eq!(histogram.unit, "s");
        assert_eq!(point.explicit_bounds, [0.5, 1.0]);
        assert_eq!(point.bucket_counts, [2, 3, 1]);
        assert_eq!((point.sum, point.count), (Some(4.5), 6));
    }
}
