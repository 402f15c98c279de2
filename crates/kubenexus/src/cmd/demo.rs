//! placeholder
#[derive(clap::Args)]
pub(crate) struct DemoArgs {}
pub(crate) fn run(_: &DemoArgs) -> anyhow::Result<()> {
    Ok(())
}
