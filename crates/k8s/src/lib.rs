//! Kubernetes shapes, no network
