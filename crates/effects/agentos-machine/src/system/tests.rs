//! Samples from files that a test wrote.

use agentos_testkit::repo::write_file;
use tempfile::TempDir;

use super::*;

const GIB: u64 = 1 << 30;

fn machine(files: &[(&str, &str)]) -> (TempDir, SystemMachine) {
    let root = TempDir::new().unwrap();
    for (path, text) in files {
        write_file(&root.path().join(path), text);
    }
    let machine = SystemMachine::at_root(root.path());
    (root, machine)
}

const MEMINFO: &str =
    "MemTotal:       16777216 kB\nMemFree:         1048576 kB\nMemAvailable:    8388608 kB\n";

/// Name, files, and GiB in total, GiB free, and whether a group limits them.
type MemoryCase = (
    &'static str,
    &'static [(&'static str, &'static str)],
    (u64, u64, bool),
);

#[test]
fn memory_is_what_the_machine_and_its_groups_allow() {
    let cases: &[MemoryCase] = &[
        ("no group", &[], (16, 8, false)),
        (
            "a container of the second version",
            &[
                ("proc/self/cgroup", "0::/box/app\n"),
                ("sys/fs/cgroup/box/app/memory.max", "max\n"),
                ("sys/fs/cgroup/box/memory.max", "4294967296\n"),
                ("sys/fs/cgroup/box/memory.current", "3221225472\n"),
                (
                    "sys/fs/cgroup/box/memory.stat",
                    "anon 5\ninactive_file 1073741824\n",
                ),
            ],
            (4, 2, true),
        ),
        (
            "a container of the first version",
            &[
                ("proc/self/cgroup", "5:cpu:/\n4:memory:/box\n0::/\n"),
                ("sys/fs/cgroup/memory/box/memory.limit_in_bytes", "4294967296\n"),
                ("sys/fs/cgroup/memory/box/memory.usage_in_bytes", "1073741824\n"),
                (
                    "sys/fs/cgroup/memory/memory.limit_in_bytes",
                    "9223372036854771712\n",
                ),
            ],
            (4, 3, true),
        ),
        (
            "a group that allows more than is free",
            &[
                ("proc/self/cgroup", "0::/../..\n"),
                ("sys/fs/cgroup/memory.max", "12884901888\n"),
                ("sys/fs/cgroup/memory.current", "1073741824\n"),
            ],
            (12, 8, true),
        ),
    ];
    for (name, files, expected) in cases {
        let files: Vec<(&str, &str)> = [("proc/meminfo", MEMINFO)]
            .iter()
            .chain(*files)
            .copied()
            .collect();
        let (_root, mut machine) = machine(&files);
        let memory = machine.read_sample(1).unwrap().memory.unwrap();
        let found = (
            memory.total_bytes / GIB,
            memory.free_bytes / GIB,
            memory.is_limited,
        );
        assert_eq!(found, *expected, "{name}");
    }
}

#[test]
fn the_processor_is_measured_between_two_samples() {
    let (root, mut machine) = machine(&[
        ("proc/stat", "cpu  100 0 100 800 0 0 0 0 50 0\ncpu0 1\n"),
        ("proc/loadavg", "0.75 0.5 0.25 1/100 5\n"),
    ]);
    let first = machine.read_sample(1).unwrap();
    assert_eq!(
        (first.processor.used_percent, first.processor.load),
        (None, Some(0.75))
    );
    write_file(
        &root.path().join("proc/stat"),
        "cpu  140 0 150 805 5 0 0 0 90 0\n",
    );
    assert_eq!(machine.read_sample(2).unwrap().processor.used_percent, Some(90));
    machine.forget_times();
    assert_eq!(machine.read_sample(3).unwrap().processor.used_percent, None);
}

#[test]
fn cards_are_found_in_the_files_of_their_drivers() {
    let (_root, mut machine) = machine(&[
        (
            "proc/driver/nvidia/gpus/0000:01:00.0/information",
            "Model: \t\t NVIDIA H200\nIRQ: 1\n",
        ),
        ("sys/class/drm/card1/device/mem_info_vram_total", "8589934592\n"),
        ("sys/class/drm/card1/device/mem_info_vram_used", "1073741824\n"),
        ("sys/class/drm/card1/device/gpu_busy_percent", "12\n"),
        (
            "sys/class/drm/card1-DP-1/device/mem_info_vram_total",
            "8589934592\n",
        ),
        ("sys/class/drm/card0/device/vendor", "0x8086\n"),
    ]);
    let cards = machine.read_sample(1).unwrap().gpus;
    let found: Vec<(&str, Option<u64>, Option<u8>)> = cards
        .iter()
        .map(|card| {
            (
                card.name.as_str(),
                card.used_bytes.map(|used| used / GIB),
                card.used_percent,
            )
        })
        .collect();
    assert_eq!(
        found,
        [("NVIDIA H200", None, None), ("AMD (card1)", Some(1), Some(12))]
    );
}

#[test]
fn a_system_without_such_files_has_unknown_values() {
    let (_root, mut machine) = machine(&[]);
    let sample = machine.read_sample(7).unwrap();
    assert_eq!((sample.memory, sample.gpus.len(), sample.at_ms), (None, 0, 7));
    assert_eq!(sample.to_look(), None);
}

#[cfg(target_os = "linux")]
#[test]
fn this_machine_has_memory_and_cores() {
    let sample = SystemMachine::default().read_sample(1).unwrap();
    let memory = sample.memory.unwrap();
    assert!(
        memory.free_bytes <= memory.total_bytes && memory.total_bytes > 0,
        "{memory:?}"
    );
    assert!(sample.processor.cores.unwrap() > 0);
}
