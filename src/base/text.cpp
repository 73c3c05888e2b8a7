#include "base/text.h"

#include <regex>

namespace trainyard {
namespace {

std::vector<std::string> groups_of(const std::smatch& found) { return {found.begin(), found.end()}; }

}  // namespace

struct Pattern::Compiled {
  std::regex regex;
};

Pattern::Pattern(const std::string& expression) : compiled_(new Compiled{std::regex(expression)}) {}

Pattern::~Pattern() = default;

std::vector<std::string> Pattern::match(const std::string& text) const {
  std::smatch found;
  return std::regex_match(text, found, compiled_->regex) ? groups_of(found) : std::vector<std::string>();
}

std::vector<std::string> Pattern::find(const std::string& text) const {
  std::smatch found;
  return std::regex_search(text, found, compiled_->regex) ? groups_of(found) : std::vector<std::string>();
}

}  // namespace trainyard
