//! Arguments of the plugins about GPUs. `GPUTopology` has none.

use framework::{Args, FragmentationArgs, VramArgs};
use model::Millis;

use crate::config::sections::check_args_type;
use crate::document::{Fields, Problems, Spot};

/// `VRAMSchedulerArgs`, if they differ from the defaults.
pub(in crate::config) fn vram(spot: Spot<'_>, problems: &mut Problems) -> Option<Args> {
    const HEADROOM: &str = "headroom";
    const MIXED: &str = "allowMixed";
    let fields = spot.fields(&["apiVersion", "kind", HEADROOM, MIXED], problems)?;
    check_args_type(&fields, "VRAMScheduler", problems);
    let headroom = fields.get(HEADROOM).and_then(|spot| headroom(&spot, problems));
    let args = VramArgs {
        headroom_milli: headroom.unwrap_or_default(),
        allows_mixed: fields.boolean(MIXED, problems).unwrap_or_default(),
    };
    (args != VramArgs::default()).then_some(Args::Vram(args))
}

/// A share in thousandths.
fn headroom(spot: &Spot<'_>, problems: &mut Problems) -> Option<u16> {
    const MAX: u16 = 500;
    // Numbers of so few digits are closer to their thousandths than this.
    const NEAR: f64 = 1e-9;
    let milli = spot.number(problems)? * 1000.0;
    let found = (0..=MAX).find(|thousandths| (f64::from(*thousandths) - milli).abs() < NEAR);
    if found.is_none() {
        spot.expected("a number from 0.0 to 0.5 with at most three digits", problems);
    }
    found
}

/// `ResourceFragmentationArgs`, if they differ from the defaults.
pub(in crate::config) fn fragmentation(spot: Spot<'_>, problems: &mut Problems) -> Option<Args> {
    const PRISTINE: &str = "pristineMin";
    const SMALL: &str = "smallRequestMax";
    const WINDOW: &str = "windowSeconds";
    let fields = spot.fields(&["apiVersion", "kind", PRISTINE, SMALL, WINDOW], problems)?;
    check_args_type(&fields, "ResourceFragmentation", problems);
    let defaults = FragmentationArgs::default();
    let window = number(&fields, WINDOW, (60, 604_800), problems);
    let args = FragmentationArgs {
        pristine_min: number(&fields, PRISTINE, (2, 128), problems)
            .unwrap_or(defaults.pristine_min),
        small_max: number(&fields, SMALL, (0, 127), problems).unwrap_or(defaults.small_max),
        window: window.map_or(defaults.window, |seconds| Millis::seconds(seconds.into())),
    };
    if args.small_max >= args.pristine_min {
        let (small, pristine) = (args.small_max, args.pristine_min);
        let message = format!("expected less than {PRISTINE}, which is {pristine}, found {small}");
        problems.report(&fields.place_at(SMALL), message);
    }
    (args != defaults).then_some(Args::Fragmentation(args))
}

fn number(
    fields: &Fields<'_>,
    name: &str,
    (min, max): (u32, u32),
    problems: &mut Problems,
) -> Option<u32> {
    let found = fields.integer(name, i64::from(min)..=i64::from(max), problems)?;
    Some(u32::try_from(found).expect("read within the range"))
}
