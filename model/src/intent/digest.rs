//! A SHA-256 digest as its own type, so that the hash of a payload cannot be handed over
//! where the hash of an intent is meant.

/// Defines a digest type: `sha256:` and 64 lower-case digits as text, 32 bytes in binary.
///
/// Upper-case digits are refused although they name the same bytes. Whoever hashes the
/// text they wrote must get the hash that is computed here, and canonical JSON keeps the
/// spelling of a string.
macro_rules! digest_type {
    ($(#[$meta:meta])* $name:ident) => {
        $(#[$meta])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name([u8; 32]);

        impl $name {
            /// The 32 bytes of the digest.
            pub fn as_bytes(&self) -> &[u8; 32] {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "sha256:{}", hex::encode(self.0))
            }
        }

        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, "sha256:{}...", hex::encode(&self.0[..4]))
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                if serializer.is_human_readable() {
                    serializer.collect_str(self)
                } else {
                    self.0.serialize(serializer)
                }
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                if !deserializer.is_human_readable() {
                    return <[u8; 32]>::deserialize(deserializer).map(Self);
                }
                let text = String::deserialize(deserializer)?;
                // The text is not repeated: a payload put here by mistake stays secret.
                $crate::intent::digest::from_text(&text).map(Self).ok_or_else(|| {
                    serde::de::Error::custom(
                        "not a hash: expected \"sha256:\" and 64 lower-case hexadecimal digits",
                    )
                })
            }
        }
    };
}
pub(super) use digest_type;

/// The bytes of a digest written as text.
pub(super) fn from_text(text: &str) -> Option<[u8; 32]> {
    let digits = text.strip_prefix("sha256:")?;
    let mut bytes = [0; 32];
    hex::decode_to_slice(digits, &mut bytes).ok()?;
    (!digits.contains(|digit: char| digit.is_ascii_uppercase())).then_some(bytes)
}
