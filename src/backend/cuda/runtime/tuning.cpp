#include "backend/cuda/runtime/tuning.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <fstream>

#include "backend/backend.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

namespace trainyard::backend::cuda {
namespace {

std::string to_line(const std::string& key, const Tuned& tuned) {
  Json slower = Json::array();
  for (const Alternative& other : tuned.slower)
    slower.push_back({{"name", other.name}, {"reason", other.reason}});
  return json_text(Json{{"key", key},
                        {"name", tuned.name},
                        {"choice", tuned.choice},
                        {"seconds", tuned.seconds},
                        {"slower", slower}}) +
         "\n";
}

std::optional<std::pair<std::string, Tuned>> parse_line(const std::string& line) {
  try {
    const Json json = parse_json(line);
    Tuned tuned{json.at("name").get<std::string>(),
                json.at("choice").get<std::string>(),
                json.at("seconds").get<double>(),
                {}};
    for (const Json& other : json.at("slower"))
      tuned.slower.push_back({other.at("name").get<std::string>(), other.at("reason").get<std::string>()});
    return std::pair{json.at("key").get<std::string>(), std::move(tuned)};
  } catch (const Json::Error&) {
    return std::nullopt;
  }
}

// Appends a line of its own, also after a line whose writer was stopped. Processes take turns, so that a line
// which another process is still writing does not look like a stopped one.
void append_line(const std::filesystem::path& path, std::string line) {
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (descriptor < 0) return;
  while (::flock(descriptor, LOCK_EX) != 0 && errno == EINTR) {
  }
  char last = '\n';
  const off_t end = ::lseek(descriptor, 0, SEEK_END);
  if (end > 0 && ::pread(descriptor, &last, 1, end - 1) == 1 && last != '\n') line.insert(0, 1, '\n');
  [[maybe_unused]] const auto written = ::write(descriptor, line.data(), line.size());
  ::close(descriptor);
}

}  // namespace

std::string Tuned::to_string() const {
  return seconds > 0 ? fmt::format("{}, {}", name, format_seconds(seconds)) : name + ", not measured";
}

Tuning::Tuning(std::filesystem::path file, Effort effort) : file_(std::move(file)), effort_(effort) {
  if (file_.empty() || !std::filesystem::exists(file_)) return;
  std::ifstream stream(file_);
  for (std::string line; std::getline(stream, line) && !stream.eof();)
    if (auto entry = parse_line(line)) known_[entry->first] = std::move(entry->second);
}

std::string Tuning::kept_as(const std::string& key) const {
  return effort_ == Effort::full ? key : fmt::format("{} {}", name(effort_), key);
}

const Tuned* Tuning::find(const std::string& key) const {
  const auto found = known_.find(kept_as(key));
  return found == known_.end() ? nullptr : &found->second;
}

void Tuning::put(const std::string& key, Tuned tuned) {
  const std::string kept = kept_as(key), line = to_line(kept, tuned);
  known_[kept] = std::move(tuned);
  if (file_.empty()) return;
  append_line(file_, line);
}

std::filesystem::path tuning_file(const std::string& device, const std::string& versions) {
  std::string name = device + " " + versions + ".jsonl";
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '.') c = '-';
  try {
    return default_cache_folder() / "tuning" / name;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::config) throw;
    return {};
  }
}

std::string program_identity() {
  struct stat file {};
  if (::stat("/proc/self/exe", &file) != 0) return "unknown";
  return fmt::format("{}.{:09} {}", file.st_mtim.tv_sec, file.st_mtim.tv_nsec, file.st_size);
}

namespace {

struct Timed {
  std::size_t way;
  double seconds;
  bool lasting = false;  // measured after it had run for a while
};

bool faster(const Timed& a, const Timed& b) { return a.seconds < b.seconds; }

// Seconds of a launch once the device has settled into a run of them.
double lasting_seconds(Device& device, const std::function<void()>& launch, double seconds) {
  constexpr double kSettleSeconds = 0.2;
  const int launches = static_cast<int>(std::ceil(kSettleSeconds / seconds));
  const auto run = [&] {
    for (int i = 0; i < launches; ++i) launch();
  };
  device.time(run);
  return device.time(run) / launches;
}

// Large products draw more power than the device may have, so that it soon lowers its clock: then another way
// may be the fastest, by several per cent. The front of `sorted` competes again, and is sorted anew.
void compete_lastingly(Device& device, std::vector<Timed>& sorted,
                       const std::function<void(std::size_t)>& launch) {
  constexpr double kLongSeconds = 1e-3, kClose = 1.06;
  const double best = sorted.front().seconds;
  if (best < kLongSeconds) return;
  const auto end = std::find_if(sorted.begin(), sorted.end(),
                                [&](const Timed& other) { return other.seconds > kClose * best; });
  if (end - sorted.begin() < 2) return;
  lasting_seconds(
      device, [&] { launch(sorted.front().way); }, best);  // warms the device up
  for (auto timed = sorted.begin(); timed != end; ++timed) {
    timed->seconds = lasting_seconds(
        device, [&] { launch(timed->way); }, timed->seconds);
    timed->lasting = true;
  }
  std::stable_sort(sorted.begin(), end, faster);
}

}  // namespace

Contest find_fastest(Device& device, const std::vector<Way>& ways,
                     const std::function<void(std::size_t)>& launch, Effort effort) {
  constexpr double kOnceIsEnough = 1e-3;
  std::vector<Timed> results;
  Contest contest;
  double best = kNeverHopeless;
  for (std::size_t i = 0; i < ways.size(); ++i) {
    try {
      const double seconds = measure_seconds(
          device, [&] { launch(i); },
          effort == Effort::full ? hopeless_against(best) : std::min(kOnceIsEnough, hopeless_against(best)));
      results.push_back({i, seconds});
      best = std::min(best, seconds);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::device) throw;
      contest.tuned.slower.push_back({ways[i].name, error.what()});
    }
  }
  if (results.empty()) return contest;
  std::stable_sort(results.begin(), results.end(), faster);
  if (effort == Effort::full) compete_lastingly(device, results, launch);
  const Timed& winner = results.front();
  contest.winner = static_cast<int>(winner.way);
  std::vector<Alternative> slower;
  for (std::size_t i = 1; i < results.size(); ++i)
    slower.push_back({ways[results[i].way].name,
                      fmt::format("slower: {}{}", format_seconds(results[i].seconds),
                                  winner.lasting && !results[i].lasting ? " in a short run" : "")});
  slower.insert(slower.end(), contest.tuned.slower.begin(), contest.tuned.slower.end());
  contest.tuned = {ways[winner.way].name, ways[winner.way].choice, winner.seconds, std::move(slower)};
  return contest;
}

}  // namespace trainyard::backend::cuda
