//! Runs the behaviours of each older revision over HTTP+JSON.

use a2a_tests::revision_suite;

revision_suite!(rest_v0_3: rest_v0_3 REST_V0_3);
revision_suite!(draft: rest_draft REST_DRAFT);
revision_suite!(rest_v0_3: rest_v0_3_at_path REST_V0_3_AT_PATH);
