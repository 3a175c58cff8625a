//! What searches of the zoo in the world took.

use super::table::table;
use crate::zoo::{Detections, Hunt, Limits, Method, Simulated};

/// How many runs each kind of search took, as a table that Markdown understands, too: in half of
/// the cases, and in nine of ten.
pub fn simulated(simulated: &Simulated, limits: Limits) -> String {
    let methods = || Method::ALL.iter().map(|method| method.as_str().to_owned());
    let header = ["design".into(), "invariant".into()].into_iter().chain(methods()).collect();
    let row = |hunt: &Hunt| {
        let found = hunt.found.unwrap_or("").to_owned();
        let runs = Method::ALL.iter().map(|method| runs(hunt.methods.get(method), limits));
        [hunt.design.clone(), found].into_iter().chain(runs).collect()
    };
    let medians = Method::ALL.iter().map(|method| at_most(simulated.median(*method), limits));
    let median: Vec<_> = ["median".into(), String::new()].into_iter().chain(medians).collect();
    let rows: Vec<Vec<String>> =
        std::iter::once(header).chain(simulated.hunts.iter().map(row)).chain([median]).collect();
    let mut text = table(&rows);
    text.push_str("\nsafe designs\n\n");
    let header = vec!["design".to_owned(), "runs".to_owned(), "found".to_owned()];
    let rows = simulated.survivors.iter().map(|survivor| {
        let found = survivor
            .found
            .map_or("nothing".to_owned(), |(run, what)| format!("{what} in run {run}"));
        vec![survivor.design.clone(), survivor.runs.to_string(), found]
    });
    text.push_str(&table(&std::iter::once(header).chain(rows).collect::<Vec<_>>()));
    text.push_str("\nbroken, but not in the world\n\n");
    let header = vec!["design".to_owned(), "why not".to_owned()];
    let rows = simulated.not_in_the_world.iter();
    let rows = rows.map(|(design, why_not)| vec![design.clone(), why_not.clone()]);
    text.push_str(&table(&std::iter::once(header).chain(rows).collect::<Vec<_>>()));
    text
}

/// What the zoo showed in the world, in one line.
pub fn simulated_summary(simulated: &Simulated, seconds: f64) -> String {
    let found = |method: Method| {
        let is_found = |hunt: &&Hunt| hunt.methods[&method].percentile(50).is_some();
        simulated.hunts.iter().filter(is_found).count()
    };
    let survived = simulated.survivors.iter().filter(|survivor| survivor.found.is_none()).count();
    format!(
        "{} broken designs: the mix finds {}, the matrix {}, the uniform baseline {}; {survived} of {} \
         safe designs survived; {seconds:.0} s",
        simulated.hunts.len(),
        found(Method::Mix),
        found(Method::Matrix),
        found(Method::Uniform),
        simulated.survivors.len(),
    )
}

fn runs(detections: Option<&Detections>, limits: Limits) -> String {
    let Some(detections) = detections else { return String::new() };
    let median = at_most(detections.percentile(50), limits);
    if detections.0.len() == 1 {
        return median;
    }
    format!("{median} / {}", at_most(detections.percentile(90), limits))
}

fn at_most(runs: Option<u64>, limits: Limits) -> String {
    runs.map_or_else(|| format!(">{}", limits.runs_max), |runs| runs.to_string())
}
