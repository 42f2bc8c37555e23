//! What stands for TLS in a build without it: nothing that could be had, and the sentence for who
//! asks for it.

use std::io::{self, Read, Write};
use std::time::Instant;

use super::TlsFiles;

/// There is none.
#[derive(Debug)]
pub(super) enum Identity {}

/// There is none.
#[derive(Debug)]
pub(super) enum Session {}

impl Identity {
    pub(super) fn open(_: &TlsFiles) -> Result<Self, String> {
        Err("this build of pmcp has no TLS: let a reverse proxy such as nginx speak it (see --proxy), or build \
             pmcp with --features tls"
            .into())
    }

    pub(super) fn forget(&mut self) {
        match *self {}
    }

    pub(super) fn refresh(&mut self, _: Instant) -> Result<bool, String> {
        match *self {}
    }

    pub(super) fn session(&self) -> io::Result<Session> {
        match *self {}
    }
}

impl Session {
    pub(super) fn read(&mut self, _: &mut (impl Read + Write), _: &mut [u8]) -> io::Result<usize> {
        match *self {}
    }

    pub(super) fn write(&mut self, _: &mut impl Write, _: &[u8]) -> io::Result<usize> {
        match *self {}
    }

    pub(super) fn flush(&mut self, _: &mut impl Write) -> io::Result<()> {
        match *self {}
    }

    pub(super) fn owes(&self) -> bool {
        match *self {}
    }

    pub(super) fn say_goodbye(&mut self, _: &mut impl Write) -> io::Result<()> {
        match *self {}
    }
}
