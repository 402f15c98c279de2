//! Runs a target on inputs from a fixed seed. bolero's own engine draws others in every run.

use std::ops::Range;

use bolero::bolero_engine::{driver, input, panic};
use bolero::{Engine, Test};
use rand::{Rng as _, RngExt as _, SeedableRng as _};
use rand_chacha::ChaCha8Rng;

/// How long inputs are: enough for one change to a document, and for a handful.
const BYTES: Range<usize> = 16..64;

const SEED: u64 = 1;

/// So many inputs, always the same.
#[derive(Clone, Copy, Debug)]
pub(super) struct FromSeed {
    pub(super) inputs: u32,
}

impl<T: Test> Engine<T> for FromSeed
where
    T::Value: std::fmt::Debug,
{
    type Output = ();

    fn run(self, mut test: T, options: driver::Options) {
        // A panic is taken for an answer until the input is made smaller.
        panic::set_hook();
        panic::forward_panic(false);
        let mut dice = ChaCha8Rng::seed_from_u64(SEED);
        let inputs = self.inputs.saturating_mul(times());
        for number in 0..inputs {
            let length = dice.random_range(BYTES);
            let mut bytes = vec![0; length];
            dice.fill_bytes(&mut bytes);
            let Err(error) = test.test(&mut input::Bytes::new(&bytes, &options)) else { continue };
            let smaller = test.shrink(bytes.clone(), None, &options);
            let (error, bytes) = match smaller {
                Some(failure) => (failure.error, format!("{:?}", failure.input)),
                None => (error, format!("{bytes:?}")),
            };
            panic::forward_panic(true);
            panic!("input {number} of {inputs}: {error}\n{bytes}");
        }
        panic::forward_panic(true);
    }
}

/// How many times as many inputs as usual are wanted, for a longer look than `make test` takes.
fn times() -> u32 {
    let times = std::env::var("FUZZ_TIMES").ok();
    times.map_or(1, |times| times.parse().expect("FUZZ_TIMES is a number"))
}
