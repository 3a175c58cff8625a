//! How settings are declared: once, with their words, and readable by programs.
//!
//! A section is a struct of settings, a setting an enum of values; the first value is the
//! safe default. The same declaration gives the types that roles ask, the strict reader,
//! and the texts that `holdover design --explain` prints.

use std::fmt;

/// A section of a design file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Section {
    /// Its name in the file.
    pub name: &'static str,
    /// What its settings are about.
    pub meaning: &'static str,
    /// Its settings.
    pub settings: &'static [Setting],
}

/// One safeguard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Setting {
    /// Its name in the file.
    pub name: &'static str,
    /// What it decides.
    pub meaning: &'static str,
    /// Its values; the first one is the safe default.
    pub values: &'static [Value],
    /// The words of which a list can be given instead of a value; none for most settings.
    pub listable: &'static [&'static str],
}

impl Section {
    /// The setting of that name.
    pub fn setting(&self, name: &str) -> Option<&'static Setting> {
        self.settings.iter().find(|setting| setting.name == name)
    }
}

impl Setting {
    /// Whether its values are true and false, and no words.
    pub fn is_truth(&self) -> bool {
        self.values.iter().all(|value| matches!(value.name, "true" | "false"))
    }
}

/// One way in which real systems set a safeguard.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Value {
    /// Its name in the file.
    pub name: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name)
    }
}

macro_rules! section {
    (
        $(#[doc = $section_doc:literal])+
        $section:ident = $section_name:literal
        $(also {
            $(
                $(#[doc = $also_doc:literal])+
                $also_field:ident = $also_name:literal: $also:ty,
            )+
        })? {
            $(
                $(#[doc = $setting_doc:literal])+
                $field:ident = $setting_name:literal: $setting:ident {
                    $(#[doc = $first_doc:literal])+
                    $first:ident = $first_name:literal,
                    $(
                        $(#[doc = $value_doc:literal])+
                        $value:ident = $value_name:literal,
                    )+
                }
            )+
        }
    ) => {
        $(#[doc = $section_doc])+
        #[derive(
            Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default,
            serde::Serialize, serde::Deserialize,
        )]
        #[serde(deny_unknown_fields, default)]
        pub struct $section {
            $(
                $(#[doc = $setting_doc])+
                #[serde(rename = $setting_name)]
                pub $field: $setting,
            )+
            $($(
                $(#[doc = $also_doc])+
                #[serde(rename = $also_name)]
                pub $also_field: $also,
            )+)?
        }

        impl $section {
            /// The section as data.
            pub const SECTION: $crate::design::vocabulary::Section =
                $crate::design::vocabulary::Section {
                    name: $section_name,
                    meaning: concat!($($section_doc, "\n"),+),
                    settings: &[$($setting::SETTING,)+ $($(<$also>::SETTING,)+)?],
                };

            /// The settings in which two sections differ.
            pub(crate) fn differing(&self, other: &Self) -> $crate::design::setting::SettingSet {
                let mut differing = $crate::design::setting::SettingSet::default();
                $(if self.$field != other.$field {
                    const ID: $crate::design::setting::SettingId =
                        $crate::design::setting::SettingId::of($section_name, $setting_name);
                    differing = differing.with(ID);
                })+
                $($(if self.$also_field != other.$also_field {
                    const ID: $crate::design::setting::SettingId =
                        $crate::design::setting::SettingId::of($section_name, $also_name);
                    differing = differing.with(ID);
                })+)?
                differing
            }

            /// These settings, to be asked.
            pub fn asked(&self) -> $crate::design::asked::Asked<'_, Self> {
                $crate::design::asked::Asked::unnoted(self)
            }
        }

        $crate::design::change::names! { $section {
            $($setting_name => $field,)+
            $($($also_name => $also_field,)+)?
        } }

        impl $crate::design::asked::Asked<'_, $section> {
            $(
                $(#[doc = $setting_doc])+
                pub fn $field(self) -> $setting {
                    const ID: $crate::design::setting::SettingId =
                        $crate::design::setting::SettingId::of($section_name, $setting_name);
                    self.note(ID);
                    self.settings.$field
                }
            )+
            $($(
                $(#[doc = $also_doc])+
                pub fn $also_field(self) -> $also {
                    const ID: $crate::design::setting::SettingId =
                        $crate::design::setting::SettingId::of($section_name, $also_name);
                    self.note(ID);
                    self.settings.$also_field
                }
            )+)?
        }

        $(
            $(#[doc = $setting_doc])+
            #[derive(
                Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default,
                serde::Serialize, serde::Deserialize,
            )]
            pub enum $setting {
                $(#[doc = $first_doc])+
                #[default]
                #[serde(rename = $first_name)]
                $first,
                $(
                    $(#[doc = $value_doc])+
                    #[serde(rename = $value_name)]
                    $value,
                )+
            }

            $crate::design::change::words! { $setting {
                $first_name => $first,
                $($value_name => $value,)+
            } }

            impl $setting {
                /// The setting as data.
                pub const SETTING: $crate::design::vocabulary::Setting =
                    $crate::design::vocabulary::Setting {
                        name: $setting_name,
                        meaning: concat!($($setting_doc, "\n"),+),
                        values: &[
                            $crate::design::vocabulary::Value {
                                name: $first_name,
                                meaning: concat!($($first_doc, "\n"),+),
                            },
                            $(
                                $crate::design::vocabulary::Value {
                                    name: $value_name,
                                    meaning: concat!($($value_doc, "\n"),+),
                                },
                            )+
                        ],
                        listable: &[],
                    };
            }
        )+
    };
}
pub(crate) use section;
