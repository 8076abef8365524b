//! Bytes by step, as they are counted where ranks run.

use super::Sent;
use super::listed::Listed;
use crate::dist::coords::Coords;
use crate::dist::tensor::own;
use std::cell::{Cell, RefCell};

/// The bytes of steps, in order.
pub(super) struct Ledger {
    pub(super) ranks: usize,
    pub(super) steps: Vec<Sent>,
}

impl Ledger {
    pub(super) fn new(ranks: usize) -> Ledger {
        Ledger { ranks, steps: vec![] }
    }

    /// Every rank sends so many bytes to all others.
    pub(super) fn gather(&mut self, what: &str, once: bool, bytes: impl Fn(usize) -> u64) {
        let bytes: Vec<u64> = (0..self.ranks).map(bytes).collect();
        let (all, others) = (bytes.iter().sum::<u64>(), self.ranks as u64 - 1);
        let sent = bytes.iter().map(|own| own * others).collect();
        let received = bytes.iter().map(|own| all - own).collect();
        let messages = u64::from(self.ranks.next_power_of_two().trailing_zeros());
        self.steps.push(Sent { what: what.to_owned(), once, sent, received, messages });
    }

    /// Adds steps in which ranks get elements of each other.
    pub(super) fn add(&mut self, fetches: Fetches) {
        for fetch in fetches.kinds.into_inner() {
            if fetches.remembers {
                let what = format!("{}: whether requests are known", fetch.name);
                self.gather(&what, false, |_| 16);
            }
            self.steps
                .extend(fetch.requests.map(|to| to.sent(format!("{}: requests", fetch.name))));
            self.steps.push(fetch.elements.sent(fetch.what));
        }
    }
}

/// Steps in which ranks get elements of each other, each of a tensor: all ranks take the same ones.
pub(super) struct Fetches {
    ranks: usize,
    remembers: bool,
    at: Cell<usize>,
    kinds: RefCell<Vec<Fetch>>,
}

struct Fetch {
    name: String,
    what: String,
    requests: Option<Messages>,
    elements: Messages,
}

/// Messages from ranks to others.
struct Messages {
    once: bool,
    sent: Vec<u64>,
    received: Vec<u64>,
    count: Vec<u64>,
}

impl Messages {
    fn new(ranks: usize, once: bool) -> Messages {
        let [sent, received, count] = [(); 3].map(|()| vec![0; ranks]);
        Messages { once, sent, received, count }
    }

    fn add(&mut self, from: usize, to: usize, bytes: u64) {
        if from != to && bytes > 0 {
            self.sent[from] += bytes;
            self.received[to] += bytes;
            self.count[from] += 1;
        }
    }

    fn sent(self, what: String) -> Sent {
        let Messages { once, sent, received, count } = self;
        let messages = count.into_iter().max().unwrap_or(0);
        Sent { what, once, sent, received, messages }
    }
}

impl Fetches {
    /// Fetches of a kernel: it knows the requests of its last run, and does not send them again.
    pub(super) fn remembered(ranks: usize) -> Fetches {
        Fetches { ranks, remembers: true, at: Cell::new(0), kinds: RefCell::default() }
    }

    /// Fetches whose requests are sent in each run.
    pub(super) fn unremembered(ranks: usize) -> Fetches {
        Fetches { remembers: false, ..Fetches::remembered(ranks) }
    }

    /// One step without requests.
    pub(super) fn plain(ranks: usize, what: &str) -> Fetches {
        let fetches = Fetches::unremembered(ranks);
        let (what, elements) = (what.to_owned(), Messages::new(ranks, false));
        let fetch = Fetch { name: String::new(), what, requests: None, elements };
        fetches.kinds.borrow_mut().push(fetch);
        fetches
    }

    /// A message of the one step.
    pub(super) fn message(&mut self, from: usize, to: usize, bytes: u64) {
        if let Some(fetch) = self.kinds.get_mut().first_mut() {
            fetch.elements.add(from, to, bytes);
        }
    }

    /// The next rank begins.
    pub(super) fn first_kind(&self) {
        self.at.set(0);
    }

    /// The next tensor, or the next request for one.
    pub(super) fn next_kind(&self) {
        self.at.set(self.at.get() + 1);
    }

    /// A rank asks those that begin there for what it needs.
    pub(super) fn add(
        &self,
        name: &str,
        (rank, starts): (usize, &[u64]),
        listed: &Listed,
        need: &[Coords],
    ) {
        for other in (0..self.ranks).filter(|&other| other != rank) {
            if let Some(theirs) = need[listed.mode].within(own(starts, other)) {
                self.with(name, |fetch| fetch.add((rank, other), listed.asked(need, &theirs)));
            }
        }
        self.with(name, |_| ());
    }

    /// Each rank asks for the same.
    pub(super) fn add_all(&self, name: &str, starts: &[u64], listed: &Listed, need: &[Coords]) {
        for other in 0..self.ranks {
            if let Some(theirs) = need[listed.mode].within(own(starts, other)) {
                let asked = listed.asked(need, &theirs);
                let others = (0..self.ranks).filter(|&rank| rank != other);
                others.for_each(|rank| self.with(name, |fetch| fetch.add((rank, other), asked)));
            }
        }
        self.with(name, |_| ());
    }

    /// Does something with the step at hand.
    fn with(&self, name: &str, act: impl FnOnce(&mut Fetch)) {
        let (at, mut kinds) = (self.at.get(), self.kinds.borrow_mut());
        if at == kinds.len() {
            let requests = Some(Messages::new(self.ranks, self.remembers));
            let elements = Messages::new(self.ranks, false);
            let (what, name) = (format!("{name}: elements"), name.to_owned());
            kinds.push(Fetch { name, what, requests, elements });
        }
        act(&mut kinds[at]);
    }
}

impl Fetch {
    /// Bytes of a request by one rank to another, and of the answer.
    fn add(&mut self, (rank, other): (usize, usize), (request, answer): (u64, u64)) {
        if let Some(requests) = &mut self.requests {
            requests.add(rank, other, request);
        }
        self.elements.add(other, rank, answer);
    }
}

/// How many bytes a number takes.
pub(super) fn length(n: u64) -> u64 {
    u64::from((64 - n.leading_zeros()).div_ceil(7).max(1))
}
