//! How a host reaches us: bytes to messages and back.
