//! The zoo gates: every broken design is caught by what it is known for, every safe one is safe.

use holdover::zoo::check_all;
use holdover_model::design::NAMED;
use holdover_model::parallel;

#[test]
fn every_named_design_gets_the_answer_that_it_expects() {
    let specimens = check_all(parallel::cores(), &|_| ());
    assert_eq!(specimens.len(), NAMED.len());
    let differing: Vec<_> = specimens.iter().filter(|specimen| !specimen.agrees).collect();
    assert!(differing.is_empty(), "{differing:#?}");
}
