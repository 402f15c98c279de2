//! Why not: the cold path that asks about every node by itself, and shares nothing with the kept
//! results but the plugins.

use framework::{View, said};
use model::{Code, NodeId, PodFacts, PodId, Reason, Txn};

use crate::board::Board;
use crate::rescue::{contest, ends_attempt};
use crate::screen::{Screen, plugins_of, screen};
use crate::trial::{Trial, view};
use crate::{Scheduler, profile_of};

/// What the scheduler thinks of a pod on every node.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Who turned the pod away before any node was looked at, and why.
    pub refusal: Option<(&'static str, Reason)>,
    /// Why nodes cannot be ranked, if they cannot.
    pub fault: Option<Reason>,
    /// Every node, in the order of their ids; none if the pod was turned away.
    pub nodes: Vec<(NodeId, NodeJudgement)>,
    /// How many units of scores make a point: one, or more where a plugin scores in parts of it.
    pub per_point: i32,
    /// Whom evicting would help the pod, if nothing else does.
    pub preemption: Option<JudgedPreemption>,
}

/// What evicting less important pods would do for a pod.
#[derive(Debug, PartialEq, Eq)]
pub struct JudgedPreemption {
    /// Where it does the least harm.
    pub node: NodeId,
    /// The nodes on which it makes room: who has to go, and how many of them against a budget.
    pub candidates: Vec<(NodeId, Vec<PodId>, usize)>,
}

/// What the scheduler thinks of a pod on one node.
#[derive(Debug, PartialEq, Eq)]
pub enum NodeJudgement {
    /// The pod fits.
    Fits(Merits),
    /// The pod does not fit: who says so first, and all it says.
    Unfit(&'static str, Vec<Reason>),
}

/// What a node that fits is worth.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Merits {
    /// Weighted scores by plugin.
    pub scores: Vec<(&'static str, i32)>,
    /// Whether it is taken only if no other node fits.
    pub is_last_resort: bool,
}

impl Scheduler {
    /// Judges a pod that is not in the cluster. Nothing is changed that anyone could see.
    ///
    /// Returns nothing if no profile has the name the pod asks for, or a pod has its uid.
    pub fn judge(&mut self, facts: &PodFacts) -> Option<Judgement> {
        let is_there = self.catalog.find_pod(&facts.key.uid).is_some();
        if is_there || !self.schedules(&facts.spec.scheduler) {
            return None;
        }
        let pod = self.catalog.add_pod(&self.as_read(facts));
        self.count_crowds();
        let profile = profile_of(&self.profiles, &self.catalog, self.catalog.pod(pod).class);
        let refusal =
            profile.gang_reader.and_then(|plugin| Some((plugin, self.gang_refusal(pod)?)));
        let judgement = match refusal {
            Some(_) => Judgement { refusal, per_point: 1, ..Judgement::default() },
            None => self.judge_waiting(pod),
        };
        self.catalog.remove_pod(pod);
        Some(judgement)
    }

    /// Why a pod would not be tried, whoever else of its gang is there.
    fn gang_refusal(&self, id: PodId) -> Option<Reason> {
        let pod = self.catalog.pod(id);
        let mut next = pod.gang;
        while let Some(gang) = next {
            let row = self.catalog.gang(gang);
            if let Err(reason) = &row.terms {
                return Some(reason.clone());
            }
            next = row.parent;
        }
        self.refusal_by_claim(pod)
    }

    /// Judges a pod of ours that is on no node.
    pub fn judge_waiting(&mut self, id: PodId) -> Judgement {
        let pod = self.catalog.pod(id);
        let profile = profile_of(&self.profiles, &self.catalog, pod.class);
        let (mut board, _) = Board::new(profile, &self.catalog, self.catalog.class(pod.class));
        let mut txn = Txn::begin(&self.catalog, &mut self.usage);
        judge(&mut Trial::new(id, pod, &mut board, &mut txn))
    }
}

fn judge(trial: &mut Trial<'_, '_>) -> Judgement {
    let mut judgement = Judgement { per_point: trial.board.per_point, ..Judgement::default() };
    let nodes = trial.txn.catalog().nodes();
    if nodes.is_empty() {
        return judgement;
    }
    let screen = screen(&trial.board.before, trial.view());
    if let Screen::Refused(refusal) = screen {
        judgement.refusal = Some((refusal.plugin, refusal.reason));
        return judgement;
    }
    for node in nodes {
        let verdict = match trial.why_not(&screen, *node) {
            Some((plugin, reasons)) => NodeJudgement::Unfit(plugin, reasons),
            None => NodeJudgement::Fits(Merits::default()),
        };
        judgement.nodes.push((*node, verdict));
    }
    let is_fit = |(_, verdict): &(NodeId, NodeJudgement)| matches!(verdict, NodeJudgement::Fits(_));
    if !judgement.nodes.iter().any(is_fit) {
        judgement.preemption = preemption(trial, &judgement.nodes);
        return judgement;
    }
    judgement.fault = trial.board.is_broken().then_some(Reason::BrokenPreference);
    let Trial { pod, board, txn, .. } = trial;
    let view = view(txn, pod);
    board.refresh_around(view);
    score(board, view, &mut judgement.nodes);
    judgement
}

/// What evicting would do for a pod that fits nowhere.
fn preemption(
    trial: &mut Trial<'_, '_>,
    nodes: &[(NodeId, NodeJudgement)],
) -> Option<JudgedPreemption> {
    let mut evictable = 0;
    for (_, verdict) in nodes {
        let NodeJudgement::Unfit(_, reasons) = verdict else { continue };
        if reasons.iter().any(ends_attempt) {
            return None;
        }
        let code = Code::worst(reasons);
        evictable += usize::from(code == Some(Code::Unschedulable));
    }
    let contest = contest(trial, (usize::MAX, evictable)).ok()?;
    let candidates = contest.candidates();
    let candidates =
        candidates.map(|(node, it)| (node, it.victims.to_vec(), it.harm.violations)).collect();
    // Of several nodes, the first by name: an answer to people does not depend on numbers.
    let catalog = trial.txn.catalog();
    let best = contest.candidates().min_by_key(|(node, it)| (it.harm, catalog.node_name(*node)));
    Some(JudgedPreemption { node: best?.0, candidates })
}

/// Adds the scores of every plugin to the nodes that fit.
fn score(board: &Board, view: View<'_>, nodes: &mut [(NodeId, NodeJudgement)]) {
    let is_fit = |(node, verdict): &(NodeId, NodeJudgement)| {
        matches!(verdict, NodeJudgement::Fits(_)).then_some(*node)
    };
    let fit: Vec<NodeId> = nodes.iter().filter_map(is_fit).collect();
    for prepared in board.rankings.iter().filter(|prepared| prepared.scores.applies(view)) {
        let mut raws = vec![0; fit.len()];
        prepared.scores.scores(view, &fit, &mut raws);
        let highest = raws.iter().copied().max().unwrap_or(0);
        let mut scores =
            raws.into_iter().map(|raw| prepared.scores.normalize().score(raw, highest));
        for (_, verdict) in nodes.iter_mut() {
            if let NodeJudgement::Fits(merits) = verdict {
                let score = scores.next().expect("one score for every node that fits");
                let (is_last_resort, score) = said(score);
                merits.is_last_resort |= is_last_resort;
                let score = prepared.weight * score;
                merits.scores.push((prepared.plugin, score));
            }
        }
    }
}

/// Who turns a node down first, and why; nothing if the node fits.
pub(crate) fn why_not(
    board: &Board,
    screen: &Screen,
    view: View<'_>,
    node: NodeId,
) -> Option<(&'static str, Vec<Reason>)> {
    if let Screen::Only(only) = screen {
        let name = view.catalog.node_name(node);
        let excluded = only.iter().find(|(_, names)| !names.contains(name));
        if let Some((plugin, _)) = excluded {
            return Some((plugin, vec![Reason::NotNamed(plugins_of(only))]));
        }
    }
    let filters = board.filters.iter().filter(|(_, filter)| filter.applies(view));
    let filters = filters.inspect(|_| view.catalog.look(1));
    let mut answers = filters.map(|(plugin, filter)| (*plugin, filter.why_not(view, node)));
    answers.find(|(_, reasons)| !reasons.is_empty())
}
