//! The filter as a form, for those who do not type one: its fields stand in the address beside what
//! was typed, and both have to hold.

use crate::model::{Nanos, Rule};
use crate::query::filter::Filter;
use crate::web::error::Problem;
use crate::web::params::{Params, bad};

/// What the form says. Fields that say nothing are absent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Form {
    /// The root hop's service.
    pub(super) service: Option<String>,
    /// The service that held the clock.
    pub(super) held: Option<String>,
    /// The service where a failure surfaced.
    pub(super) surfaced: Option<String>,
    /// A rule that found something.
    pub(super) rule: Option<Rule>,
    /// The least share of the budget that was used, in per cent.
    pub(super) used: Option<usize>,
    /// The least wasted time, in milliseconds.
    pub(super) wasted: Option<usize>,
}

impl Form {
    /// Reads the form's fields.
    pub(super) fn read(params: &Params) -> Result<Self, Problem> {
        let text = |name| params.get(name).map(str::to_owned);
        let number = |name, most| {
            let given = params.get(name).is_some();
            given.then(|| params.number(name, 0, 0, most)).transpose()
        };
        let rule = params.get("rule").map(|text| {
            let rule = Rule::ALL.iter().find(|rule| rule.as_str() == text);
            rule.copied()
                .ok_or_else(|| bad("rule", text, "the name of a rule, such as not_propagated"))
        });
        Ok(Self {
            service: text("service"),
            held: text("held"),
            surfaced: text("surfaced"),
            rule: rule.transpose()?,
            used: number("used", 1_000_000)?,
            wasted: number("wasted", 1_000_000_000)?,
        })
    }

    /// True if a field says something.
    pub(super) fn is_used(&self) -> bool {
        *self != Self::default()
    }

    /// What has to hold, each field for itself.
    pub(super) fn filters(&self) -> Vec<Filter> {
        let equals = |name, text: &Option<String>| Filter::equals(name, text.as_deref()?);
        let used = self.used.map(|used| format!("used >= {used}%"));
        let wasted = self.wasted.and_then(|ms| i64::try_from(ms).ok());
        let all = [
            equals("service", &self.service),
            equals("culprit.service", &self.held),
            equals("surfaced.service", &self.surfaced),
            self.rule
                .and_then(|rule| Filter::equals("finding.rule", rule.as_str())),
            used.and_then(|text| Filter::parse(&text).ok()),
            wasted.and_then(|ms| Filter::at_least("wasted", Nanos::from_millis(ms))),
        ];
        all.into_iter().flatten().collect()
    }

    /// The fields for an address.
    pub(super) fn pairs(&self) -> Vec<(&'static str, String)> {
        let number = |number: Option<usize>| number.map(|number| number.to_string());
        let all = [
            ("service", self.service.clone()),
            ("held", self.held.clone()),
            ("surfaced", self.surfaced.clone()),
            ("rule", self.rule.map(|rule| rule.as_str().to_owned())),
            ("used", number(self.used)),
            ("wasted", number(self.wasted)),
        ];
        let all = all.into_iter();
        all.filter_map(|(name, value)| Some((name, value?)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_field_becomes_a_condition_and_its_own_address_again() {
        let address = "service=a%20b&held=c&surfaced=d&rule=not_propagated&used=80&wasted=200";
        let form = Form::read(&Params::read(Some(address))).unwrap();
        let filter = Filter::all(form.filters()).unwrap().to_string();
        assert_eq!(
            filter,
            "service=\"a b\" and culprit.service=c and surfaced.service=d \
             and finding.rule=not_propagated and used >= 80% and wasted >= 200ms"
        );
        assert_eq!(form.pairs().len(), 6);
        let pairs = form.pairs();
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(name, value)| (*name, Some(value.as_str())))
            .collect();
        let link = crate::web::params::Link {
            path: "",
            pairs: &pairs,
        };
        assert_eq!(link.to_string(), format!("?{address}"));
    }

    #[test]
    fn an_empty_form_says_nothing_and_a_wrong_one_is_refused() {
        let form = Form::read(&Params::read(Some("service=&used="))).unwrap();
        assert!(!form.is_used() && form.filters().is_empty());
        for (address, name) in [
            ("rule=no_such", "`rule`"),
            ("used=-1", "`used`"),
            ("wasted=x", "`wasted`"),
        ] {
            let Err(Problem::Bad(words)) = Form::read(&Params::read(Some(address))) else {
                panic!("{address} was read");
            };
            assert!(words.starts_with(name), "{words}");
        }
    }
}
