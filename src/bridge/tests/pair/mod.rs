//! The bridge, hosts of both eras and the SDK's peer joined in memory: random stories on a simulated
//! clock, bytes delivered in random pieces, processes that die at any step, hosts that come back
//! with good and bad states, late or never, several of them that come and go. Whatever happens,
//! every request has exactly one answer and nobody hears what is another's (`host` watches over
//! that), and in the end nothing is left over.
//!
//! A failing story prints its seed; `PMCP_SEED=n cargo test pair` repeats it alone, and
//! `PMCP_STORIES=n` tells more of them.

mod host;
mod tool;

use std::collections::BTreeMap;

use self::host::Hosts;
use self::tool::Tool;
use super::*;
use crate::limits::{BACKOFF_MAX, KILL_AFTER, SETTLE, TASK_TTL_MAX};

/// A small generator; the same seed tells the same story.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }

    /// Once in so many times.
    fn once_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }
}

/// What all tool processes of a story have in common.
#[derive(Clone, Copy)]
struct Habits {
    /// How many requests one works on at once; 0 is a published SDK, which does not say.
    concurrency: u32,
    has_middleware: bool,
    /// Handlers do not care about cancels.
    is_stubborn: bool,
    /// Everything shall come to its end: nothing new is begun.
    settles: bool,
}

struct Story {
    scene: Scene,
    random: Random,
    hosts: Hosts,
    tools: BTreeMap<u64, Tool>,
    habits: Habits,
}

impl Story {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let habits = Habits {
            concurrency: random.below(5) as u32,
            has_middleware: random.once_in(3),
            is_stubborn: random.once_in(3),
            settles: false,
        };
        let mut scene = Scene::new();
        scene.bridge.config.reload = if random.once_in(5) { ReloadMode::Immediate } else { ReloadMode::Safe };
        scene.bridge.config.exclusive = random.once_in(5);
        let mut hosts = Hosts::default();
        hosts.first(&mut scene);
        let mut story = Self { scene, random, hosts, tools: BTreeMap::new(), habits };
        story.carry_out();
        story
    }

    fn step(&mut self) {
        match self.random.below(24) {
            0..9 => self.hosts.act(&mut self.scene, &mut self.random),
            9..14 => self.deliver_some(),
            14..20 => self.work(),
            20 => {
                let time = [1, 6, 300, 5_000, 31_000][self.random.below(5)];
                self.wait(Duration::from_millis(time));
            }
            21 if self.random.once_in(20) => self.wait(Duration::from_secs(601)),
            22 if self.random.once_in(8) => self.kill_one(),
            23 if self.random.once_in(10) => {
                self.scene.input(Input::Reload { cause: "tools.py changed".into() });
            }
            _ => self.deliver_some(),
        }
        self.carry_out();
    }

    /// Time passes for all clocks.
    fn wait(&mut self, time: Duration) {
        self.scene.wait(time);
        self.scene.bridge.wall += time;
    }

    /// Does what the bridge said, and listens as the hosts.
    fn carry_out(&mut self) {
        for order in self.scene.orders() {
            let (word, generation) = order.split_once(' ').expect("no exit in these stories");
            let generation = generation.parse().expect("a generation");
            match word {
                "start" => self.start(generation),
                _ => self.end(generation, "was killed by signal 15"),
            }
        }
        for (generation, tool) in &mut self.tools {
            for told in self.scene.told(*generation) {
                tool.hear(&told);
            }
        }
        for output in std::mem::take(&mut self.scene.outputs) {
            match output {
                Output::Host { route, message, sort } => {
                    let message: Value = serde_json::from_slice(&message).expect("every message is JSON");
                    self.hosts.hear(route, &message, sort);
                }
                Output::Unanswered(route) => self.hosts.hear_nothing(route),
                Output::Start(_) | Output::Kill { .. } => self.scene.outputs.push(output),
                Output::Tool { .. } | Output::Log(..) => {}
                Output::Job(_) | Output::Exit => panic!("{output:?}"),
            }
        }
    }

    fn start(&mut self, generation: u64) {
        if !self.habits.settles && self.random.once_in(6) {
            self.scene.exited(generation, "exited with status 1", "");
            return;
        }
        self.tools.insert(generation, Tool::new(self.habits));
        self.scene.input(Input::ToolConnected(Generation(generation)));
    }

    fn end(&mut self, generation: u64, how: &str) {
        if self.tools.remove(&generation).is_some() {
            let reason = "closed its connection".to_owned();
            self.scene.input(Input::ToolDisconnected { generation: Generation(generation), reason });
            self.scene.exited(generation, how, "last words");
        }
    }

    fn some_tool(&mut self) -> Option<u64> {
        let generations: Vec<u64> = self.tools.keys().copied().collect();
        (!generations.is_empty()).then(|| generations[self.random.below(generations.len())])
    }

    fn kill_one(&mut self) {
        if let Some(generation) = self.some_tool() {
            self.end(generation, "was killed by signal 11");
        }
    }

    fn deliver_some(&mut self) {
        if let Some(generation) = self.some_tool() {
            let count = 1 + self.random.below(600);
            self.deliver(generation, count);
        }
    }

    /// Moves up to `count` bytes in each direction.
    fn deliver(&mut self, generation: u64, count: usize) {
        let Some(tool) = self.tools.get_mut(&generation) else { return };
        tool.receive(count);
        let (scene, generation) = (&mut self.scene, Generation(generation));
        tool.send(count, |received| {
            scene.bridge.handle(Input::Tool { generation, received }, scene.now, &mut scene.outputs);
            scene.run_jobs();
        });
        scene.check();
    }

    /// A handler does something.
    fn work(&mut self) {
        if let Some(generation) = self.some_tool()
            && let Some(tool) = self.tools.get_mut(&generation)
        {
            tool.work(&mut self.random, self.habits);
        }
    }

    /// Lets everything that was begun come to its end.
    fn settle(&mut self) {
        self.habits.settles = true;
        for round in 0..60 {
            self.finish_all();
            if round < 40 {
                self.hosts.settle(&mut self.scene, &mut self.random);
            }
            // Long enough for backoffs at first, and for every timeout in the end.
            self.wait(Duration::from_millis(if round < 30 { 150 } else { 40_000 }));
            self.carry_out();
        }
        // A task that waits behind a handler which never ends has its own time, and what follows.
        for time in [TASK_TTL_MAX, KILL_AFTER, BACKOFF_MAX, SETTLE] {
            self.wait(time);
            self.carry_out();
            self.finish_all();
        }
    }

    /// All handlers come to their end, and all that is on its way arrives.
    fn finish_all(&mut self) {
        for generation in self.tools.keys().copied().collect::<Vec<_>>() {
            self.deliver(generation, usize::MAX);
            if let Some(tool) = self.tools.get_mut(&generation) {
                tool.finish_all(&mut self.random, self.habits);
            }
        }
    }

    /// What must be true when nothing is under way any more.
    fn has_settled(&self) {
        self.hosts.have_settled();
        let bridge = &self.scene.bridge;
        assert!(bridge.calls.is_empty(), "{:#?}", bridge.calls);
        assert_eq!((bridge.waiting.all(), bridge.waiting.bytes()), (0, (0, 0)));
        assert!(bridge.questions.is_empty());
        assert_eq!((bridge.timers.len(), bridge.left.counts()), (0, (0, 0, 0)));
        assert_eq!(bridge.tasks.counts(), (0, 0, 0, 0));
        for process in bridge.processes.values() {
            assert_eq!((process.busy, process.asks.len()), (0, 0), "{process:#?}");
        }
        assert_eq!(bridge.deadline(), None, "{:#?} {:#?}", bridge.processes, bridge.restart);
    }
}

#[test]
fn every_request_has_exactly_one_answer_whatever_happens() {
    let number = |name| std::env::var(name).ok().map(|text| text.parse::<u64>().expect("a number"));
    let seeds = match (number("PMCP_SEED"), number("PMCP_STORIES")) {
        (Some(seed), _) => seed..=seed,
        (None, stories) => 1..=stories.unwrap_or(300),
    };
    for seed in seeds {
        eprintln!("PMCP_SEED={seed}");
        let mut story = Story::new(seed);
        for _ in 0..250 {
            story.step();
        }
        story.settle();
        story.has_settled();
    }
}
