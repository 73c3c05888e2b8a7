#include "trace/chrome_format.h"

#include <fstream>

#include "base/error.h"
#include "base/file.h"
#include "base/json.h"

namespace trainyard::trace {

namespace {

// The arguments that somebody asks for; a trace may carry megabytes of others.
constexpr std::array kKept = {"op", "kernel", "phase", "step", "flops", "elementwise_flops", "bytes"};

// Takes events one by one as they are parsed, so that the file is never in memory as a tree.
class Reader {
 public:
  explicit Reader(const ReadLimits& limits) : limits_(limits) {}

  void take(const Json& event) {
    ++events_;
    if (!event.is_object()) refuse("is not an object");
    const std::string kind = text_at(event, "ph");
    if (kind == "X") take_span(event);
    if (kind == "B") take_begin(event);
    if (kind == "E") take_end(event);
    if (kind == "M") take_name(event);
    if (kind == "C") take_counter(event);
  }

  void take_fact(const std::string& name, const Json& value) {
    if (value.is_string()) trace_.facts.emplace_back(name, cut(value.get<std::string>()));
  }

  std::int64_t events() const { return events_; }

  Trace finish() {
    for (const auto& [track, open] : open_)
      if (!open.empty())
        fail(ErrorKind::config, "span '{}' has begun (B) and never ended (E)",
             trace_.spans[open.back()].name);
    if (trace_.spans.empty()) fail(ErrorKind::config, "no spans: events with ph X, or B and E, are expected");
    double first = std::numeric_limits<double>::infinity();
    for (const Span& span : trace_.spans) first = std::min(first, span.began);
    for (Span& span : trace_.spans) {
      span.began = (span.began - first) * 1e-6;
      span.seconds *= 1e-6;
    }
    for (Counter& counter : trace_.counters) counter.at = (counter.at - first) * 1e-6;
    name_tracks();
    return std::move(trace_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const {
    fail(ErrorKind::config, "event {} {}", events_, what);
  }

  std::string cut(std::string text) const {
    if (text.size() > limits_.name_bytes) text.resize(limits_.name_bytes);
    return text;
  }

  std::string text_at(const Json& event, const char* key) const {
    const auto found = event.find(key);
    if (found == event.end()) return "";
    return cut(found->is_string() ? found->get<std::string>() : json_text(*found));
  }

  double microseconds_at(const Json& event, const char* key) const {
    constexpr double kMost = 1e18;  // thirty thousand years
    const auto found = event.find(key);
    if (found == event.end() || !found->is_number())
      refuse(fmt::format("'{}': \"{}\" must be a number of microseconds", text_at(event, "name"), key));
    const auto number = found->get<double>();
    if (!(std::abs(number) <= kMost))
      refuse(fmt::format("'{}': \"{}\" is {}, no time of this world", text_at(event, "name"), key, number));
    return number;
  }

  int track_of(const Json& event) {
    const std::pair<std::string, std::string> key{text_at(event, "pid"), text_at(event, "tid")};
    const auto [place, is_new] = tracks_.try_emplace(key, static_cast<int>(trace_.tracks.size()));
    if (is_new) {
      const auto process = processes_.try_emplace(key.first, static_cast<int>(processes_.size())).first;
      trace_.tracks.push_back({"", "", process->second});
    }
    return place->second;
  }

  Span& add(const Json& event) {
    if (static_cast<std::int64_t>(trace_.spans.size()) >= limits_.spans)
      fail(ErrorKind::config, "more than {} spans", limits_.spans);
    Span& span = trace_.spans.emplace_back();
    span.track = track_of(event);
    span.name = text_at(event, "name");
    span.category = text_at(event, "cat");
    span.began = microseconds_at(event, "ts");
    add_arguments(event, span);
    return span;
  }

  static void add_arguments(const Json& event, Span& span) {
    const auto found = event.find("args");
    if (found == event.end() || !found->is_object()) return;
    for (const char* name : kKept) {
      const auto value = found->find(name);
      if (value == found->end()) continue;
      if (value->is_number_integer()) span.arguments.emplace_back(name, value->get<std::int64_t>());
      if (value->is_number_float()) span.arguments.emplace_back(name, value->get<double>());
      if (value->is_string()) span.arguments.emplace_back(name, value->get<std::string>());
    }
  }

  void take_span(const Json& event) {
    Span& span = add(event);
    span.seconds = event.contains("dur") ? microseconds_at(event, "dur") : 0;
    if (span.seconds < 0)
      refuse(fmt::format("'{}': \"dur\" is {}, must not be negative", span.name, span.seconds));
  }

  void take_begin(const Json& event) {
    const Span& span = add(event);
    open_[span.track].push_back(trace_.spans.size() - 1);
  }

  void take_end(const Json& event) {
    std::vector<std::size_t>& open = open_[track_of(event)];
    if (open.empty()) refuse("ends (E) a span that has not begun (B)");
    Span& span = trace_.spans[open.back()];
    open.pop_back();
    span.seconds = microseconds_at(event, "ts") - span.began;
    if (span.seconds < 0) refuse(fmt::format("ends '{}' before it began", span.name));
  }

  void take_name(const Json& event) {
    const std::string kind = text_at(event, "name");
    const auto arguments = event.find("args");
    if (arguments == event.end() || !arguments->is_object()) return;
    const std::string name = text_at(*arguments, "name");
    if (kind == "process_name") process_names_[text_at(event, "pid")] = name;
    if (kind == "thread_name") thread_names_[{text_at(event, "pid"), text_at(event, "tid")}] = name;
  }

  void take_counter(const Json& event) {
    const auto arguments = event.find("args");
    if (arguments == event.end() || !arguments->is_object()) return;
    if (static_cast<std::int64_t>(trace_.counters.size()) >= limits_.spans) return;
    for (const auto& [name, value] : arguments->items())
      if (value.is_number())
        trace_.counters.push_back(
            {track_of(event), text_at(event, "name"), microseconds_at(event, "ts"), value.get<double>()});
  }

  void name_tracks() {
    for (const auto& [key, number] : tracks_) {
      Track& track = trace_.tracks[static_cast<std::size_t>(number)];
      const auto process = process_names_.find(key.first);
      const auto thread = thread_names_.find(key);
      track.process = process == process_names_.end() ? key.first : process->second;
      track.name = thread == thread_names_.end() ? key.second : thread->second;
    }
  }

  const ReadLimits& limits_;
  std::int64_t events_ = 0;  // taken so far: the number of the one at hand, from 1
  Trace trace_;
  std::map<std::pair<std::string, std::string>, int> tracks_;  // by process and thread, as the file has them
  std::map<std::string, int> processes_;
  std::map<std::string, std::string> process_names_;
  std::map<std::pair<std::string, std::string>, std::string> thread_names_;
  std::map<int, std::vector<std::size_t>> open_;  // spans that began, by track
};

}  // namespace

Trace read_chrome_json(std::istream& file, const ReadLimits& limits) {
  Reader reader(limits);
  bool is_array = false, in_events = false, in_facts = false, had_events = false;
  std::string fact;
  // Values at depth 1 are the file's; its events lie below "traceEvents", or below the array that it is.
  const auto see = [&](int depth, JsonEvent seen, const Json& value) {
    if (depth > limits.depth) fail(ErrorKind::config, "nested deeper than {}", limits.depth);
    if (depth == 0 && seen == JsonEvent::array_start) is_array = in_events = had_events = true;
    if (depth == 1 && !is_array && seen == JsonEvent::key) {
      in_events = value == "traceEvents";
      in_facts = value == "otherData";
      had_events = had_events || in_events;
    }
    const bool whole =
        seen == JsonEvent::object_end || seen == JsonEvent::value || seen == JsonEvent::array_end;
    if (depth == 2 && in_facts && seen == JsonEvent::key) fact = value.get<std::string>();
    if (depth == 2 && in_facts && whole) reader.take_fact(fact, value);
    if (!in_events || !whole || depth != (is_array ? 1 : 2)) return true;
    reader.take(value);
    return false;  // seen, and not kept
  };
  try {
    const Json whole = parse_json(file, see);
    if (!had_events) fail(ErrorKind::config, "no trace: \"traceEvents\" or an array of events is expected");
    return reader.finish();
  } catch (const Json::SyntaxError& error) {
    fail(ErrorKind::config, "damaged JSON at byte {}, after {} whole events", error.byte, reader.events());
  } catch (const Json::Error& error) {
    fail(ErrorKind::config, "damaged JSON: {}", error.what());
  }
}

Trace read_chrome_file(const std::filesystem::path& path, const ReadLimits& limits) {
  std::error_code code;
  const auto bytes = static_cast<std::int64_t>(std::filesystem::file_size(path, code));
  std::ifstream file(path, std::ios::binary);
  if (code || !file)
    fail(ErrorKind::config, "'{}': cannot be read: a trace's file is expected", path.string());
  if (bytes > limits.file_bytes)
    fail(ErrorKind::config, "'{}': has {} bytes, at most {} are read", path.string(), bytes,
         limits.file_bytes);
  try {
    return read_chrome_json(file, limits);
  } catch (const Error& error) {
    fail(error.kind(), "'{}': {}", path.string(), error.what());
  }
}

namespace {

std::string text_of(const Json& json) { return json_text(json); }

class Writer {
 public:
  explicit Writer(const Trace& trace) : trace_(trace), origin_(std::numeric_limits<double>::infinity()) {
    for (const Span& span : trace.spans) origin_ = std::min(origin_, span.began);
    for (const Counter& counter : trace.counters) origin_ = std::min(origin_, counter.at);
  }

  std::string write() {
    name_tracks();
    for (const std::size_t i : in_order(trace_.spans, outer_first)) add(trace_.spans[i]);
    for (const std::size_t i : in_order(trace_.counters, earlier)) add(trace_.counters[i]);
    Json facts = Json::object();
    for (const auto& [name, value] : trace_.facts) facts[name] = value;
    return fmt::format("{{\"displayTimeUnit\":\"ms\",\"otherData\":{},\"traceEvents\":[\n{}\n]}}\n",
                       text_of(facts), events_);
  }

 private:
  static bool outer_first(const Span& a, const Span& b) {
    return a.began != b.began ? a.began < b.began : a.seconds > b.seconds;
  }
  static bool earlier(const Counter& a, const Counter& b) { return a.at < b.at; }

  template <typename Event, typename Before>
  static std::vector<std::size_t> in_order(const std::vector<Event>& events, const Before& before) {
    std::vector<std::size_t> order(events.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return before(events[a], events[b]); });
    return order;
  }

  double microseconds(double moment) const { return (moment - origin_) * 1e6; }

  void name_tracks() {
    std::vector<int> named;
    for (std::size_t i = 0; i < trace_.tracks.size(); ++i) {
      const Track& track = trace_.tracks[i];
      if (std::find(named.begin(), named.end(), track.process_number) == named.end()) {
        named.push_back(track.process_number);
        add_metadata(track, 0, "process_name", {{"name", track.process}});
        add_metadata(track, 0, "process_sort_index", {{"sort_index", track.process_number}});
      }
      add_metadata(track, i, "thread_name", {{"name", track.name}});
      add_metadata(track, i, "thread_sort_index", {{"sort_index", i}});
    }
  }

  void add_metadata(const Track& track, std::size_t thread, const char* name, const Json& arguments) {
    add(fmt::format(R"({{"ph":"M","pid":{},"tid":{},"name":"{}","args":{}}})", track.process_number, thread,
                    name, text_of(arguments)));
  }

  // Both ends are rounded, not the length: what nests goes on nesting.
  void add(const Span& span) {
    const double began = rounded(microseconds(span.began)), ended = rounded(microseconds(span.ended()));
    Json arguments = Json::object();
    for (const auto& [name, value] : span.arguments)
      std::visit([&, &key = name](const auto& argument) { arguments[key] = argument; }, value);
    const Track& track = trace_.tracks[static_cast<std::size_t>(span.track)];
    add(fmt::format(R"({{"ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"name":{},"cat":{},"args":{}}})",
                    track.process_number, span.track, began, std::max(ended - began, 0.0), text_of(span.name),
                    text_of(span.category), text_of(arguments)));
  }

  void add(const Counter& counter) {
    const Track& track = trace_.tracks[static_cast<std::size_t>(counter.track)];
    add(fmt::format(R"({{"ph":"C","pid":{},"tid":{},"ts":{:.3f},"name":{},"args":{{"value":{}}}}})",
                    track.process_number, counter.track, microseconds(counter.at), text_of(counter.name),
                    text_of(counter.value)));
  }

  static double rounded(double microseconds) { return std::round(microseconds * 1e3) * 1e-3; }

  void add(const std::string& event) {
    if (!events_.empty()) events_ += ",\n";
    events_ += event;
  }

  const Trace& trace_;
  double origin_;  // when the first began
  std::string events_;
};

}  // namespace

std::string to_chrome_json(const Trace& trace) { return Writer(trace).write(); }

void write_chrome_json(const Trace& trace, const std::filesystem::path& path) {
  AtomicFile file(path);
  file.write(to_chrome_json(trace));
  file.commit();
}

}  // namespace trainyard::trace
