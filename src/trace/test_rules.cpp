#include "trace/test_rules.h"

#include "base/json.h"

namespace trainyard::trace {
namespace {

using Thread = std::pair<std::int64_t, std::int64_t>;

class Rules {
 public:
  std::vector<std::string> check(const std::string& text) {
    const Json file = parse_json_or_discard(text);
    if (!file.is_object() || !file.contains("traceEvents") || !file["traceEvents"].is_array())
      return {"not an object with an array \"traceEvents\""};
    const Json unit = file.value("displayTimeUnit", Json());
    if (unit != "ms" && unit != "ns") broken_.push_back("displayTimeUnit is neither ms nor ns");
    for (const Json& event : file["traceEvents"]) {
      check(event);
      ++number_;
    }
    for (const Thread& thread : used_) {
      if (!processes_.contains(thread.first)) say("process {} has no name", thread.first);
      if (!threads_.contains(thread)) say("thread {} of process {} has no name", thread.second, thread.first);
    }
    if (broken_.size() > 20) broken_.resize(20);
    return broken_;
  }

 private:
  template <typename... Args>
  void say(fmt::format_string<Args...> format, Args&&... args) {
    broken_.push_back(fmt::format("event {}: ", number_) + fmt::format(format, std::forward<Args>(args)...));
  }

  bool has_number(const Json& event, const char* key) {
    const bool good =
        event.contains(key) && event[key].is_number() && std::isfinite(event[key].get<double>());
    if (!good) say("no number \"{}\"", key);
    return good;
  }

  void check(const Json& event) {
    if (!event.is_object()) return say("not an object");
    const bool good = has_number(event, "pid") && has_number(event, "tid") && event.contains("ph") &&
                      event["ph"].is_string() && event.contains("name") && event["name"].is_string();
    if (!good) return say("ph, pid, tid or name is missing");
    const Thread thread{event["pid"].get<std::int64_t>(), event["tid"].get<std::int64_t>()};
    const auto kind = event["ph"].get<std::string>();
    if (kind == "M") return check_name(event, thread);
    used_.insert(thread);
    if (!has_number(event, "ts")) return;
    if (event["ts"].get<double>() < 0) say("ts {} is negative", event["ts"].get<double>());
    if (kind == "X") return check_span(event, thread);
    if (kind != "C") return say("ph '{}' is none of M, X, C", kind);
    if (!event.contains("args") || event["args"].empty()) return say("a counter without a value");
    for (const Json& value : event["args"])
      if (!value.is_number()) say("a counter's value is no number");
  }

  void check_name(const Json& event, const Thread& thread) {
    if (event["name"] != "process_name" && event["name"] != "thread_name") return;
    if (!event.contains("args") || !event["args"].contains("name") || !event["args"]["name"].is_string())
      return say("names nothing");
    if (event["name"] == "process_name" && !processes_.insert(thread.first).second)
      say("process {} is named twice", thread.first);
    if (event["name"] == "thread_name" && !threads_.insert(thread).second)
      say("thread {} of process {} is named twice", thread.second, thread.first);
  }

  void check_span(const Json& event, const Thread& thread) {
    if (!event.contains("cat") || !event["cat"].is_string()) say("no category");
    if (!has_number(event, "dur")) return;
    const double began = event["ts"].get<double>(), seconds = event["dur"].get<double>();
    if (seconds < 0) say("dur {} is negative", seconds);
    if (began < last_began_) say("begins at {}, before the one before it", began);
    last_began_ = began;
    // Written with three digits behind the point: sums of them are off by far less than the last one.
    constexpr double kRounding = 1e-4;
    std::vector<double>& open = open_[thread];
    while (!open.empty() && open.back() <= began + kRounding) open.pop_back();
    if (!open.empty() && began + seconds > open.back() + kRounding)
      say("'{}' ends at {}, behind the one that it lies in ({})", event["name"].get<std::string>(),
          began + seconds, open.back());
    open.push_back(began + seconds);
  }

  std::vector<std::string> broken_;
  std::int64_t number_ = 0;
  std::set<std::int64_t> processes_;
  std::set<Thread> threads_, used_;
  double last_began_ = 0;
  std::map<Thread, std::vector<double>> open_;  // when spans end that others may lie in
};

}  // namespace

std::vector<std::string> broken_rules(const std::string& json_text) { return Rules().check(json_text); }

}  // namespace trainyard::trace
