#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "predict/runs/device.h"
#include "predict/runs/network_work.h"
#include "predict/runs/run_table.h"

namespace trainyard::predict {

// The training run that a record of `trainyard profile` measured, where its program says --network, --batch
// and
// --steps: its whole time, and shares of it in which resources were in bursts or near their capacity.
// `device` as for table_of_records. Nothing where it says less, or did not end well.
std::optional<TableRun> run_of_profile(const record::RunRecord& record, const std::string& device);

// Runs with the work of their networks, which is made once for all that are alike.
struct RunSet {
  struct Row {
    TableRun run;         // device and network as they are called here
    std::string network;  // as the table spells it, which may say more: the size of images
    std::size_t work = 0, device = 0;
  };
  std::vector<Row> rows;
  std::vector<NetworkWork> works;
  std::vector<Device> devices;                // those that rows have
  std::map<std::string, int> skipped;         // rows left out, by the unknown name
  std::vector<std::string> networks() const;  // of the zoo, in the order of their first row

  const NetworkWork& work(const Row& row) const { return works[row.work]; }
};

// Error (config) names file, what is unknown and what is known; with `skip_unknown` such rows are counted.
// A run that would have needed four times the device's peak rate did not run: it is taken for out of memory.
RunSet prepare_runs(const RunTable& table, const std::vector<Device>& devices, bool skip_unknown = false);

// The network's family in the zoo.
std::string family_of(const std::string& network);

}  // namespace trainyard::predict
