#include "process/tree.h"

#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/core.h>

namespace trainyard::process {
namespace {

// A child belongs to the thread that started it.
void add_children_of(pid_t parent, std::vector<pid_t>& found) {
  std::error_code code;
  std::filesystem::directory_iterator task(fmt::format("/proc/{}/task", parent), code);
  for (; !code && task != std::filesystem::directory_iterator(); task.increment(code)) {
    std::ifstream file(task->path() / "children");
    for (pid_t child = 0; file >> child;) found.push_back(child);
  }
}

std::int64_t resident_bytes(pid_t process) {
  static const std::int64_t page = ::sysconf(_SC_PAGESIZE);
  std::ifstream file(fmt::format("/proc/{}/statm", process));
  std::int64_t size = 0, pages = 0;
  return file >> size >> pages ? pages * page : 0;
}

// Each page divided by the number of processes that have it (PSS).
std::int64_t proportional_bytes(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/smaps_rollup", process));
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("Pss:")) return std::stoll(line.substr(4)) * 1024;
  return resident_bytes(process);
}

}  // namespace

std::vector<pid_t> tree_of(pid_t root) {
  std::vector<pid_t> found{root};
  for (std::size_t i = 0; i < found.size(); ++i) add_children_of(found[i], found);
  return found;
}

bool is_alive(pid_t process) { return ::kill(process, 0) == 0 || errno == EPERM; }

std::int64_t memory_of(const std::vector<pid_t>& processes, std::int64_t enough) {
  std::int64_t resident = 0, proportional = 0;
  for (const pid_t process : processes) resident += resident_bytes(process);
  if (resident <= enough) return resident;
  for (const pid_t process : processes) proportional += proportional_bytes(process);
  return proportional;
}

}  // namespace trainyard::process
