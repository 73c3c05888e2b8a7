#pragma once

#include "predict/runs/device.h"
#include "predict/runs/network_work.h"
#include "predict/runs/run_table.h"

namespace trainyard::predict {

// Returns the training run that a record of `trainyard profile` measured, where its program names --network,
// --batch and --steps: its whole time, and shares of it in which resources were in bursts or near their
// capacity. `device` is as for table_of_records. Returns nothing where one of these is missing, or the run
// did not end well.
std::optional<TableRun> run_of_profile(const record::RunRecord& record, const std::string& device);

// RunSet holds runs with the work of their networks, made once for all equal ones.
struct RunSet {
  struct Row {
    TableRun run;  // device and network as they are called here
    std::size_t work = 0, device = 0;
  };
  std::vector<Row> rows;
  std::vector<NetworkWork> works;
  std::vector<DeviceSheet> devices;           // those that rows have
  std::map<std::string, int> skipped;         // rows left out, by the unknown name
  std::vector<std::string> networks() const;  // of the zoo, in the order of their first row

  const NetworkWork& work(const Row& row) const { return works[row.work]; }
};

// Throws Error (config) naming the file, the unknown name and the known ones; with `skip_unknown` such rows
// are counted. A run that would have needed four times the device's peak rate did not run: it counts as out
// of memory.
RunSet prepare_runs(const RunTable& table, const std::vector<DeviceSheet>& devices,
                    bool skip_unknown = false);

// Returns the network's family in the zoo.
std::string family_of(const std::string& network);

}  // namespace trainyard::predict
