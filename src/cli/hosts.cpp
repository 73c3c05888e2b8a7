#include "cli/hosts.h"

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>

#include "base/error.h"

namespace trainyard::cli {
namespace {

int number_of(const std::string& text, const std::filesystem::path& file, int line) {
  int number = 0;
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || stopped != text.data() + text.size() || number < 0)
    fail(ErrorKind::config, "'{}', line {}: '{}' is no number of processes", file.string(), line, text);
  return number;
}

}  // namespace

std::vector<Host> read_hosts(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) fail(ErrorKind::config, "cannot read '{}'", file.string());
  std::vector<Host> hosts;
  std::string text;
  for (int line = 1; std::getline(stream, text); ++line) {
    std::istringstream words(text.substr(0, text.find('#')));
    Host host;
    if (!(words >> host.name)) continue;
    host.address = host.name;
    for (std::string word; words >> word;) {
      const std::size_t sign = word.find('=');
      const std::string key = word.substr(0, sign),
                        value = sign == std::string::npos ? "" : word.substr(sign + 1);
      if (key == "address" && !value.empty())
        host.address = value;
      else if (key == "workers")
        host.workers = number_of(value, file, line);
      else if (key == "servers")
        host.servers = number_of(value, file, line);
      else
        fail(ErrorKind::config,
             "'{}', line {}: '{}' is not known; allowed are address=, workers= and servers=", file.string(),
             line, word);
    }
    hosts.push_back(host);
  }
  if (hosts.empty()) fail(ErrorKind::config, "'{}' names no host", file.string());
  return hosts;
}

std::vector<std::string> slurm_nodes() {
  const char* list = std::getenv("SLURM_JOB_NODELIST");
  if (list == nullptr || std::getenv("SLURM_JOB_ID") == nullptr) return {};
  // The list is given to it as an argument that no shell sees.
  ::setenv("TRAINYARD_NODELIST", list, 1);
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(
      ::popen("scontrol show hostnames \"$TRAINYARD_NODELIST\"", "r"), ::pclose);
  if (pipe == nullptr) fail(ErrorKind::config, "cannot run scontrol");
  std::string text;
  char buffer[4096];
  while (std::fgets(buffer, sizeof buffer, pipe.get()) != nullptr) text += buffer;
  std::vector<std::string> nodes;
  std::istringstream lines(text);
  for (std::string node; lines >> node;) nodes.push_back(node);
  if (nodes.empty()) fail(ErrorKind::config, "scontrol names no node of '{}'", list);
  return nodes;
}

std::vector<Host> spread_over(const std::vector<std::string>& names, int workers, int servers) {
  std::vector<Host> hosts;
  for (const std::string& name : names) hosts.push_back({name, name, 0, 0});
  for (int i = 0; i < workers; ++i) ++hosts[static_cast<std::size_t>(i) % hosts.size()].workers;
  for (int i = 0; i < servers; ++i) ++hosts[static_cast<std::size_t>(i) % hosts.size()].servers;
  return hosts;
}

}  // namespace trainyard::cli
