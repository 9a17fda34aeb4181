//! Runs the behaviours of each older revision over JSON-RPC.

use a2a_tests::revision_suite;

revision_suite!(v0_1: v0_1 JSONRPC_V0_1);
revision_suite!(v0_3: v0_3 JSONRPC_V0_3);
revision_suite!(draft: draft JSONRPC_DRAFT);
revision_suite!(v0_3: v0_3_at_path JSONRPC_V0_3_AT_PATH);
