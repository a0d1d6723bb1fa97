//! Texts of a repository that reached a model, a program or an agent.
//!
//! Owns: the shape of these records. Never: contains a text.

use agentos_tool::{ExecutionMode, FileRead};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Receiver of a text: a model behind a server, a program, or an agent.
///
/// Two readers are the same reader only if all fields are equal. The name alone says nothing: a profile of this name can have another
/// address tomorrow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reader {
    /// Name of the provider.
    pub provider: String,
    /// Model that was requested. `None` if the server chooses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Place where the reader works.
    pub execution_mode: ExecutionMode,
    /// Adapter that sends the text, such as `openai`; `mcp` for an agent that asks for it, `toolbox` for a program with a network.
    pub adapter: String,
    /// Address of the server, or the hosts of a program. `None` if it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
}

/// Texts of one commit of one repository that were shown to the same readers, as policy allowed it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RepositoryReads {
    /// Id of the repository. It stays when the folder moves.
    pub repository: String,
    /// Folder of the repository at that time.
    pub folder: String,
    /// The base: the commit whose files were read and whose rules decided.
    pub commit: String,
    /// `sha256:` and the hash of the policy that allowed each of the texts to each of the readers.
    pub policy: String,
    /// The model or agent first, then programs to which it can send what it reads.
    pub readers: Vec<Reader>,
    /// The texts. Empty if tools of a repository were called and showed no text of a file; the other fields are then empty too.
    pub files: Vec<FileRead>,
}

/// Text of a repository, without the lines that were shown of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ReadText {
    /// Id of the repository.
    pub repository: String,
    /// Path in the repository at that time.
    pub path: String,
    /// Git's ids of the complete texts.
    pub blobs: Vec<String>,
}

impl RepositoryReads {
    /// Returns true if both are about the same base, policy and readers.
    #[must_use]
    pub fn is_same_base(&self, other: &Self) -> bool {
        self.repository == other.repository
            && self.folder == other.folder
            && self.commit == other.commit
            && self.policy == other.policy
            && self.readers == other.readers
    }

    /// Returns one of the texts as a person's leave names it.
    #[must_use]
    pub fn name_text(&self, file: &FileRead) -> ReadText {
        ReadText {
            repository: self.repository.clone(),
            path: file.path.clone(),
            blobs: file.blobs.clone(),
        }
    }
}
