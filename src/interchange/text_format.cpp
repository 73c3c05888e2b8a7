#include "interchange/text_format.h"

#include <charconv>

#include "base/error.h"

namespace trainyard::interchange {
namespace {

bool is_name(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

bool ends_scalar(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == ',' || c == ';' || c == '}' || c == '>' ||
         c == ']' || c == '#' || c == '{' || c == '<' || c == '[' || c == '"' || c == '\'';
}

}  // namespace

void TextReader::refuse(const std::string& what) const {
  const std::string_view before = text_.substr(0, std::min(at_, text_.size()));
  fail(ErrorKind::config, "{}:{}: {}", who_, 1 + std::count(before.begin(), before.end(), '\n'), what);
}

void TextReader::skip_space() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c == '#') {
      at_ = std::min(text_.find('\n', at_), text_.size());
    } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
      ++at_;
    } else {
      return;
    }
  }
}

bool TextReader::take(char wanted) {
  if (at_ >= text_.size() || text_[at_] != wanted) return false;
  ++at_;
  return true;
}

std::string_view TextReader::field_name() {
  const std::size_t begin = at_;
  if (take('[')) {  // an extension, or the type of an Any
    at_ = text_.find(']', at_);
    if (at_ == std::string_view::npos) refuse("a name in brackets does not end");
    ++at_;
  } else {
    while (at_ < text_.size() && is_name(text_[at_])) ++at_;
  }
  if (at_ == begin) refuse("a field's name is missing");
  return text_.substr(begin, at_ - begin);
}

// Strings that follow each other are one; that is only looked at where the text is wanted.
TextReader::Event TextReader::quoted_value(std::string_view name) {
  const std::size_t begin = at_ + 1;
  std::size_t end = begin;
  bool again = false;
  do {
    const char quote = text_[at_++];
    while (at_ < text_.size() && text_[at_] != quote && text_[at_] != '\n') at_ += text_[at_] == '\\' ? 2 : 1;
    if (at_ >= text_.size() || text_[at_] != quote) refuse("a text does not end");
    if (!again) end = at_;
    ++at_;
    skip_space();
    again = true;
  } while (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\''));
  return {Kind::scalar, name, text_.substr(begin, end - begin), true};
}

TextReader::Event TextReader::value_of(std::string_view name) {
  if (at_ >= text_.size()) refuse("a value is missing");
  const char c = text_[at_];
  if (c == '{' || c == '<') {
    if (static_cast<int>(frames_.size()) > kMaxDepth)
      refuse(fmt::format("more than {} messages within each other", kMaxDepth));
    ++at_;
    frames_.push_back({c == '{' ? '}' : '>'});
    return {Kind::open, name, {}, false};
  }
  if (c == '"' || c == '\'') return quoted_value(name);
  const std::size_t begin = at_;
  while (at_ < text_.size() && !ends_scalar(text_[at_])) ++at_;
  if (at_ == begin) refuse("a value is missing");
  return {Kind::scalar, name, text_.substr(begin, at_ - begin), false};
}

TextReader::Event TextReader::next() {
  while (true) {
    skip_space();
    if (!frames_.back().list.empty()) {
      if (take(']')) {
        frames_.back().list = {};
      } else if (!take(',')) {
        return value_of(frames_.back().list);
      }
      continue;
    }
    if (at_ >= text_.size()) {
      if (frames_.size() > 1) refuse("it ends inside a message");
      return {};
    }
    if (take(',') || take(';')) continue;
    if (text_[at_] == '}' || text_[at_] == '>') {
      if (frames_.back().closer != text_[at_]) refuse(fmt::format("'{}' closes nothing", text_[at_]));
      ++at_;
      frames_.pop_back();
      return {Kind::close, {}, {}, false};
    }
    const std::string_view name = field_name();
    skip_space();
    const bool colon = take(':');
    skip_space();
    if (!colon && at_ < text_.size() && text_[at_] != '{' && text_[at_] != '<')
      refuse(fmt::format("':' or '{{' is missing after '{}'", name.substr(0, 64)));
    if (take('[')) {
      frames_.back().list = name;
      continue;
    }
    return value_of(name);
  }
}

void TextReader::skip_message() {
  const std::size_t outside = frames_.size() - 1;
  while (frames_.size() > outside)
    if (next().kind == Kind::end) refuse("it ends inside a message");
}

std::int64_t TextReader::integer(const Event& event) const {
  std::int64_t value = 0;
  const auto [end, error] =
      std::from_chars(event.value.data(), event.value.data() + event.value.size(), value);
  if (error != std::errc() || end != event.value.data() + event.value.size() || event.quoted)
    refuse(fmt::format("'{}' is no integer", event.value.substr(0, 64)));
  return value;
}

bool TextReader::truth(const Event& event) const {
  return event.value == "true" || event.value == "True" || event.value == "t" || event.value == "1";
}

std::string TextReader::text(const Event& event) const {
  std::string out;
  const std::string_view raw = event.value;
  const auto digit = [&](std::size_t at, int base) {
    if (at >= raw.size()) return -1;
    const char c = raw[at];
    const int value = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : 99;
    return value < base ? value : -1;
  };
  for (std::size_t i = 0; i < raw.size(); ++i) {
    if (raw[i] != '\\' || !event.quoted || i + 1 == raw.size()) {
      out += raw[i];
      continue;
    }
    const char c = raw[++i];
    const bool hex = c == 'x' || c == 'X';
    if (hex || digit(i, 8) >= 0) {
      const int base = hex ? 16 : 8;
      const std::size_t most = hex ? 2 : 3;
      std::size_t digits = 0;
      int value = 0;
      for (std::size_t at = hex ? i + 1 : i; digits < most && digit(at, base) >= 0; ++at, ++digits)
        value = value * base + digit(at, base);
      out += static_cast<char>(value);
      i += hex ? digits : digits - 1;
      continue;
    }
    constexpr std::string_view kNames = "abfnrtv", kMeanings = "\a\b\f\n\r\t\v";
    const std::size_t known = kNames.find(c);
    out += known == std::string_view::npos ? c : kMeanings[known];
  }
  return out;
}

}  // namespace trainyard::interchange
