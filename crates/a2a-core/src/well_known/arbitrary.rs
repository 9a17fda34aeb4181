//! Random values for the tests of this module.

use proptest::{
    collection::{btree_map, vec},
    num::f64,
    prelude::{Just, Strategy, any, prop_oneof},
};

use super::{Number, Value};

/// Any value, a few levels deep.
pub(super) fn value() -> impl Strategy<Value = Value> {
    nested(prop_oneof![
        any::<i64>().prop_map(Number::from),
        any::<u64>().prop_map(Number::from),
        double()
    ])
}

/// Any value whose numbers a double holds, as those on the protobuf wire.
pub(super) fn value_of_doubles() -> impl Strategy<Value = Value> {
    nested(double())
}

fn double() -> impl Strategy<Value = Number> {
    let doubles = f64::NORMAL | f64::SUBNORMAL | f64::ZERO;
    prop_oneof![
        (-1000_i32..1000).prop_map(Number::from),
        any::<i64>().prop_map(|integer| Number::from_f64(integer as f64).unwrap()),
        doubles.prop_map(|double| Number::from_f64(double).unwrap()),
    ]
}

fn nested(number: impl Strategy<Value = Number> + 'static) -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        number.prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    scalar.prop_recursive(6, 64, 8, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..8).prop_map(Value::Array),
            btree_map(".{0,5}", inner, 0..8).prop_map(|fields| Value::Object(fields.into())),
        ]
    })
}
