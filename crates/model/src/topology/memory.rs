//! Memory that the memory manager's static policy pins to zones.
//!
//! A zone serves either containers that lie in it alone or containers of one group of zones. Memory
//! of a group is taken from its lowest zone first and given back there first, whoever took it.

use super::ask::{ContainerAsk, ContainerRole, PodAsk};
use super::hints::Hints;
use super::machine::{MEMORY_KINDS_MAX, Machine, Memory};
use super::merge::Affinity;
use super::predict::RejectionCause;
use super::state::{MemoryState, ZoneMemory};
use super::taken::Block;
use super::zones::{MaskSet, Sums, ZONES_MAX, ZoneMask};

/// What is asked of every kind of memory, by its place; nothing where a kind is not mentioned.
type Amounts = [Option<u64>; MEMORY_KINDS_MAX];

/// Memory of init containers that later containers of the pod may use again, by the zones it lies
/// in.
pub(super) type Reusable = Vec<(ZoneMask, [u64; MEMORY_KINDS_MAX])>;

/// What a container asks for; an error if it asks for a kind that the machine has not.
fn asked(memory: &Memory, ask: &ContainerAsk) -> Result<Amounts, RejectionCause> {
    let mut amounts = [None; MEMORY_KINDS_MAX];
    for (resource, amount) in &ask.memory {
        let kind = memory.kind(*resource).ok_or(RejectionCause::MemoryKindUnknown(*resource))?;
        amounts[kind] = Some(*amount);
    }
    Ok(amounts)
}

/// Adds what the memory manager answers for a container.
pub(super) fn hints_of_container(
    machine: &Machine,
    state: &MemoryState,
    reusable: &Reusable,
    ask: &ContainerAsk,
    add: impl FnMut(&Hints),
) {
    let Some(memory) = &machine.memory else { return };
    if let Ok(amounts) = asked(memory, ask) {
        add_hints(machine, memory, state, reusable, &amounts, add);
    }
}

/// Adds what the memory manager answers for a pod as a whole.
pub(super) fn hints_of_pod(
    machine: &Machine,
    state: &MemoryState,
    ask: &PodAsk,
    add: impl FnMut(&Hints),
) {
    let Some(memory) = &machine.memory else { return };
    let mut amounts = [None; MEMORY_KINDS_MAX];
    for (amount, kind) in amounts.iter_mut().zip(&memory.kinds) {
        *amount = ask.memory(*kind);
    }
    add_hints(machine, memory, state, &Vec::new(), &amounts, add);
}

/// The same sets will do for every kind. If none does, the manager says so only when it allocates.
fn add_hints(
    machine: &Machine,
    memory: &Memory,
    state: &MemoryState,
    reusable: &Reusable,
    amounts: &Amounts,
    mut add: impl FnMut(&Hints),
) {
    let (possible, preferred) = masks(machine, memory, state, reusable, amounts);
    if !possible.is_empty() {
        let hints = Hints::new(possible, preferred);
        amounts.iter().flatten().for_each(|_| add(&hints));
    }
}

/// Sets of zones that could serve these amounts, and the narrowest of them.
fn masks(
    machine: &Machine,
    memory: &Memory,
    state: &MemoryState,
    reusable: &Reusable,
    amounts: &Amounts,
) -> (MaskSet, MaskSet) {
    let mut narrowest = machine.zone_ids().len();
    let mut possible = MaskSet::EMPTY;
    if amounts.iter().flatten().next().is_none() {
        return (possible, MaskSet::EMPTY);
    }
    let zones = machine.zone_ids().len();
    let sums = |of: &[[u64; ZONES_MAX]], kind: usize| {
        amounts[kind].and(of.get(kind)).map(|of| Sums::new(of, zones))
    };
    let allocatable: [_; MEMORY_KINDS_MAX] =
        std::array::from_fn(|kind| sums(&memory.allocatable, kind));
    let free: [_; MEMORY_KINDS_MAX] = std::array::from_fn(|kind| sums(&state.free, kind));
    for mask in machine.all_zones().subsets() {
        let has = |of: &Option<Sums>, more: u64, amount: u64| {
            of.as_ref().is_some_and(|of| of.of(mask).saturating_add(more) >= amount)
        };
        let asked = || amounts.iter().enumerate().filter_map(|(kind, of)| Some((kind, (*of)?)));
        if !asked().all(|(kind, amount)| has(&allocatable[kind], 0, amount)) {
            continue;
        }
        narrowest = narrowest.min(mask.count());
        let again = reusable.iter().find(|(zones, _)| *zones == mask);
        let again = |kind: usize| again.map_or(0, |(_, amounts)| amounts[kind]);
        if is_open(state, mask)
            && asked().all(|(kind, amount)| has(&free[kind], again(kind), amount))
        {
            possible.insert(mask);
        }
    }
    let mut preferred = MaskSet::EMPTY;
    for mask in possible.iter().filter(|mask| mask.count() == narrowest) {
        preferred.insert(mask);
    }
    (possible, preferred)
}

/// Whether zones may serve a container together: alone if in no group, else free or the same group.
fn is_open(state: &MemoryState, mask: ZoneMask) -> bool {
    let is_single = mask.count() == 1;
    mask.places().all(|place| {
        let zone = &state.zones[place];
        if is_single {
            zone.group.count() == 1
        } else {
            zone.assignments == 0 || zone.group == mask
        }
    })
}

/// Gives a container its memory: `blocks` are those of the pod so far, with the containers' places.
pub(super) fn allocate(
    machine: &Machine,
    state: &mut MemoryState,
    reusable: &mut Reusable,
    ask: &PodAsk,
    container: usize,
    affinity: Affinity,
    blocks: &mut Vec<Block>,
) -> Result<(), RejectionCause> {
    let Some(memory) = &machine.memory else { return Ok(()) };
    let role = ask.containers[container].role;
    let amounts = asked(memory, &ask.containers[container])?;
    if amounts.iter().flatten().next().is_none() {
        return Ok(());
    }
    let zones = zones_for(machine, memory, state, reusable, &amounts, affinity)?;
    let first = blocks.len();
    for (kind, amount) in amounts.iter().enumerate() {
        let Some(amount) = *amount else { continue };
        blocks.push(Block { container, zones, kind, amount, is_init: role == ContainerRole::Init });
        let again = reusable.iter().find(|(of, _)| *of == zones);
        let again = again.map_or(0, |(_, amounts)| amounts[kind]);
        state.take(zones, kind, amount.saturating_sub(again));
    }
    reuse(reusable, role, zones, &amounts);
    let (before, ours) = blocks.split_at_mut(first);
    ours.iter().for_each(|block| take_over(before, block));
    Ok(())
}

/// The zones that a container gets its memory from.
fn zones_for(
    machine: &Machine,
    memory: &Memory,
    state: &MemoryState,
    reusable: &Reusable,
    amounts: &Amounts,
    affinity: Affinity,
) -> Result<ZoneMask, RejectionCause> {
    let (possible, preferred) = masks(machine, memory, state, reusable, amounts);
    let best = |within: ZoneMask| {
        let narrower =
            |best: ZoneMask, mask: ZoneMask| if mask.is_narrower(best) { mask } else { best };
        let find =
            |masks: &MaskSet| masks.iter().filter(|of| within.is_within(*of)).reduce(narrower);
        let wanted = find(&preferred);
        wanted.map(|mask| (mask, true)).or_else(|| find(&possible).map(|mask| (mask, false)))
    };
    let mut is_preferred = affinity.is_preferred;
    let mut widen = |mask: ZoneMask| match best(mask) {
        Some((_, false)) if is_preferred => Err(RejectionCause::MemoryNotPreferred),
        Some((mask, as_preferred)) => {
            is_preferred = as_preferred;
            Ok(mask)
        }
        None => Err(RejectionCause::MemoryTaken),
    };
    let mut zones = match affinity.mask {
        Some(mask) => mask,
        None => widen(ZoneMask::EMPTY)?,
    };
    let is_enough = amounts.iter().enumerate().all(|(kind, amount)| {
        let free = zones.places().map(|zone| state.free[kind][zone]);
        free.fold(0, u64::saturating_add) >= amount.unwrap_or(0)
    });
    if !is_enough {
        zones = widen(zones)?;
    }
    let is_foreign = |zone: &ZoneMemory| zone.assignments > 0 && zone.group != zones;
    if zones.count() > 1 && zones.places().any(|place| is_foreign(&state.zones[place])) {
        return Err(RejectionCause::MemoryGrouped);
    }
    Ok(zones)
}

/// An init container leaves its memory to those behind it, others use it up.
fn reuse(reusable: &mut Reusable, role: ContainerRole, zones: ZoneMask, amounts: &Amounts) {
    let place = reusable.iter().position(|(of, _)| *of == zones);
    let row = match (place, role) {
        (Some(place), _) => &mut reusable[place].1,
        (None, ContainerRole::Init) => {
            reusable.push((zones, [0; MEMORY_KINDS_MAX]));
            &mut reusable.last_mut().expect("it was just pushed").1
        }
        (None, ContainerRole::Sidecar | ContainerRole::App) => return,
    };
    for (left, amount) in row.iter_mut().zip(amounts) {
        let Some(amount) = *amount else { continue };
        match role {
            ContainerRole::Init => *left = (*left).max(amount),
            ContainerRole::Sidecar | ContainerRole::App => *left = left.saturating_sub(amount),
        }
    }
}

/// Blocks of init containers shrink by what a later container uses of them, so that all blocks
/// together are what the pod holds.
fn take_over(before: &mut [Block], block: &Block) {
    let mut amount = block.amount;
    let is_its = |of: &&mut Block| of.is_init && of.zones == block.zones && of.kind == block.kind;
    for earlier in before.iter_mut().filter(is_its) {
        let used = amount.min(earlier.amount);
        earlier.amount -= used;
        amount -= used;
    }
}

impl MemoryState {
    /// Takes memory of zones, the lowest first.
    pub(super) fn take(&mut self, zones: ZoneMask, kind: usize, mut amount: u64) {
        for zone in zones.places() {
            self.zones[zone].assignments += 1;
            self.zones[zone].group = zones;
            let taken = amount.min(self.free[kind][zone]);
            self.free[kind][zone] -= taken;
            amount -= taken;
        }
    }

    /// Gives memory of zones back, the lowest first.
    pub(super) fn give_back(&mut self, memory: &Memory, block: &Block) {
        let mut amount = block.amount;
        for place in block.zones.places() {
            let zone = &mut self.zones[place];
            zone.assignments = zone.assignments.saturating_sub(1);
            if zone.assignments == 0 {
                zone.group = ZoneMask::of(place);
            }
            let free = &mut self.free[block.kind][place];
            let given = amount.min(memory.allocatable[block.kind][place].saturating_sub(*free));
            *free += given;
            amount -= given;
        }
    }
}
