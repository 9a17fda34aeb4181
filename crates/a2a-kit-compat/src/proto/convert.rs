//! Conversions of messages whose members mostly have the same names in 1.0.

/// Implements the conversions from and to the message of 1.0 with the same name: of members that
/// are the same, and of optional members and lists that are converted, with their names in 1.0.
/// Members that only one of them has get their default.
macro_rules! convert {
    ($(
        $message:ident:
            same($($same:ident),*),
            optional($($optional:ident = $optional_in_v1:ident),*),
            lists($($list:ident = $list_in_v1:ident),*);
    )*) => {$(
        #[allow(clippy::needless_update, reason = "most messages have the same members")]
        impl From<$message> for ::a2a_core::v1::$message {
            fn from(message: $message) -> Self {
                Self {
                    $($same: message.$same,)*
                    $($optional_in_v1: message.$optional.map(Into::into),)*
                    $($list_in_v1: message.$list.into_iter().map(Into::into).collect(),)*
                    ..Self::default()
                }
            }
        }

        #[allow(clippy::needless_update, reason = "most messages have the same members")]
        impl From<::a2a_core::v1::$message> for $message {
            fn from(message: ::a2a_core::v1::$message) -> Self {
                Self {
                    $($same: message.$same,)*
                    $($optional: message.$optional_in_v1.map(Into::into),)*
                    $($list: message.$list_in_v1.into_iter().map(Into::into).collect(),)*
                    ..Self::default()
                }
            }
        }
    )*};
}
pub(super) use convert;

/// Implements the conversions from and to the message of 1.0 with the same name, which has one union:
/// of its variants, with their names in 1.0, without those that only 1.0 has.
macro_rules! convert_union {
    ($message:ident.$union:ident: $module:ident::$type:ident
        { $($variant:ident = $variant_in_v1:ident),* $(,)? } $(without $missing:ident)?
    ) => {
        #[allow(deprecated, reason = "cards name the deprecated flows, too")]
        impl From<$message> for ::a2a_core::v1::$message {
            fn from(message: $message) -> Self {
                use ::a2a_core::v1::$module::$type as Current;
                let $union = message.$union.map(|value| match value {
                    $($module::$type::$variant(value) => Current::$variant_in_v1(value.into()),)*
                });
                Self { $union }
            }
        }

        #[allow(deprecated, reason = "cards name the deprecated flows, too")]
        impl From<::a2a_core::v1::$message> for $message {
            fn from(message: ::a2a_core::v1::$message) -> Self {
                use ::a2a_core::v1::$module::$type as Current;
                let $union = message.$union.and_then(|value| match value {
                    $(Current::$variant_in_v1(value) => {
                        Some($module::$type::$variant(value.into()))
                    })*
                    $(Current::$missing(_) => None,)?
                });
                Self { $union }
            }
        }
    };
}
pub(super) use convert_union;
