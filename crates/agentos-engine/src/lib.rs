//! The flow: registry, context, the run loop; effects arrive through its own ports
