//! Names of files that git, other version control systems, coding agents and editors obey or execute.
//!
//! Owns: the rows of `hooks`, `agents`, `editor`, `git-attributes` and `policy`. Never: settings of tools that a
//! build starts.

use super::super::TablePart::Touch as T;
use super::super::Touch;
use super::NameSource::{Git, Icons, Linguist, Manual, Review};
use super::TableRow;

pub(super) const ROWS: &[TableRow] = &[
    (
        &[T(Touch::Policy)],
        &[Review, Manual],
        // What may be sent to a model is decided by the one as by the other.
        &[".agentos", ".agentos/**", "**/.agentosignore"],
    ),
    (
        &[T(Touch::Hooks)],
        &[Git, Icons, Manual],
        &[
            "**/.{husky,hooks,githooks,git-hooks}/**",
            "**/{githooks,git-hooks,git_hooks}/**",
            // What git starts, by name: in any folder, since `core.hooksPath` may name any.
            "**/{applypatch-msg,pre-applypatch,post-applypatch}{,.exe}",
            "**/{pre-commit,pre-merge-commit,prepare-commit-msg,commit-msg,post-commit}{,.exe}",
            "**/{pre-rebase,post-checkout,post-merge,pre-push,post-rewrite,pre-auto-gc,sendemail-validate}{,.exe}",
            "**/{pre-receive,post-receive,post-update,proc-receive,reference-transaction,push-to-checkout}{,.exe}",
            "**/{fsmonitor-watchman,post-index-change,p4-changelist,p4-prepare-changelist,p4-post-changelist,p4-pre-submit}{,.exe}",
            "**/hooks/update{,.exe}",
            // What hooks start.
            "**/hooks/*.{sh,bash,zsh,pl}",
            "hooks/{pre,post,commit,prepare,update,applypatch,reference,sendemail,fsmonitor,push}*",
            "**/.pre-commit-{config,hooks}.{yml,yaml}",
            "**/{,.}lefthook{,-local}.{yml,yaml,toml,json}",
            "**/.{lintstagedrc,huskyrc,simple-git-hooks,overcommit}*",
            "**/.config/{huskyrc,lintstagedrc}*",
            "**/{,.}lefthookrc",
            "**/{,.}nano-staged.{js,cjs,mjs,json}",
            "**/{.nanostagedrc,.pre-commit,prek.toml,.yorkie,.ghooks,.gitreview,.captainhook.json,.overcommit.yml,.pre-push}",
        ],
    ),
    // Folders and settings of other version controls: most have hooks or aliases that run programs.
    (
        &[T(Touch::Hooks)],
        &[Review, Icons, Manual],
        &[
            "**/.{hg,jj,sl,svn,bzr,pijul,fossil,fslckout,fossil-settings,repo,arc,p4,plastic,monotone}/**",
            "**/{.hg,.jj,.sl,.svn,.bzr,.pijul}",
            "**/{_darcs,_mtn}/**",
            "**/cvs/{root,repository,entries,entries.static,template,tag,checkin.prog,update.prog}",
            "**/{.hgrc,hgrc,mercurial.ini,.hgsub,.hgsubstate,.hgflow,.hgeol,.jjconfig.toml,jjconfig.toml,.slconfig,.p4config,.p4ignore,.fslckout,_fossil_}",
            "**/{.arcconfig,.arclint,.arcunit,.gitp4,.svnignore,plastic.selector,plastic.workspace}",
        ],
    ),
    (
        &[T(Touch::Agents)],
        &[Icons, Manual],
        &[
            "**/{claude,claude.local,agents,agents.override,agent,gemini,qwen,crush,jules,skill,copilot-instructions}.md",
            "{conventions,warp}.md",
            "**/*.{instructions,chatmode,prompt}.md",
            "**/.{claude,claude-plugin,cursor,gemini,codex,continue,cline,clinerules,roo,windsurf,goose,opencode,amazonq}/**",
            "**/.{kiro,qwen,crush,augment,junie,agents,agent,kilocode,trae,factory,openhands,aiassistant,rovodev,devin}/**",
            "**/.{warp,zencoder,tabnine,codeium,serena,mcp,skills,firebender,copilot}/**",
            "**/.{cursorrules,cursorignore,clinerules,windsurfrules,goosehints,roorules,roomodes,rules}",
            "**/.{kilocoderules,kilocodemodes,augment-guidelines,plandex,geminiignore}",
            "**/.continuerc*",
            "**/.aider*",
            "**/{,.}{mcp,opencode,crush}.{json,jsonc}",
            "**/hooks/hooks.json",
            "{.coderabbit,.sweep,sweep}.{yml,yaml}",
            ".github/copilot*",
            ".github/copilot*/**",
            ".github/{instructions,prompts,chatmodes,agents}/**",
            "**/.{aider,ampcode,amp,sourcegraph,cody,pearai,void,refact,tabby,supermaven,swe-agent,opendevin,gptme,mentat,sweep,blackbox}/**",
            "**/.{pi,goose,kodu,codebuddy,codegen,qodo,pr_agent,bito,lingma,marscode,iflow,qoder,droid,forge,letta,mux,stakpak,vibe,antigravity}/**",
            "**/.{claude,codex,cursor,gemini,windsurf,cline,roo,kilocode,opencode,qwen,amp,goose,crush,trae,augment,amazonq,junie,kiro}.{json,jsonc,toml,yml,yaml}",
            "**/.{clineignore,rooignore,kilocodeignore,cursorindexingignore,codeiumignore,aiexclude,aiignore,llmignore,copilotignore,gooseignore}",
            "**/.{continueignore,augmentignore,tabnineignore,qwenignore,claudeignore,opencodeignore,repomixignore,goosehints.local,continuerules}",
            "**/.{cursorrc,ampcoderc,kiroignore,junierules,airules,ai-rules,aidigestignore,gptignore,llm-rules,windsurfignore,codeiumrules,devinrules}",
            "**/{claude,codex,gemini,goose,cursor,opencode,kilo,amp}.{toml,jsonc}",
            "**/{.pr_agent,pr_agent,.qodo,.sourcery,ellipsis,greptile,.greptile,.graphite,korbit,.korbit,.bito,repomix.config}.{toml,json,yml,yaml}",
            "**/{replit,ai_rules,airules,ai-instructions,agents.local,gemini.local}.md",
            "**/.junie{,.md}",
            "**/*.{agent,skill}.md",
            ".github/{skills,hooks,extensions,agents,toolsets}/**",
            ".ai/**",
            ".config/{goose,opencode,amp,crush}/**",
        ],
    ),
    (
        &[T(Touch::Editor)],
        &[Icons, Linguist, Manual],
        &[
            "**/.{vscode,idea,fleet,zed,vs,devcontainer,nvim,vim,helix,run,settings,theia,emacs.d}/**",
            "**/.devcontainer.json",
            "**/*.{code-workspace,sublime-project,sublime-workspace}",
            "**/.{vimrc,lvimrc,exrc,nvimrc,nvim.lua,dir-locals.el,dir-locals-2.el}",
            "**/.{gdbinit,lldbinit,radare2rc}",
            "**/_{vimrc,exrc}",
            "**/devcontainer.json",
            "**/.devcontainer/devcontainer-lock.json",
            "**/.{neoconf,nvimrc,lazy,nova,lite,kakoune,kak,micro,jed,atom,brackets,sublime,cloud9,c9,che,lapce,pulsar,fleet,zed_server,oni}/**",
            "**/{.neoconf.json,.lazy.lua,.nvim.lua,.vimrc.lua,.lvimrc.lua,.vimrc.local,.nvimrc.lua,.vim.local,.projections.json,.local.vimrc,.vimrc.vim}",
            "**/{.emacs,.emacs.el,.spacemacs,.gnus,.viper,_emacs,init.el,early-init.el,.projectile,.dir-locals.local.el,.ensime,kakrc,.kakrc}",
            "**/{gvimrc,.gvimrc,_gvimrc,nvimrc,vimrc,.nanorc,nanorc,.ideavimrc,.vsvimrc,.sublimerc,.helix.toml,.lapce.toml,.tm_properties}",
            "**/.{project,classpath,cproject,pydevproject,factorypath,springbeans,externaltoolbuilders}",
            "**/*.{sublime-build,sublime-commands,iml,ipr,iws,komodoproject,kdev4,geany,cbp,code-profile,run.xml,nbproject}",
            "**/{nbproject,.metadata,.externaltoolbuilders,.launches,.runconfigurations}/**",
            "**/{.vsconfig,.vsixmanifest,.tasks,tasks.json.local,launch.json.local,.wakatime-project,.gdbinit.py,.gdbearlyinit,.lldbinit-xcode,.inputrc}",
            "**/{.idx/**,idx/dev.nix,.codesandbox/**,.stackblitz/**,.replit/**,.coder/**,.daytona/**,.gitpod/**,.ona/**,.jetbrains/**,coder.yaml}",
        ],
    ),
    (
        &[T(Touch::GitAttributes)],
        &[Git, Linguist],
        &[
            "**/.gitattributes",
            "**/.gitmodules",
            "**/.lfsconfig",
            "**/.gitconfig",
            "**/{.gitattributes-global,.gitattributes_global,.tgitconfig,.gitinclude,.gitconfig.local,gitconfig,.git-credentials-helper,.gitignore_global}",
        ],
    ),
];
