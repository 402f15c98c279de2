//! How long a scheduler takes to be ready in a full cluster, beside a bare list of it.

use std::time::{Duration, Instant};

use anyhow::Result;
use http::{Request, header};
use http_body_util::BodyExt as _;
use kube::Client;
use kube::client::Body;
use tokio::time::sleep;

use crate::client;
use crate::contender::{Contender, Running};
use crate::figures::median;
use crate::objects::Workload;
use crate::parts::{Bench, SCHEDULERS};
use crate::run::follow;
use crate::stage::Stage;
use crate::watch::Bound;

/// Objects on a page.
const PAGE: usize = 500;
/// The API server is left alone between measurements.
const REST: Duration = Duration::from_secs(1);

/// Fills a cluster through the null binder, lists it, and starts each scheduler.
pub(crate) async fn measure(bench: &mut Bench) -> Result<()> {
    let (nodes, pods) = bench.sizes.restart;
    let stage = Stage::start(&bench.programs, nodes).await?;
    let namespace = stage.namespace().await?;
    stage.create_pods(&namespace, Workload::Diverse, pods).await?;
    let bound = Bound::open(&stage.client, &namespace).await?;
    let mut binder = Running::start(&stage, Contender::NullBinder, &namespace).await?;
    follow(bound, &mut binder, pods).await?;
    binder.kill()?;
    eprintln!("  {pods} pods are bound");
    sleep(REST).await;

    let contenders = bench.present(&SCHEDULERS);
    let mut rows: Vec<_> = contenders.iter().map(|c| (*c, Vec::new(), Vec::new())).collect();
    let (mut lists, mut lists_beside) = (Vec::new(), Vec::new());
    for _ in 0..bench.sizes.repeats {
        for (contender, took, peaks) in &mut rows {
            let beside = list_beside(&stage.client).await?;
            sleep(REST).await;
            let list = list_all(&stage.client).await?;
            let mut running = Running::start(&stage, *contender, &namespace).await?;
            running.ready().await?;
            let ready = running.began.elapsed().as_secs_f64();
            let peak = running.peak_mib()?;
            eprintln!(
                "  list {list:.2} s, both kinds at a time {beside:.2} s; {} ready after \
                 {ready:.2} s, {peak:.0} MiB",
                contender.title()
            );
            running.kill()?;
            took.push((ready, ready / list));
            peaks.push(peak);
            lists.push(list);
            lists_beside.push(beside);
            sleep(REST).await;
        }
    }
    println!("\nRestart with {nodes} nodes and {pods} bound pods: until /readyz says so, beside a");
    println!("bare list in pages of {PAGE}, one kind after the other; median.\n");
    println!("{:<26} {:>7} {:>12} {:>7}", "", "s", "of the list", "MiB");
    let (list, beside) = (median(lists), median(lists_beside));
    println!("{:<26} {list:>7.2}", "list");
    println!("{:<26} {beside:>7.2}", "list, both at a time");
    bench.figures.put("live_restart_list_s", list);
    bench.figures.put("live_restart_list_both_at_a_time_s", beside);
    for (contender, took, peaks) in rows {
        let seconds = median(took.iter().map(|(seconds, _)| *seconds));
        let ratio = median(took.iter().map(|(_, ratio)| *ratio));
        let peak = median(peaks);
        println!("{:<26} {seconds:>7.2} {ratio:>12.2} {peak:>7.1}", contender.title());
        let of = contender.suffix();
        bench.figures.put(format!("live_restart_s{of}"), seconds);
        bench.figures.put(format!("live_restart_ratio{of}"), ratio);
        bench.figures.put(format!("live_restart_peak_mib{of}"), peak);
    }
    Ok(())
}

const KINDS: [&str; 2] = ["/api/v1/nodes", "/api/v1/pods"];

/// Seconds to list nodes, and then pods.
async fn list_all(client: &Client) -> Result<f64> {
    let began = Instant::now();
    for path in KINDS {
        list(client, path).await?;
    }
    Ok(began.elapsed().as_secs_f64())
}

/// Seconds to list nodes and pods at the same time.
async fn list_beside(client: &Client) -> Result<f64> {
    let began = Instant::now();
    tokio::try_join!(list(client, KINDS[0]), list(client, KINDS[1]))?;
    Ok(began.elapsed().as_secs_f64())
}

/// Reads all pages and throws them away.
async fn list(client: &Client, path: &str) -> Result<()> {
    let mut next = Some(String::new());
    while let Some(token) = next {
        let page = format!("{path}?limit={PAGE}&continue={token}");
        let request = Request::get(&page).header(header::ACCEPT, "application/json");
        let response = client.send(request.body(Body::empty())?).await?;
        let status = response.status();
        let mut body = response.into_body();
        // The head of the page names the next one.
        let mut head = Vec::new();
        while let Some(frame) = body.frame().await {
            let piece = frame?.into_data().unwrap_or_default();
            if head.len() < HEAD {
                head.extend_from_slice(&piece);
            }
        }
        if !status.is_success() {
            return Err(client::refusal(&page, status, &head));
        }
        next = next_page(&head);
    }
    Ok(())
}

/// The metadata of a list is within so many bytes.
const HEAD: usize = 4_096;

fn next_page(head: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(head);
    let (metadata, _) = text.split_once("\"items\":")?;
    let (_, token) = metadata.split_once("\"continue\":\"")?;
    Some(token.split_once('"')?.0.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_named_before_the_items() {
        let check = |head: &str| next_page(head.as_bytes());
        let metadata = r#"{"kind":"PodList","metadata":{"resourceVersion":"7","continue":"abc"},"#;
        assert_eq!(check(&format!("{metadata}\"items\":[")).as_deref(), Some("abc"));
        assert_eq!(check(r#"{"metadata":{},"items":[{"continue":"no"}]}"#), None);
    }
}
