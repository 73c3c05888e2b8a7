#include <istream>

#include <nlohmann/json.hpp>

#include "base/file.h"
#include "base/json.h"

// Reads and writes values as text, by the library that no other source includes.
namespace trainyard {

namespace {

using Text = nlohmann::ordered_json;  // the library's value, for its writer

// The reader's depth is limited, because values are copied, written and destroyed by one call a level.
constexpr std::size_t kDeepest = 1000;

// Builds a value of what the library's reader hears of.
class JsonBuilder : public nlohmann::json_sax<Text> {
 public:
  explicit JsonBuilder(const JsonListener& listener) : listener_(listener) {}

  Json root = Json();

  bool null() override { return add(Json()); }
  bool boolean(bool value) override { return add(Json(value)); }
  bool number_integer(number_integer_t value) override { return add(Json(value)); }
  bool number_unsigned(number_unsigned_t value) override { return add(Json(value)); }
  bool number_float(number_float_t value, const string_t&) override { return add(Json(value)); }
  bool string(string_t& value) override { return add(Json(std::move(value))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return begin(Json::object(), JsonEvent::object_start); }
  bool start_array(std::size_t) override { return begin(Json::array(), JsonEvent::array_start); }
  bool end_object() override { return finish(JsonEvent::object_end); }
  bool end_array() override { return finish(JsonEvent::array_end); }

  bool key(string_t& name) override {
    Level& level = levels_.back();
    level.keeps_member = hears(JsonEvent::key, Json(name));
    level.key = std::move(name);
    return true;
  }

  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception& error) override {
    throw Json::SyntaxError(error.what(), byte);
  }

 private:
  struct Level {
    Json json;
    std::string key{};
    bool is_kept = true, keeps_member = true;
  };

  int depth() const { return static_cast<int>(levels_.size()); }
  bool hears(JsonEvent event, const Json& value) const {
    return !listener_ || listener_(depth(), event, value);
  }
  bool keeps_next() const {
    return levels_.empty() || (levels_.back().is_kept && levels_.back().keeps_member);
  }

  bool begin(Json json, JsonEvent event) {
    if (levels_.size() == kDeepest)
      throw Json::SyntaxError(fmt::format("nested deeper than {} levels", kDeepest), 0);
    const bool keeps = keeps_next();
    const bool is_kept = hears(event, json) && keeps;
    levels_.push_back({.json = std::move(json), .is_kept = is_kept});
    return true;
  }

  bool finish(JsonEvent event) {
    Level level = std::move(levels_.back());
    levels_.pop_back();
    if (level.is_kept && hears(event, level.json)) put(std::move(level.json));
    return true;
  }

  bool add(Json json) {
    if (keeps_next() && hears(JsonEvent::value, json)) put(std::move(json));
    return true;
  }

  void put(Json json) {
    if (levels_.empty()) {
      root = std::move(json);
      return;
    }
    Level& level = levels_.back();
    if (level.json.is_array())
      level.json.push_back(std::move(json));
    else
      level.json[level.key] = std::move(json);
  }

  const JsonListener& listener_;
  std::vector<Level> levels_;
};

template <typename Input>
Json build(Input&& input, const JsonListener& listener) {
  JsonBuilder builder(listener);
  Text::sax_parse(std::forward<Input>(input), &builder);
  return std::move(builder.root);
}

Text to_write(const Json& json) {
  switch (json.kind()) {
    case Json::Kind::boolean:
      return json.get<bool>();
    case Json::Kind::integer:
      return json.get<std::int64_t>();
    case Json::Kind::natural:
      return json.get<std::uint64_t>();
    case Json::Kind::real:
      return json.get<double>();
    case Json::Kind::text:
      return json.get<std::string>();
    case Json::Kind::array: {
      Text text = Text::array();
      for (const Json& one : json) text.push_back(to_write(one));
      return text;
    }
    case Json::Kind::object: {
      // Keys are unique already, which the library's own object would look for at each of them.
      Text text = Text::object();
      auto& members = *text.get_ptr<Text::object_t*>();
      members.reserve(json.size());
      for (const auto& [key, value] : json.items())
        static_cast<Text::object_t::Container&>(members).emplace_back(key, to_write(value));
      return text;
    }
    default:
      return nullptr;
  }
}

}  // namespace

Json parse_json(std::string_view text, const JsonListener& listener) { return build(text, listener); }

Json parse_json(std::istream& text, const JsonListener& listener) { return build(text, listener); }

Json parse_json_or_discard(std::string_view text) {
  try {
    return parse_json(text);
  } catch (const Json::SyntaxError&) {
    return Json::discarded();
  }
}

bool is_json(std::string_view text) { return Text::accept(text); }

Json read_json(const std::filesystem::path& file) {
  const std::vector<std::byte> bytes = read_file(file);
  return parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

std::string json_text(const Json& json, int indent) {
  return to_write(json).dump(indent, ' ', false, Text::error_handler_t::replace);
}

}  // namespace trainyard
