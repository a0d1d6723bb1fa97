//! Policy: facts about a change and rules give a decision; mints the approval
