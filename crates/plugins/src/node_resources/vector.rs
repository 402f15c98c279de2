//! Loops over columns, compiled for what the machine can do: eight nodes at a time where it has
//! AVX-512, four where it has AVX2, and a product and a sum in one step.

/// A loop over columns. `IS_FUSED` says whether a product and a sum in one step cost no more than
/// either: everything it calls must be inlined, or it is compiled for any machine.
pub(crate) trait Kernel {
    fn run<const IS_FUSED: bool>(self);
}

/// Runs a loop.
#[inline]
pub(crate) fn run(kernel: impl Kernel) {
    #[cfg(target_arch = "x86_64")]
    {
        use fearless_simd::{Level, Simd};
        let level = Level::new();
        match (level.as_avx512(), level.as_avx2()) {
            (Some(avx512), _) => avx512.vectorize(
                #[inline(always)]
                || kernel.run::<true>(),
            ),
            (None, Some(avx2)) => avx2.vectorize(
                #[inline(always)]
                || kernel.run::<true>(),
            ),
            (None, None) => kernel.run::<false>(),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    kernel.run::<{ cfg!(target_arch = "aarch64") }>();
}
