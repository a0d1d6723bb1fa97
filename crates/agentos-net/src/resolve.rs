//! Name resolution with an error of its own, so that an unknown host is told from a refused connection.
//!
//! Owns: the one look-up. Never: caches or overrides an answer.

use std::net::SocketAddr;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

/// The name has no address.
#[derive(Debug, thiserror::Error)]
#[error("the name does not resolve")]
pub(crate) struct UnknownHost;

/// The system's resolver.
#[derive(Debug)]
pub(crate) struct SystemResolver;

impl Resolve for SystemResolver {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move {
            let found: Vec<SocketAddr> = tokio::net::lookup_host((name.as_str(), 0))
                .await
                .map_err(|_| UnknownHost)?
                .collect();
            if found.is_empty() {
                return Err(UnknownHost.into());
            }
            let addresses: Addrs = Box::new(found.into_iter());
            Ok(addresses)
        })
    }
}
