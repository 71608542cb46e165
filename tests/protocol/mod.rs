//! What a client sends and how strictly it reads replies: http-binding §13, §14.

mod deliveries;
mod drive;
mod errors;
mod properties;
mod replies;
mod requests;
mod uploads;
mod verdicts;
mod waits;
mod writes;
