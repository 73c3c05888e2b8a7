#include "base/cores.h"

#include <sched.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <fstream>

#include <fmt/ranges.h>

#include "base/error.h"
#include "base/text.h"

namespace trainyard {

namespace {

void add_cores(const cpu_set_t& set, std::vector<int>& cores) {
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &set)) cores.push_back(core);
}

// Hardware threads of the same physical core with a lower number, among those allowed; 0 where the system
// does not say.
int place_among_siblings(int core, const cpu_set_t& allowed) {
  std::ifstream file(fmt::format("/sys/devices/system/cpu/cpu{}/topology/thread_siblings", core));
  std::string mask;  // hexadecimal words of 32 bits, the highest first: 00000000,00000005
  std::getline(file, mask);
  mask.erase(std::remove(mask.begin(), mask.end(), ','), mask.end());
  int lower = 0;
  for (int other = 0; other < core; ++other) {
    const std::size_t digit = static_cast<std::size_t>(other) / 4;
    if (digit >= mask.size()) break;
    const char* at = mask.data() + (mask.size() - 1 - digit);
    int bits = 0;
    std::from_chars(at, at + 1, bits, 16);
    if ((bits >> (other % 4) & 1) != 0 && CPU_ISSET(other, &allowed)) ++lower;
  }
  return lower;
}

std::vector<int> physical_cores_first() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) CPU_SET(0, &allowed);
  std::vector<int> cores;
  add_cores(allowed, cores);
  std::map<int, int> place;
  for (const int core : cores) place[core] = place_among_siblings(core, allowed);
  std::stable_sort(cores.begin(), cores.end(), [&](int a, int b) { return place[a] < place[b]; });
  return cores;
}

std::vector<int> thread_ids() {
  std::vector<int> ids;
  std::error_code code;
  for (const auto& task : std::filesystem::directory_iterator("/proc/self/task", code)) {
    const std::string name = task.path().filename().string();
    std::from_chars(name.data(), name.data() + name.size(), ids.emplace_back());
  }
  return ids;
}

std::vector<int>& known_cores() {
  static std::vector<int> cores = physical_cores_first();
  return cores;
}

}  // namespace

const std::vector<int>& process_cores() { return known_cores(); }

void limit_process_cores(int cores) {
  std::vector<int>& known = known_cores();
  if (cores < 1 || cores > static_cast<int>(known.size()))
    fail(ErrorKind::usage, "{} {}: this process may use {}", Setting{"cores"}, cores, known.size());
  known.resize(static_cast<std::size_t>(cores));
  pin_thread(known);
}

void pin_thread(std::span<const int> cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  if (sched_setaffinity(0, sizeof set, &set) != 0)
    fail(ErrorKind::device, "cannot run on core {} only: {}", joined(cores, ", "), std::strerror(errno));
}

void pin_all_threads(std::span<const int> cores) {
  pin_thread(cores);
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  // A thread that has ended meanwhile needs no core, so failures are ignored.
  for (const int id : thread_ids()) sched_setaffinity(id, sizeof set, &set);
}

std::vector<int> cores_in_reach() {
  std::vector<int> cores;
  for (const int id : thread_ids()) {
    cpu_set_t set;
    if (sched_getaffinity(id, sizeof set, &set) == 0) add_cores(set, cores);
  }
  std::sort(cores.begin(), cores.end());
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  return cores;
}

std::string node_name() {
  if (const char* node = std::getenv("SLURMD_NODENAME"); node != nullptr && *node != '\0') return node;
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "";
}

}  // namespace trainyard
