//! Names of the edit tools of agents and of their arguments.
//!
//! Owns: the closed lists. Never: reads a value.
//!
//! A tool that gives a whole file, or deletes one, is read only if its name is listed: `add_comment` has a path and a
//! content, too. A tool with an old text may have any name, since the file must have the old text.

use crate::text::is_in;

/// Names of the argument with the path.
pub(super) const PATH: &str =
    "path,file_path,absolute_path,relative_path,filePath,target_file,TargetFile,filename,notebook_path";
/// Old text that is replaced.
pub(super) const OLD: &str = "old_str,old_string,oldString,old_text,oldText,TargetContent,search,before";
/// New text in its place.
pub(super) const NEW: &str = "new_str,new_string,newString,new_text,newText,ReplacementContent,replace,after";
/// New text of a notebook's cell, which `cell_id` names.
pub(super) const CELL: &str = "new_source";
/// Text of a whole file.
pub(super) const TEXT: &str = "file_text,content,contents,CodeContent,text";
/// Line below which a text is inserted.
pub(super) const LINE: &str = "insert_line,line";
/// List of edits.
pub(super) const EDITS: &str = "edits,ReplacementChunks,replacements,operations";
/// Text that is itself an answer: a patch, hunks or blocks.
pub(super) const PATCH: &str = "input,patch,diff,patchText,patch_text,unified_diff";
/// The old text is replaced in all its places.
pub(super) const ALL: &str = "replace_all,replaceAll,allow_multiple,AllowMultiple";
/// Number of places of the old text.
pub(super) const COUNT: &str = "expected_replacements";
/// Arguments that choose what the tool does.
pub(super) const MODE: &str = "command,mode,edit_mode";
/// The text is added to the file.
pub(super) const APPEND: &str = "append";
/// With `true` nothing is written.
pub(super) const DRY_RUN: &str = "dry_run,dryRun";
/// With `false` nothing is written.
pub(super) const APPLY: &str = "apply";
/// With `false` a file of the base stays.
pub(super) const OVERWRITE: &str = "overwrite,Overwrite";
/// With `true` the old text is a pattern.
pub(super) const PATTERN: &str = "use_regex,regex,is_regex";
/// Arguments that say something about the call and not about the edit. Names that end in `id`, `ids` or `summary` are such
/// remarks, too.
const REMARKS: &str = "type,instruction,instructions,explanation,description,display_description,reason,rationale,security_risk,\
    requires_approval,startline,endline,line_count,codemarkdownlanguage,complexity,cell_type,language,emptyfile,insert_text";

/// Effect of a tool on a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ToolKind {
    /// Changes nothing.
    Reads,
    /// Gives a whole file.
    Writes,
    /// Adds a text to a file.
    Appends,
    /// Deletes a file.
    Deletes,
    /// Runs a command.
    Runs,
    /// Any other tool, as all those that replace a text.
    Other,
}

/// Modes and commands that decide the kind, whatever the tool's name is.
const MODES: [(ToolKind, &str); 3] = [
    (ToolKind::Writes, "create,write,overwrite,rewrite"),
    (ToolKind::Appends, "append"),
    (ToolKind::Reads, "view,read"),
];

/// Modes and commands of tools that replace a text.
const EDIT_MODES: &str =
    "edit,insert,insert_text,replace,search_replace,str_replace,strreplace,undo_edit,update";

/// Names of tools in lower case, without marks between their words.
const TOOLS: [(ToolKind, &str); 5] = [
    (
        ToolKind::Writes,
        "write,writefile,writetofile,writetextfile,filewrite,fswrite,create,createfile,createnewfile,newfile,savefile,overwritefile",
    ),
    (ToolKind::Appends, "appendfile,appendtofile,fsappend"),
    (ToolKind::Deletes, "delete,deletefile,removefile"),
    (
        ToolKind::Runs,
        "bash,shell,shellcommand,localshell,execcommand,executecommand,runterminalcmd,runterminalcommand,runshellcommand,runcommand",
    ),
    (
        ToolKind::Reads,
        "view,viewfile,read,readfile,readfiles,readmanyfiles,readtextfile,openfile,fsread,listdir,listfiles,listdirectory,ls,glob,\
         grep,grepsearch,search,searchfiles,filesearch,findfiles,codebasesearch,websearch,webfetch,think,todowrite,updateplan,\
         attemptcompletion",
    ),
];

/// Returns true for a mode whose meaning is known.
pub(super) fn is_known_mode(mode: &str) -> bool {
    let mode = mode.to_ascii_lowercase();
    is_in(EDIT_MODES, &mode) || MODES.iter().any(|(_, modes)| is_in(modes, &mode))
}

/// Returns what a tool does, by the mode that its arguments state or else by its name.
pub(super) fn kind_of(name: Option<&str>, mode: Option<&str>) -> ToolKind {
    let find = |list: &[(ToolKind, &str)], word: &str| {
        let found = list.iter().find(|(_, words)| is_in(words, word));
        found.map(|(kind, _)| *kind)
    };
    let mode = mode.map(str::to_ascii_lowercase);
    let by_mode = mode.as_deref().and_then(|mode| find(&MODES, mode));
    // A tool that writes files does something else in a mode of edits.
    let edits = mode.is_some_and(|mode| is_in(EDIT_MODES, &mode));
    let by_name = || find(&TOOLS, &plain_name(name?)).filter(|kind| !(edits && *kind == ToolKind::Writes));
    by_mode.or_else(by_name).unwrap_or(ToolKind::Other)
}

/// Returns the name without its server or module: `mcp__files__write_file`, `default_api.write_file`.
fn plain_name(name: &str) -> String {
    let last = name.rsplit(['.', ':', '/']).next().unwrap_or(name);
    let last = last.rsplit("__").next().unwrap_or(last);
    let letters = last.chars().filter(|letter| letter.is_alphanumeric());
    letters.collect::<String>().to_lowercase()
}

/// Returns true for an argument that says nothing about the edit.
pub(super) fn is_remark(name: &str) -> bool {
    let lower = name.to_lowercase();
    let is_id = ["id", "ids", "summary"]
        .iter()
        .any(|ending| lower.ends_with(ending));
    is_in(REMARKS, &lower) || is_id
}
