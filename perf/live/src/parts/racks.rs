//! Native gangs of which each must be within one rack.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use tokio::time::sleep;

use crate::contender::{Contender, Running};
use crate::figures::median;
use crate::objects::{RACK_NODES, Workload, gang_of, rack_of};
use crate::parts::{Bench, SCHEDULERS};
use crate::run::{Arrival, events, follow};
use crate::stage::Stage;
use crate::watch::Bound;

/// Pods of a gang. Small ones wait already, and what counts is how fast they are bound. A large one
/// is thought about before its first pod is bound, so it arrives while the scheduler runs, and the
/// time counts from the first request on.
const SIZES: [(usize, Arrival); 2] = [(4, Arrival::Before), (1_000, Arrival::Meanwhile)];
/// kube-scheduler is given so many times fewer small gangs: it would not place all in time.
const FEWER: usize = 10;
/// After the start, before gangs are created.
const SETTLE: Duration = Duration::from_secs(3);

/// What was measured of a run.
struct Measured {
    rate: f64,
    cpu_us: f64,
}

/// Lets schedulers bind gangs of both sizes.
pub(crate) async fn measure(bench: &mut Bench) -> Result<()> {
    let (nodes, counts) = bench.sizes.racks;
    let stage = Stage::start_with_racks(&bench.programs, nodes).await?;
    let [small, large] = counts;
    println!("\nRacks: native gangs that must be within one rack, {nodes} nodes in racks of");
    println!("{RACK_NODES}: {small} of 4 that wait, for kube-scheduler a tenth; {large} of 1,000");
    println!("that arrive, from the first request on. Medians of {}.\n", bench.sizes.repeats);
    println!("{:<26} {:>5} {:>8} {:>9}", "", "size", "pods/s", "us/pod");
    for ((size, arrival), count) in SIZES.into_iter().zip(counts) {
        let mut rows = Vec::new();
        for contender in bench.present(&SCHEDULERS) {
            let is_fewer = contender == Contender::KubeScheduler && arrival == Arrival::Before;
            let gangs = if is_fewer { count.div_ceil(FEWER) } else { count };
            let (mut rates, mut cpu) = (vec![], vec![]);
            for _ in 0..bench.sizes.repeats {
                let measured = run(&stage, contender, (size, arrival), gangs).await?;
                rates.push(measured.rate);
                cpu.push(measured.cpu_us);
            }
            let (rate, cpu) = (median(rates), median(cpu));
            println!("{:<26} {size:>5} {rate:>8.0} {cpu:>9.0}", contender.title());
            let of = format!("{size}_{}", contender.name());
            bench.figures.put(format!("live_racks_pods_per_second_{of}"), rate);
            bench.figures.put(format!("live_racks_cpu_us_per_pod_{of}"), cpu);
            rows.push((contender, rate, cpu));
        }
        let of = |whom| rows.iter().find(|(contender, ..)| *contender == whom);
        let pair = of(Contender::KubeNexus).zip(of(Contender::KubeScheduler));
        if let Some(((_, rate, cpu), (_, their_rate, their_cpu))) = pair {
            bench
                .figures
                .put(format!("live_racks_rate_over_kube_scheduler_{size}"), rate / their_rate);
            bench.figures.put(format!("live_racks_cpu_ratio_{size}"), their_cpu / cpu);
        }
    }
    Ok(())
}

async fn run(
    stage: &Stage,
    contender: Contender,
    (size, arrival): (usize, Arrival),
    gangs: usize,
) -> Result<Measured> {
    let namespace = stage.namespace().await?;
    let measured = bind(stage, contender, &namespace, (size, arrival), gangs).await;
    let placed = stage.placements(&namespace).await;
    stage.delete_pods(&namespace).await?;
    let Measured { rate, cpu_us } = measured.with_context(|| contender.title())?;
    check(&placed?, size).with_context(|| contender.title())?;
    let title = contender.title();
    eprintln!("  {title:>26} {gangs:>5} gangs of {size:>4} {rate:>6.0} pods/s {cpu_us:>7.0} us");
    Ok(Measured { rate, cpu_us })
}

async fn bind(
    stage: &Stage,
    contender: Contender,
    namespace: &str,
    (size, arrival): (usize, Arrival),
    gangs: usize,
) -> Result<Measured> {
    let pods = gangs * size;
    let create = || stage.create_pods(namespace, Workload::Racks(size), pods);
    let (mut running, cpu_before, counted, span) = match arrival {
        Arrival::Before => {
            create().await?;
            let bound = Bound::open(&stage.client, namespace).await?;
            let mut running = Running::start(stage, contender, namespace).await?;
            let pace = follow(bound, &mut running, pods).await?;
            (running, pace.cpu_before, pods - 1, pace.span)
        }
        Arrival::Meanwhile => {
            let bound = Bound::open(&stage.client, namespace).await?;
            let mut running = Running::start(stage, contender, namespace).await?;
            running.ready().await?;
            sleep(SETTLE).await;
            let (cpu_before, began) = (running.cpu()?, Instant::now());
            let ((), pace) = tokio::try_join!(create(), follow(bound, &mut running, pods))?;
            (running, cpu_before, pods, pace.last - began)
        }
    };
    events(stage, contender, namespace, pods).await?;
    let cpu = running.cpu()?.saturating_sub(cpu_before);
    running.kill()?;
    Ok(Measured {
        rate: counted as f64 / span.as_secs_f64(),
        cpu_us: cpu.as_secs_f64() * 1e6 / pods as f64,
    })
}

/// Every gang is within one rack: whoever does not know that would be fast.
fn check(placed: &[(String, String)], size: usize) -> Result<()> {
    let mut racks = BTreeMap::new();
    for (pod, node) in placed {
        let gang = gang_of(pod, size).with_context(|| format!("pod {pod} is in no gang"))?;
        ensure!(!node.is_empty(), "pod {pod} is on no node");
        let rack = rack_of(node);
        let other = *racks.entry(gang).or_insert(rack);
        if rack != other {
            bail!("gang {gang} is in two racks, {other} and {rack}");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gang_in_two_racks_is_found() {
        let on = |pod: &str, node: &str| (pod.to_owned(), node.to_owned());
        let mut placed = vec![
            on("pod-0", "pool-0-1-5"),
            on("pod-1", "pool-0-1-99"),
            on("pod-2", "pool-0-2-5"),
            on("pod-3", "pool-0-2-6"),
        ];
        assert!(check(&placed, 2).is_ok());
        placed[3].1 = "pool-1-2-6".into();
        let error = check(&placed, 2).expect_err("two racks").to_string();
        assert_eq!(error, "gang 1 is in two racks, pool-0-2 and pool-1-2");
        placed[3].1 = String::new();
        assert_eq!(check(&placed, 2).expect_err("no node").to_string(), "pod pod-3 is on no node");
    }
}
