//! The vectors of RFC 8785, against the library that canonicalises.
//!
//! An intent uses a small part of the RFC. All of it is checked, so that an upgrade that
//! changes the bytes behind stored hashes fails here, not in a ledger.

use serde_json::Value;

fn canonical(json: &str) -> String {
    let value: Value = serde_json::from_str(json).unwrap();
    serde_json_canonicalizer::to_string(&value).unwrap()
}

/// Section 3.2.2 to 3.2.4.
#[test]
fn sample_object() {
    let input = r#"{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"#;
    let output = concat!(
        r#"{"literals":[null,true,false],"#,
        r#""numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"#,
        r#""string":"€$\u000f\nA'B\"\\\\\"/"}"#,
    );
    assert_eq!(canonical(input), output);
    assert_eq!(canonical(output), output);
}

/// Section 3.2.3: by UTF-16 code units, so that the emoji (D83D DE00) comes before U+FB33.
#[test]
fn keys_are_sorted_by_utf16_code_units() {
    let input = r#"{
        "\u20ac": "Euro Sign",
        "\r": "Carriage Return",
        "\ufb33": "Hebrew Letter Dalet With Dagesh",
        "1": "One",
        "\ud83d\ude00": "Emoji: Grinning Face",
        "\u0080": "Control",
        "\u00f6": "Latin Small Letter O With Diaeresis"
    }"#;
    let output = concat!(
        r#"{"\r":"Carriage Return","#,
        r#""1":"One","#,
        "\"\u{80}\":\"Control\",",
        "\"\u{f6}\":\"Latin Small Letter O With Diaeresis\",",
        "\"\u{20ac}\":\"Euro Sign\",",
        "\"\u{1f600}\":\"Emoji: Grinning Face\",",
        "\"\u{fb33}\":\"Hebrew Letter Dalet With Dagesh\"}",
    );
    assert_eq!(canonical(input), output);
}

/// Section 3.2.2.2: the short escapes, `\u00xx` in lower case, everything else as it is.
#[test]
fn only_what_must_be_escaped_is_escaped() {
    let text = "\u{0}\u{7}\u{8}\t\n\u{b}\u{c}\r\u{1f} \"\\/\u{7f}\u{80}\u{2028}\u{2029}\u{1f600}";
    let output = concat!(
        r#""\u0000\u0007\b\t\n\u000b\f\r\u001f \"\\/"#,
        "\u{7f}\u{80}\u{2028}\u{2029}\u{1f600}\"",
    );
    assert_eq!(serde_json_canonicalizer::to_string(&text).unwrap(), output);
}

/// Appendix B: the bits of a double and its text.
#[test]
fn numbers() {
    for (bits, text) in [
        (0x0000_0000_0000_0000, "0"),
        (0x8000_0000_0000_0000, "0"),
        (0x0000_0000_0000_0001, "5e-324"),
        (0x8000_0000_0000_0001, "-5e-324"),
        (0x7fef_ffff_ffff_ffff, "1.7976931348623157e+308"),
        (0xffef_ffff_ffff_ffff, "-1.7976931348623157e+308"),
        (0x4340_0000_0000_0000, "9007199254740992"),
        (0xc340_0000_0000_0000, "-9007199254740992"),
        (0x4430_0000_0000_0000, "295147905179352830000"),
        (0x44b5_2d02_c7e1_4af5, "9.999999999999997e+22"),
        (0x44b5_2d02_c7e1_4af6, "1e+23"),
        (0x44b5_2d02_c7e1_4af7, "1.0000000000000001e+23"),
        (0x444b_1ae4_d6e2_ef4e, "999999999999999700000"),
        (0x444b_1ae4_d6e2_ef4f, "999999999999999900000"),
        (0x444b_1ae4_d6e2_ef50, "1e+21"),
        (0x3eb0_c6f7_a0b5_ed8c, "9.999999999999997e-7"),
        (0x3eb0_c6f7_a0b5_ed8d, "0.000001"),
        (0x41b3_de43_5555_5553, "333333333.3333332"),
        (0x41b3_de43_5555_5554, "333333333.33333325"),
        (0x41b3_de43_5555_5555, "333333333.3333333"),
        (0x41b3_de43_5555_5556, "333333333.3333334"),
        (0x41b3_de43_5555_5557, "333333333.33333343"),
        (0xbecb_f647_612f_3696, "-0.0000033333333333333333"),
        (0x4314_3ff3_c1cb_0959, "1424953923781206.2"),
    ] {
        let number = f64::from_bits(bits);
        assert_eq!(serde_json_canonicalizer::to_string(&number).unwrap(), text, "{bits:016x}");
    }
    for bits in [0x7fff_ffff_ffff_ffff, 0x7ff0_0000_0000_0000, 0xfff0_0000_0000_0000] {
        serde_json_canonicalizer::to_string(&f64::from_bits(bits)).unwrap_err();
    }
}

/// The reason for the limit of 2^53-1: beyond it the library rounds without a word.
#[test]
fn large_numbers_are_rounded() {
    let canonical = |number: u64| serde_json_canonicalizer::to_string(&number).unwrap();
    assert_eq!(canonical((1 << 53) - 1), "9007199254740991");
    assert_eq!(canonical(1 << 53), canonical((1 << 53) + 1));
}
