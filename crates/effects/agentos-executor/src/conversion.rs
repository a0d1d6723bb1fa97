//! Determines how git converts a file's content between a commit and the working tree.
//!
//! Owns: reading attributes and settings, and the refusal of conversions by a filter program, an encoding or `ident`.
//! Never: runs a filter.

use std::path::Path;

use git2::{AttrCheckFlags, AttrValue, Config};

use crate::line_ends::{AttributeValue, AutoCrlf, LineEndSettings, LineEnds};
use crate::mentions::AttributeMentions;
use crate::{ExecError, RepoError, Repository};

/// Source of the attributes of a path.
pub(crate) enum AttributeSource<'a> {
    /// No source: no file mentions an attribute that matters.
    None,
    /// Questions to libgit2 about the attributes that are mentioned.
    Ask {
        git: &'a git2::Repository,
        from: AttrCheckFlags,
        mentions: &'a AttributeMentions,
    },
}

/// Attributes by which git converts a file.
pub(crate) const NAMES: [&str; 6] = ["filter", "working-tree-encoding", "ident", "text", "crlf", "eol"];

/// Attributes and settings that apply to a working tree.
pub(crate) struct FileConversion<'a> {
    pub attributes: AttributeSource<'a>,
    pub settings: LineEndSettings,
}

impl FileConversion<'_> {
    /// Returns the line-end conversion of a file.
    ///
    /// # Errors
    /// [`ExecError::FilteredPath`] if a checkout converts the file in another way; others if an attribute cannot be read.
    pub(crate) fn line_ends_of(&self, path: &str) -> Result<LineEnds, ExecError> {
        for name in ["filter", "working-tree-encoding", "ident"] {
            self.refuse_attribute(path, name)?;
        }
        let text = self.read_attribute(path, "text")?;
        // `crlf` is the older name of `text`, and git reads it only if `text` does not decide.
        let crlf = match text {
            AttributeValue::Unspecified | AttributeValue::Value(_) => self.read_attribute(path, "crlf")?,
            AttributeValue::On | AttributeValue::Off => AttributeValue::Unspecified,
        };
        let eol = self.read_attribute(path, "eol")?;
        Ok(LineEnds::from_attributes(&text, &crlf, &eol, self.settings))
    }

    /// Refuses a file whose content is converted because of this attribute.
    ///
    /// # Errors
    /// [`ExecError::FilteredPath`] if the attribute is set.
    pub(crate) fn refuse_attribute(&self, path: &str, name: &str) -> Result<(), ExecError> {
        let by = match self.read_attribute(path, name)? {
            AttributeValue::Unspecified | AttributeValue::Off => return Ok(()),
            AttributeValue::On => name.to_owned(),
            AttributeValue::Value(value) => format!("{name}={value}"),
        };
        Err(ExecError::FilteredPath {
            path: path.to_owned(),
            by,
        })
    }

    fn read_attribute(&self, path: &str, name: &str) -> Result<AttributeValue, ExecError> {
        let AttributeSource::Ask { git, from, mentions } = self.attributes else {
            return Ok(AttributeValue::Unspecified);
        };
        // libgit2 looks at a dozen files for each question.
        if !mentions.may_set(name) {
            return Ok(AttributeValue::Unspecified);
        }
        let found = git.get_attr(Path::new(path), name, from);
        let found = found.map_err(RepoError::git("read the attributes"))?;
        Ok(match AttrValue::from_string(found) {
            AttrValue::True => AttributeValue::On,
            AttrValue::False => AttributeValue::Off,
            AttrValue::String(value) => AttributeValue::Value(value.to_owned()),
            AttrValue::Bytes(value) => AttributeValue::Value(String::from_utf8_lossy(value).into_owned()),
            AttrValue::Unspecified => AttributeValue::Unspecified,
        })
    }
}

impl Repository {
    /// Reads the settings about line ends.
    ///
    /// # Errors
    /// When a setting has a value that is not valid.
    pub(crate) fn line_end_settings(&self) -> Result<LineEndSettings, RepoError> {
        let config = self.git.config().and_then(|mut config| config.snapshot());
        let config = config.map_err(RepoError::git("read the configuration"))?;
        let value_of = |name| config.get_string(name).unwrap_or_default().to_ascii_lowercase();
        let flag = |name: &'static str, value: String| match value.as_str() {
            "" => Ok(false),
            text => Config::parse_bool(text).map_err(|_| RepoError::BadSetting { name, value }),
        };
        let auto = match value_of("core.autocrlf") {
            value if value == "input" => AutoCrlf::Input,
            value if flag("core.autocrlf", value.clone())? => AutoCrlf::On,
            _ => AutoCrlf::Off,
        };
        let eol = value_of("core.eol");
        let safe = value_of("core.safecrlf");
        Ok(LineEndSettings {
            auto,
            eol_is_crlf: eol == "crlf" || (cfg!(windows) && eol != "lf"),
            safe: safe != "warn" && flag("core.safecrlf", safe)?,
        })
    }
}
