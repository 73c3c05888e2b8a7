#pragma once

#include "engine/executor.h"
#include "graph/graph.h"

namespace trainyard::engine {

// The header says which run a checkpoint belongs to.
struct CheckpointHeader {
  std::string network;
  std::int64_t step = 0;  // steps done; the next one has this number
  std::uint64_t seed = 0;
  float first_loss = 0;
  // These further settings must agree for a run to continue from here: name and value, as text.
  std::vector<std::pair<std::string, std::string>> asked = {};
  // These values record the progress beyond the step; they need not agree.
  std::vector<std::pair<std::string, std::string>> reached = {};
};

struct StoredTensor {
  std::string name;
  graph::Role role = graph::Role::parameter;
  graph::TensorType type;
  std::int64_t offset = 0;  // in tensors.bin
  std::uint32_t crc32c = 0;
};

struct CheckpointManifest {
  CheckpointHeader header;
  std::int64_t tensors_bytes = 0;
  std::vector<StoredTensor> tensors;
};

// docs/formats/checkpoint.md describes the text. The parser verifies the version, the checksum and that every
// field is there; Error (config) begins with `path`.
std::string manifest_to_text(const CheckpointManifest& manifest);
CheckpointManifest parse_manifest(const std::string& text, const std::filesystem::path& path);

// A checkpoint is a folder "step-00000800" with manifest.json and tensors.bin: every parameter, statistic and
// optimizer state in plain layout, so that any backend can go on from it. docs/formats/checkpoint.md.

struct SaveOptions {
  std::filesystem::path folder;  // where the checkpoints of one run lie; made when absent
  int keep = 2;                  // the newest that stay
};

// Writes aside, syncs, renames; then removes old checkpoints and what a killed writer left. One writer per
// folder at a time. Returns the checkpoint's path. Error (io) leaves nothing new behind.
std::filesystem::path save_checkpoint(const Executor& executor, const CheckpointHeader& header,
                                      const SaveOptions& options);

// Lists the checkpoints by step, oldest first.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& folder);
std::optional<std::filesystem::path> latest_checkpoint(const std::filesystem::path& folder);

// Fills the executor's state; `wanted` says which run this is (its step and first_loss are not looked at).
// Error (config) names the file and what is wrong: missing, truncated, checksum, another run, another tensor.
// After an Error the state is undefined.
CheckpointHeader load_checkpoint(const std::filesystem::path& checkpoint, const CheckpointHeader& wanted,
                                 Executor& executor);

// Reads what a checkpoint says of itself, without its tensors. Error (config) as above.
CheckpointManifest read_manifest(const std::filesystem::path& checkpoint);

// Fills the parameters alone, of whatever run the checkpoint is: for a network that is used and not trained
// further. Errors as above.
void load_parameters(const std::filesystem::path& checkpoint, Executor& executor);

}  // namespace trainyard::engine
