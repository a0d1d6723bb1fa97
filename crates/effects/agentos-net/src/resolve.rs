//! Name resolution with an error of its own, so that an unknown host differs from a refused connection.
//!
//! Owns: the only name lookup. Never: caches an answer, or overrides one unless it is configured to.

use std::net::{Ipv4Addr, SocketAddr};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::Names;

/// Error for a name without an address.
#[derive(Debug, thiserror::Error)]
#[error("the name does not resolve")]
pub(crate) struct UnknownHost;

/// NameResolver of the client.
#[derive(Debug)]
pub(crate) struct NameResolver(pub(crate) Names);

impl Resolve for NameResolver {
    fn resolve(&self, name: Name) -> Resolving {
        let names = self.0;
        Box::pin(async move {
            let found: Vec<SocketAddr> = match names {
                // The port is 0 because the HTTP library sets that of the URL.
                Names::System => tokio::net::lookup_host((name.as_str(), 0))
                    .await
                    .map_err(|_| UnknownHost)?
                    .collect(),
                Names::Loopback => vec![(Ipv4Addr::LOCALHOST, 0).into()],
                Names::Unknown => Vec::new(),
                Names::Silent => std::future::pending().await,
            };
            if found.is_empty() {
                return Err(UnknownHost.into());
            }
            let addresses: Addrs = Box::new(found.into_iter());
            Ok(addresses)
        })
    }
}
