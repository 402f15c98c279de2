//! `kubenexus snapshot`: what scheduling reads of a live cluster, as a file for `kubenexus
//! simulate`.

use std::fs::{self, File, OpenOptions, Permissions};
use std::hash::{BuildHasher as _, RandomState};
use std::io::{self, BufWriter, IsTerminal as _, Write};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use indicatif::ProgressBar;
use k8s::anonymise::Anonymiser;
use live::SnapshotProgress;

use super::out;

const HEAD: &str = r#"{"apiVersion":"v1","kind":"List","items":["#;

/// What to write, and where.
#[derive(clap::Args)]
pub(crate) struct SnapshotArgs {
    /// How to reach the API server; without it, $KUBECONFIG, or the service account of the pod
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The address of the API server, instead of the kubeconfig's
    #[arg(long, value_name = "URL")]
    master: Option<String>,
    /// The file to write, which only its owner may read; standard output if it is left out
    #[arg(long, short, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Hash names of nodes, pods, namespaces, volumes, classes, labels, images
    ///
    /// Equal names stay equal in the file, so that pods still find their volumes. The key of the
    /// hash is drawn anew each time and kept nowhere, so that no name can be guessed.
    #[arg(long)]
    anonymise: bool,
}

/// Writes a snapshot.
pub(crate) fn run(args: &SnapshotArgs) -> Result<()> {
    match &args.output {
        None => {
            write(args, &mut BufWriter::new(io::stdout().lock()))?;
        }
        Some(path) => {
            // Nobody takes half a file for a whole one.
            let part = path.with_added_extension("part");
            let file = create(&part).with_context(|| format!("writing {}", part.display()))?;
            let written = write(args, &mut BufWriter::new(file));
            let written = written.and_then(|progress| {
                fs::rename(&part, path).with_context(|| format!("writing {}", path.display()))?;
                Ok(progress)
            });
            if written.is_err() {
                let _ = fs::remove_file(&part);
            }
            let progress = written?;
            out::remark(format_args!("{progress} are in {}", path.display()));
        }
    }
    Ok(())
}

/// A file that only its owner may read, also if it was there before.
fn create(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    let file = options.write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

/// A `List` with one object per line.
fn write(args: &SnapshotArgs, to: &mut impl Write) -> Result<SnapshotProgress> {
    let kubeconfig = args.kubeconfig.clone().or_else(|| {
        let path = std::env::var_os("KUBECONFIG").filter(|path| !path.is_empty());
        path.map(PathBuf::from)
    });
    let key = RandomState::new();
    let anonymiser = args.anonymise.then(|| Anonymiser::new(|text: &str| key.hash_one(text)));
    let spinner = match io::stderr().is_terminal() {
        true => ProgressBar::new_spinner(),
        false => ProgressBar::hidden(),
    };
    // The list begins with its first object: nothing is written if there is no answer.
    let mut before = HEAD;
    let take = |object, progress: &SnapshotProgress| {
        let object = match &anonymiser {
            Some(anonymiser) => anonymiser.object(object),
            None => object,
        };
        write!(to, "{before}\n{object}").map_err(out::unwritten)?;
        before = ",";
        if !spinner.is_hidden() {
            spinner.set_message(progress.to_string());
            spinner.tick();
        }
        Ok(())
    };
    let taken = live::snapshot(kubeconfig.as_deref(), args.master.as_deref(), take);
    spinner.finish_and_clear();
    let progress = taken?;
    for left_out in &progress.left_out {
        out::remark(format_args!("not in the snapshot: {left_out}"));
    }
    let head = if before == HEAD { HEAD } else { "" };
    writeln!(to, "{head}\n]}}").and_then(|()| to.flush()).map_err(out::unwritten)?;
    Ok(progress)
}
