//! Both ends of the wire over real sockets, with peers and faults in between.

mod served;
mod storm;
