//! Runs the behaviours at the seats of the older revisions, as far as the revision has them.

use a2a_tests::repertoire;

repertoire!(v0_1: v0_1 JSONRPC_V0_1);
repertoire!(v0_3: v0_3 JSONRPC_V0_3);
repertoire!(draft: draft JSONRPC_DRAFT);
