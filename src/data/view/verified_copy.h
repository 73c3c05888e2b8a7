#pragma once

#include <ctime>

#include "data/source/get_dataset.h"

namespace trainyard::data {

// A file to be copied, as it was when it was looked at.
struct SourceFile {
  std::filesystem::path path;
  std::string name;    // of the copy, below its folder
  std::string sha256;  // that it must have; empty: any
  std::int64_t bytes = 0;
  std::uint64_t inode = 0;
  std::timespec written{};
};

struct Copies {
  std::vector<CachedFile> files;  // in the order of the sources
  std::int64_t cached_bytes = 0;  // of the sources, in the page cache before the copy
};

// Hears how many bytes are done, from one thread at a time.
using BytesDone = std::function<void(std::int64_t done)>;

// These functions work on several files at a time, because most of a small file's time is waiting for the
// file system. The first Error ends all of it; Error (interrupted) when a signal asked to stop.

// Fills in what a file is like now. Error (config) names one that cannot be looked at.
void look_at_files(std::vector<SourceFile>& files);

// Copies each file to `folder`/name, and makes the folders of names. Error (io) names a file that vanished or
// changed since it was looked at, or that cannot be written; Error (config) one with another sum than it must
// have.
Copies copy_files(const std::vector<SourceFile>& files, const std::filesystem::path& folder,
                  const BytesDone& done);

// Reads the copies back, from the disk as far as the kernel allows that. Error (io) names the first file that
// is missing or not as described.
void verify_copies(const std::filesystem::path& folder, const std::vector<CachedFile>& files,
                   const BytesDone& done);

}  // namespace trainyard::data
