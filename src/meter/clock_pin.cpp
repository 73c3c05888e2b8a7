#include "meter/clock_pin.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "base/cores.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "meter/gpu_watch.h"
#include "process/family.h"

namespace trainyard::meter {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNoteEnding = ".clocks.json";
constexpr const char* kCpuFolder = "/sys/devices/system/cpu/";

// A pin holds this lock while it reads notes and sets clocks, so that no other pin begins between the two.
class NotesLock {
 public:
  explicit NotesLock(const fs::path& notes)
      : file_(::open((notes / "clocks.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644)) {
    if (file_.number() >= 0) ::flock(file_.number(), LOCK_EX);
  }

 private:
  Descriptor file_;
};

struct ClockNote {
  fs::path file;
  bool holds = false;  // its process lives
  PinnedClocks before;
};

// A start of the machine resets all clocks, so that notes from before it mean nothing.
std::string boot_of(const SystemFiles& files) {
  return files.text("/proc/sys/kernel/random/boot_id").value_or("");
}

std::optional<ClockNote> read_note(const fs::path& file, const SystemFiles& files) {
  const std::vector<std::byte> bytes = read_file(file);
  const Json json =
      parse_json_or_discard(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  if (!json.is_object() || json.value("node", "") != node_name()) return std::nullopt;
  ClockNote note{file, process::is_alive(json.value("process", pid_t{0})), {}};
  if (json.value("boot", "") != boot_of(files)) return ClockNote{file, false, {}};
  note.before.files = json.value("files", std::map<std::string, std::string>());
  note.before.gpus = json.value("gpus", std::set<std::string>());
  return note;
}

// Reads only the notes of this machine, because another machine may share the folder.
std::vector<ClockNote> read_notes(const fs::path& notes, const SystemFiles& files) {
  std::vector<ClockNote> found;
  std::error_code code;
  fs::directory_iterator entry(notes, code);
  for (; !code && entry != fs::directory_iterator(); entry.increment(code)) {
    if (!entry->path().string().ends_with(kNoteEnding)) continue;
    try {
      if (auto note = read_note(entry->path(), files)) found.push_back(std::move(*note));
    } catch (const Error&) {
      // A machine that shares the folder removed it meanwhile.
    } catch (const Json::Error&) {
      // Not written by a pin.
    }
  }
  return found;
}

// Returns true when everything is restored.
bool put_back(const PinnedClocks& before, const SystemFiles& files, const Nvml* nvml) {
  bool done = true;
  for (const auto& [path, value] : before.files)
    if (files.text(path) != value) done = files.write(path, value).empty() && done;
  std::set<std::string> locked = before.gpus;
  for (int gpu = 0; !locked.empty() && nvml != nullptr && gpu < nvml->device_count(); ++gpu)
    if (const std::string uuid = nvml->describe(gpu).uuid; before.gpus.contains(uuid))
      if (nvml->release_sm_clock(gpu).empty()) locked.erase(uuid);
  return done && locked.empty();
}

// Returns the part of the former values that no live pin holds.
PinnedClocks free_part(PinnedClocks before, const std::vector<ClockNote>& notes) {
  for (const ClockNote& note : notes) {
    if (!note.holds) continue;
    std::erase_if(before.files, [&](const auto& file) { return note.before.files.contains(file.first); });
    std::erase_if(before.gpus, [&](const auto& gpu) { return note.before.gpus.contains(gpu); });
  }
  return before;
}

// REQUIRES: a NotesLock.
int put_back_gone(const fs::path& notes, const SystemFiles& files, const Nvml* nvml) {
  const std::vector<ClockNote> all = read_notes(notes, files);
  std::unique_ptr<Nvml> opened;
  int done = 0;
  for (const ClockNote& note : all) {
    if (note.holds) continue;
    const PinnedClocks owed = free_part(note.before, all);
    if (!owed.gpus.empty() && nvml == nullptr && opened == nullptr) opened = Nvml::open();
    // The note of a change that this process may not undo stays for a process that may.
    if (!put_back(owed, files, nvml != nullptr ? nvml : opened.get())) continue;
    std::error_code ignored;
    fs::remove(note.file, ignored);
    ++done;
  }
  return done;
}

}  // namespace

ClockPin::ClockPin(fs::path notes, const std::string& name, const Nvml* nvml, SystemFiles files)
    : notes_(std::move(notes)), note_(notes_ / (name + kNoteEnding)), nvml_(nvml), files_(std::move(files)) {
  const NotesLock lock(notes_);
  put_back_gone(notes_, files_, nvml_);
  find_cpu_files();
  // While another pin holds, the current values are those that it set.
  for (const ClockNote& note : read_notes(notes_, files_))
    for (const auto& [path, value] : note.before.files)
      if (before_.files.contains(path)) before_.files[path] = value;
  const std::vector<int> gpus = nvml_ == nullptr ? std::vector<int>() : visible_gpus(*nvml_);
  for (const int gpu : gpus) before_.gpus.insert(nvml_->describe(gpu).uuid);
  if (before_.empty()) {
    refused_.emplace_back("this machine shows no clocks");
    return;
  }
  write_note();
  pin_cpu();
  before_.gpus.clear();
  pin_gpus(gpus);
  note_what_changed();
}

// The new note leaves out the GPUs that refused, because their clocks are not ours to release. Where it
// cannot be written, the existing note, which names too many GPUs, still works.
void ClockPin::note_what_changed() const {
  std::error_code ignored;
  if (before_.empty()) return void(fs::remove(note_, ignored));
  try {
    write_note();
  } catch (const Error&) {
  }
}

ClockPin::~ClockPin() {
  if (before_.empty()) return;
  try {
    const NotesLock lock(notes_);
    std::vector<ClockNote> others = read_notes(notes_, files_);
    std::erase_if(others, [&](const ClockNote& note) { return note.file == note_; });
    if (put_back(free_part(before_, others), files_, nvml_)) fs::remove(note_);
    put_back_gone(notes_, files_, nvml_);
  } catch (...) {
    // The note is still there, and the next run restores the clocks.
  }
}

std::string ClockPin::pinned() const {
  std::vector<std::string> parts = gpu_;
  if (!cpu_.empty()) parts.insert(parts.begin(), fmt::format("cpu: {}", joined(cpu_, ", ")));
  return joined(parts, "; ");
}

void ClockPin::find_cpu_files() {
  const std::string policies = fmt::format("{}cpufreq", kCpuFolder);
  for (const std::string& name : files_.names(policies))
    if (name.starts_with("policy"))
      wanted_[fmt::format("{}/{}/scaling_governor", policies, name)] = "performance";
  wanted_[policies + "/boost"] = "0";
  wanted_[fmt::format("{}intel_pstate/no_turbo", kCpuFolder)] = "1";
  for (const auto& [path, value] : wanted_)
    if (const auto now = files_.text(path)) before_.files[path] = *now;
  std::erase_if(wanted_, [&](const auto& file) { return !before_.files.contains(file.first); });
}

void ClockPin::write_note() const {
  AtomicFile file(note_);
  file.write(json_text(Json{{"node", node_name()},
                            {"boot", boot_of(files_)},
                            {"process", ::getpid()},
                            {"files", before_.files},
                            {"gpus", before_.gpus}}) +
             "\n");
  file.commit();
}

void ClockPin::refuse(const std::string& what, const std::string& reason) {
  const std::string line = fmt::format("{}: {}", what, reason);
  // Many cores refuse for the same reason, so the line is kept once.
  if (std::find(refused_.begin(), refused_.end(), line) == refused_.end()) refused_.push_back(line);
}

void ClockPin::pin_cpu() {
  std::map<std::string, bool> all;  // by the file's name: each of its kind is as it should be
  for (const auto& [path, value] : wanted_) {
    const std::string name = fs::path(path).filename().string();
    const std::string reason = files_.text(path) == value ? "" : files_.write(path, value);
    if (!reason.empty()) refuse(name, reason);
    const auto kind = all.emplace(name, true).first;
    kind->second = kind->second && reason.empty();
  }
  if (all["scaling_governor"]) cpu_.emplace_back("governor performance");
  if (all["boost"] || all["no_turbo"]) cpu_.emplace_back("turbo off");
}

void ClockPin::pin_gpus(const std::vector<int>& gpus) {
  for (const int gpu : gpus) {
    const std::optional<int> mhz = nvml_->default_sm_mhz(gpu);
    const std::string reason = mhz ? nvml_->lock_sm_clock(gpu, *mhz) : "the driver names no clock";
    if (!reason.empty()) {
      refuse(fmt::format("gpu {}", gpu), reason);
      continue;
    }
    before_.gpus.insert(nvml_->describe(gpu).uuid);
    gpu_.push_back(fmt::format("gpu {}: {} MHz", gpu, *mhz));
  }
}

int put_back_clocks(const fs::path& notes, const SystemFiles& files) {
  if (!fs::is_directory(notes)) return 0;
  bool any = false;
  for (const ClockNote& note : read_notes(notes, files)) any = any || !note.holds;
  if (!any) return 0;  // nor is there a file for the lock in folders of studies that pin nothing
  const NotesLock lock(notes);
  return put_back_gone(notes, files, nullptr);
}

}  // namespace trainyard::meter
