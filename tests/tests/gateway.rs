//! Runs the behaviours that both revisions have through gateways between revisions.

use a2a_tests::revision_suite;

revision_suite!(v0_3: jsonrpc_v0_3_over_grpc JSONRPC_V0_3_OVER_GRPC);
revision_suite!(v0_3: grpc_over_jsonrpc_v0_3 GRPC_OVER_JSONRPC_V0_3);
revision_suite!(rest_v0_3: grpc_over_rest_v0_3 GRPC_OVER_REST_V0_3);
revision_suite!(v0_1: jsonrpc_v0_1_over_jsonrpc JSONRPC_V0_1_OVER_JSONRPC);
