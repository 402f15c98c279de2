//! CPU of the schedulers when nothing happens, and at a steady rate.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, sleep_until};

use crate::client;
use crate::contender::{Contender, Running};
use crate::objects::Workload;
use crate::parts::{Bench, SCHEDULERS};
use crate::run::{events, follow};
use crate::stage::{Stage, pods_path};
use crate::watch::Bound;

const NODES: usize = 1_000;
/// Pods per second.
const RATE: u64 = 500;
/// Creations on their way at a time.
const AT_ONCE: usize = 64;
/// After the start, before nothing is measured.
const SETTLE: Duration = Duration::from_secs(3);

/// Starts each scheduler, leaves it alone, and then creates pods at a steady rate.
pub(crate) async fn measure(bench: &mut Bench) -> Result<()> {
    let stage = Stage::start(&bench.programs, NODES).await?;
    let seconds = bench.sizes.idle_seconds;
    let mut rows = Vec::new();
    for contender in bench.present(&SCHEDULERS) {
        let cores = one(&stage, contender, seconds).await?;
        eprintln!("  {}: {:.4} and {:.3} cores", contender.title(), cores.idle, cores.busy);
        rows.push((contender, cores));
    }
    println!("\nCores in use, {NODES} nodes: over {seconds} s of nothing, and for {seconds} s of");
    println!("{RATE} pods per second, all that follows included.\n");
    println!("{:<26} {:>8} {:>10}", "", "idle", "busy");
    for (contender, Cores { idle, busy }) in rows {
        println!("{:<26} {idle:>8.4} {busy:>10.3}", contender.title());
        let of = contender.suffix();
        bench.figures.put(format!("live_idle_cores{of}"), idle);
        bench.figures.put(format!("live_cores_at_{RATE}{of}"), busy);
    }
    Ok(())
}

struct Cores {
    idle: f64,
    busy: f64,
}

async fn one(stage: &Stage, contender: Contender, seconds: u64) -> Result<Cores> {
    let namespace = stage.namespace().await?;
    let bound = Bound::open(&stage.client, &namespace).await?;
    let mut running = Running::start(stage, contender, &namespace).await?;
    running.ready().await?;
    sleep(SETTLE).await;
    let start = running.cpu()?;
    sleep(Duration::from_secs(seconds)).await;
    let quiet = running.cpu()?;
    let pods = (RATE * seconds) as usize;
    let (_, ()) = tokio::try_join!(
        follow(bound, &mut running, pods),
        create_steadily(stage, &namespace, pods)
    )?;
    events(stage, contender, &namespace, pods).await?;
    let end = running.cpu()?;
    running.kill()?;
    stage.delete_pods(&namespace).await?;
    let cores = |used: Duration| used.as_secs_f64() / seconds as f64;
    Ok(Cores { idle: cores(quiet - start), busy: cores(end - quiet) })
}

async fn create_steadily(stage: &Stage, namespace: &str, pods: usize) -> Result<()> {
    let began = Instant::now();
    let permits = Arc::new(Semaphore::new(AT_ONCE));
    let mut tasks = JoinSet::new();
    for at in 0..pods {
        sleep_until(began + Duration::from_secs(1) * at as u32 / RATE as u32).await;
        let permit = permits.clone().acquire_owned().await?;
        let (client, path) = (stage.client.clone(), pods_path(namespace));
        let pod = Workload::Plain.pod(at).to_string();
        tasks.spawn(async move {
            let created = client::post(&client, &path, pod.into()).await;
            drop(permit);
            created
        });
    }
    while let Some(created) = tasks.join_next().await {
        created??;
    }
    Ok(())
}
