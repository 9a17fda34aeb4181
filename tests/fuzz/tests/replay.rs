//! Replays all seeds and findings of each target.

use a2a_fuzz::{TARGETS, run, seeds};

fn replay(target: &str) {
    let seeds = seeds::of(target);
    assert!(seeds.len() > 3, "{target} starts from nothing");
    for seed in seeds {
        run(target, &seed);
        // Also truncated, and with one bit flipped.
        for cut in [seed.len() / 3, seed.len() / 2, seed.len().saturating_sub(1)] {
            run(target, &seed[..cut]);
            let mut turned = seed.clone();
            if let Some(byte) = turned.get_mut(cut) {
                *byte ^= 1;
            }
            run(target, &turned);
        }
    }
}

macro_rules! replays {
    ($($target:ident,)*) => {
        $(#[test]
        fn $target() {
            replay(stringify!($target));
        })*

        #[test]
        fn every_target_is_replayed_and_fuzzed() {
            let names: Vec<_> = TARGETS.iter().map(|(name, _)| *name).collect();
            assert_eq!(names, [$(stringify!($target)),*]);
            let fuzz = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fuzz");
            let manifest = std::fs::read_to_string(format!("{fuzz}/Cargo.toml"));
            let manifest = manifest.expect("the manifest of the executables");
            for name in names {
                assert!(manifest.contains(&format!("name = \"{name}\"\n")), "{name}");
                let source = std::fs::read_to_string(format!("{fuzz}/fuzz_targets/{name}.rs"));
                assert!(source.expect(name).contains(&format!("run(\"{name}\", ")), "{name}");
            }
        }
    };
}

replays! { card, dialect, grpc, jsonrpc, message, page_token, rest, signature, sse, token, }
