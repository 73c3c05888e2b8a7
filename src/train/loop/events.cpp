#include "train/loop/events.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/core.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/protobuf_wire.h"
#include "data/source/record_frame.h"

namespace trainyard::train {
namespace {

using data::append_frame;

constexpr std::size_t kFlushBytes = 32 << 10, kReservedBytes = 64 << 10;
constexpr double kFlushSeconds = 2;

// Field numbers of tensorflow/core/util/event.proto and framework/summary.proto.
enum EventField : unsigned { kWallTime = 1, kStep = 2, kFileVersion = 3, kSummary = 5, kSessionLog = 7 };
enum SummaryField : unsigned { kValue = 1 };
enum ValueField : unsigned { kTag = 1, kSimpleValue = 2 };
enum SessionLogField : unsigned { kStatus = 1 };
constexpr std::uint64_t kStatusStart = 1;

void begin_event(std::string& event, std::int64_t step) {
  event.clear();
  put_key(event, kWallTime, Wire::fixed64);
  put_raw(event, wall_seconds());
  put_key(event, kStep, Wire::varint);
  put_varint(event, static_cast<std::uint64_t>(step));
}

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

}  // namespace

EventFile::EventFile(const std::filesystem::path& folder, std::int64_t first_step)
    : flushed_seconds_(now_seconds()) {
  const auto seconds = static_cast<std::int64_t>(wall_seconds());
  // Two files of one second would share a name: count on.
  for (std::int64_t later = 0; descriptor_ < 0; ++later) {
    path_ = folder / fmt::format("events.out.tfevents.{:010}.{}", seconds + later, host_name());
    descriptor_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    if (descriptor_ < 0 && errno != EEXIST)
      fail(ErrorKind::io, "cannot write '{}': {}", path_.string(), std::strerror(errno));
  }
  for (std::string* buffer : {&pending_, &event_, &summary_, &value_}) buffer->reserve(kReservedBytes);
  begin_event(event_, 0);
  put_bytes(event_, kFileVersion, "brain.Event:2");
  append_record();
  begin_event(event_, first_step);
  put_key(value_, kStatus, Wire::varint);
  put_varint(value_, kStatusStart);
  put_bytes(event_, kSessionLog, value_);
  append_record();
}

EventFile::~EventFile() {
  try {
    flush();
  } catch (const Error&) {  // whoever cares has called flush()
  }
  ::close(descriptor_);
}

void EventFile::add(std::int64_t step, std::span<const Scalar> scalars) {
  summary_.clear();
  for (const Scalar& scalar : scalars) {
    value_.clear();
    put_bytes(value_, kTag, scalar.tag);
    put_key(value_, kSimpleValue, Wire::fixed32);
    put_raw(value_, scalar.value);
    put_bytes(summary_, kValue, value_);
  }
  begin_event(event_, step);
  put_bytes(event_, kSummary, summary_);
  append_record();
  if (pending_.size() >= kFlushBytes || now_seconds() - flushed_seconds_ >= kFlushSeconds) flush();
}

void EventFile::append_record() { append_frame(pending_, event_); }

void EventFile::flush() {
  flushed_seconds_ = now_seconds();
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      const int reason = errno;
      pending_.clear();
      fail(ErrorKind::io, "cannot write '{}': {}", path_.string(), std::strerror(reason));
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  pending_.clear();
}

}  // namespace trainyard::train
