//! Runs the behaviours of each older revision over gRPC.

use a2a_tests::revision_suite;

revision_suite!(v0_3: v0_3 GRPC_V0_3);
revision_suite!(draft: draft GRPC_DRAFT);
revision_suite!(v0_3: v0_3_at_host GRPC_V0_3_AT_HOST);
