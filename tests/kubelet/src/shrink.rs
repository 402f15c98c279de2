//! Makes a failing case smaller for as long as it fails.

use crate::case::{Case, Step};

/// A smaller case that still fails, found by leaving out steps, containers, devices, options and
/// zones; `fails` is asked at most `attempts` times.
pub fn smaller(case: Case, attempts: usize, mut fails: impl FnMut(&Case) -> bool) -> Case {
    let mut smallest = case;
    let mut left = attempts;
    loop {
        let mut found = None;
        for candidate in candidates(&smallest) {
            if left == 0 {
                return smallest;
            }
            left -= 1;
            if fails(&candidate) {
                found = Some(candidate);
                break;
            }
        }
        match found {
            Some(case) => smallest = case,
            None => return smallest,
        }
    }
}

fn candidates(case: &Case) -> Vec<Case> {
    let mut found = Vec::new();
    let mut add = |change: &dyn Fn(&mut Case)| {
        let mut smaller = case.clone();
        change(&mut smaller);
        found.push(smaller);
    };
    for step in (0..case.steps.len()).rev() {
        add(&|case| drop(case.steps.remove(step)));
    }
    for zone in 0..case.machine.zones.len() {
        if case.machine.zones.len() > 1 {
            add(&|case| drop(case.machine.zones.remove(zone)));
        }
    }
    for option in case.machine.cpu_options.keys() {
        add(&|case| drop(case.machine.cpu_options.remove(option)));
    }
    for option in case.machine.policy_options.keys() {
        add(&|case| drop(case.machine.policy_options.remove(option)));
    }
    for (resource, devices) in &case.machine.devices {
        add(&|case| drop(case.machine.devices.remove(resource)));
        for device in 0..devices.len() {
            add(&|case| {
                if let Some(devices) = case.machine.devices.get_mut(resource) {
                    devices.remove(device);
                }
            });
        }
    }
    for cpu in 0..case.machine.reserved_cpus.len() {
        add(&|case| _ = case.machine.reserved_cpus.remove(cpu));
    }
    for (number, step) in case.steps.iter().enumerate() {
        let Step::Add(pod) = step else { continue };
        for container in 0..pod.containers.len() {
            if pod.containers.len() > 1 {
                add(&|case| {
                    if let Step::Add(pod) = &mut case.steps[number] {
                        pod.containers.remove(container);
                    }
                });
            }
            for resource in pod.containers[container].devices.keys() {
                add(&|case| {
                    if let Step::Add(pod) = &mut case.steps[number] {
                        pod.containers[container].devices.remove(resource);
                    }
                });
            }
        }
    }
    found
}
