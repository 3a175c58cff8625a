//! Faults as data: plans that name them, their words, the page that describes them.

use std::fs;
use std::path::Path;

use holdover::fault::{FaultKind, PlannedFault, Trigger, catalogue};

use crate::sample::sample;
use crate::scene::{Scene, ask_once, crash, freeze, serve};

#[test]
fn a_plan_that_names_a_host_that_is_not_there_is_refused_with_what_there_is() {
    let mut scene = Scene::new();
    scene.host("server", serve);
    scene.host("client", ask_once);
    let trigger = Trigger::At { at_us: 0 };
    let error = scene.world.plan(PlannedFault { trigger, fault: freeze("sever", 1) }).unwrap_err();
    assert_eq!(error.to_string(), "no host is called `sever`; there are: server, client");
}

#[test]
fn faults_are_plain_data_and_say_what_they_do() {
    let planned = PlannedFault {
        trigger: Trigger::Point { host: "w".into(), name: "before-effect".into(), nth: 2 },
        fault: crash("w", 3),
    };
    let text = serde_json::to_string(&planned).unwrap();
    assert_eq!(
        text,
        r#"{"trigger":{"point":{"host":"w","name":"before-effect","nth":2}},"fault":{"crash":{"host":"w","restart_after_us":3000}}}"#,
    );
    assert_eq!(serde_json::from_str::<PlannedFault>(&text).unwrap(), planned);
    let misspelt = text.replace("restart_after_us", "restart_us");
    let error = serde_json::from_str::<PlannedFault>(&misspelt).unwrap_err();
    assert!(error.to_string().contains("unknown field `restart_us`"), "{error}");
    assert_eq!(planned.trigger.to_string(), "at point before-effect of w, time 2");
    assert_eq!(planned.fault.to_string(), "crash w, restart after 3 ms");
}

#[test]
fn every_kind_has_its_name_in_plans_and_its_own_words() {
    for kind in FaultKind::ALL {
        let fault = sample(*kind, "here", "there", 1_000);
        assert_eq!(fault.kind(), *kind);
        let trigger = Trigger::At { at_us: 0 };
        let planned = PlannedFault { trigger, fault };
        let text = serde_json::to_string(&planned).unwrap();
        let path = kind.name().replace('.', r#"":{""#);
        assert!(text.contains(&format!(r#""fault":{{"{path}":{{"#)), "{text}");
        assert_eq!(serde_json::from_str::<PlannedFault>(&text).unwrap(), planned);
        assert!(planned.fault.to_string().contains("here"), "{}", planned.fault);
    }
    let mut words: Vec<_> =
        FaultKind::ALL.iter().map(|kind| sample(*kind, "a", "b", 10).to_string()).collect();
    words.sort_unstable();
    words.dedup();
    assert_eq!(words.len(), FaultKind::ALL.len());
}

/// `HOLDOVER_RENDER=1` writes the page anew.
#[test]
fn the_page_of_the_catalogue_is_up_to_date() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../FAULTS.md");
    let page = catalogue::to_markdown();
    if std::env::var_os("HOLDOVER_RENDER").is_some() {
        fs::write(&file, &page).unwrap();
    }
    let is_current = fs::read_to_string(&file).is_ok_and(|text| text == page);
    assert!(is_current, "FAULTS.md differs from the catalogue: see how to render it at its top");
}
