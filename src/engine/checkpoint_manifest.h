#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "graph/graph.h"

namespace trainyard::engine {

// What a checkpoint says of the run it belongs to.
struct CheckpointHeader {
  std::string network;
  std::int64_t step = 0;  // steps done; the next one has this number
  std::uint64_t seed = 0;
  float first_loss = 0;
  // What else must agree for a run to go on from here: name and value, as text.
  std::vector<std::pair<std::string, std::string>> asked = {};
  // How far it got, where the step does not say it all; need not agree.
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

}  // namespace trainyard::engine
