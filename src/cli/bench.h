#pragma once

namespace CLI {
class App;
}

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "cli/networks_import.h"
#include "engine/op_breakdown.h"
#include "predict/graph_features/op_vocabulary.h"
#include "record/run_record.h"

namespace trainyard::cli {

// Of a bench that is not told otherwise.
inline constexpr std::int64_t kBenchSteps = 50, kBenchWarmupSteps = 5;

std::function<int()> declare_bench(CLI::App& command);

// The breakdown in a run's record; docs/formats/run-record.md describes it. REQUIRES: its statistics.
void add_ops(record::RunRecord& run, const engine::OpBreakdown& ops);

// The same as a table for people.
void print_ops(const engine::OpBreakdown& ops);

// Ops of these networks and files; of all our networks when there are none.
predict::OpVocabulary count_ops(const std::vector<std::string>& sources, const GraphOptions& options);

// That of a file, or where there is none that of training steps of all our networks.
predict::OpVocabulary read_vocabulary(const std::filesystem::path& file);

}  // namespace trainyard::cli
