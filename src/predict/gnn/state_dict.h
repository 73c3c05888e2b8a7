#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "predict/gnn/network.h"

namespace trainyard::predict {

struct ZipEntry {
  std::string name;
  std::span<const std::byte> content;  // of the file's bytes
};

// Entries of a zip archive that are stored as they are, each verified by its CRC. Error (config) begins with
// '`who`' where the bytes are no such archive: damaged, compressed, encrypted, in several parts or of the
// 64-bit kind.
std::vector<ZipEntry> read_stored_zip(std::span<const std::byte> file, const std::string& who);

// The tensors of a PyTorch state dict in zip format (torch.save since 1.6), in its order; strided ones in
// plain order. Nothing of the file is executed. Error (config) begins with the file's name and says what is
// wrong: damaged, compressed, another pickle than a state dict of float tensors, a tensor beyond its storage.
std::vector<NamedTensor> parse_state_dict(std::span<const std::byte> file, const std::string& who);
std::vector<NamedTensor> read_state_dict(const std::filesystem::path& path);

}  // namespace trainyard::predict
