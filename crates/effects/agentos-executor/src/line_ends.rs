//! Converts line ends between a commit and the working tree, as git does.
//!
//! Owns: the choice by attributes and settings, and the conversion in both directions, byte for byte as in git's
//! `convert.c`. Never: reads a file or a setting itself.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// Conversion of the line ends of one file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum LineEnds {
    /// No conversion: both sides have the same bytes.
    #[default]
    Kept,
    /// Text: LF in the commit; a checkout writes LF too.
    TextLf,
    /// Text: LF in the commit, CRLF in the working tree.
    TextCrlf,
    /// Like [`LineEnds::TextLf`], if the content looks like text and the commit has no CRLF yet.
    AutoLf,
    /// Like [`LineEnds::TextCrlf`], if the content looks like text and the commit has no CR yet.
    AutoCrlf,
}

/// Conversion of one file before and after a change. They differ if the change edits `.gitattributes`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileLineEnds {
    pub before: LineEnds,
    pub after: LineEnds,
}

impl FileLineEnds {
    pub(crate) fn are_kept(&self) -> bool {
        self.before.are_kept() && self.after.are_kept()
    }
}

/// Value of `core.autocrlf`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum AutoCrlf {
    #[default]
    Off,
    On,
    Input,
}

/// Settings that determine line ends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct LineEndSettings {
    pub auto: AutoCrlf,
    /// True if `core.eol` is `crlf`, or is not set and the system uses CRLF.
    pub eol_is_crlf: bool,
    /// True if `core.safecrlf` forbids a conversion that loses something.
    pub safe: bool,
}

/// Value of one attribute.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum AttributeValue {
    Unspecified,
    On,
    Off,
    Value(String),
}

impl AttributeValue {
    fn has_value(&self, value: &str) -> bool {
        matches!(self, Self::Value(found) if found == value)
    }
}

impl LineEnds {
    /// Chooses the conversion from the attributes `text`, `crlf` (the older name of `text`) and `eol`.
    pub(crate) fn from_attributes(
        text: &AttributeValue,
        crlf: &AttributeValue,
        eol: &AttributeValue,
        settings: LineEndSettings,
    ) -> Self {
        enum TextKind {
            Text,
            Input,
            Auto,
        }
        let said = |attribute: &AttributeValue| match attribute {
            AttributeValue::On => Some(Ok(TextKind::Text)),
            AttributeValue::Off => Some(Err(())),
            AttributeValue::Value(value) if value == "input" => Some(Ok(TextKind::Input)),
            AttributeValue::Value(value) if value == "auto" => Some(Ok(TextKind::Auto)),
            AttributeValue::Value(_) | AttributeValue::Unspecified => None,
        };
        let said = match said(text).or_else(|| said(crlf)) {
            Some(Err(())) => return Self::Kept,
            Some(Ok(said)) => Some(said),
            None => None,
        };
        let crlf_by_settings = match settings.auto {
            AutoCrlf::On => true,
            AutoCrlf::Input => false,
            AutoCrlf::Off => settings.eol_is_crlf,
        };
        let auto = |is_crlf| if is_crlf { Self::AutoCrlf } else { Self::AutoLf };
        let is_auto = matches!(said, Some(TextKind::Auto));
        match (said, settings.auto) {
            _ if eol.has_value("lf") => {
                if is_auto {
                    Self::AutoLf
                } else {
                    Self::TextLf
                }
            }
            _ if eol.has_value("crlf") => {
                if is_auto {
                    Self::AutoCrlf
                } else {
                    Self::TextCrlf
                }
            }
            (Some(TextKind::Auto), _) => auto(crlf_by_settings),
            (Some(TextKind::Input), _) => Self::TextLf,
            (Some(TextKind::Text), _) if crlf_by_settings => Self::TextCrlf,
            (Some(TextKind::Text), _) => Self::TextLf,
            (None, AutoCrlf::Off) => Self::Kept,
            (None, AutoCrlf::On | AutoCrlf::Input) => auto(crlf_by_settings),
        }
    }

    pub(crate) fn are_kept(&self) -> bool {
        *self == Self::Kept
    }

    fn is_auto(self) -> bool {
        matches!(self, Self::AutoLf | Self::AutoCrlf)
    }

    /// Converts content of a commit to that of the working tree.
    pub(crate) fn to_work_tree(self, content: &[u8]) -> Cow<'_, [u8]> {
        let stats = match self {
            Self::Kept | Self::TextLf | Self::AutoLf => return Cow::Borrowed(content),
            Self::TextCrlf | Self::AutoCrlf => TextStats::count(content),
        };
        // With automatic conversion git changes neither binary content nor text that has a CR already: the way back would not
        // give the same bytes.
        let is_left = self.is_auto() && (stats.lone_cr + stats.crlf > 0 || stats.is_binary());
        if stats.lone_lf == 0 || is_left {
            return Cow::Borrowed(content);
        }
        let mut bytes = Vec::with_capacity(content.len() + stats.lone_lf);
        let mut before = 0;
        for &byte in content {
            if byte == b'\n' && before != b'\r' {
                bytes.push(b'\r');
            }
            bytes.push(byte);
            before = byte;
        }
        Cow::Owned(bytes)
    }

    /// Converts content of the working tree to that of a commit. `indexed` is the present content in the index. `None` if there
    /// is none.
    pub(crate) fn to_git<'a>(self, content: &'a [u8], indexed: Option<&[u8]>) -> Cow<'a, [u8]> {
        let stats = match self {
            Self::Kept => return Cow::Borrowed(content),
            Self::TextLf | Self::TextCrlf | Self::AutoLf | Self::AutoCrlf => TextStats::count(content),
        };
        let has_crlf = |content: &[u8]| {
            let stats = TextStats::count(content);
            stats.crlf > 0 && !stats.is_binary()
        };
        // With automatic conversion git keeps CRLF in a file that was committed with it, so that old files do not change.
        let is_left = self.is_auto() && (stats.is_binary() || indexed.is_some_and(has_crlf));
        if stats.crlf == 0 || is_left {
            return Cow::Borrowed(content);
        }
        let mut bytes = Vec::with_capacity(content.len());
        let mut rest = content.iter().peekable();
        while let Some(&byte) = rest.next() {
            if byte != b'\r' || rest.peek() != Some(&&b'\n') {
                bytes.push(byte);
            }
        }
        Cow::Owned(bytes)
    }

    /// Returns whether content of a commit is unchanged after a conversion to the working tree and back.
    pub(crate) fn come_back(self, content: &[u8]) -> bool {
        let written = self.to_work_tree(content);
        *self.to_git(&written, Some(content)) == *content
    }
}

/// Counts by which git distinguishes text from binary content.
#[derive(Default)]
struct TextStats {
    lone_cr: usize,
    lone_lf: usize,
    crlf: usize,
    nul: usize,
    printable: usize,
    unprintable: usize,
}

impl TextStats {
    fn count(content: &[u8]) -> Self {
        let mut stats = Self::default();
        let mut rest = content.iter().peekable();
        while let Some(&byte) = rest.next() {
            match byte {
                b'\r' if rest.next_if(|&&next| next == b'\n').is_some() => stats.crlf += 1,
                b'\r' => stats.lone_cr += 1,
                b'\n' => stats.lone_lf += 1,
                0 => {
                    stats.nul += 1;
                    stats.unprintable += 1;
                }
                // Backspace, tab, form feed and escape occur in texts.
                0x08 | b'\t' | 0x0c | 0x1b => stats.printable += 1,
                0x7f | 0x01..=0x1f => stats.unprintable += 1,
                _ => stats.printable += 1,
            }
        }
        // Ctrl-Z at the end, which DOS wrote as an end-of-file mark.
        if content.last() == Some(&0x1a) {
            stats.unprintable -= 1;
        }
        stats
    }

    fn is_binary(&self) -> bool {
        // git accepts one unprintable byte in 128.
        self.lone_cr > 0 || self.nul > 0 || self.printable >> 7 < self.unprintable
    }
}
