#pragma once

#include "data/recipe/augment.h"
#include "data/source/dataset.h"
#include "engine/checkpoint.h"
#include "train/session/session.h"

namespace trainyard::train {

// Everything that decides what a run computes, apart from its length: a run may go on from a checkpoint only
// if all of it agrees. Backend and threads are left out: they change rounding, not the run; so is the
// strategy, as all that exchange gradients compute the same.
engine::CheckpointHeader run_identity(const SessionOptions& options, const data::Dataset& dataset,
                                      const data::Preprocess& preprocess, int devices);

// Says how a run treats the former content of its folder.
enum class Existing { refuse, resume, resume_or_begin, overwrite };

// RunFolder is the folder in which one run keeps its checkpoints, event files and record. Locked against
// other processes while this lives.
class RunFolder {
 public:
  // refuse: Error (usage) when checkpoints are there. resume: Error (config) when none is there;
  // resume_or_begin takes both, for jobs that a cluster starts again without asking how far they came.
  // overwrite: removes checkpoints, event files and record of the run before, and nothing else.
  RunFolder(const std::filesystem::path& path, Existing existing);
  ~RunFolder();
  RunFolder(const RunFolder&) = delete;
  RunFolder& operator=(const RunFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  static constexpr const char* kRecord = "record.json";

 private:
  std::filesystem::path path_;
  int lock_ = -1;
};

// One folder for each of several runs that go on side by side, "device-0" and so on below `path`. As above,
// but to resume one checkpoint among them is enough: a run killed early may have left none.
std::vector<std::unique_ptr<RunFolder>> open_device_folders(const std::filesystem::path& path,
                                                            Existing existing, int devices);

struct Scalar {
  std::string_view tag;
  float value;
};

// An EventFile is a TensorBoard event file, "events.out.tfevents.<seconds>.<host>", in a folder that exists.
// Allocates nothing after the constructor for records up to some kilobytes. Errors are of kind io and name
// the file.
class EventFile {
 public:
  // The file says that a session starts at `first_step`: TensorBoard then drops what an earlier, killed
  // session wrote for this and later steps.
  EventFile(const std::filesystem::path& folder, std::int64_t first_step);
  ~EventFile();  // flushes; a failure is lost: call flush() to see it
  EventFile(const EventFile&) = delete;
  EventFile& operator=(const EventFile&) = delete;

  // One event; goes to the file after a few seconds at the latest if calls go on, else by flush().
  void add(std::int64_t step, std::span<const Scalar> scalars);
  void flush();

  const std::filesystem::path& path() const { return path_; }

 private:
  void append_record();  // from event_

  std::filesystem::path path_;
  int descriptor_ = -1;
  std::string pending_, event_, summary_, value_;
  double flushed_seconds_ = 0;
};

}  // namespace trainyard::train
