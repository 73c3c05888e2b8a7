#include "meter/cgroup.h"

namespace trainyard::meter {
namespace {

struct Mount {
  std::string folder;  // where the hierarchy is mounted
  std::string group;   // of this process below it, as /proc/self/cgroup says
};

bool names_controller(std::string_view list, std::string_view controller) {
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    if (list.substr(start, end - start) == controller) return true;
    start = end + 1;
  }
  return false;
}

// Lines are "4:memory:/group" (version 1) and "0::/group" (version 2); both kinds may be there.
std::vector<Mount> find_mounts(const SystemFiles& files, std::string_view controller) {
  std::vector<Mount> mounts;
  const std::string text = files.text("/proc/self/cgroup").value_or("");
  for (const std::string_view line : split_words(text)) {
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string group(line.substr(second + 1));
    if (controllers.empty()) {
      for (const char* folder : {"/sys/fs/cgroup", "/sys/fs/cgroup/unified"})
        mounts.push_back({folder, group});
    } else if (names_controller(controllers, controller)) {
      const std::string base = "/sys/fs/cgroup/";
      const std::string whole = base + std::string(controllers), alone = base + std::string(controller);
      mounts.push_back({files.exists(whole) ? whole : alone, group});
    }
  }
  return mounts;
}

// Calls `look` with the folder of this process's group and of every group above it: each of them can limit
// it. In a container the inner ones are often out of sight, and only the mount's root is there.
void for_each_group(const SystemFiles& files, std::string_view controller,
                    const std::function<void(const std::string&)>& look) {
  for (const Mount& mount : find_mounts(files, controller)) {
    std::string group = mount.group;
    while (group.size() > 1) {
      look(mount.folder + group);
      group.erase(group.rfind('/'));
    }
    look(mount.folder);
  }
}

template <typename T>
void lower(std::optional<T>& limit, T value) {
  limit = limit ? std::min(*limit, value) : value;
}

void lower_cores(std::optional<double>& cores, std::optional<std::int64_t> quota,
                 std::optional<std::int64_t> period) {
  if (quota && period && *quota > 0 && *period > 0)
    lower(cores, static_cast<double>(*quota) / static_cast<double>(*period));
}

void apply_cpu_limit(const SystemFiles& files, const std::string& group, CgroupLimits& limits) {
  const std::string text = files.text(group + "/cpu.max").value_or("");  // "max 100000" or "150000 100000"
  if (const auto words = split_words(text); words.size() == 2)
    lower_cores(limits.cores, leading_integer(words[0]), leading_integer(words[1]));
  lower_cores(limits.cores, files.integer(group + "/cpu.cfs_quota_us"),
              files.integer(group + "/cpu.cfs_period_us"));
}

// Counts memory of all processes of the group, without file pages that were not used lately, since the kernel
// reclaims these when others need memory.
std::optional<std::int64_t> taken_bytes(const SystemFiles& files, const std::string& group) {
  const std::string text = files.text(group + "/memory.stat").value_or("");
  auto bytes = files.integer(group + "/memory.current");
  auto cache = keyed_integer(text, "inactive_file");
  if (!bytes) {
    bytes = files.integer(group + "/memory.usage_in_bytes");
    cache = keyed_integer(text, "total_inactive_file");
  }
  return bytes ? std::optional(*bytes - cache.value_or(0)) : std::nullopt;
}

}  // namespace

CgroupLimits read_cgroup_limits(const SystemFiles& files) {
  constexpr std::int64_t kUnlimited = std::int64_t{1} << 60;  // version 1 writes "none" as a number near 2^63
  CgroupLimits limits;
  for_each_group(files, "cpu", [&](const std::string& group) { apply_cpu_limit(files, group, limits); });
  for_each_group(files, "memory", [&](const std::string& group) {
    for (const char* name : {"/memory.max", "/memory.limit_in_bytes"})
      if (const auto bytes = files.integer(group + name); bytes && *bytes < kUnlimited) {
        lower(limits.memory_bytes, *bytes);
        if (const auto taken = taken_bytes(files, group))
          lower(limits.memory_left_bytes, std::max<std::int64_t>(*bytes - *taken, 0));
      }
  });
  for_each_group(files, "pids", [&](const std::string& group) {
    const auto most = files.integer(group + "/pids.max"), now = files.integer(group + "/pids.current");
    if (most && now) lower(limits.processes, std::max<std::int64_t>(*most - *now, 0));
  });
  return limits;
}

CgroupThrottle read_cgroup_throttle(const SystemFiles& files) {
  CgroupThrottle throttle;
  for_each_group(files, "cpu", [&](const std::string& group) {
    const auto text = files.text(group + "/cpu.stat");
    if (!text) return;
    throttle.periods += keyed_integer(*text, "nr_throttled").value_or(0);
    throttle.seconds += static_cast<double>(keyed_integer(*text, "throttled_usec").value_or(0)) * 1e-6;
    throttle.seconds += static_cast<double>(keyed_integer(*text, "throttled_time").value_or(0)) * 1e-9;
  });
  return throttle;
}

}  // namespace trainyard::meter
