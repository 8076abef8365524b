//! What control groups and limits leave, as Linux tells it in files. On systems without `/proc` it is the machine's
//! memory less what the process counted.

use super::Free;
use std::path::{Component, Path, PathBuf};

/// Where the kernel shows control groups.
const GROUPS: &str = "/sys/fs/cgroup";

/// Address space that stays free for the stacks of threads, code, and the allocator itself.
const SPARE_ADDRESSES: usize = 64 << 20;

/// What is free now; nothing where the system does not tell.
pub(crate) fn free() -> Option<Free> {
    let limits = [(libc::RLIMIT_AS, 0), (libc::RLIMIT_DATA, 5)];
    let limits = limits.map(|(resource, field)| (limit_of(resource), field));
    measured(&|path| std::fs::read_to_string(path).ok(), &limits)
}

/// The soft limit of a resource, if there is one.
fn limit_of(resource: Resource) -> Option<usize> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call only writes the structure.
    let is_known = unsafe { libc::getrlimit(resource, &mut limit) } == 0;
    let bytes = usize::try_from(limit.rlim_cur).ok();
    bytes.filter(|_| is_known && limit.rlim_cur != libc::RLIM_INFINITY)
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
type Resource = libc::__rlimit_resource_t;
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
type Resource = libc::c_int;

/// What is free by the files of the kernel, as `read` gives them, and by limits, each with the field of
/// `statm` that it bounds.
fn measured(
    read: &dyn Fn(&Path) -> Option<String>,
    limits: &[(Option<usize>, usize)],
) -> Option<Free> {
    let machine = field(&read(Path::new("/proc/meminfo"))?, "MemAvailable:")?.saturating_mul(1024);
    let pages = read(Path::new("/proc/self/statm"))?;
    let pages: Vec<usize> = pages.split_whitespace().map_while(|n| n.parse().ok()).collect();
    let taken = |field: usize| pages.get(field).map_or(0, |n| n.saturating_mul(page()));
    let own = limits.iter().filter_map(|&(limit, field)| {
        Some(limit?.saturating_sub(taken(field)).saturating_sub(SPARE_ADDRESSES))
    });
    let groups = read(Path::new("/proc/self/cgroup")).unwrap_or_default();
    let groups = groups.lines().filter_map(|line| left_by_groups(read, line));
    let available = groups.chain(own).fold(machine, usize::min);
    Some(Free { available, resident: taken(1).saturating_sub(taken(2)) })
}

/// What a line of `/proc/self/cgroup` leaves: the least of the group and those around it.
fn left_by_groups(read: &dyn Fn(&Path) -> Option<String>, line: &str) -> Option<usize> {
    let mut parts = line.splitn(3, ':').skip(1);
    let (controllers, group) = (parts.next()?, Path::new(parts.next()?));
    let (root, [most, used], inactive) = match controllers {
        "" => (PathBuf::from(GROUPS), ["memory.max", "memory.current"], "inactive_file"),
        _ if controllers.split(',').any(|name| name == "memory") => (
            Path::new(GROUPS).join("memory"),
            ["memory.limit_in_bytes", "memory.usage_in_bytes"],
            "total_inactive_file",
        ),
        _ => return None,
    };
    // A container may see the group's path from outside, and the group itself as the root.
    let names = group.components().filter(|part| matches!(part, Component::Normal(_)));
    let path = names.fold(root.clone(), |path, name| path.join(name));
    let around = path.ancestors().take_while(|folder| folder.starts_with(&root));
    let left = |folder: &Path| {
        let number = |name| read(&folder.join(name))?.trim().parse::<usize>().ok();
        let (most, used) = (number(most)?, number(used)?);
        let cached = read(&folder.join("memory.stat")).and_then(|s| field(&s, inactive));
        Some(most.saturating_sub(used.saturating_sub(cached.unwrap_or(0))))
    };
    around.filter_map(left).min()
}

/// The number behind a name at the start of a line.
fn field(text: &str, name: &str) -> Option<usize> {
    let mut words = text.lines().map(str::split_whitespace);
    words.find_map(|mut line| (line.next()? == name).then(|| line.next()?.parse().ok())?)
}

/// The machine's memory in bytes.
pub(crate) fn of_machine() -> Option<usize> {
    // SAFETY: sysconf only reads system facts.
    let pages = usize::try_from(unsafe { libc::sysconf(libc::_SC_PHYS_PAGES) }).ok()?;
    Some(pages.saturating_mul(page()))
}

/// Bytes of a page.
fn page() -> usize {
    // SAFETY: sysconf only reads system facts.
    usize::try_from(unsafe { libc::sysconf(libc::_SC_PAGESIZE) }).unwrap_or(4096)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: usize = 1 << 20;

    /// Measures on a machine with 8 GB available whose kernel shows these files too.
    fn check(files: &[(&str, &str)], limits: &[(Option<usize>, usize)], expected: usize) {
        let pages =
            format!("{} {} 0 0 0 {} 0", 512 * MB / page(), 64 * MB / page(), 32 * MB / page());
        let meminfo = format!("MemTotal: 1 kB\nMemFree: 2 kB\nMemAvailable:  {} kB\n", 8 << 20);
        let usual = [("/proc/meminfo", meminfo.as_str()), ("/proc/self/statm", pages.as_str())];
        let read = |path: &Path| {
            let mut all = usual.iter().chain(files);
            all.find(|(name, _)| Path::new(name) == path).map(|(_, text)| (*text).to_owned())
        };
        let found = Free { available: expected, resident: 64 * MB };
        assert_eq!(measured(&read, limits), Some(found), "{files:?} {limits:?}");
    }

    #[test]
    fn the_least_of_machine_groups_and_limits_is_free() {
        let machine = 8 << 30;
        check(&[], &[], machine);
        check(&[], &[(None, 0), (None, 5)], machine);
        check(&[], &[(Some(1024 * MB), 0)], (1024 - 512) * MB - SPARE_ADDRESSES);
        check(&[], &[(None, 0), (Some(1024 * MB), 5)], (1024 - 32) * MB - SPARE_ADDRESSES);
        check(&[], &[(Some(1), 0)], 0);
        let v2 = ("/proc/self/cgroup", "0::/user/job\n");
        let (job, used) =
            ("/sys/fs/cgroup/user/job/memory.max", "/sys/fs/cgroup/user/job/memory.current");
        check(&[v2, (job, "max\n"), (used, "5\n")], &[], machine);
        check(&[v2, (job, "3000\n"), (used, "1000\n")], &[], 2000);
        let stat = ("/sys/fs/cgroup/user/job/memory.stat", "anon 500\ninactive_file 400\n");
        check(&[v2, (job, "3000\n"), (used, "1000\n"), stat], &[], 2400);
        let (above, all) = ("/sys/fs/cgroup/user/memory.max", "/sys/fs/cgroup/user/memory.current");
        check(&[v2, (job, "3000\n"), (used, "0\n"), (above, "900"), (all, "899")], &[], 1);
        // In a container the group is the root, whatever its name outside.
        let (root, used) = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current");
        check(&[v2, (root, "3000\n"), (used, "4000\n")], &[], 0);
        let v1 = ("/proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/a\n");
        let (most, used) = (
            "/sys/fs/cgroup/memory/a/memory.limit_in_bytes",
            "/sys/fs/cgroup/memory/a/memory.usage_in_bytes",
        );
        check(&[v1, (most, "700\n"), (used, "200\n")], &[], 500);
        let unlimited = "9223372036854771712\n";
        check(&[v1, (most, unlimited), (used, "200\n")], &[], machine);
    }

    #[test]
    fn this_machine_tells() {
        if cfg!(target_os = "linux") {
            let free = free().expect("/proc is there");
            assert!(free.resident > 0);
        }
    }
}
