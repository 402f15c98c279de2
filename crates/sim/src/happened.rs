//! How often which fault and which fate really happened: a run without any has shown little.

/// Counts of one run, or of many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Happened {
    /// Pods that arrived.
    pub pods: u64,
    /// Bindings that the API accepted, those of the second scheduler not counted.
    pub bound: u64,
    /// Bindings that the second scheduler made.
    pub stolen: u64,
    /// Pods that a node turned away because it was full by then.
    pub rejected: u64,
    /// Pods that were deleted by their owner, waiting or not.
    pub deleted: u64,
    /// Pods that were evicted for more important ones.
    pub preempted: u64,
    /// Pods that were evicted because their gang could not be completed.
    pub taken_back: u64,
    /// Gangs that had enough pods on nodes.
    pub gangs: u64,
    /// Pods whose requests changed in place.
    pub resized: u64,
    /// Nodes that left or died.
    pub nodes_lost: u64,
    /// Nodes that were closed, opened, tainted, labelled or resized.
    pub nodes_changed: u64,
    /// Namespaces that were made, labelled or deleted.
    pub namespaces_changed: u64,
    /// Objects about gangs that changed, or came back.
    pub groups_changed: u64,
    /// Jobs of Kubernetes that were complete.
    pub jobs_complete: u64,
    /// Bindings that were refused.
    pub refused: u64,
    /// Requests that never arrived, or late.
    pub lost: u64,
    /// Answers that never arrived.
    pub unanswered: u64,
    /// Watches that were cut.
    pub cuts: u64,
    /// Lists that broke off.
    pub lists_broken: u64,
    /// Leaders that were lost.
    pub leaders_lost: u64,
    /// Volumes that were written to be for a claim.
    pub volumes_bound: u64,
    /// Claims for which a node was written.
    pub nodes_selected: u64,
    /// Claims that got their volume.
    pub claims_bound: u64,
    /// Volumes that were made for claims.
    pub provisioned: u64,
    /// Nodes that were given back, because no volume could be made.
    pub provisions_failed: u64,
    /// Nodes of claims that nobody looked at for long.
    pub provisions_silent: u64,
    /// Pods that were not bound because what they needed did not come about.
    pub unprepared: u64,
    /// Those of them whose time was over.
    pub timed_out: u64,
    /// CSIDrivers, CSINodes, CSIStorageCapacities, VolumeAttachments that came, changed or went.
    pub drivers_changed: u64,
    /// Pods on their nodes that a kubelet had to align.
    pub aligned: u64,
    /// Those of them that it refused.
    pub unaligned: u64,
    /// Reports of what pods hold.
    pub reports: u64,
}

impl Happened {
    /// Every count with its name, in a fixed order.
    #[must_use]
    pub fn rows(&self) -> [(&'static str, u64); 32] {
        [
            ("pods", self.pods),
            ("bound", self.bound),
            ("bound by the second scheduler", self.stolen),
            ("rejected by full nodes", self.rejected),
            ("deleted by their owners", self.deleted),
            ("evicted for others", self.preempted),
            ("evicted from incomplete gangs", self.taken_back),
            ("gangs started", self.gangs),
            ("resized in place", self.resized),
            ("nodes lost", self.nodes_lost),
            ("nodes changed", self.nodes_changed),
            ("namespaces changed", self.namespaces_changed),
            ("objects of gangs changed", self.groups_changed),
            ("Jobs complete", self.jobs_complete),
            ("bindings refused", self.refused),
            ("requests lost or late", self.lost),
            ("answers lost", self.unanswered),
            ("watches cut", self.cuts),
            ("lists broken off", self.lists_broken),
            ("leaders lost", self.leaders_lost),
            ("volumes written to be for claims", self.volumes_bound),
            ("nodes chosen for claims", self.nodes_selected),
            ("claims bound", self.claims_bound),
            ("volumes made", self.provisioned),
            ("volumes not made", self.provisions_failed),
            ("volumes nobody looked at", self.provisions_silent),
            ("pods whose volumes did not come", self.unprepared),
            ("pods whose volumes did not come in time", self.timed_out),
            ("objects of drivers changed", self.drivers_changed),
            ("pods that kubelets had to align", self.aligned),
            ("pods that kubelets refused", self.unaligned),
            ("reports of what pods hold", self.reports),
        ]
    }

    fn add_rest(&mut self, other: &Self) {
        self.volumes_bound += other.volumes_bound;
        self.nodes_selected += other.nodes_selected;
        self.claims_bound += other.claims_bound;
        self.provisioned += other.provisioned;
        self.provisions_failed += other.provisions_failed;
        self.provisions_silent += other.provisions_silent;
        self.unprepared += other.unprepared;
        self.timed_out += other.timed_out;
        self.drivers_changed += other.drivers_changed;
        self.aligned += other.aligned;
        self.unaligned += other.unaligned;
        self.reports += other.reports;
    }

    /// Adds the counts of another run.
    pub fn add(&mut self, other: &Self) {
        let Self { pods, bound, stolen, rejected, deleted, preempted, resized, .. } = other;
        self.pods += pods;
        self.bound += bound;
        self.stolen += stolen;
        self.rejected += rejected;
        self.deleted += deleted;
        self.preempted += preempted;
        self.resized += resized;
        let Self {
            taken_back,
            gangs,
            nodes_lost,
            nodes_changed,
            namespaces_changed,
            groups_changed,
            jobs_complete,
            refused,
            lost,
            unanswered,
            cuts,
            lists_broken,
            leaders_lost,
            ..
        } = other;
        self.taken_back += taken_back;
        self.gangs += gangs;
        self.nodes_lost += nodes_lost;
        self.nodes_changed += nodes_changed;
        self.namespaces_changed += namespaces_changed;
        self.groups_changed += groups_changed;
        self.jobs_complete += jobs_complete;
        self.refused += refused;
        self.lost += lost;
        self.unanswered += unanswered;
        self.cuts += cuts;
        self.lists_broken += lists_broken;
        self.leaders_lost += leaders_lost;
        self.add_rest(other);
    }
}
