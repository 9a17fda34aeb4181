//! Runs the behaviours at the seats of the older revisions over gRPC, as far as the revision has
//! them.

use a2a_tests::repertoire;

repertoire!(v0_3: v0_3 GRPC_V0_3);
repertoire!(draft: draft GRPC_DRAFT);
