//! Both ends of the wire over real sockets, with peers and faults in between.

mod everywhere;
mod faults;
mod peers;
pub(crate) mod proxy;
pub(crate) mod served;
mod storm;
mod uploads;
mod wire;
