//! Files whose text looks like marks, wrappers or tags, and edits of them.
//!
//! Owns: the table. Every edit replaces one line that the file has once, and its new text contains a 42 that can vary.

use crate::memory::Memory;

/// A file of the base.
pub struct Source {
    pub path: &'static str,
    pub text: &'static str,
    /// A line of the file, and the lines that replace it.
    pub swaps: &'static [(&'static str, &'static str)],
}

pub const SOURCES: &[Source] = &[
    Source {
        path: "src/cart.rs",
        text: "use std::collections::HashMap;\nuse std::fmt;\n\npub struct Cart<T> {\n    items: Vec<T>,\n    names: HashMap<String, Vec<u32>>,\n}\n\n\
               impl<T: fmt::Debug> Cart<T> {\n    pub fn first(&self) -> Option<&T> {\n        self.items.first()\n    }\n\n    \
               pub fn limit(&self) -> usize {\n        10\n    }\n}\n",
        swaps: &[
            (
                "    items: Vec<T>,",
                "    items: Vec<Option<T>>,\n    spare: [Option<String>; 42],",
            ),
            ("        10", "        self.names.len() + 42"),
            ("        self.items.first()", "        self.items.iter().nth(42)"),
            (
                "    names: HashMap<String, Vec<u32>>,",
                "    names: HashMap<String, [u32; 42]>,",
            ),
        ],
    },
    Source {
        path: "web/index.html",
        text: "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n  <title>Shop</title>\n  <meta name=\"width\" content=\"800\">\n</head>\n<body>\n  \
               <div id=\"root\"></div>\n  <p>Prices<br>without tax</p>\n  <ul>\n    <li>one</li>\n    <li>two</li>\n  </ul>\n</body>\n</html>\n",
        swaps: &[
            ("  <title>Shop</title>", "  <title>Shop 42</title>"),
            (
                "    <li>two</li>",
                "    <li>two</li>\n    <li><b>three</b><br>42</li>",
            ),
            (
                "  <p>Prices<br>without tax</p>",
                "  <p>Prices<br>with 42 % tax</p>",
            ),
            (
                "  <div id=\"root\"></div>",
                "  <div id=\"root\">\n    <span>42</span>\n  </div>",
            ),
        ],
    },
    Source {
        path: "web/App.tsx",
        text: "import React, { useState } from 'react'\n\ntype Props<T> = { rows: Array<T>; title?: string }\n\n\
               export function App<T extends string>({ rows, title }: Props<T>) {\n  const [open, setOpen] = useState<boolean>(false)\n  return (\n    <>\n      \
               <h1>{title}</h1>\n      <List rows={rows} open={open} />\n      <button onClick={() => setOpen(!open)}>more</button>\n    </>\n  )\n}\n",
        swaps: &[
            ("      <h1>{title}</h1>", "      <h1>{title ?? 'Shop 42'}</h1>"),
            (
                "      <List rows={rows} open={open} />",
                "      <List<T> rows={rows} open={open} limit={42} />",
            ),
            (
                "  const [open, setOpen] = useState<boolean>(false)",
                "  const [open, setOpen] = useState<number>(42)",
            ),
            (
                "type Props<T> = { rows: Array<T>; title?: string }",
                "type Props<T> = { rows: Array<T>; title?: string; max?: 42 }",
            ),
        ],
    },
    Source {
        path: "conf/site.xml",
        text: "<?xml version=\"1.0\"?>\n<site>\n  <name>shop</name>\n  <answer>yes</answer>\n  <query><![CDATA[a < b]]></query>\n  <port>80</port>\n  \
               <plan>\n    <step>one</step>\n    <step>two</step>\n  </plan>\n</site>\n",
        swaps: &[
            ("  <name>shop</name>", "  <name>shop 42</name>"),
            ("  <port>80</port>", "  <port>8042</port>"),
            (
                "    <step>two</step>",
                "    <step>two</step>\n    <step>42</step>",
            ),
            (
                "  <query><![CDATA[a < b]]></query>",
                "  <query><![CDATA[a < 42]]></query>",
            ),
        ],
    },
    Source {
        path: "docs/guide.md",
        text: "# Guide\n\nInstall it first.<br>\nThen start the shop.\n\n<details>\n<summary>Ports</summary>\n\nThe port is 80.\n\n</details>\n\n\
               ## Types\n\nA list is a `Vec<String>`.\n\nAsk <support@shop.example> for help.\n",
        swaps: &[
            ("Then start the shop.", "Then start the shop with `-n 42`."),
            ("The port is 80.", "The port is 8042.<br>\nIt was 80."),
            (
                "A list is a `Vec<String>`.",
                "A list is a `Vec<String>` of up to 42 names.",
            ),
            ("Install it first.<br>", "Install version 42 first.<br>"),
        ],
    },
    Source {
        path: "templates/chat.jinja",
        text: "{% for message in messages %}\n<|im_start|>{{ message.role }}\n<think>\n{{ message.thoughts }}\n</think>\n\
               <answer>\n{{ message.text }}\n</answer>\n<|im_end|>\n{% endfor %}\n{% set limit = 10 %}\n{{ footer }}\n",
        swaps: &[
            ("{{ message.thoughts }}", "{{ message.thoughts | truncate(42) }}"),
            ("{% set limit = 10 %}", "{% set limit = 42 %}"),
            ("{{ message.text }}", "{{ message.text[:42] }}"),
            ("{{ footer }}", "{{ footer }} 42"),
        ],
    },
    Source {
        path: "tests/test_marks.py",
        text: "from shop import strip\n\nTEXT = \"\"\"\n<thinking>\nmaybe one\n</thinking>\nplain\n\"\"\"\n\n\ndef test_strip():\n    \
               assert strip(TEXT) == \"plain\"\n    assert strip(\"<think>a</think>b\") == \"b\"\n\n\ndef test_limit():\n    assert strip.limit == 10\n",
        swaps: &[
            ("maybe one", "maybe 42"),
            ("    assert strip.limit == 10", "    assert strip.limit == 42"),
            (
                "    assert strip(\"<think>a</think>b\") == \"b\"",
                "    assert strip(\"<think>a</think>42\") == \"42\"",
            ),
            ("plain", "plain\n<reasoning>\n42\n</reasoning>"),
        ],
    },
    Source {
        path: "include/map.hpp",
        text: "#pragma once\n#include <map>\n#include <vector>\n\ntemplate <typename K, typename V>\nclass Shop {\npublic:\n    \
               std::map<K, std::vector<V>> rows;\n    int limit() const { return 10; }\n    bool less(const K& a, const K& b) const { return a < b; }\n\
               private:\n    unsigned seed_ = 1u << 3;\n};\n",
        swaps: &[
            (
                "    int limit() const { return 10; }",
                "    int limit() const { return 42; }",
            ),
            (
                "    unsigned seed_ = 1u << 3;",
                "    unsigned seed_ = 42u << 3;\n    std::vector<std::vector<V>> spare_;",
            ),
            (
                "    std::map<K, std::vector<V>> rows;",
                "    std::map<K, std::array<V, 42>> rows;",
            ),
            ("#include <vector>", "#include <vector> // 42"),
        ],
    },
    Source {
        path: "conf/app.ini",
        text: "[RESULT]\nformat = json\nlimit = 10\n\n[plan]\nfirst = fetch\nsecond = sort\n\n[THINK]\nbudget = 100\nmode = fast\n\n[end]\nlast = yes\n",
        swaps: &[
            ("limit = 10", "limit = 42"),
            ("budget = 100", "budget = 4200"),
            ("second = sort", "second = sort\nthird = 42"),
            ("last = yes", "last = 42"),
        ],
    },
    Source {
        path: "src/store.go",
        text: "package store\n\nimport \"sort\"\n\ntype Store[T any] struct {\n\trows []T\n\tlimit int\n}\n\nfunc New[T any]() *Store[T] {\n\t\
               return &Store[T]{limit: 10}\n}\n\nfunc (s *Store[T]) Sort(less func(a, b T) bool) {\n\tsort.Slice(s.rows, func(i, j int) bool { return i < j })\n}\n",
        swaps: &[
            ("\treturn &Store[T]{limit: 10}", "\treturn &Store[T]{limit: 42}"),
            ("\tlimit int", "\tlimit int\n\tspare [42]T"),
            ("\trows []T", "\trows [42]T"),
            ("import \"sort\"", "import \"sort\" // 42"),
        ],
    },
    Source {
        path: "ui/Panel.vue",
        text: "<template>\n  <section>\n    <slot name=\"head\" />\n    <p v-if=\"open\">{{ text }}</p>\n    <br>\n  </section>\n</template>\n\n\
               <script setup lang=\"ts\">\nconst open = ref<boolean>(true)\nconst text = computed<string>(() => 'x')\n</script>\n",
        swaps: &[
            (
                "    <p v-if=\"open\">{{ text }}</p>",
                "    <p v-if=\"open\">{{ text }} 42</p>",
            ),
            (
                "const text = computed<string>(() => 'x')",
                "const text = computed<string>(() => '42')",
            ),
            (
                "    <slot name=\"head\" />",
                "    <slot name=\"head\" />\n    <br>\n    <b>42</b>",
            ),
            ("const open = ref<boolean>(true)", "const open = ref<number>(42)"),
        ],
    },
    Source {
        path: "db/query.sql",
        text: "SELECT name, price\nFROM rows\nWHERE price <> 0\n  AND price < 100\n  AND note <> '<none>'\nGROUP BY name\nHAVING count(*) > 1\nORDER BY price\nLIMIT 10;\n",
        swaps: &[
            ("LIMIT 10;", "LIMIT 42;"),
            ("  AND price < 100", "  AND price < 42"),
            ("HAVING count(*) > 1", "HAVING count(*) > 42"),
            ("ORDER BY price", "ORDER BY price, 42"),
        ],
    },
];

/// The base: all files of the table.
pub fn base() -> Memory {
    let files: Vec<(&str, &[u8])> = SOURCES
        .iter()
        .map(|source| (source.path, source.text.as_bytes()))
        .collect();
    Memory::of(&files)
}

#[test]
fn every_swap_replaces_one_line() {
    for source in SOURCES {
        for (old, new) in source.swaps {
            let count = source.text.lines().filter(|line| line == old).count();
            assert_eq!(count, 1, "{}: {old}", source.path);
            assert!(new.contains("42"), "{new}");
        }
    }
}
