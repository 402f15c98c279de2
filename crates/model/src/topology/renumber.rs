//! The same machine with its devices in another order. A prediction takes the lowest numbers where
//! the kubelet takes any, so a prediction for devices in a random order is what a kubelet does.

use super::machine::Machine;

/// An order of the devices of a resource: the place in the list is the new number of a device, the
/// entry its old one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceOrder(Box<[u8]>);

impl DeviceOrder {
    /// An order, which has to name every number below its length once.
    #[must_use]
    pub fn new(order: Vec<u8>) -> Option<Self> {
        let all = order.iter().try_fold(0_u128, |all, number| {
            let bit = 1_u128.checked_shl((*number).into())?;
            (all & bit == 0).then_some(all | bit)
        })?;
        (all.trailing_ones() as usize == order.len()).then(|| Self(order.into()))
    }

    /// A set of devices by their new numbers.
    #[must_use]
    pub fn renumber(&self, devices: u128) -> u128 {
        let places = self.0.iter().enumerate();
        places.fold(0, |all, (new, old)| all | (devices >> old & 1) << new)
    }

    /// A set of devices by their old numbers.
    #[must_use]
    pub fn restore(&self, devices: u128) -> u128 {
        let places = self.0.iter().enumerate();
        places.fold(0, |all, (new, old)| all | (devices >> new & 1) << old)
    }
}

impl Machine {
    /// How many devices a resource has, healthy or not.
    #[must_use]
    pub fn device_count(&self, resource: usize) -> u32 {
        let groups = self.devices[resource].groups.iter();
        u128::BITS - groups.fold(0, |all, group| all | group.members).leading_zeros()
    }

    /// The same machine with the devices of a resource in another order.
    #[must_use]
    pub fn renumbered(&self, resource: usize, order: &DeviceOrder) -> Machine {
        let mut machine = self.clone();
        let of = &mut machine.devices[resource];
        of.healthy = order.renumber(of.healthy);
        of.groups.iter_mut().for_each(|group| group.members = order.renumber(group.members));
        of.near.iter_mut().for_each(|devices| *devices = order.renumber(*devices));
        machine
    }
}

#[cfg(test)]
mod tests {
    use super::super::{DeviceFacts, DevicesFacts, MachineFacts, ZoneFacts};
    use super::*;
    use crate::ids::ResourceId;

    fn machine(zones: [u32; 4]) -> Machine {
        let device = |zone: u32| DeviceFacts { zones: Some(vec![zone]), is_healthy: zone < 2 };
        let devices = zones.map(device).into();
        let devices = vec![DevicesFacts { resource: ResourceId::at(5), devices }];
        let zone = |id: u32| ZoneFacts { id, ..ZoneFacts::default() };
        let facts =
            MachineFacts { zones: (0..3).map(zone).collect(), devices, ..MachineFacts::default() };
        Machine::new(&facts).expect("a machine")
    }

    #[test]
    fn orders_name_every_device_once() {
        assert!(DeviceOrder::new(vec![]).is_some() && DeviceOrder::new(vec![1, 0]).is_some());
        for wrong in [vec![1], vec![0, 0], vec![0, 2], vec![200]] {
            assert_eq!(DeviceOrder::new(wrong), None);
        }
    }

    #[test]
    fn a_renumbered_machine_is_the_one_with_its_devices_in_that_order() {
        let order = DeviceOrder::new(vec![2, 0, 3, 1]).expect("an order");
        let renumbered = machine([0, 1, 0, 2]).renumbered(0, &order);
        assert_eq!(renumbered.device_count(0), 4);
        let expected = machine([0, 0, 2, 1]);
        assert_eq!(renumbered.healthy_devices(0), expected.healthy_devices(0));
        for zone in 0..3 {
            assert_eq!(renumbered.devices_of(0, zone), expected.devices_of(0, zone));
        }
        assert_eq!(order.renumber(0b0101), 0b0011);
        assert_eq!(order.restore(0b0011), 0b0101);
    }
}
