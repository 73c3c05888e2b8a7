#pragma once

#include "base/standard.h"

// For tests only.

namespace trainyard::data {

std::string from_hex(std::string_view digits);
std::string content_of(const std::filesystem::path& file);
void overwrite(const std::filesystem::path& file, const std::string& content);

// Image i of a made-up set: bytes that no other has, of a length between 8 and 40; its label is i % 7.
std::string made_up_image(std::int64_t i);

// The bytes of one shard of them, for tests that would wait for the disk too often.
std::string made_up_shard(std::int64_t records);

// "made-up-train-...", so many shards of so many records together.
void write_made_up_set(const std::filesystem::path& folder, std::int64_t records, int shards = 1);

}  // namespace trainyard::data
