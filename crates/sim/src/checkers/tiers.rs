//! How pods are served, held against what was delivered of their namespaces: a tier is what an
//! administrator grants by an object that was delivered, or by the configuration, or less. Neither
//! a pod nor a server that fails can make it more.
//!
//! Only those are looked at of whom something was delivered, and everybody from time to time.

use std::collections::BTreeSet;

use engine::Scheduler;
use framework::{Args, ClassifierArgs, Point, ProfileSettings};
use k8s::config::Settings;
use model::{Event, Fact, Key, Kind, Labels, PodFacts, Said, Tier};

use super::Violation;
use super::ledger::Ledger;

/// The label of a namespace that says how its pods are served.
pub(crate) const TIER: &str = "tenant.kubenexus.io/tier";
/// After how many looks everybody is looked at again.
const EVERYBODY_EVERY: u64 = 64;

/// What may have changed since the last look.
pub(crate) struct Tiers {
    /// Profiles that classify pods, with what their administrator says.
    rules: Vec<(String, ClassifierArgs)>,
    looks: u64,
    /// Pods by uid.
    pods: BTreeSet<Box<str>>,
    namespaces: BTreeSet<Box<str>>,
    is_everybody: bool,
}

impl Tiers {
    pub(crate) fn new(settings: &Settings) -> Self {
        let rule =
            |profile: &ProfileSettings| Some((profile.scheduler.clone(), classifier(profile)?));
        Self {
            rules: settings.profiles.iter().filter_map(rule).collect(),
            looks: 0,
            pods: BTreeSet::new(),
            namespaces: BTreeSet::new(),
            is_everybody: false,
        }
    }

    /// Takes in that an event is delivered.
    pub(crate) fn note(&mut self, event: &Event) {
        match event {
            Event::Seen(Fact::Pod(facts)) => _ = self.pods.insert(facts.key.uid.clone()),
            Event::Seen(Fact::Namespace(facts)) => _ = self.namespaces.insert(facts.name.clone()),
            Event::Gone(Key { kind: Kind::Namespace, name }) => {
                self.namespaces.insert(name.clone());
            }
            Event::Listed(Kind::Namespace, _) => self.is_everybody = true,
            Event::Seen(_) | Event::Gone(_) | Event::Listed(..) | Event::Outcome(_) => {}
        }
    }

    /// Looks at those of whom something was delivered.
    pub(crate) fn check(
        &mut self,
        ledger: &Ledger,
        scheduler: &Scheduler,
    ) -> Result<(), Violation> {
        self.looks += 1;
        let is_everybody = std::mem::take(&mut self.is_everybody);
        let is_everybody = is_everybody || self.looks.is_multiple_of(EVERYBODY_EVERY);
        let pods = std::mem::take(&mut self.pods);
        let namespaces = std::mem::take(&mut self.namespaces);
        for known in pods.iter().filter_map(|uid| ledger.pod(uid)) {
            self.check_pod(ledger, scheduler, known.facts())?;
        }
        if is_everybody || !namespaces.is_empty() {
            let is_meant =
                |facts: &&PodFacts| is_everybody || namespaces.contains(&facts.key.namespace);
            for facts in ledger.pods().filter(is_meant) {
                self.check_pod(ledger, scheduler, facts)?;
            }
        }
        Ok(())
    }

    fn check_pod(
        &self,
        ledger: &Ledger,
        scheduler: &Scheduler,
        facts: &PodFacts,
    ) -> Result<(), Violation> {
        // Whether pods are lost is looked at elsewhere.
        let Some(pod) = scheduler.catalog().find_pod(&facts.key.uid) else { return Ok(()) };
        let given = scheduler.profile(pod).map(|profile| profile.tier.value);
        let rule = self.rules.iter().find(|(name, _)| *name == facts.spec.scheduler);
        let right = rule.map(|(_, args)| tier(args, ledger.namespace(&facts.key.namespace), facts));
        if given == right {
            return Ok(());
        }
        let word = |tier: Option<Tier>| tier.map_or("of no tier", Tier::word);
        let (given, right) = (word(given), word(right));
        Err(Violation::Tier { pod: facts.key.name.to_string(), given, right })
    }
}

/// What an administrator says of tiers in a profile, if it classifies pods.
pub(super) fn classifier(profile: &ProfileSettings) -> Option<ClassifierArgs> {
    let mut choices = profile.at(Point::PreFilter).iter();
    choices.find(|choice| choice.name == "ProfileClassifier")?;
    Some(match profile.args_of("ProfileClassifier") {
        Some(Args::Classifier(args)) => args.clone(),
        Some(_) | None => ClassifierArgs::default(),
    })
}

/// The tier of a pod, by the labels of its namespace if that was delivered.
pub(super) fn tier(args: &ClassifierArgs, namespace: Option<&Labels>, facts: &PodFacts) -> Tier {
    let hints = facts.spec.hints.as_deref();
    let granted = granted_to(args, namespace, facts);
    match hints.and_then(|hints| hints.tier.as_ref()) {
        None => granted,
        Some(Said::Known(wish)) => granted.min(*wish),
        Some(Said::Unknown(_)) => Tier::Bronze,
    }
}

/// What an administrator grants a pod, whatever the pod says.
pub(super) fn granted_to(
    args: &ClassifierArgs,
    namespace: Option<&Labels>,
    facts: &PodFacts,
) -> Tier {
    let hints = facts.spec.hints.as_deref();
    let class = hints.and_then(|hints| hints.priority_class.as_deref());
    namespace.map_or(Tier::Bronze, |labels| granted(args, labels, facts, class))
}

/// What an administrator grants: tenants, then the label of the namespace, then priority classes.
fn granted(args: &ClassifierArgs, labels: &Labels, facts: &PodFacts, class: Option<&str>) -> Tier {
    for tenant in &args.tenants {
        let (names, selector) = (&tenant.namespaces.names, &tenant.namespaces.selector);
        let is_named = names.iter().any(|name| **name == *facts.key.namespace);
        if is_named || selector.as_ref().is_some_and(|selector| selector.matches(labels)) {
            match tenant.tier {
                Some(tier) => return tier,
                // It belongs to nobody else.
                None => break,
            }
        }
    }
    if let Some((_, word)) = labels.iter().find(|(key, _)| **key == *TIER) {
        return match &**word {
            "gold" => Tier::Gold,
            "silver" => Tier::Silver,
            _ => Tier::Bronze,
        };
    }
    let found = args.tiers_by_class.iter().find(|(name, _)| Some(&**name) == class);
    found.map_or(Tier::Bronze, |(_, tier)| *tier)
}
