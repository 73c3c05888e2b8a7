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

std::function<int()> declare_bench(CLI::App& command);

// Prints the same as a table.
void print_ops(const engine::OpBreakdown& ops);

// Counts the ops of these networks and files, or of all our networks when `sources` is empty.
predict::OpVocabulary count_ops(const std::vector<std::string>& sources, const GraphOptions& options);

// Reads the vocabulary from `file`; an empty path means the vocabulary of the training steps of all our
// networks.
predict::OpVocabulary read_vocabulary(const std::filesystem::path& file);

}  // namespace trainyard::cli
