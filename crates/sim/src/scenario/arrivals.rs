//! What arrives in the course of a scenario: when, how often, how many, for how long.

use k8s::document::{Fields, Place, Problems, Spot, quoted};
use k8s::manifest::Manifest;
use model::{GANG_MAX, GroupingFacts, Millis, Time};

use super::Origin;
use super::complete::Defaults;
use super::draft::{self, Draft};
use super::length::{Length, around};
use super::mistakes::Mistakes;
use super::mounts;
use super::script::{self, Script, millis, range};
use crate::dice::{Dice, Stream};
use crate::fingerprint::Fingerprint;
use crate::plan::{ClaimPlan, Job, Membership};

/// More pods than a run should have.
pub(super) const PODS_MAX: u64 = 10_000_000;

/// Something that arrives, once or again and again.
#[derive(Clone, Debug)]
pub(super) struct Arrivals {
    pub(super) place: Place,
    name: Option<String>,
    when: When,
    /// How often at most.
    times: Option<u64>,
    /// Before this.
    until: Option<Millis>,
    /// How many copies of it arrive together.
    count: u64,
    length: Option<Length>,
    gang: Option<Together>,
    what: What,
}

/// That the pods of an arrival start together.
#[derive(Clone, Copy, Debug)]
struct Together {
    /// How many of them have to; all without it.
    min: Option<u32>,
}

fn gang(spot: Spot<'_>, problems: &mut Problems) -> Option<Together> {
    let fields = spot.fields(&["min"], problems)?;
    let min = fields.integer("min", 1..=i64::from(GANG_MAX), problems);
    Some(Together { min: min.and_then(|min| u32::try_from(min).ok()) })
}

#[derive(Clone, Copy, Debug)]
enum When {
    Once(Millis),
    /// First, and how long after that again.
    Every(Millis, Millis),
    /// First, and the mean time between two: no arrival says anything about the next.
    Random(Millis, Millis),
    /// Each at a time of its own within these.
    Between(Millis, Millis),
}

#[derive(Clone, Debug)]
enum What {
    Template(Manifest),
    /// A manifest of the files, by kind, namespace if it is given, and name.
    From(String, Option<String>, String),
}

impl Arrivals {
    pub(super) fn read(spot: Spot<'_>, problems: &mut Problems) -> Option<Self> {
        const KNOWN: [&str; 12] = [
            "name", "at", "every", "perHour", "between", "times", "until", "count", "duration",
            "gang", "template", "from",
        ];
        let before = problems.count();
        let fields = spot.fields(&KNOWN, problems)?;
        let name = fields.get("name").and_then(|spot| spot.text(problems)).map(str::to_owned);
        let times = fields.integer("times", 1..=i64::MAX, problems).map(i64::unsigned_abs);
        let count = fields.integer("count", 1..=i64::MAX, problems).map_or(1, i64::unsigned_abs);
        let until = fields.get("until").and_then(|spot| millis(&spot, problems));
        let length = script::length(&fields, problems);
        let gang = fields.get("gang").and_then(|spot| gang(spot, problems));
        let when = when(&fields, times, problems);
        let what = what(&fields, problems);
        let place = fields.place;
        // What did not read well was reported, and is no sound arrival.
        let is_sound = problems.count() == before;
        let (when, what) = (when?, what?);
        is_sound.then_some(Self { place, name, when, times, until, count, length, gang, what })
    }

    /// What stands in the scenario and arrives, if it does not stand elsewhere.
    pub(super) fn template(&self) -> Option<&Manifest> {
        match &self.what {
            What::Template(template) => Some(template),
            What::From(..) => None,
        }
    }

    /// The earliest time at which it can arrive.
    pub(super) fn first(&self) -> Millis {
        match self.when {
            When::Once(at) | When::Every(at, _) | When::Random(at, _) | When::Between(at, _) => at,
        }
    }

    /// Whether this is the manifest that arrives, so that it is not there from the start.
    pub(super) fn names(&self, draft: &Draft<'_>) -> bool {
        match &self.what {
            What::Template(_) => false,
            What::From(kind, namespace, name) => {
                let is_there = namespace.as_ref().is_none_or(|name| *name == draft.namespace);
                draft.kind == *kind && draft.name == *name && is_there
            }
        }
    }

    /// How often it arrives, if that is written down.
    fn certain_times(&self) -> u64 {
        match self.when {
            When::Once(_) => 1,
            When::Between(..) => self.times.unwrap_or(1),
            When::Every(..) | When::Random(..) => 0,
        }
    }

    /// When it arrives, up to a number of times; nothing if that would never end.
    fn times(&self, span: Option<Millis>, most: u64, dice: &mut Dice) -> Option<Vec<Time>> {
        let until = self.until.into_iter().chain(span).min();
        if self.times.is_none() && until.is_none() {
            match self.when {
                When::Once(_) | When::Between(..) => {}
                When::Every(..) | When::Random(..) => return None,
            }
        }
        let gap = |at: Millis, gap: Millis| Time(at.0.saturating_add(gap.0));
        let is_in_time = |at: &Time| until.is_none_or(|until| at.0 < until.0);
        let often = usize::try_from(self.times.unwrap_or(most).min(most)).unwrap_or(usize::MAX);
        Some(match self.when {
            When::Once(at) => vec![Time(at.0)],
            When::Between(low, high) => {
                let drawn = (0..self.certain_times()).map(|_| dice.between(low.0, high.0));
                let mut times: Vec<Time> = drawn.map(Time).collect();
                times.sort_unstable();
                times
            }
            When::Every(first, every) => {
                let next = |at: &Time| Some(gap(Millis(at.0), every));
                let times = std::iter::successors(Some(Time(first.0)), next);
                times.take_while(is_in_time).take(often).collect()
            }
            When::Random(first, mean) => {
                let start = gap(first, around(dice, mean));
                let next = |at: &Time| Some(gap(Millis(at.0), around(dice, mean)));
                std::iter::successors(Some(start), next)
                    .take_while(is_in_time)
                    .take(often)
                    .collect()
            }
        })
    }
}

fn when(fields: &Fields<'_>, times: Option<u64>, problems: &mut Problems) -> Option<When> {
    let at = fields.get("at").map_or(Some(Millis(0)), |spot| millis(&spot, problems));
    let found: Vec<Spot<'_>> =
        ["every", "perHour", "between"].into_iter().filter_map(|name| fields.get(name)).collect();
    if let [_, second, ..] = &found[..] {
        problems.report(&second.place, "expected only one of every, perHour and between");
        return None;
    }
    if let Some(spot) = fields.get("every") {
        let every = millis(&spot, problems)?;
        if every.0 == 0 {
            spot.expected("a time above zero", problems);
            return None;
        }
        return Some(When::Every(at?, every));
    }
    if let Some(spot) = fields.get("perHour") {
        const HOUR_MS: f64 = 3_600_000.0;
        let rate = spot.number(problems)?;
        if rate <= 0.0 || rate > HOUR_MS {
            spot.expected("a number above 0 and up to 3600000", problems);
            return None;
        }
        return Some(When::Random(at?, Millis((HOUR_MS / rate) as u64)));
    }
    if let Some(spot) = fields.get("between") {
        if fields.get("at").is_some() {
            problems.report(&fields.place_at("at"), "expected only one of at and between");
        }
        if fields.get("until").is_some() {
            problems.report(&fields.place_at("until"), "expected only one of until and between");
        }
        let (low, high) = range(&spot, problems)?;
        return Some(When::Between(low, high));
    }
    if fields.get("until").is_some() {
        let message = "expected every or perHour beside it";
        problems.report(&fields.place_at("until"), message);
    }
    if times.is_some_and(|times| times > 1) {
        let message = "expected every, perHour or between beside it";
        problems.report(&fields.place_at("times"), message);
    }
    Some(When::Once(at?))
}

fn what(fields: &Fields<'_>, problems: &mut Problems) -> Option<What> {
    match (fields.get("template"), fields.get("from")) {
        (Some(spot), None) => {
            let template = Manifest::from_tree(spot.node());
            if draft::KINDS.contains(&&*template.kind) {
                return Some(What::Template(template));
            }
            let kinds = draft::KINDS.join(", ");
            let found = quoted(&template.kind);
            let place = Place { path: format!("{}.kind", spot.place.path), ..spot.place };
            problems.report(&place, format!("expected one of {kinds}, found {found}"));
            None
        }
        (None, Some(spot)) => {
            let parts: Vec<&str> = spot.text(problems)?.split('/').collect();
            let owned = |text: &str| text.to_owned();
            match parts[..] {
                [kind, name] => Some(What::From(owned(kind), None, owned(name))),
                [kind, space, name] => {
                    Some(What::From(owned(kind), Some(owned(space)), owned(name)))
                }
                _ => {
                    spot.expected("KIND/NAME or KIND/NAMESPACE/NAME", problems);
                    None
                }
            }
        }
        (None, None) | (Some(_), Some(_)) => {
            problems.report(&fields.place, "expected either template or from");
            None
        }
    }
}

/// Jobs for everything that arrives in the course of the scenario.
pub(super) fn jobs(
    drafts: &[Draft<'_>],
    (script, defaults): (&Script, &Defaults),
    (groupings, made): (&mut Vec<GroupingFacts>, &mut Vec<ClaimPlan>),
    mistakes: &mut Mistakes,
) -> Vec<Job> {
    let mut jobs = Vec::new();
    for arrivals in &script.arrivals {
        let draft = match &arrivals.what {
            What::Template(manifest) => {
                let draft = draft::read(&script.file, manifest, defaults, script, mistakes);
                groupings.extend(draft.iter().filter_map(|draft| draft.grouping.clone()));
                draft
            }
            What::From(..) => named(arrivals, drafts, script, mistakes),
        };
        if let Some(draft) = draft
            && let Err(message) = add(arrivals, &draft, script, (&mut jobs, made))
        {
            mistakes.add(script.at(&arrivals.place), &arrivals.place.path, message);
        }
    }
    jobs
}

fn named<'a>(
    arrivals: &Arrivals,
    drafts: &[Draft<'a>],
    script: &Script,
    mistakes: &mut Mistakes,
) -> Option<Draft<'a>> {
    let found: Vec<&Draft<'a>> = drafts.iter().filter(|draft| arrivals.names(draft)).collect();
    let message = match &found[..] {
        [one] => return Some((*one).clone()),
        [] => "there is no such manifest in the files".to_owned(),
        [first, second, ..] => {
            let Origin { file, line } = second.origin;
            let (one, other) = (&first.namespace, &second.namespace);
            format!("meant are {one} and {other} ({file}:{line}); expected KIND/NAMESPACE/NAME")
        }
    };
    mistakes.add(script.at(&arrivals.place), &format!("{}.from", arrivals.place.path), message);
    None
}

fn add(
    arrivals: &Arrivals,
    draft: &Draft<'_>,
    script: &Script,
    (jobs, made): (&mut Vec<Job>, &mut Vec<ClaimPlan>),
) -> Result<(), String> {
    let name = arrivals.name.as_ref().unwrap_or(&draft.name);
    let mut dice = Dice::new(seed(script.seed, name), Stream::Workload);
    let pods = draft.pods.saturating_add(draft.followers).max(1).saturating_mul(arrivals.count);
    let bounded = |times: u64| {
        let is_bounded = pods.saturating_mul(times) <= PODS_MAX;
        is_bounded.then_some(()).ok_or(format!("more than {PODS_MAX} pods are too many"))
    };
    bounded(arrivals.certain_times())?;
    // One more than is allowed is enough to see that it is too much.
    let times = arrivals.times(script.span, PODS_MAX / pods + 1, &mut dice);
    let times =
        times.ok_or("arrives for ever: expected times, until, or a span of the scenario")?;
    bounded(times.len() as u64)?;
    let length = arrivals.length.or(draft.length).unwrap_or(Length::Forever);
    let is_single = times.len() == 1 && arrivals.count == 1;
    let mut number = 0;
    for at in times {
        for _ in 0..arrivals.count {
            number += 1;
            let name = if is_single { name.clone() } else { format!("{name}-{number}") };
            let mut job = Job { at, ..draft.job(name, draft.pods, draft.followers) };
            // Whatever arrives again is a gang of its own.
            if let Some(gang) = job.gang.as_mut().filter(|gang| !is_single && !gang.gang.is_empty())
            {
                gang.gang = format!("{}-{number}", gang.gang).into();
            }
            if let Some(Together { min }) = arrivals.gang {
                let all = u32::try_from(draft.pods).unwrap_or(u32::MAX);
                let (gang, min) = (job.name.as_str().into(), Some(min.unwrap_or(all)));
                job.gang = Some(Membership { gang, min, ..Membership::default() });
            }
            if draft.claims.is_empty() {
                sized(job, length, &mut dice, jobs);
                continue;
            }
            for job in mounts::apart(&job, &draft.claims, 0..draft.pods, made) {
                sized(job, length, &mut dice, jobs);
            }
        }
    }
    Ok(())
}

/// Adds a job whose pods run that long.
pub(super) fn sized(job: Job, length: Length, dice: &mut Dice, jobs: &mut Vec<Job>) {
    let (pods, followers) = (job.pods, job.followers);
    match length {
        _ if pods == 0 => {}
        Length::Forever => jobs.push(job),
        Length::Between(low, high) => jobs.push(Job { runs: Some((low, high)), ..job }),
        // Every pod has a length of its own, so every pod is a job of its own.
        Length::Around(mean) => jobs.extend((0..pods).map(|at| {
            let drawn = around(dice, mean);
            let followers = followers / pods + u64::from(at < followers % pods);
            Job { pods: 1, followers, runs: Some((drawn, drawn)), ..job.clone() }
        })),
    }
}

/// A seed for what has this name: what arrives beside it changes nothing about it.
pub(super) fn seed(seed: u64, name: &str) -> u64 {
    let mut print = Fingerprint::default();
    print.number(seed);
    print.text(name);
    print.value()
}
