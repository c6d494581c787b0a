//! What the configuration says about the admin port.

/// `admin.public`: what callers that are not on this machine may reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Public {
    pub metrics: bool,
    pub health: bool,
}
