#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "engine/checkpoint_manifest.h"
#include "engine/executor.h"

namespace trainyard::engine {

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

// By step, oldest first.
std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& folder);
std::optional<std::filesystem::path> latest_checkpoint(const std::filesystem::path& folder);

// Fills the executor's state; `wanted` says which run this is (its step and first_loss are not looked at).
// Error (config) names the file and what is wrong: missing, truncated, checksum, another run, another tensor.
// After an Error the state is undefined.
CheckpointHeader load_checkpoint(const std::filesystem::path& checkpoint, const CheckpointHeader& wanted,
                                 Executor& executor);

}  // namespace trainyard::engine
