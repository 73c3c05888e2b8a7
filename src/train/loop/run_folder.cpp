#include "train/loop/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.h"
#include "base/file.h"
#include "base/protobuf_wire.h"
#include "base/text.h"
#include "data/source/record_example.h"

namespace trainyard::train {

engine::CheckpointHeader run_identity(const SessionOptions& options, const data::Dataset& dataset,
                                      const data::Preprocess& preprocess, int devices) {
  const networks::ModelOptions& model = options.model;
  const ops::UpdateAttrs& update = options.update;
  engine::CheckpointHeader header{.network = model.network, .seed = options.seed};
  const auto add = [&](const char* key, const auto& value) {
    header.asked.emplace_back(key, fmt::format("{}", value));
  };
  const std::string accumulated =
      options.micro_batches == 1 ? "" : fmt::format(", {} for an update", options.micro_batches);
  if (devices == 1)
    add("batch", fmt::format("{}{}", model.batch, accumulated));
  else
    add("batch", fmt::format("{} x {}{}", devices, model.batch, accumulated));
  add("classes", model.classes);
  add("input", model.input.to_string());
  if (!model.imported) {
    const auto parameters = networks::parameters_of(networks::find_network(model.network), model.parameters);
    for (const auto& [parameter, value] : parameters.all()) add(parameter.c_str(), value);
  }
  add("precision", name(model.dtype));
  add("data", fmt::format("{} ({} {})", dataset.name, dataset.size(data::Split::train),
                          dataset.kind == data::SampleKind::tokens ? "sequences" : "images"));
  add("preprocess", preprocess.name);
  add("label smoothing", model.label_smoothing);
  add("weight decay", model.weight_decay > 0 ? model.weight_decay : update.weight_decay);
  add("optimizer", fmt::format("{}{}{}{}{}", ops::name(update.rule), update.nesterov ? " nesterov" : "",
                               update.decoupled_decay ? " decoupled" : "",
                               update.decay_matrices_only ? " of matrices" : "",
                               update.clip_norm > 0 ? fmt::format(" clipped at {}", update.clip_norm) : ""));
  add("learning rate", ops::to_string(update.schedule));
  add("momentum", update.momentum);
  add("ema", update.ema_decay);
  if (!model.freeze.empty()) add("freeze", joined(model.freeze, ","));
  if (model.start != nullptr) add("weights", model.start->from);
  return header;
}

namespace {

void remove_former_run(const std::filesystem::path& folder) {
  std::error_code code;
  for (const auto& checkpoint : engine::list_checkpoints(folder)) {
    std::filesystem::remove_all(checkpoint, code);
    if (code) fail(ErrorKind::io, "cannot remove '{}': {}", checkpoint.string(), code.message());
  }
  std::vector<std::filesystem::path> files{folder / RunFolder::kRecord};
  for (const auto& entry : std::filesystem::directory_iterator(folder, code))
    if (entry.path().filename().string().starts_with("events.out.tfevents.")) files.push_back(entry.path());
  for (const auto& file : files) std::filesystem::remove(file, code);
}

}  // namespace

RunFolder::RunFolder(const std::filesystem::path& path, Existing existing) : path_(path) {
  const auto latest = engine::latest_checkpoint(path_);
  if (existing == Existing::refuse && latest)
    fail(ErrorKind::usage, "{} '{}' already has checkpoints ({}): give {}, {} or another folder",
         Setting{"out"}, path_.string(), latest->filename().string(), Setting{"resume"},
         Setting{"overwrite"});
  if (existing == Existing::resume && !latest)
    fail(ErrorKind::config, "{0}: no checkpoint in '{1}'; {0}=auto would begin then", Setting{"resume"},
         path_.string());
  make_folders(path_);
  lock_ = ::open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (lock_ < 0) fail(ErrorKind::io, "cannot open folder '{}': {}", path_.string(), std::strerror(errno));
  if (::flock(lock_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(lock_);
    fail(ErrorKind::usage, "{} '{}' is in use by another run", Setting{"out"}, path_.string());
  }
  if (existing == Existing::overwrite) remove_former_run(path_);
}

RunFolder::~RunFolder() { ::close(lock_); }

std::vector<std::unique_ptr<RunFolder>> open_device_folders(const std::filesystem::path& path,
                                                            Existing existing, int devices) {
  std::vector<std::filesystem::path> paths;
  bool some = false;
  for (int device = 0; device < devices; ++device) {
    paths.push_back(path / fmt::format("device-{}", device));
    some = some || engine::latest_checkpoint(paths.back());
  }
  if (existing == Existing::resume && !some)
    fail(ErrorKind::config, "{0}: no checkpoint in '{1}/device-0' or beside it; {0}=auto would begin then",
         Setting{"resume"}, path.string());
  std::vector<std::unique_ptr<RunFolder>> folders;
  for (const auto& each : paths) {
    const bool anew = existing == Existing::resume && !engine::latest_checkpoint(each);
    folders.push_back(std::make_unique<RunFolder>(each, anew ? Existing::refuse : existing));
  }
  return folders;
}

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
