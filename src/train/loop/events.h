#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace trainyard::train {

struct Scalar {
  std::string_view tag;
  float value;
};

// A TensorBoard event file, "events.out.tfevents.<seconds>.<host>", in a folder that exists. Allocates
// nothing after the constructor for records up to some kilobytes. Errors are of kind io and name the file.
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
