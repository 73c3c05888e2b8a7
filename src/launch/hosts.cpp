#include "launch/hosts.h"

#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/cores.h"
#include "base/error.h"
#include "study/slurm/cluster.h"

namespace trainyard::launch {

namespace {

constexpr int kMostProcesses = 1'000'000;

int number_of(const std::string& text, const std::filesystem::path& file, int line) {
  int number = 0;
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || stopped != text.data() + text.size() || number < 0 || number > kMostProcesses)
    fail(ErrorKind::config, "'{}', line {}: '{}' is no number of processes", file.string(), line, text);
  return number;
}

DeviceSpec device_of(const std::string& text, const std::filesystem::path& file, int line) {
  try {
    return DeviceSpec::parse(text);
  } catch (const Error& error) {
    fail(ErrorKind::config, "'{}', line {}: {}", file.string(), line, error.what());
  }
}

void set(Host& host, const std::string& word, const std::filesystem::path& file, int line) {
  const std::size_t sign = word.find('=');
  const std::string key = word.substr(0, sign),
                    value = sign == std::string::npos ? "" : word.substr(sign + 1);
  if (key == "workers")
    host.workers = number_of(value, file, line);
  else if (key == "servers")
    host.servers = number_of(value, file, line);
  else if (key == "address" && !value.empty())
    host.address = value;
  else if (key == "device" && !value.empty())
    host.device = device_of(value, file, line);
  else if (key == "backend" && !value.empty())
    host.backend = value;
  else
    fail(ErrorKind::config,
         "'{}', line {}: '{}' is not known; allowed are address=, workers=, servers=, device= and backend=",
         file.string(), line, word);
}

// As Slurm itself reaches it; its name where that is not said.
std::string slurm_address(const std::string& node) {
  std::istringstream words(study::slurm::run_command({"scontrol", "--oneliner", "show", "node", node}).out);
  const std::string key = "NodeAddr=";
  for (std::string word; words >> word;)
    if (word.starts_with(key)) return word.substr(key.size());
  return node;
}

}  // namespace

std::vector<Host> read_hosts(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) fail(ErrorKind::config, "{}: cannot read '{}'", Setting{"hosts"}, file.string());
  std::vector<Host> hosts;
  std::string text;
  for (int line = 1; std::getline(stream, text); ++line) {
    std::istringstream words(text.substr(0, text.find('#')));
    Host host;
    if (!(words >> host.name)) continue;
    const bool here = host.name == "localhost";
    if (!here) host.address = host.name;
    for (std::string word; words >> word;) set(host, word, file, line);
    if (here) host.name.clear();
    hosts.push_back(host);
  }
  if (hosts.empty()) fail(ErrorKind::config, "{}: '{}' names no host", Setting{"hosts"}, file.string());
  return hosts;
}

std::vector<Host> slurm_nodes() {
  const char* list = std::getenv("SLURM_JOB_NODELIST");
  if (list == nullptr || std::getenv("SLURM_JOB_ID") == nullptr) return {};
  std::vector<Host> nodes;
  std::istringstream lines(study::slurm::run_command({"scontrol", "show", "hostnames", list}).out);
  for (std::string node; lines >> node;) nodes.push_back({node, slurm_address(node), 0, 0});
  if (nodes.empty())
    fail(ErrorKind::config, "{} slurm: scontrol names no node of '{}'", Setting{"hosts"}, list);
  return nodes;
}

std::string own_address(const std::vector<Host>& hosts) {
  if (const char* node = std::getenv("SLURMD_NODENAME"))
    for (const Host& host : hosts)
      if (host.name == node) return host.address;
  for (const Host& host : hosts)
    if (host.is_here() && !host.address.empty()) return host.address;
  std::array<char, 256> name{};
  ::gethostname(name.data(), name.size() - 1);
  return name.data();
}

void spread(int workers, int servers, std::vector<Host>& hosts) {
  for (int i = 0; i < workers; ++i) ++hosts[static_cast<std::size_t>(i) % hosts.size()].workers;
  for (int i = 0; i < servers; ++i) ++hosts[static_cast<std::size_t>(i) % hosts.size()].servers;
}

std::vector<Host> find_hosts(const std::filesystem::path& hosts, int workers, int servers) {
  if (hosts == "slurm") {
    std::vector<Host> nodes = slurm_nodes();
    if (nodes.empty()) fail(ErrorKind::usage, "{} slurm: this process is in no allocation", Setting{"hosts"});
    spread(workers, servers, nodes);
    return nodes;
  }
  std::vector<Host> found = read_hosts(hosts);
  int all_workers = 0, all_servers = 0;
  for (const Host& host : found) {
    all_workers += host.workers;
    all_servers += host.servers;
  }
  if (all_workers != workers)
    fail(ErrorKind::usage, "{} {}: '{}' has room for {}", Setting{"workers"}, workers, hosts.string(),
         all_workers);
  if (all_servers == 0)
    spread(0, servers, found);
  else if (all_servers != servers)
    fail(ErrorKind::usage, "{} {}: '{}' names {}", Setting{"servers"}, servers, hosts.string(), all_servers);
  return found;
}

bool is_this_machine(const Host& host) { return host.is_here() || host.name == node_name(); }

int workers_beside(const Host& host, const std::vector<Host>& hosts) {
  int workers = 0;
  for (const Host& other : hosts) workers += other.name == host.name ? other.workers : 0;
  return workers;
}

bool all_alike(const std::vector<Host>& hosts) {
  return std::all_of(hosts.begin(), hosts.end(), [](const Host& host) {
    return host.workers == 0 || (!host.device && host.backend.empty());
  });
}

}  // namespace trainyard::launch
