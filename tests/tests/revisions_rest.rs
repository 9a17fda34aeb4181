//! Runs the behaviours over the HTTP+JSON of older revisions, as far as they have them.

use a2a_tests::repertoire;

repertoire!(rest_v0_3: rest_v0_3 REST_V0_3);
repertoire!(draft: rest_draft REST_DRAFT);
