#include "base/json.h"

#include <ostream>
#include <unordered_map>

namespace trainyard {

// Members in their order, and where they are once they are many.
struct Json::Object {
  static constexpr std::size_t kFew = 16;  // are looked through faster than looked up

  std::vector<Member> members;
  std::unordered_map<std::string, std::size_t> places;

  Json* find(std::string_view key) {
    if (members.size() <= kFew) {
      for (Member& member : members)
        if (member.key == key) return &member.value;
      return nullptr;
    }
    const auto found = places.find(std::string(key));
    return found == places.end() ? nullptr : &members[found->second].value;
  }
  Json& add(std::string_view key) {
    members.push_back({std::string(key), Json()});
    if (members.size() > kFew + 1)
      places.emplace(key, members.size() - 1);
    else if (members.size() == kFew + 1)
      number_places();
    return members.back().value;
  }
  bool erase(std::string_view key) {
    const std::size_t before = members.size();
    std::erase_if(members, [key](const Member& member) { return member.key == key; });
    if (before > kFew) number_places();
    return members.size() < before;
  }
  void number_places() {
    places.clear();
    for (std::size_t i = 0; i < members.size(); ++i) places.emplace(members[i].key, i);
  }
};

namespace {

constexpr const char* kKindNames[] = {"null",   "a boolean", "a number",  "a number", "a number",
                                      "a text", "an array",  "an object", "discarded"};

std::string kind_text(Json::Kind kind) { return kKindNames[static_cast<std::size_t>(kind)]; }

bool is_member(const Json& json) { return json.is_array() && json.size() == 2 && json.front().is_string(); }

}  // namespace

Json::Json(std::string text) : kind_(Kind::text), content_{.text = new std::string(std::move(text))} {}

Json::Json(std::initializer_list<Json> elements) {
  *this = std::all_of(elements.begin(), elements.end(), is_member) ? object(elements) : array(elements);
}

Json Json::array(std::initializer_list<Json> elements) {
  Json json;
  json.content_.array = new std::vector<Json>(elements);
  json.kind_ = Kind::array;
  return json;
}

Json Json::object(std::initializer_list<Json> members) {
  Json json;
  json.content_.object = new Object;
  json.kind_ = Kind::object;
  for (const Json& member : members) {
    if (!is_member(member)) throw Error("an object is made of pairs of a text and a value");
    json[member.front().text()] = member.back();
  }
  return json;
}

Json Json::discarded() {
  Json json;
  json.kind_ = Kind::discarded;
  return json;
}

Json::Json(const Json& other) : kind_(other.kind_), content_(other.content_) {
  if (kind_ == Kind::text) content_.text = new std::string(*other.content_.text);
  if (kind_ == Kind::array) content_.array = new std::vector<Json>(*other.content_.array);
  if (kind_ == Kind::object) content_.object = new Object(*other.content_.object);
}

Json::Json(Json&& other) noexcept : kind_(other.kind_), content_(other.content_) { other.kind_ = Kind::null; }

Json& Json::operator=(Json other) noexcept {
  std::swap(kind_, other.kind_);
  std::swap(content_, other.content_);
  return *this;
}

Json::~Json() {
  if (kind_ == Kind::text) delete content_.text;
  if (kind_ == Kind::array) delete content_.array;
  if (kind_ == Kind::object) delete content_.object;
}

std::size_t Json::size() const {
  if (is_null()) return 0;
  if (is_array()) return content_.array->size();
  return is_object() ? content_.object->members.size() : 1;
}

void Json::must_be(Kind kind) const {
  if (kind_ != kind) throw Error("should be " + kind_text(kind) + ", is " + kind_text(kind_));
}

bool Json::boolean() const {
  must_be(Kind::boolean);
  return content_.boolean;
}

std::int64_t Json::whole() const {
  if (kind_ == Kind::real) return static_cast<std::int64_t>(content_.real);
  if (kind_ == Kind::natural) return static_cast<std::int64_t>(content_.natural);
  if (kind_ != Kind::integer) must_be(Kind::natural);
  return content_.integer;
}

std::uint64_t Json::natural() const {
  return kind_ == Kind::natural ? content_.natural
         : kind_ == Kind::real  ? static_cast<std::uint64_t>(content_.real)
                                : static_cast<std::uint64_t>(whole());
}

double Json::real() const {
  if (kind_ == Kind::integer) return static_cast<double>(content_.integer);
  if (kind_ == Kind::natural) return static_cast<double>(content_.natural);
  must_be(Kind::real);
  return content_.real;
}

const std::string& Json::text() const {
  must_be(Kind::text);
  return *content_.text;
}

Json& Json::at(std::size_t index) & { return const_cast<Json&>(std::as_const(*this).at(index)); }

const Json& Json::at(std::size_t index) const& {
  must_be(Kind::array);
  if (index >= content_.array->size())
    throw Error(fmt::format("element {} of {} is not there", index, content_.array->size()));
  return (*content_.array)[index];
}

Json& Json::element(std::size_t index) {
  if (is_null()) *this = array();
  must_be(Kind::array);
  if (index >= content_.array->size()) content_.array->resize(index + 1);
  return (*content_.array)[index];
}

void Json::erase_element(std::size_t index) {
  at(index);
  content_.array->erase(content_.array->begin() + static_cast<std::ptrdiff_t>(index));
}

void Json::push_back(Json value) {
  if (is_null()) *this = array();
  must_be(Kind::array);
  content_.array->push_back(std::move(value));
}

const Json* Json::member(std::string_view key) const {
  return is_object() ? content_.object->find(key) : nullptr;
}

Json& Json::at(std::string_view key) & { return const_cast<Json&>(std::as_const(*this).at(key)); }

const Json& Json::at(std::string_view key) const& {
  must_be(Kind::object);
  const Json* found = member(key);
  if (found == nullptr) throw Error("key '" + std::string(key) + "' not found");
  return *found;
}

Json& Json::operator[](std::string_view key) & {
  if (is_null()) *this = object();
  must_be(Kind::object);
  Json* found = content_.object->find(key);
  return found != nullptr ? *found : content_.object->add(key);
}

const Json& Json::operator[](std::string_view key) const& {
  static const Json kNull(nullptr);
  const Json* found = member(key);
  return found != nullptr ? *found : kNull;
}

void Json::update(const Json& object) {
  object.must_be(Kind::object);
  for (const auto& [key, value] : object.items()) (*this)[key] = value;
}

bool Json::erase(std::string_view key) {
  must_be(Kind::object);
  return content_.object->erase(key);
}

std::size_t Json::stride() const { return is_object() ? sizeof(Member) : sizeof(Json); }

Json* Json::first() const {
  if (is_array()) return content_.array->data();
  return is_object() && !content_.object->members.empty() ? &content_.object->members.front().value : nullptr;
}

namespace {

Json* further(Json* from, std::size_t bytes) {
  return from == nullptr ? nullptr : reinterpret_cast<Json*>(reinterpret_cast<std::byte*>(from) + bytes);
}

}  // namespace

Json::Iterator<true> Json::begin() const { return {first(), stride()}; }
Json::Iterator<true> Json::end() const { return {further(first(), size() * stride()), stride()}; }
Json::Iterator<false> Json::begin() { return {first(), stride()}; }
Json::Iterator<false> Json::end() { return {further(first(), size() * stride()), stride()}; }

Json::Iterator<true> Json::find(std::string_view key) const {
  const Json* found = member(key);
  return found != nullptr ? Iterator<true>(found, stride()) : end();
}

Json::Members Json::items() const& {
  if (!is_null()) must_be(Kind::object);
  return Members(*this);
}

bool Json::equals(const Json& other) const {
  if (is_number() && other.is_number()) {
    if (kind_ == Kind::real || other.kind_ == Kind::real) return real() == other.real();
    return content_.natural == other.content_.natural && (kind_ == other.kind_ || content_.integer >= 0);
  }
  if (kind_ != other.kind_) return false;
  switch (kind_) {
    case Kind::boolean:
      return content_.boolean == other.content_.boolean;
    case Kind::text:
      return *content_.text == *other.content_.text;
    case Kind::array:
      return *content_.array == *other.content_.array;
    case Kind::object:
      return size() == other.size() && std::all_of(content_.object->members.begin(),
                                                   content_.object->members.end(), [&](const Member& one) {
                                                     const Json* found = other.member(one.key);
                                                     return found != nullptr && one.value == *found;
                                                   });
    default:
      return kind_ == Kind::null;  // a discarded value equals none
  }
}

std::partial_ordering Json::compared(const Json& other) const {
  if (equals(other)) return std::partial_ordering::equivalent;
  if (is_number() && other.is_number()) return real() <=> other.real();
  if (is_string() && other.is_string()) return *content_.text <=> *other.content_.text;
  return std::partial_ordering::unordered;
}

std::ostream& operator<<(std::ostream& out, const Json& json) { return out << json_text(json); }

}  // namespace trainyard
