#include "net/fleet.h"

#include <sstream>
#include <utility>

#include <fmt/core.h>

#include "base/clock.h"

namespace trainyard::net_test {
namespace {

constexpr double kWatchedSeconds = 0.5, kMostShare = 0.5;

}  // namespace

void Fleet::start(const std::string& name, std::vector<std::string> command) {
  Node& node = nodes_[name];
  node.command = std::move(command);
  launch(name, node);
}

void Fleet::launch(const std::string& name, Node& node) {
  node.process = std::make_unique<Process>(node.command, folder_ / (name + ".log"));
  node.killed = false;
  node.start_at = node.resume_at = 0;
}

bool Fleet::kill(const std::string& name, double again_after_seconds) {
  Node& node = nodes_.at(name);
  if (!node.process->runs()) return false;
  node.process->kill();
  node.killed = true;
  node.resume_at = 0;
  node.start_at = again_after_seconds < 0 ? 0 : now_seconds() + again_after_seconds;
  return true;
}

bool Fleet::stop(const std::string& name, double seconds) {
  Node& node = nodes_.at(name);
  if (!node.process->runs()) return false;
  node.process->stop();
  node.resume_at = now_seconds() + seconds;
  Watch& watch = watches_[name] = {.since = now_seconds(), .cpu_seconds = {}};
  for (auto& [other, running] : nodes_)
    if (other != name) watch.cpu_seconds[running.process->pid()] = running.process->cpu_seconds();
  return true;
}

std::vector<std::string> Fleet::look() {
  const double now = now_seconds();
  for (auto& [name, node] : nodes_) {
    if (node.start_at > 0 && now >= node.start_at) launch(name, node);
    if (node.resume_at > 0 && now >= node.resume_at) {
      node.resume_at = 0;
      if (name.starts_with("server")) look_for_spinning(name, watches_[name]);
      node.process->resume();
    }
    const std::optional<Exit> exit = node.process->wait(0);
    if (exit && !node.killed && *exit != Exit{0, 0})
      problems_.push_back(fmt::format("{} ended with {}", name, exit->to_string()));
  }
  return std::exchange(problems_, {});
}

// While a server is suspended, no process can make progress.
void Fleet::look_for_spinning(const std::string& stopped, const Watch& watch) {
  const double seconds = now_seconds() - watch.since;
  if (seconds < kWatchedSeconds) return;
  for (const auto& [name, node] : nodes_) {
    const auto before = watch.cpu_seconds.find(node.process->pid());
    if (before == watch.cpu_seconds.end()) continue;
    const double share = (node.process->cpu_seconds() - before->second) / seconds;
    if (share > kMostShare)
      problems_.push_back(
          fmt::format("{} used {:.0f} % of a core while {} stood still", name, 100 * share, stopped));
  }
}

bool Fleet::all_ended(const std::string& prefix) {
  for (auto& [name, node] : nodes_)
    if (name.starts_with(prefix) && (node.process->runs() || node.start_at > 0)) return false;
  return true;
}

std::string Fleet::stacks() {
  std::string text;
  for (auto& [name, node] : nodes_) {
    if (!node.process->runs()) continue;
    node.process->resume();
    Process debugger(
        {"gdb", "-batch", "-ex", "thread apply all bt 14", "-p", std::to_string(node.process->pid())},
        folder_ / (name + ".stack"));
    debugger.wait(20);
    text += fmt::format("--- {}\n{}", name, debugger.output());
  }
  return text;
}

std::string Fleet::logs(std::size_t lines) const {
  std::string text;
  for (const auto& [name, node] : nodes_) {
    std::istringstream log(node.process->output());
    std::vector<std::string> all;
    for (std::string line; std::getline(log, line);) all.push_back(line);
    text += fmt::format("--- {}.log\n", name);
    for (std::size_t i = all.size() > lines ? all.size() - lines : 0; i < all.size(); ++i)
      text += all[i] + "\n";
  }
  return text;
}

}  // namespace trainyard::net_test
