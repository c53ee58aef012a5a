//! The shape of the settings table: a row for each setting, and the macros that turn the rows of a
//! section into the struct that serde reads.
//!
//! A row is written `name: type = default, "unit" in [range] like example, Reload;` below the
//! sentences that document it. Without a range, that of the type holds. Rows of limits have no
//! default here: it stands in [`policy::LimitSettings`].

use std::ops::RangeInclusive;

/// The settings below one header of the file.
#[derive(Debug)]
pub struct Section {
    /// The header, `connections` for `[connections]`; empty for settings above the first header.
    pub name: &'static str,
    /// The settings, in the order of the sample file.
    pub settings: &'static [Setting],
    /// Who the settings are for, where an earlier section has the same settings for others.
    pub repeats: Option<&'static str>,
}

/// One setting.
#[derive(Debug)]
pub struct Setting {
    /// The name in the file.
    pub name: &'static str,
    /// The meaning, in lines as the sample file shows them, each beginning with a space.
    pub about: &'static [&'static str],
    /// The Rust type that serde reads.
    pub type_name: &'static str,
    /// The unit of a number; for other settings, the accepted values in words.
    pub unit: &'static str,
    /// The accepted numbers, where the type alone would accept more.
    pub range: Option<RangeInclusive<i64>>,
    /// The value that the sample file shows for a setting without a default.
    pub example: Option<&'static str>,
    /// When another value holds in a server that reads its settings again.
    pub reload: Reload,
}

/// When another value of a setting holds in a server that reads its settings again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reload {
    /// At once, for open connections too.
    AtOnce,
    /// For connections that begin TLS afterwards; after a restart where TLS is switched on or off.
    NextTls,
    /// For connections that are opened, or bind, afterwards.
    NextBind,
    /// After the server is started again.
    Restart,
}

/// Makes the struct of a section, with its defaults, and its rows of the table. Sections that stand
/// below this one in the file follow after the rows.
macro_rules! section {
    (
        $header:literal $Section:ident {
            $(
                $(#[doc = $about:literal])+
                $name:ident: $type:ty = $default:expr, $unit:literal
                    $(in [$range:expr])? $(like $example:literal)?, $reload:ident;
            )+
        }
        $($below:ident: $Below:ty,)*
    ) => {
        #[doc = concat!("The settings below the header `", $header, "`.")]
        #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $Section {
            $( $(#[doc = $about])+ pub $name: $type, )+
            $( #[doc = concat!("The section `", stringify!($below), "`.")] pub $below: $Below, )*
        }

        impl Default for $Section {
            fn default() -> Self {
                $Section { $($name: $default,)+ $($below: Default::default(),)* }
            }
        }

        impl $Section {
            const SECTION: Section = Section {
                name: $header,
                settings: &[$(Setting {
                    name: stringify!($name),
                    about: &[$($about),+],
                    type_name: stringify!($type),
                    unit: $unit,
                    range: section!(@option $($range)?),
                    example: section!(@option $($example)?),
                    reload: Reload::$reload,
                },)+],
                repeats: None,
            };
        }
    };
    (@option) => { None };
    (@option $given:expr) => { Some($given) };
}

/// Makes the struct of the sections with limits, another for the limits of one subject, which it
/// names, and their rows of the table. A limit is `None` when the file does not give it.
macro_rules! limits {
    (
        $Section:ident, $One:ident { $( $(#[doc = $of:literal])+ $key:ident, )+ }
        $( $(#[doc = $about:literal])+ $name:ident: $type:ty, $unit:literal; )+
    ) => {
        limits!(@struct $Section { $( $(#[doc = $about])+ $name: $type, )+ });
        limits!(@struct $One {
            $( $(#[doc = $of])+ $key: String, )+
            $( $(#[doc = $about])+ $name: $type, )+
        });
        limits!(@complete $Section { $($name,)+ });
        limits!(@complete $One { $($name,)+ });

        const LIMITS: &[Setting] = &[$(Setting {
            name: stringify!($name),
            about: &[$($about),+],
            type_name: stringify!($type),
            unit: $unit,
            range: None,
            example: None,
            reload: Reload::NextBind,
        },)+];
    };
    (@struct $Struct:ident { $( $(#[doc = $about:literal])+ $name:ident: $type:ty, )+ }) => {
        /// Limits as the file gives them.
        #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct $Struct { $( $(#[doc = $about])+ pub $name: Option<$type>, )+ }
    };
    (@complete $Struct:ident { $($name:ident,)+ }) => {
        impl $Struct {
            /// Puts `limits` in for those that are not given, and returns all.
            pub fn complete(&mut self, mut limits: Limits) -> Limits {
                $(
                    let (limit, units) = limits!(@field limits $name);
                    *limit = self.$name.get_or_insert(*limit / units).saturating_mul(units);
                )+
                limits
            }
        }
    };
    (@field $limits:ident time_s_max) => { (&mut $limits.time_ms_max, 1_000) };
    (@field $limits:ident $name:ident) => { (&mut $limits.$name, 1) };
}

pub(super) use {limits, section};
