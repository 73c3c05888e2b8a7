#pragma once

#include <filesystem>

namespace trainyard::train {

// How a run treats what is already in its folder.
enum class Existing { refuse, resume, overwrite };

// The folder in which one run keeps its checkpoints, event files and record. Locked against other processes
// while this lives.
class RunFolder {
 public:
  // refuse: Error (usage) when checkpoints are there. resume: Error (config) when none is there.
  // overwrite: removes checkpoints, event files and record of the run before, and nothing else.
  RunFolder(const std::filesystem::path& path, Existing existing);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path record_path() const { return path_ / "record.json"; }

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

}  // namespace trainyard::train
