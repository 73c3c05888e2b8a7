#pragma once

// For tests only.

#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "base/error.h"

namespace trainyard {

using ReadBytes = std::function<void(const std::string&)>;

// Reads the file, or expects a refusal in one line as a user error. Returns whether it was read.
inline bool reads_or_refuses(const std::string& file, const ReadBytes& read) {
  try {
    read(file);
    return true;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::config) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return false;
  }
}

// Expects that every shorter file is refused, and that no file with one bit changed does harm.
inline void expect_damage_is_seen(const std::string& valid, const ReadBytes& read) {
  EXPECT_TRUE(reads_or_refuses(valid, read));
  for (std::size_t bytes = 0; bytes < valid.size(); ++bytes)
    EXPECT_FALSE(reads_or_refuses(valid.substr(0, bytes), read)) << bytes << " bytes";
  for (std::size_t bit = 0; bit < 8 * valid.size(); ++bit) {
    std::string changed = valid;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ (1 << bit % 8));
    reads_or_refuses(changed, read);
  }
}

// Replays the files that a fuzz target starts from, and those that it once failed on: tests/fuzz/corpus/NAME.
// Returns their number.
inline int replay_corpus(const std::string& name, const ReadBytes& read) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator("tests/fuzz/corpus/" + name)) {
    std::ifstream file(entry.path(), std::ios::binary);
    SCOPED_TRACE(entry.path().string());
    reads_or_refuses({std::istreambuf_iterator<char>(file), {}}, read);
    ++files;
  }
  return files;
}

}  // namespace trainyard
