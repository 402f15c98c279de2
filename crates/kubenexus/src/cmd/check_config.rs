//! `kubenexus check-config`: reads a configuration file and says what would run, or what is wrong
//! with it, every problem on a line that editors can jump to.

mod describe;

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, anyhow};
use framework::PluginInfo;
use k8s::config::{ConfigError, Notes, Problem, Settings, review};

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
    reviewed(file, &text(file)?, plugins::known()).map(|(settings, _)| settings)
}

/// Reads a file that has to be valid, with what there is to warn about, one line each.
pub(crate) fn read_with_warnings(file: &Path) -> anyhow::Result<(Settings, Vec<String>)> {
    let (settings, notes) = reviewed(file, &text(file)?, plugins::known())?;
    let warnings = notes.warnings.iter().map(|warning| line_about(file, warning));
    Ok((settings, warnings.collect()))
}

fn text(file: &Path) -> anyhow::Result<String> {
    let reading = || format!("reading {}", file.display());
    let mut bytes = Vec::new();
    let opened = File::open(file).with_context(reading)?;
    opened.take(READ_MAX).read_to_end(&mut bytes).with_context(reading)?;
    String::from_utf8(bytes).map_err(|_| anyhow!("not UTF-8 text")).with_context(reading)
}

fn reviewed(file: &Path, text: &str, known: &[PluginInfo]) -> anyhow::Result<(Settings, Notes)> {
    review(text, known).map_err(|error| anyhow!(problems(file, &error)))
}

fn check(file: &Path, text: &str, known: &[PluginInfo]) -> anyhow::Result<String> {
    let (settings, notes) = reviewed(file, text, known)?;
    let meaning = describe::all(&settings, &notes, known);
    let mut answer = format!("{} is valid. It means:\n\n{meaning}", file.display());
    let advice = default_scheduler(&settings);
    if advice.is_some() || !notes.warnings.is_empty() {
        answer.push_str("\nwarnings\n");
    }
    if let Some(advice) = advice {
        describe::row("default-scheduler", &advice, &mut answer);
    }
    for warning in &notes.warnings {
        answer.push_str(&format!("  {}\n", line_about(file, warning)));
    }
    Ok(answer)
}

/// What to know before a scheduler with these settings starts beside the cluster's own.
fn default_scheduler(settings: &Settings) -> Option<String> {
    let mut names = settings.profiles.iter().map(|profile| &*profile.scheduler);
    if !names.any(|name| name == "default-scheduler") {
        return None;
    }
    let election = &settings.leader_election;
    let lease = (&*election.resource_namespace, &*election.resource_name);
    let takes_turns = election.leader_elect && lease == ("kube-system", "kube-scheduler");
    let meaning = if takes_turns {
        "both use the lease kube-system/kube-scheduler, so one of them schedules at a time; which \
         one, nobody can tell"
    } else {
        "two schedulers that do not know of each other fill the same room twice; stop \
         kube-scheduler first, give the profile another name, or set leaderElection.resourceName \
         to kube-scheduler, so that one of them schedules at a time"
    };
    Some(format!(
        "pods without a schedulerName are of this profile, and of the cluster's own \
         kube-scheduler: {meaning}"
    ))
}

/// `FILE:LINE: path: message`, one per problem, below a line that counts them.
fn problems(file: &Path, error: &ConfigError) -> String {
    let count = error.problems().len();
    let noun = if count == 1 { "problem" } else { "problems" };
    let mut text = format!("{} is not valid, {count} {noun}:", file.display());
    for problem in error.problems() {
        text.push('\n');
        text.push_str(&line_about(file, problem));
    }
    text
}

/// `FILE:LINE: path: message`, which editors can jump to.
fn line_about(file: &Path, problem: &Problem) -> String {
    let line = problem.line.map(|line| format!("{line}:")).unwrap_or_default();
    let path = if problem.path.is_empty() { "" } else { ": " };
    format!("{}:{line} {}{path}{}", file.display(), problem.path, problem.message)
}

#[cfg(test)]
mod tests {
    use k8s::config::load;

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
            "                      VolumeBinding:1, PodTopologySpread:2,",
            "  bind                DefaultBinder",
            "  NodeResourcesFit    MostAllocated by nvidia.com/gpu:10, cpu:1, memory:1",
            "leader election",
            "  lease               kube-system/kubenexus-scheduler",
            "  plugins             DynamicResources",
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
        assert_eq!(settings.gang_args().permit_timeout, model::Millis::seconds(30));
        let with = |plugin: &str| {
            let score = format!("      score:\n        enabled:\n          - name: {plugin}\n");
            let score = score + "            weight: 10\n    pluginConfig:\n";
            checked(&GANGS.replace("    pluginConfig:\n", &score))
        };
        assert!(with("NUMATopology").expect("valid").contains("NUMATopology:10"));
        let error = with("BackfillScheduler").expect_err("not built");
        let expected = "score.enabled[0].name: plugin \"BackfillScheduler\" is not built yet";
        assert!(error.to_string().ends_with(expected), "{error}");
    }

    const HEAD: &str =
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

    #[test]
    fn what_is_accepted_without_effect_is_listed_once() {
        let title = "accepted without effect";
        assert!(!checked(HEAD).expect("valid").contains(title));
        let given = "parallelism: 16\nclientConnection: {contentType: application/json}\n\
                     enableProfiling: true\nprofiles:\n\
                     - {schedulerName: a, percentageOfNodesToScore: 5}\n\
                     - {schedulerName: b, percentageOfNodesToScore: 6}\n";
        let answer = checked(&format!("{HEAD}{given}")).expect("valid");
        let (_, listed) = answer.split_once(title).expect("a list");
        let expected = "\n  parallelism         decisions are made by one thread\n  \
                        contentType         the API server is spoken to in JSON\n  \
                        enableProfiling     no profiles of the running process are served\n  \
                        percentageOfNodesToScore every node is scored\n";
        assert_eq!(listed, expected);
        assert!(!answer.contains("application/json"), "{answer}");
        let backoff = GANGS.replace("permitWaitingTimeSeconds: 30", "podGroupBackoffSeconds: 5");
        let answer = checked(&backoff).expect("valid");
        assert!(answer.contains("podGroupBackoffSeconds gangs wait"), "{answer}");
    }

    #[test]
    fn what_makes_a_gang_is_said_of_every_profile() {
        let said = |plugins: &str| {
            let profile = format!("profiles: [{{schedulerName: mine, plugins: {{{plugins}}}}}]\n");
            let answer = checked(&format!("{HEAD}{profile}")).expect("valid");
            answer.contains(
                "  gangs               planned and bound whole, by PodGroups of Kubernetes only",
            )
        };
        assert!(said(""));
        assert!(said("reserve: {enabled: [{name: Coscheduling}]}"));
        for point in ["preFilter", "filter", "permit"] {
            assert!(!said(&format!("{point}: {{enabled: [{{name: Coscheduling}}]}}")), "{point}");
        }
    }

    #[test]
    fn preemption_may_be_named_and_is_not_said_to_be_missing() {
        let text = "profiles:\n- schedulerName: mine\n  plugins:\n    postFilter:\n      enabled:\n\
                    \x20     - name: DefaultPreemption\n  pluginConfig:\n  - name: \
                    DefaultPreemption\n    args: {minCandidateNodesAbsolute: 7}\n";
        let answer = checked(&format!("{HEAD}{text}")).expect("valid");
        assert!(answer.contains("DefaultPreemption   candidates: 10 % of the nodes"), "{answer}");
        assert!(!answer.contains("DefaultPreemption*"), "{answer}");
        assert!(!answer.contains("no pod is evicted"), "{answer}");
        let (settings, _) = review(&format!("{HEAD}{text}"), plugins::known()).expect("valid");
        let profile = plugins::build(&settings.profiles[0], &mut model::Catalog::default());
        assert!(profile.expect("a profile").rescues.preemption);
    }

    #[test]
    fn what_kube_scheduler_writes_loads_and_what_is_not_built_is_marked() {
        let text = include_str!("../../../k8s/src/config/tests/kube-scheduler-1.37.1.yaml");
        let answer = checked(text).expect("valid");
        let expected = [
            "                      VolumeBinding:1, PodTopologySpread:2,",
            "  postFilter          DynamicResources*, DefaultPreemption",
            "  plugins             DynamicResources",
            "  parallelism         decisions are made by one thread",
            "  filterTimeout       the plugin is not built yet",
        ];
        for line in expected {
            assert!(answer.lines().any(|found| found.starts_with(line)), "{line}\nin\n{answer}");
        }
        let settings = load(text, plugins::known()).expect("valid");
        let profile = plugins::build(&settings.profiles[0], &mut model::Catalog::default());
        assert_eq!(profile.expect("a profile").scheduler, "default-scheduler");
    }

    #[test]
    fn the_profile_of_kube_scheduler_is_warned_of() {
        let shown = |text: &str| {
            let answer = checked(&format!("{HEAD}{text}")).expect("valid");
            answer.split_whitespace().collect::<Vec<_>>().join(" ")
        };
        let twice = "fill the same room twice";
        for text in ["", "profiles: [{}]\n", "profiles: [{schedulerName: default-scheduler}]\n"] {
            assert!(shown(text).contains(twice), "{text}");
        }
        assert!(!shown("profiles: [{schedulerName: mine}]\n").contains("warnings"));
        let lease = "leaderElection: {resourceName: kube-scheduler}\n";
        assert!(shown(lease).contains("one of them schedules at a time; which one"));
        assert!(!shown(lease).contains(twice));
        let none = "leaderElection: {resourceName: kube-scheduler, leaderElect: false}\n";
        assert!(shown(none).contains(twice));
    }

    #[test]
    fn warnings_name_file_and_line() {
        let text = "profiles:\n- schedulerName: mine\n  plugins:\n    score:\n      enabled:\n\
                    \x20     - {name: ImageLocality, weight: 0}\n";
        let answer = checked(&format!("{HEAD}{text}")).expect("valid");
        let expected = "\nwarnings\n  a.yaml:8: profiles[0].plugins.score.enabled[0].weight: a \
                        weight of 0 reads as 1, as in kube-scheduler; if \"ImageLocality\" shall \
                        not score, disable it at score\n";
        assert!(answer.ends_with(expected), "{answer}");
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
