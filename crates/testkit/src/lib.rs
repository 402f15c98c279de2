//! Fixture text to events, for tests
