//! Whole pages: well-formed, complete, and deaf to what names try to smuggle in.

use super::*;
use crate::demo::Demo;
use crate::run::Run;

fn part(nodes: u32, spoil: impl Fn(&mut crate::plan::Plan)) -> Part {
    let mut plan = Demo { seed: 42, nodes, minutes: 10 }.plan();
    spoil(&mut plan);
    let mut run = Run::new(plan);
    run.run_until(model::Time(300_000)).unwrap();
    let maps = vec![run.map()];
    Part {
        name: "a<b>.yaml".to_owned(),
        notes: vec!["a & b".to_owned()],
        report: run.finish().unwrap(),
        maps,
    }
}

/// Panics unless every tag is closed in the order it was opened.
fn check_tags(page: &str) {
    let mut open: Vec<&str> = Vec::new();
    let (_, body) = page.split_once("<!DOCTYPE html>").expect("the page says what it is");
    for piece in body.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').expect("a tag ends");
        let name = tag.split([' ', '/']).find(|word| !word.is_empty()).expect("a tag has a name");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "{tag}");
        } else if !tag.ends_with('/') {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
}

#[test]
fn a_page_has_all_sections_and_needs_nothing_else() {
    let one = page(&[part(60, |_| {})]);
    check_tags(&one);
    let titles = [
        "Utilisation over time",
        "Pods that wait",
        "Fragmentation over time",
        "Time to placement",
        "Waiting at the end, and why",
        "Who is where",
        "After 5 min 00 s",
        "gpu-a100",
    ];
    for title in titles {
        assert!(one.contains(title), "{title}");
    }
    for word in ["http:", "https:", "<script", "<link", "<img", "url(", "@import", "NaN", "\"inf"] {
        assert!(!one.contains(word), "{word}");
    }
}

#[test]
fn two_runs_are_side_by_side() {
    let both = page(&[part(30, |_| {}), part(30, |_| {})]);
    check_tags(&both);
    assert!(both.contains("<h3>A</h3>") && both.contains("<h3>B</h3>"));
    assert!(both.contains("a&lt;b&gt;.yaml"));
}

#[test]
fn without_gpus_the_map_shows_nodes() {
    let page = page(&[part(40, |plan| plan.nodes.retain(|node| !node.pool.starts_with("gpu")))]);
    check_tags(&page);
    assert!(page.contains("class=\"full"), "nodes are shaded");
    assert!(!page.contains("class=\"held"), "nobody holds a GPU");
}

#[test]
fn names_cannot_become_markup() {
    let bad = "<script>\"'&\u{0}</svg>";
    let page = page(&[part(60, |plan| {
        for node in &mut plan.nodes {
            node.facts.name.push_str(bad);
            node.pool = format!("{}{bad}", node.pool).into();
        }
        for job in &mut plan.jobs {
            job.name.push_str(bad);
            job.spec.namespace.push_str(bad);
        }
    })]);
    check_tags(&page);
    assert!(!page.contains("<script") && !page.contains('\u{0}'));
    assert!(page.contains("&lt;script&gt;"));
}

#[test]
fn a_cluster_in_which_nothing_happens_has_a_page() {
    let empty = part(1, |plan| plan.jobs.clear());
    let page = page(&[empty]);
    check_tags(&page);
    assert!(page.contains("No pod was placed.") && page.contains("Nothing waits."));
    assert!(!page.contains("NaN"), "nothing is divided by nothing");
}
