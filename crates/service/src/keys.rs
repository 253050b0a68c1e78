//! Idempotency keys: the answers to requests that may come again.

use crate::Fault;
use crate::weight::weight;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// The answers given to keyed requests. At most [`MOST`], in so many bytes, none longer than
/// [`KEPT`].
pub(crate) struct KeyedAnswers {
    answers: HashMap<String, Answer>,
    /// The keys, oldest first.
    order: VecDeque<String>,
    /// What all of them take, and may take.
    bytes: usize,
    most_bytes: usize,
}

struct Answer {
    /// The request, as it was.
    body: Value,
    answer: Result<Value, Fault>,
    at: Instant,
    bytes: usize,
}

/// An answer as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct StoredAnswer {
    key: String,
    body: Value,
    answer: Result<Value, Fault>,
}

/// What is known of a key.
pub(crate) enum KeyLookup {
    New,
    /// The same request, and its answer.
    Same(Result<Value, Fault>),
    /// Another request has used it.
    Other,
}

/// How many answers are kept.
pub(crate) const MOST: usize = 4096;

/// What a key takes beside its name, request and answer: its places in the map and in the order.
const EACH: usize = 2 * (size_of::<Answer>() + 2 * size_of::<String>());

/// How long an answer is kept.
pub(crate) const KEPT: Duration = Duration::from_secs(24 * 3600);

impl KeyedAnswers {
    /// None yet. What they take may be so many bytes.
    pub(crate) fn new(most_bytes: usize) -> Self {
        KeyedAnswers {
            answers: HashMap::new(),
            order: VecDeque::new(),
            bytes: 0,
            most_bytes,
        }
    }

    /// The name under which a key of a principal is kept.
    pub(crate) fn name(principal: Option<&str>, key: &str) -> String {
        format!("{}\n{key}", principal.unwrap_or(""))
    }

    pub(crate) fn look(&mut self, name: &str, body: &Value, now: Instant) -> KeyLookup {
        self.forget(now);
        match self.answers.get(name) {
            None => KeyLookup::New,
            Some(known) if known.body == *body => KeyLookup::Same(known.answer.clone()),
            Some(_) => KeyLookup::Other,
        }
    }

    pub(crate) fn keep(
        &mut self,
        name: String,
        body: Value,
        answer: Result<Value, Fault>,
        now: Instant,
    ) {
        let of_answer = match &answer {
            Ok(value) => weight(value),
            Err(fault) => fault.weight(),
        };
        let bytes = 2 * name.len() + weight(&body) + of_answer + EACH;
        // The newest is kept in any case: its request is the one that may come again soon.
        while !self.order.is_empty()
            && (self.order.len() >= MOST || self.bytes.saturating_add(bytes) > self.most_bytes)
        {
            self.forget_oldest();
        }
        self.bytes += bytes;
        self.order.push_back(name.clone());
        let kept = Answer {
            body,
            answer,
            at: now,
            bytes,
        };
        self.answers.insert(name, kept);
    }

    /// Forgets all of them.
    pub(crate) fn clear(&mut self) {
        *self = KeyedAnswers::new(self.most_bytes);
    }

    /// All of them, oldest first.
    pub(crate) fn stored(&self) -> Vec<StoredAnswer> {
        let one = |key: &String| {
            let known = self.answers.get(key)?;
            Some(StoredAnswer {
                key: key.clone(),
                body: known.body.clone(),
                answer: known.answer.clone(),
            })
        };
        self.order.iter().filter_map(one).collect()
    }

    /// Has what was stored instead. Its time begins anew.
    pub(crate) fn restore(&mut self, stored: Vec<StoredAnswer>, now: Instant) {
        self.clear();
        for one in stored {
            self.keep(one.key, one.body, one.answer, now);
        }
    }

    fn forget(&mut self, now: Instant) {
        let is_old = |keys: &Self| {
            let oldest = keys.order.front().and_then(|key| keys.answers.get(key));
            oldest.is_some_and(|oldest| now.saturating_duration_since(oldest.at) > KEPT)
        };
        while is_old(self) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) {
        if let Some(oldest) = self.order.pop_front() {
            let gone = self.answers.remove(&oldest);
            self.bytes -= gone.map_or(0, |answer| answer.bytes);
        }
    }
}
