//! The resources that worlds are measured by: cpu, memory and GPUs.

use model::{Amounts, Charge, Requests};

pub(crate) const GPU: &str = "nvidia.com/gpu";
pub(crate) const MIB: i64 = 1 << 20;
pub(crate) const GIB_IN_MIB: i64 = 1 << 10;

/// Thousandths of a CPU, bytes of memory, GPUs.
pub(crate) type Columns = [i64; 3];

/// Amounts of the three resources.
pub(crate) fn amounts(cpu_milli: i64, memory_mib: i64, gpus: i64) -> Amounts<String> {
    let scalars = if gpus > 0 { Box::from([(GPU.to_owned(), gpus)]) } else { Box::default() };
    Amounts { cpu: cpu_milli, memory: memory_mib * MIB, ephemeral: 0, scalars }
}

/// The requests of a pod with one container.
pub(crate) fn requests(cpu_milli: i64, memory_mib: i64, gpus: i64) -> Requests<String> {
    requests_of(amounts(cpu_milli, memory_mib, gpus))
}

/// The requests of a pod that asks for these amounts and names all of them.
pub(crate) fn requests_of(amounts: Amounts<String>) -> Requests<String> {
    Requests {
        fit: amounts.clone(),
        charge: Charge {
            scored_cpu: amounts.cpu,
            scored_memory: amounts.memory,
            amounts: amounts.clone(),
        },
        fullness: amounts,
    }
}

/// The three resources among any amounts. Every resource whose name ends in `/gpu` counts GPUs; a
/// slice of one (`nvidia.com/mig-...`) counts as one.
pub(crate) fn columns(amounts: &Amounts<String>) -> Columns {
    let is_gpu = |name: &str| name.ends_with("/gpu") || name.starts_with("nvidia.com/mig-");
    let gpus = amounts.scalars.iter().filter(|(name, _)| is_gpu(name)).map(|(_, count)| *count);
    [amounts.cpu, amounts.memory, gpus.fold(0, i64::saturating_add)]
}

/// Adds amounts (`sign` 1) or takes them away (`sign` -1).
pub(crate) fn add(to: &mut Columns, amounts: Columns, sign: i64) {
    for (total, amount) in to.iter_mut().zip(amounts) {
        *total = total.saturating_add(sign * amount);
    }
}

/// A part in thousandths of the whole; nothing of nothing is none. Pods that were on a node before
/// anyone looked can ask for more than there is.
pub(crate) fn permille(part: i128, whole: i128) -> u32 {
    const PERMILLE_MAX: i128 = 1_000_000;
    let permille = (part * 1000 + whole / 2).checked_div(whole).unwrap_or(0);
    u32::try_from(permille.clamp(0, PERMILLE_MAX)).expect("it was just bounded")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpus_of_every_maker_and_slices_count() {
        let scalars = [("amd.com/gpu", 2), ("nvidia.com/gpu", 3), ("nvidia.com/mig-1g.5gb", 4)];
        let other = [("example.com/gpu-memory", 99), ("hugepages-2Mi", 7)];
        let scalars = scalars.into_iter().chain(other).map(|(name, count)| (name.into(), count));
        let amounts = Amounts { scalars: scalars.collect(), ..Amounts::default() };
        assert_eq!(columns(&amounts), [0, 0, 9]);
    }

    #[test]
    fn shares_are_rounded_and_nothing_of_nothing_is_none() {
        assert_eq!(
            [permille(1, 3), permille(2, 3), permille(5, 5), permille(0, 0)],
            [333, 667, 1000, 0]
        );
        assert_eq!(permille(i128::from(i64::MAX), 1), 1_000_000);
    }
}
