//! The command lines of the components.

use std::path::Path;

/// etcd on a port, with its files in a folder. What it promises about power cuts is not needed.
pub(crate) fn etcd(folder: &Path, port: u16) -> Vec<String> {
    let data = folder.join("etcd");
    vec![
        format!("--data-dir={}", data.display()),
        format!("--listen-client-urls=http://127.0.0.1:{port}"),
        format!("--advertise-client-urls=http://127.0.0.1:{port}"),
        "--listen-peer-urls=http://127.0.0.1:0".into(),
        "--unsafe-no-fsync".into(),
        "--log-level=warn".into(),
    ]
}

/// The API server, with RBAC and an audit log that is written before the answer is given.
pub(crate) fn apiserver(folder: &Path, port: u16, etcd: u16) -> Vec<String> {
    let pki = folder.join("pki");
    let key = pki.join("apiserver.key");
    vec![
        format!("--etcd-servers=http://127.0.0.1:{etcd}"),
        "--bind-address=127.0.0.1".into(),
        format!("--secure-port={port}"),
        "--advertise-address=127.0.0.1".into(),
        "--endpoint-reconciler-type=none".into(),
        format!("--cert-dir={}", pki.display()),
        format!("--token-auth-file={}", folder.join("tokens.csv").display()),
        "--anonymous-auth=false".into(),
        "--authorization-mode=RBAC".into(),
        "--service-cluster-ip-range=10.0.0.0/24".into(),
        "--service-account-issuer=https://kubernetes.default.svc".into(),
        format!("--service-account-key-file={}", key.display()),
        format!("--service-account-signing-key-file={}", key.display()),
        format!("--audit-policy-file={}", folder.join("audit-policy.json").display()),
        format!("--audit-log-path={}", folder.join("audit.log").display()),
        "--audit-log-mode=blocking".into(),
        // Emptying a namespace need not take seconds.
        "--delete-collection-workers=8".into(),
    ]
}

/// What the API server must not insist on while no controller manager runs: nobody would make
/// service accounts, nor take the not-ready taint off nodes.
pub(crate) const WITHOUT_CONTROLLERS: &str =
    "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition";

/// The controller manager, fast enough for tests.
pub(crate) fn controller_manager(folder: &Path, kubeconfig: &Path) -> Vec<String> {
    let pki = folder.join("pki");
    vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        "--use-service-account-credentials".into(),
        format!("--service-account-private-key-file={}", pki.join("apiserver.key").display()),
        format!("--root-ca-file={}", pki.join("ca.crt").display()),
        format!("--flex-volume-plugin-dir={}", folder.join("flexvolume").display()),
        "--leader-elect=false".into(),
        "--secure-port=0".into(),
        "--kube-api-qps=1000".into(),
        "--kube-api-burst=1000".into(),
        // A claim that came before its volume is looked at again after this long.
        "--pvclaimbinder-sync-period=1s".into(),
    ]
}

/// kwok as the kubelet of every node.
pub(crate) fn kwok(stages: &Path, kubeconfig: &Path) -> Vec<String> {
    vec![
        format!("--kubeconfig={}", kubeconfig.display()),
        format!("--config={}", stages.display()),
        "--manage-all-nodes".into(),
        "--node-lease-duration-seconds=40".into(),
    ]
}
