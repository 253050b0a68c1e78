//! Who may do what.

use crate::{Fault, FaultCode, Verb};
use serde::Deserialize;
use serde_json::Value;

/// Who may do what with a service: rules such as `viewer: get query subscribe`. Without rules
/// everybody may do everything.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rights(Vec<Rule>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    principal: String,
    /// `None`: all.
    verbs: Option<Vec<Verb>>,
}

impl Rights {
    /// Reads rules, each `principal: verb verb …`; `*` stands for everybody, and for all verbs.
    ///
    /// # Errors
    /// A fault that names the rule and what is wrong with it.
    ///
    /// ```
    /// use motet_service::Rights;
    ///
    /// assert!(Rights::parse(["viewer: get query", "admin: *"]).is_ok());
    /// let refused = Rights::parse(["viewer: look"]).unwrap_err();
    /// assert!(refused.reason().contains("look"));
    /// ```
    pub fn parse<R: AsRef<str>>(rules: impl IntoIterator<Item = R>) -> Result<Self, Fault> {
        let rules = rules.into_iter().map(|rule| read(rule.as_ref()));
        rules.collect::<Result<_, _>>().map(Rights)
    }

    /// Whether `principal` may do `verb`.
    pub(crate) fn check(&self, principal: &str, verb: Verb) -> Result<(), Fault> {
        let allows = |rule: &Rule| {
            let is_meant = rule.principal == "*" || rule.principal == principal;
            is_meant
                && rule
                    .verbs
                    .as_ref()
                    .is_none_or(|verbs| verbs.contains(&verb))
        };
        if self.0.is_empty() || self.0.iter().any(allows) {
            return Ok(());
        }
        let reason =
            format!("{principal} may not {verb:?} here; allow it in the rules of the service");
        Err(Fault::new(FaultCode::PermissionDenied, reason))
    }
}

fn read(rule: &str) -> Result<Rule, Fault> {
    let wrong = |what: String| {
        let reason = format!("the rule {rule:?} {what}; write \"principal: verb verb\"");
        Fault::new(FaultCode::MessageNotSupported, reason)
    };
    let (principal, verbs) = rule
        .split_once(':')
        .ok_or_else(|| wrong("has no colon".to_owned()))?;
    let verbs: Vec<&str> = verbs.split_whitespace().collect();
    let verbs = match verbs.as_slice() {
        ["*"] => None,
        verbs => {
            let read = |verb: &&str| {
                Verb::deserialize(Value::from(*verb))
                    .map_err(|_| wrong(format!("names the verb {verb:?}")))
            };
            Some(verbs.iter().map(read).collect::<Result<_, _>>()?)
        }
    };
    Ok(Rule {
        principal: principal.trim().to_owned(),
        verbs,
    })
}
