#include "predict/run_set.h"

#include <algorithm>
#include <tuple>

#include "base/error.h"
#include "networks/zoo.h"
#include "predict/network_name.h"

namespace trainyard::predict {
namespace {

constexpr double kImpossible = 4;  // times the peak, whatever the algorithm

// A record says itself how its run ended.
bool is_impossible(const TableRun& run, const NetworkWork& work, const Device& device) {
  return run.with_start && run.steps() * work.flops > kImpossible * device.flops_per_second * run.seconds;
}

class WorkList {
 public:
  explicit WorkList(std::vector<NetworkWork>& works) : works_(works) {}

  std::size_t add(const NamedNetwork& network, const TableRun& run) {
    const auto key = std::tuple(network.network, run.batch, run.classes, run.optimizer, run.parameters);
    const auto [at, fresh] = positions_.try_emplace(key, works_.size());
    if (fresh)
      works_.push_back(work_of({.network = network.network,
                                .batch = run.batch,
                                .classes = run.classes,
                                .input = network.input,
                                .optimizer = run.optimizer,
                                .parameters = run.parameters}));
    return at->second;
  }

 private:
  std::vector<NetworkWork>& works_;
  std::map<std::tuple<std::string, std::int64_t, int, ops::Rule, networks::generator::Given>, std::size_t>
      positions_;
};

}  // namespace

std::vector<std::string> RunSet::networks() const {
  std::vector<std::string> names;
  for (const Row& row : rows)
    if (std::find(names.begin(), names.end(), row.run.network) == names.end())
      names.push_back(row.run.network);
  return names;
}

RunSet prepare_runs(const RunTable& table, const std::vector<Device>& devices, bool skip_unknown) {
  RunSet set;
  WorkList works(set.works);
  for (const TableRun& given : table.runs) {
    RunSet::Row row{given, given.network};
    const auto position = [&]() -> std::size_t {
      const Device& device = find_device(devices, given.device);
      const auto at = std::find(set.devices.begin(), set.devices.end(), device);
      if (at != set.devices.end()) return static_cast<std::size_t>(at - set.devices.begin());
      set.devices.push_back(device);
      return set.devices.size() - 1;
    };
    try {
      const NamedNetwork network = named_network(given.network);
      row.device = position();
      row.run.device = set.devices[row.device].name;
      row.run.network = network.network;
      row.work = works.add(network, given);
    } catch (const Error& error) {
      if (!skip_unknown) fail(ErrorKind::config, "{}: {}", table.source, error.what());
      ++set.skipped[find_named_network(given.network) ? given.device : given.network];
      continue;
    }
    if (is_impossible(row.run, set.work(row), set.devices[row.device])) row.run.end = RunEnd::oom;
    set.rows.push_back(std::move(row));
  }
  if (set.rows.empty())
    fail(ErrorKind::config, "{}: no run of a known network on a known device", table.source);
  return set;
}

std::string family_of(const std::string& network) { return networks::find_network(network).family; }

}  // namespace trainyard::predict
