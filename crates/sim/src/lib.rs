//! A deterministic world around the engine
