//! Runs the behaviours through gateways between revisions, as far as both have them.

use a2a_tests::repertoire;

repertoire!(v0_3: jsonrpc_v0_3_over_grpc JSONRPC_V0_3_OVER_GRPC);
repertoire!(v0_3: grpc_over_jsonrpc_v0_3 GRPC_OVER_JSONRPC_V0_3);
repertoire!(rest_v0_3: grpc_over_rest_v0_3 GRPC_OVER_REST_V0_3);
repertoire!(v0_1: jsonrpc_v0_1_over_jsonrpc JSONRPC_V0_1_OVER_JSONRPC);
