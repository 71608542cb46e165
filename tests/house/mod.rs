//! Rules of the house that a program can check.

mod layers;
