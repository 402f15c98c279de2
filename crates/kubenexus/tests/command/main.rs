//! Runs the built `kubenexus` command as people do, and looks at what it prints and returns.

mod check_config;
mod demo;
mod fuzz;
mod help;
mod pipes;
mod replay;
mod runner;
mod simulate;
mod swarm;
mod traces;
mod verdict;
