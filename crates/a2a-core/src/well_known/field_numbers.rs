//! The field numbers of `google.protobuf.Value`, `Struct` and `ListValue`.

pub(super) const NULL_VALUE: u32 = 1;
pub(super) const NUMBER_VALUE: u32 = 2;
pub(super) const STRING_VALUE: u32 = 3;
pub(super) const BOOL_VALUE: u32 = 4;
pub(super) const STRUCT_VALUE: u32 = 5;
pub(super) const LIST_VALUE: u32 = 6;

pub(super) const STRUCT_FIELDS: u32 = 1;
pub(super) const ENTRY_KEY: u32 = 1;
pub(super) const ENTRY_VALUE: u32 = 2;
pub(super) const LIST_VALUES: u32 = 1;
