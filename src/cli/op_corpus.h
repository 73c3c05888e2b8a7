#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "cli/graph_source.h"
#include "predict/graph_features/op_vocabulary.h"

namespace trainyard::cli {

// Ops of these networks and files; of all our networks when there are none.
predict::OpVocabulary count_ops(const std::vector<std::string>& sources, const GraphOptions& options);

// That of a file, or where there is none that of training steps of all our networks.
predict::OpVocabulary read_vocabulary(const std::filesystem::path& file);

}  // namespace trainyard::cli
