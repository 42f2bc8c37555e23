//! Whether calls can be served, for those who watch over us.

use std::time::{Duration, Instant};

use crate::ids::Generation;

use super::Bridge;
use super::process::Phase;
use super::restart::Plan;

/// Whether a tool process serves, and if not, why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// Calls go to this one.
    Serving(Generation),
    /// It is being built.
    Building,
    /// It has not shown yet that it serves.
    Starting,
    /// It died and is started again: at this time, or with the next call if it knows none.
    Restarting(Option<Instant>),
    /// We are ending.
    Ending,
}

impl Health {
    /// Why nothing serves, in a few words that tell nothing of the tools: anybody may ask.
    pub fn reason(self, now: Instant) -> Option<String> {
        let text = match self {
            Health::Serving(_) => return None,
            Health::Building => "the tool process is being built".into(),
            Health::Starting => "the tool process is starting".into(),
            Health::Restarting(None) => {
                "the tool process died too often, and the next call starts it again; the log says why".into()
            }
            Health::Restarting(Some(at)) => {
                let left = at.saturating_duration_since(now) + Duration::from_millis(999);
                format!(
                    "the tool process died and is started again within {} s; the log says why",
                    left.as_secs()
                )
            }
            Health::Ending => "pmcp is ending".into(),
        };
        Some(text)
    }
}

impl Bridge {
    /// Whether a tool process serves.
    pub fn health(&self) -> Health {
        if self.shutdown.is_some() {
            return Health::Ending;
        }
        if let Some(generation) = self.serving {
            return Health::Serving(generation);
        }
        let mut phases = self.processes.values().map(|process| process.phase);
        match self.restart.plan {
            Plan::At(at) => Health::Restarting(Some(at)),
            Plan::Down(at) => Health::Restarting(at),
            Plan::Up | Plan::First if phases.any(|phase| matches!(phase, Phase::Building { .. })) => {
                Health::Building
            }
            Plan::Up | Plan::First => Health::Starting,
        }
    }

    /// Whether a reload is on its way that somebody asked for.
    pub fn reloads(&self) -> bool {
        self.reload.is_unproven
    }
}
