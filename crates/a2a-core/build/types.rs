//! The types: prost's, with types of this crate for the well-known ones.

/// Returns the configuration for the types of a package.
pub(crate) fn config() -> prost_build::Config {
    let mut config = prost_build::Config::new();
    config
        .compile_well_known_types()
        .extern_path(".google.protobuf.Timestamp", "crate::well_known::Timestamp")
        .extern_path(".google.protobuf.Struct", "crate::well_known::Struct")
        .extern_path(".google.protobuf.Value", "crate::well_known::Value")
        .extern_path(".google.protobuf.Empty", "()")
        .enable_type_names()
        .btree_map(["."])
        .bytes([".lf.a2a.v1.Part"]);
    config
}
