//! The parts of a record in other formats, and what they show of themselves.

use std::fmt::Debug;

use holdover_model::intent::{Intent, IntentHash, Payload, PayloadHash, SealedIntent};
use serde::{Serialize, de::DeserializeOwned};

use crate::{LARGEST_EXACT, PAYLOAD, article, state};

fn through_json<T: Serialize + DeserializeOwned>(value: &T) -> T {
    serde_json::from_str(&serde_json::to_string(value).unwrap()).unwrap()
}

fn through_postcard<T: Serialize + DeserializeOwned>(value: &T) -> T {
    postcard::from_bytes(&postcard::to_stdvec(value).unwrap()).unwrap()
}

fn survives_both<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    assert_eq!(&through_json(value), value);
    assert_eq!(&through_postcard(value), value);
}

#[test]
fn everything_survives_text_and_binary() {
    let sealed = article().seal().unwrap();
    survives_both(&article());
    survives_both(&Intent { expected_version: None, ..article() });
    survives_both(&sealed);
    survives_both(&sealed.hash());
    survives_both(&PayloadHash::of(PAYLOAD));
    survives_both(&Payload::new(PAYLOAD));

    let received: SealedIntent = through_postcard(&sealed);
    assert_eq!(received.canonical_bytes(), sealed.canonical_bytes());
    assert_eq!(received.hash(), sealed.hash());
}

/// A peer cannot hand over bytes or a hash: it hands over a record.
#[test]
fn a_sealed_intent_travels_as_its_record() {
    let sealed = article().seal().unwrap();
    assert_eq!(
        postcard::to_stdvec(&sealed).unwrap(),
        postcard::to_stdvec(sealed.record()).unwrap()
    );
    assert_eq!(Intent::from(sealed), article());
}

#[test]
fn binary_records_obey_the_same_limits() {
    let bytes = postcard::to_stdvec(&article()).unwrap();
    for cut in 0..bytes.len() {
        postcard::from_bytes::<Intent>(&bytes[..cut]).unwrap_err();
    }
    let beyond = Intent { expected_version: Some(state(1, LARGEST_EXACT + 1)), ..article() };
    let bytes = postcard::to_stdvec(&beyond).unwrap();
    postcard::from_bytes::<Intent>(&bytes).unwrap_err();
    postcard::from_bytes::<SealedIntent>(&bytes).unwrap_err();
}

#[test]
fn a_digest_is_32_bytes_or_its_text() {
    let hash = PayloadHash::of(b"");
    let text = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    assert_eq!(hash.to_string(), text);
    assert_eq!(serde_json::to_string(&hash).unwrap(), format!("{text:?}"));
    assert_eq!(postcard::to_stdvec(&hash).unwrap(), hash.as_bytes());
    assert_eq!(format!("{hash:?}"), "sha256:e3b0c442...");
    postcard::from_bytes::<IntentHash>(&hash.as_bytes()[..31]).unwrap_err();
}

#[test]
fn no_other_text_is_a_digest() {
    let digits = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
    for bad in [
        String::new(),
        digits.to_owned(),
        "sha256:".to_owned(),
        format!("sha256:{}", &digits[..62]),
        format!("sha256:{}", &digits[..63]),
        format!("sha256:{digits}00"),
        format!("sha256: {}", &digits[1..]),
        format!("sha256:{}g", &digits[..63]),
        format!("sha256:{}", digits.to_uppercase()),
        format!("SHA256:{digits}"),
        format!("sha512:{digits}"),
        format!(" sha256:{digits}"),
        "secret payload".to_owned(),
    ] {
        let json = serde_json::to_string(&bad).unwrap();
        for error in [
            serde_json::from_str::<PayloadHash>(&json).unwrap_err(),
            serde_json::from_str::<IntentHash>(&json).unwrap_err(),
        ] {
            let error = error.to_string();
            assert!(
                error.starts_with(
                    "not a hash: expected \"sha256:\" and 64 lower-case hexadecimal digits"
                ),
                "{bad:?}: {error}"
            );
            assert!(!error.contains("secret"), "{error}");
        }
    }
    serde_json::from_str::<IntentHash>("7").unwrap_err();
    serde_json::from_str::<IntentHash>("[1, 2]").unwrap_err();
}

#[test]
fn a_payload_is_never_shown() {
    let payload = Payload::new("hunter2");
    assert_eq!(format!("{payload:?}"), "payload of 7 bytes");
    assert_eq!(format!("{:#?}", Some(&payload)), "Some(\n    payload of 7 bytes,\n)");
    assert_eq!(payload.hash(), PayloadHash::of(b"hunter2"));
    assert_eq!(payload.as_bytes(), b"hunter2");
}
