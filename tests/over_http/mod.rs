//! Both ends of the wire over real sockets, with peers and faults in between.

pub(crate) mod served;
mod storm;
