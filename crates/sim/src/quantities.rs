//! The resources of the demo: cpu, memory and GPUs.

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

/// The three resources among any amounts.
pub(crate) fn columns(amounts: &Amounts<String>) -> Columns {
    let gpus = amounts.scalars.iter().find(|(name, _)| name == GPU);
    [amounts.cpu, amounts.memory, gpus.map_or(0, |(_, count)| *count)]
}
