//! The path of agents, `/mcp`: the tools of the repository over the Model Context Protocol.
//!
//! Owns: what the protocol's server is made of. Never: decides who may call it; the judge has decided before. Never approves.

use agentos_host::SessionOptions;
use agentos_mcp::make_endpoint;
use axum::Router;

use crate::desk::SharedDesk;

/// Adds the path to the table. Its server ends its sessions when the table is dropped.
pub fn add_agent_path(routes: Router<SharedDesk>, desk: &SharedDesk, names: &[String]) -> Router<SharedDesk> {
    let session = SessionOptions {
        policies: desk.policies.clone(),
        ..SessionOptions::default()
    };
    // The names are checked by the judge as well; this crate's own check must not be the only one that a later change relies on.
    let endpoint = make_endpoint(desk.host.clone(), session, names);
    routes.route_service("/mcp", endpoint)
}
