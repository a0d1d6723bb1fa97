//! What stands between a file's content in a commit and its bytes in the work tree.
//!
//! Owns: the look at attributes and settings, and the refusal of what only a program or a table could convert. Never:
//! runs a filter.

use std::path::Path;

use git2::{AttrCheckFlags, AttrValue, Config};

use crate::line_ends::{Attribute, AutoCrlf, LineEnds, Settings};
use crate::mentions::Mentions;
use crate::{ExecError, RepoError, Repository};

/// Who knows the attributes of a path.
pub(crate) enum Attributes<'a> {
    /// Nobody need be asked: no file speaks of one that is to be known.
    None,
    /// libgit2, of those that are mentioned.
    Ask {
        git: &'a git2::Repository,
        from: AttrCheckFlags,
        mentions: &'a Mentions,
    },
}

/// The attributes by which git converts a file.
pub(crate) const NAMES: [&str; 6] = ["filter", "working-tree-encoding", "ident", "text", "crlf", "eol"];

/// The attributes and settings that hold for a work tree.
pub(crate) struct Conversion<'a> {
    pub attributes: Attributes<'a>,
    pub settings: Settings,
}

impl Conversion<'_> {
    /// What happens to the line ends of a file; everything else that a checkout might convert is refused.
    pub(crate) fn of(&self, path: &str) -> Result<LineEnds, ExecError> {
        for name in ["filter", "working-tree-encoding", "ident"] {
            self.refuse(path, name)?;
        }
        let text = self.attribute(path, "text")?;
        let crlf = match text {
            Attribute::Unspecified | Attribute::Value(_) => self.attribute(path, "crlf")?,
            Attribute::On | Attribute::Off => Attribute::Unspecified,
        };
        let eol = self.attribute(path, "eol")?;
        Ok(LineEnds::choose(&text, &crlf, &eol, self.settings))
    }

    /// Refuses a file for which an attribute says that its content is converted.
    pub(crate) fn refuse(&self, path: &str, name: &str) -> Result<(), ExecError> {
        let by = match self.attribute(path, name)? {
            Attribute::Unspecified | Attribute::Off => return Ok(()),
            Attribute::On => name.to_owned(),
            Attribute::Value(value) => format!("{name}={value}"),
        };
        Err(ExecError::FilteredPath {
            path: path.to_owned(),
            by,
        })
    }

    fn attribute(&self, path: &str, name: &str) -> Result<Attribute, ExecError> {
        let Attributes::Ask { git, from, mentions } = self.attributes else {
            return Ok(Attribute::Unspecified);
        };
        if !mentions.hold(name) {
            return Ok(Attribute::Unspecified);
        }
        let found = git.get_attr(Path::new(path), name, from);
        let found = found.map_err(RepoError::git("read the attributes"))?;
        Ok(match AttrValue::from_string(found) {
            AttrValue::True => Attribute::On,
            AttrValue::False => Attribute::Off,
            AttrValue::String(value) => Attribute::Value(value.to_owned()),
            AttrValue::Bytes(value) => Attribute::Value(String::from_utf8_lossy(value).into_owned()),
            AttrValue::Unspecified => Attribute::Unspecified,
        })
    }
}

impl Repository {
    /// What the configuration says about line ends.
    pub(crate) fn line_end_settings(&self) -> Result<Settings, RepoError> {
        let config = self.git.config().and_then(|mut config| config.snapshot());
        let config = config.map_err(RepoError::git("read the configuration"))?;
        let told = |name| config.get_string(name).unwrap_or_default().to_ascii_lowercase();
        let flag = |name: &'static str, value: String| match value.as_str() {
            "" => Ok(false),
            text => Config::parse_bool(text).map_err(|_| RepoError::BadSetting { name, value }),
        };
        let auto = match told("core.autocrlf") {
            value if value == "input" => AutoCrlf::Input,
            value if flag("core.autocrlf", value.clone())? => AutoCrlf::On,
            _ => AutoCrlf::Off,
        };
        let eol = told("core.eol");
        let safe = told("core.safecrlf");
        Ok(Settings {
            auto,
            eol_is_crlf: eol == "crlf" || (cfg!(windows) && eol != "lf"),
            safe: safe != "warn" && flag("core.safecrlf", safe)?,
        })
    }
}
