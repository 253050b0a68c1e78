//! Idempotency keys: the answers to requests that may come again.

use crate::Fault;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// The answers given to keyed requests. At most [`MOST`], none longer than [`KEPT`].
#[derive(Default)]
pub(crate) struct Keys {
    answers: HashMap<String, Answer>,
    /// The keys, oldest first.
    order: VecDeque<String>,
}

struct Answer {
    /// The request, as it was.
    body: Value,
    answer: Result<Value, Fault>,
    at: Instant,
}

/// An answer as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Stored {
    key: String,
    body: Value,
    answer: Result<Value, Fault>,
}

/// What is known of a key.
pub(crate) enum Known {
    New,
    /// The same request, and its answer.
    Same(Result<Value, Fault>),
    /// Another request has used it.
    Other,
}

/// How many answers are kept.
pub(crate) const MOST: usize = 4096;

/// How long an answer is kept.
pub(crate) const KEPT: Duration = Duration::from_secs(24 * 3600);

impl Keys {
    /// The name under which a key of a principal is kept.
    pub(crate) fn name(principal: Option<&str>, key: &str) -> String {
        format!("{}\n{key}", principal.unwrap_or(""))
    }

    pub(crate) fn look(&mut self, name: &str, body: &Value, now: Instant) -> Known {
        self.forget(now);
        match self.answers.get(name) {
            None => Known::New,
            Some(known) if known.body == *body => Known::Same(known.answer.clone()),
            Some(_) => Known::Other,
        }
    }

    pub(crate) fn keep(
        &mut self,
        name: String,
        body: Value,
        answer: Result<Value, Fault>,
        now: Instant,
    ) {
        if self.order.len() >= MOST {
            self.forget_oldest();
        }
        self.order.push_back(name.clone());
        self.answers.insert(
            name,
            Answer {
                body,
                answer,
                at: now,
            },
        );
    }

    /// All of them, oldest first.
    pub(crate) fn stored(&self) -> Vec<Stored> {
        let one = |key: &String| {
            let known = self.answers.get(key)?;
            Some(Stored {
                key: key.clone(),
                body: known.body.clone(),
                answer: known.answer.clone(),
            })
        };
        self.order.iter().filter_map(one).collect()
    }

    /// Takes over what was stored. Its time begins anew.
    pub(crate) fn restore(&mut self, stored: Vec<Stored>, now: Instant) {
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
            self.answers.remove(&oldest);
        }
    }
}
