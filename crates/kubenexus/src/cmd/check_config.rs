//! `kubenexus check-config`: reads a configuration file and says what would run, or what is wrong
//! with it, every problem on a line that editors can jump to.

mod describe;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use framework::PluginInfo;
use k8s::config::{ConfigError, Settings, load};

use super::out;

/// More than any valid file has; what is longer is cut and refused for its size.
const READ_MAX: u64 = 2 << 20;

/// Checks a file and describes it on standard output.
pub(crate) fn run(file: &Path) -> anyhow::Result<()> {
    let answer = check(file, &text(file)?, plugins::known())?;
    out::print(format_args!("{answer}"))
}

/// Reads a file that has to be valid.
pub(crate) fn read(file: &Path) -> anyhow::Result<Settings> {
    settings(file, &text(file)?, plugins::known())
}

fn text(file: &Path) -> anyhow::Result<String> {
    let reading = || format!("reading {}", file.display());
    let mut bytes = Vec::new();
    let opened = File::open(file).with_context(reading)?;
    opened.take(READ_MAX).read_to_end(&mut bytes).with_context(reading)?;
    String::from_utf8(bytes).map_err(|_| anyhow!("not UTF-8 text")).with_context(reading)
}

fn settings(file: &Path, text: &str, known: &[PluginInfo]) -> anyhow::Result<Settings> {
    load(text, known).map_err(|error| anyhow!(problems(file, &error)))
}

fn check(file: &Path, text: &str, known: &[PluginInfo]) -> anyhow::Result<String> {
    let settings = settings(file, text, known)?;
    Ok(format!("{} is valid. It means:\n\n{}", file.display(), describe::all(&settings, known)))
}

/// `FILE:LINE: path: message`, one per problem, below a line that counts them.
fn problems(file: &Path, error: &ConfigError) -> String {
    let file = file.display();
    let count = error.problems().len();
    let noun = if count == 1 { "problem" } else { "problems" };
    let mut text = format!("{file} is not valid, {count} {noun}:");
    for problem in error.problems() {
        let line = problem.line.map(|line| format!("{line}:")).unwrap_or_default();
        let path = if problem.path.is_empty() { "" } else { ": " };
        let path = format!("{}{path}", problem.path);
        text.push_str(&format!("\n{file}:{line} {path}{}", problem.message));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(text: &str) -> anyhow::Result<String> {
        check(Path::new("a.yaml"), text, plugins::known())
    }

    #[test]
    fn our_default_file_means_the_defaults() {
        let text = include_str!("../../../../config/config.yaml");
        let mut defaults = k8s::config::defaults(plugins::known());
        defaults.profiles.retain(|profile| profile.scheduler == "kubenexus-scheduler");
        assert_eq!(load(text, plugins::known()).expect("valid"), defaults);
    }

    #[test]
    fn a_valid_file_is_described() {
        let answer = checked(include_str!("../../../../examples/config/binpack.yaml"));
        let answer = answer.expect("valid");
        let expected = [
            "a.yaml is valid. It means:",
            "profile default-scheduler",
            "  queueSort           PrioritySort",
            "  score               NodeResourcesFit:5, TaintToleration:3, NodeAffinity:2,",
            "                      VolumeBinding*:1, PodTopologySpread:2,",
            "  bind                DefaultBinder",
            "  NodeResourcesFit    MostAllocated by nvidia.com/gpu:10, cpu:1, memory:1",
            "leader election",
            "  lease               kube-system/kubenexus-scheduler",
            "  plugins             VolumeRestrictions, NodeVolumeLimits, VolumeBinding,",
        ];
        for line in expected {
            assert!(answer.lines().any(|found| found.starts_with(line)), "{line}\nin\n{answer}");
        }
        assert!(answer.lines().all(|line| line.chars().count() <= 80), "{answer}");
    }

    #[test]
    fn both_examples_and_added_affinity_are_described() {
        let text = include_str!("../../../../examples/config/two-profiles.yaml");
        let answer = checked(text).expect("valid");
        assert!(answer.contains("profile batch-scheduler\n"));
        assert!(answer.contains("a node must match: example.com/pool In [batch]\n"), "{answer}");
        assert!(answer.contains("RequestedToCapacityRatio 0%:0 80%:10 100%:5"), "{answer}");
    }

    const GANGS: &str = include_str!("../../../../examples/config/gangs.yaml");

    #[test]
    fn gangs_order_and_tenants_are_described() {
        let answer = checked(GANGS).expect("valid");
        let expected = [
            "  queueSort           Coscheduling",
            "  permit              Coscheduling",
            "  order               priority; then, inside it, those that have waited for too",
            "  Coscheduling        a gang may be on nodes in part for 30s",
            "  Coscheduling        pods starve after 120s",
            "  Coscheduling        namespaces ci go sooner by -5",
            "  ProfileClassifier   tenant research has namespaces with",
            "  ProfileClassifier   tenant vision has namespaces whose LocalQueues all lead to",
            "  ProfileClassifier   priority class spot is preemptible",
        ];
        for line in expected {
            assert!(answer.lines().any(|found| found.starts_with(line)), "{line}\nin\n{answer}");
        }
        assert!(!answer.contains("all bronze"), "{answer}");
        let other = checked(&GANGS.replace("          - name: ProfileClassifier\n", ""));
        assert!(!other.expect("valid").contains("all bronze"), "our profile has it anyway");
        let kube = GANGS.replace("kubenexus-scheduler", "mine");
        let kube = kube.replace("          - name: ProfileClassifier\n", "");
        assert!(checked(&kube).expect("valid").contains("all bronze"));
    }

    #[test]
    fn a_file_with_gangs_takes_effect_and_what_is_not_built_is_refused() {
        let settings = load(GANGS, plugins::known()).expect("valid");
        let profile = plugins::build(&settings.profiles[0], &mut model::Catalog::default());
        let profile = profile.expect("a profile");
        assert_eq!(profile.order.name(), "Coscheduling");
        let sharing = profile.order.sharing().expect("namespaces take turns");
        assert_eq!(sharing.starving_after, model::Millis::seconds(120));
        assert!(profile.classifier.is_some());
        assert_eq!(settings.permit_timeout(), model::Millis::seconds(30));
        let numa = "      score:\n        enabled:\n          - name: NUMATopology\n            \
                    weight: 10\n    pluginConfig:\n";
        let error = checked(&GANGS.replace("    pluginConfig:\n", numa)).expect_err("not built");
        let expected = "score.enabled[0].name: plugin \"NUMATopology\" is not built yet";
        assert!(error.to_string().ends_with(expected), "{error}");
    }

    #[test]
    fn what_is_accepted_without_effect_is_noted() {
        let head = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";
        let note = "percentageOfNodesToScore";
        assert!(!checked(head).expect("valid").contains(note));
        let answer = checked(&format!("{head}percentageOfNodesToScore: 50\n")).expect("valid");
        assert!(answer.contains(note), "{answer}");
        let backoff = GANGS.replace("permitWaitingTimeSeconds: 30", "podGroupBackoffSeconds: 5");
        let answer = checked(&backoff).expect("valid");
        assert!(answer.contains("podGroupBackoffSeconds gangs wait"), "{answer}");
    }

    #[test]
    fn problems_name_file_and_line() {
        let text = "kind: KubeSchedulerConfiguration\nparallelism: 0\n";
        let error = checked(text).expect_err("invalid").to_string();
        let expected = "a.yaml is not valid, 2 problems:\n\
                        a.yaml:1: apiVersion: required, but missing\n\
                        a.yaml:2: parallelism: expected an integer from 1 to 2147483647, found 0";
        assert_eq!(error, expected);
        let error = checked("").expect_err("invalid").to_string();
        assert_eq!(error, "a.yaml is not valid, 1 problem:\na.yaml: the file is empty");
    }

    #[test]
    fn a_file_that_is_not_there_is_named() {
        let error = run(Path::new("/nowhere/config.yaml")).expect_err("absent");
        assert_eq!(error.to_string(), "reading /nowhere/config.yaml");
    }
}
