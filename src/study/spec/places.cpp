#include "study/spec/places.h"

#include <cctype>

namespace trainyard::study {
namespace {

// Braced is a word in braces: its begin and end in the text, braces included, and whether they are doubled.
struct Braced {
  std::size_t begin = 0, end = 0;
  std::string name;
  bool doubled = false;
};

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
}

std::optional<Braced> next_braced(std::string_view text, std::size_t from) {
  for (std::size_t open = text.find('{', from); open != std::string_view::npos;
       open = text.find('{', open + 1)) {
    const std::size_t close = text.find_first_of("{}", open + 1);
    if (close == std::string_view::npos) return std::nullopt;
    const std::string_view name = text.substr(open + 1, close - open - 1);
    if (text[close] != '}' || !is_name(name)) continue;
    const bool doubled = open > from && text[open - 1] == '{' && text.substr(close).starts_with("}}");
    if (!doubled && open > 0 && text[open - 1] == '$') continue;
    return Braced{open - (doubled ? 1 : 0), close + (doubled ? 2 : 1), std::string(name), doubled};
  }
  return std::nullopt;
}

// Returns the text in which `replace` has replaced every word in braces.
template <typename Replace>
std::string replaced(std::string_view text, const Replace& replace) {
  std::string result;
  std::size_t at = 0;
  for (auto found = next_braced(text, at); found; found = next_braced(text, at)) {
    result += text.substr(at, found->begin - at);
    result += replace(*found, std::string(text.substr(found->begin, found->end - found->begin)));
    at = found->end;
  }
  result += text.substr(at);
  return result;
}

}  // namespace

std::vector<std::string> places_in(std::string_view text) {
  std::vector<std::string> names;
  replaced(text, [&](const Braced& braced, const std::string& as_written) {
    const bool is_word = std::isalpha(static_cast<unsigned char>(braced.name.front())) != 0;
    if (is_word && !braced.doubled && std::find(names.begin(), names.end(), braced.name) == names.end())
      names.push_back(braced.name);
    return as_written;
  });
  return names;
}

std::string fill_places(std::string_view text, const PlaceValue& value_of) {
  return replaced(text, [&](const Braced& braced, const std::string& as_written) {
    return braced.doubled ? as_written : value_of(braced.name).value_or(as_written);
  });
}

std::string without_doubled_braces(std::string_view text) {
  return replaced(text, [&](const Braced& braced, const std::string& as_written) {
    return braced.doubled ? "{" + braced.name + "}" : as_written;
  });
}

}  // namespace trainyard::study
