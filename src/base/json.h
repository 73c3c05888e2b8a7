#pragma once

#include <compare>
#include <concepts>
#include <initializer_list>
#include <iosfwd>
#include <stdexcept>

#include "base/standard.h"

namespace trainyard {

// Json is a JSON value. An object keeps the order of its keys. Two values are equal when their numbers are,
// whatever their type, and their members, in whatever order. The library that reads and writes the text is
// all templates, which every source would compile anew, in seconds; json.cpp alone includes it.
class Json {
 public:
  enum class Kind : std::uint8_t { null, boolean, integer, natural, real, text, array, object, discarded };

  // A member that is not there, or is of another kind than it is used for, throws an Error. Text that is not
  // JSON throws a SyntaxError.
  class Error : public std::runtime_error {
   public:
    using std::runtime_error::runtime_error;
  };
  class SyntaxError : public Error {
   public:
    SyntaxError(const std::string& reason, std::size_t place) : Error(reason), byte(place) {}
    std::size_t byte;  // the number of those that were read
  };

  template <bool kConst>
  class Iterator;
  class Members;

  Json() = default;
  Json(std::nullptr_t) {}
  template <std::same_as<bool> Boolean>
  Json(Boolean value) : kind_(Kind::boolean), content_{.boolean = value} {}
  template <std::integral Integer>
  requires(!std::same_as<Integer, bool>) Json(Integer value) {
    if constexpr (std::signed_integral<Integer>) {
      kind_ = Kind::integer;
      content_.integer = value;
    } else {
      kind_ = Kind::natural;
      content_.natural = value;
    }
  }
  template <std::floating_point Real>
  Json(Real value) : kind_(Kind::real), content_{.real = value} {}
  Json(const char* text) : Json(std::string(text)) {}
  Json(std::string_view text) : Json(std::string(text)) {}
  Json(std::string text);
  Json(const std::filesystem::path& path) : Json(path.string()) {}
  // An object where every element is a pair of a text and a value, else an array.
  Json(std::initializer_list<Json> elements);
  // An object of a map from texts, an array of another range.
  template <typename Range>
  requires(!std::convertible_to<const Range&, std::string> &&
           !std::convertible_to<const Range&, std::string_view>) Json(const Range& range)
  requires requires {
    range.begin();
    range.end();
    typename Range::value_type;
  };

  static Json array(std::initializer_list<Json> elements = {});
  static Json object(std::initializer_list<Json> members = {});
  static Json discarded();  // what a text that is not JSON has as its value

  Json(const Json& other);
  Json(Json&& other) noexcept;
  Json& operator=(Json other) noexcept;
  ~Json();

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::null; }
  bool is_boolean() const { return kind_ == Kind::boolean; }
  bool is_number() const { return is_number_integer() || kind_ == Kind::real; }
  bool is_number_integer() const { return kind_ == Kind::integer || kind_ == Kind::natural; }
  bool is_number_unsigned() const { return kind_ == Kind::natural; }
  bool is_number_float() const { return kind_ == Kind::real; }
  bool is_string() const { return kind_ == Kind::text; }
  bool is_array() const { return kind_ == Kind::array; }
  bool is_object() const { return kind_ == Kind::object; }
  bool is_structured() const { return is_array() || is_object(); }
  bool is_primitive() const { return !is_structured() && !is_discarded(); }
  bool is_discarded() const { return kind_ == Kind::discarded; }

  // The number of elements or members; null has none, any other value one.
  std::size_t size() const;
  bool empty() const { return size() == 0; }

  // Returns the value as a number, text, boolean, or as a vector or a map of them.
  template <typename T>
  T get() const;
  template <typename T>
  void get_to(T& value) const {
    value = get<T>();
  }

  // Elements of an array. Operators add what is not there; `at` throws. Of a value that goes away they are
  // copies, so that a loop over one does not outlive it.
  Json& at(std::size_t index) &;
  const Json& at(std::size_t index) const&;
  Json at(std::size_t index) && { return std::move(at(index)); }
  template <std::integral Index>
  Json& operator[](Index index) & {
    return element(static_cast<std::size_t>(index));
  }
  template <std::integral Index>
  const Json& operator[](Index index) const& {
    return at(static_cast<std::size_t>(index));
  }
  template <std::integral Index>
  Json operator[](Index index) && {
    return std::move(element(static_cast<std::size_t>(index)));
  }
  const Json& front() const& { return at(std::size_t{0}); }
  const Json& back() const& { return at(size() - 1); }
  Json& back() & { return at(size() - 1); }
  void push_back(Json value);
  template <std::integral Index>
  void erase(Index index) {
    erase_element(static_cast<std::size_t>(index));
  }
  Json& emplace_back(Json value) {
    push_back(std::move(value));
    return back();
  }

  // Members of an object; null becomes one. Of a constant object a member that is not there is null.
  Json& at(std::string_view key) &;
  const Json& at(std::string_view key) const&;
  Json at(std::string_view key) && { return std::move(at(key)); }
  Json& operator[](std::string_view key) &;
  Json& operator[](const char* key) & { return (*this)[std::string_view(key)]; }
  Json& operator[](const std::string& key) & { return (*this)[std::string_view(key)]; }
  const Json& operator[](std::string_view key) const&;
  const Json& operator[](const char* key) const& { return (*this)[std::string_view(key)]; }
  const Json& operator[](const std::string& key) const& { return (*this)[std::string_view(key)]; }
  Json operator[](std::string_view key) && { return std::move((*this)[key]); }
  Json operator[](const char* key) && { return std::move((*this)[key]); }
  Json operator[](const std::string& key) && { return std::move((*this)[key]); }
  bool contains(std::string_view key) const { return member(key) != nullptr; }
  std::size_t count(std::string_view key) const { return contains(key) ? 1 : 0; }
  template <typename T>
  auto value(std::string_view key, const T& other) const;
  void update(const Json& object);
  bool erase(std::string_view key);

  // Over the elements of an array, or the values of an object's members.
  Iterator<true> begin() const;
  Iterator<true> end() const;
  Iterator<false> begin();
  Iterator<false> end();
  Iterator<true> find(std::string_view key) const;
  // Over the members of an object: for (const auto& [key, value] : json.items()).
  Members items() const&;
  Members items() && = delete;

  friend bool operator==(const Json& a, const Json& b) { return a.equals(b); }
  // Numbers have an order, and texts; other values have none.
  friend std::partial_ordering operator<=>(const Json& a, const Json& b) { return a.compared(b); }
  friend std::ostream& operator<<(std::ostream& out, const Json& json);

 private:
  struct Object;
  struct Member;

  void must_be(Kind kind) const;
  bool equals(const Json& other) const;
  std::partial_ordering compared(const Json& other) const;
  Json& element(std::size_t index);
  void erase_element(std::size_t index);
  const Json* member(std::string_view key) const;
  Json* first() const;
  std::size_t stride() const;
  bool boolean() const;
  std::int64_t whole() const;
  std::uint64_t natural() const;
  double real() const;
  const std::string& text() const;

  Kind kind_ = Kind::null;
  union Content {
    bool boolean;
    std::int64_t integer;
    std::uint64_t natural;
    double real;
    std::string* text;
    std::vector<Json>* array;
    Object* object;
  };
  Content content_{.integer = 0};
};

struct Json::Member {
  std::string key;
  Json value;
};

// Values of members lie further apart than elements of an array.
template <bool kConst>
class Json::Iterator {
 public:
  using Value = std::conditional_t<kConst, const Json, Json>;
  // NOLINTBEGIN(readability-identifier-naming): the standard library looks for them
  using value_type = Json;
  using difference_type = std::ptrdiff_t;
  using reference = Value&;
  using pointer = Value*;
  using iterator_category = std::forward_iterator_tag;
  // NOLINTEND(readability-identifier-naming)

  Iterator() = default;
  Iterator(Value* at, std::size_t stride) : at_(at), stride_(stride) {}

  Value& operator*() const { return *at_; }
  Value* operator->() const { return at_; }
  // REQUIRES: an object's.
  const std::string& key() const {
    return (reinterpret_cast<const Member*>(place() - offsetof(Member, value)))->key;
  }
  Value& value() const { return *at_; }
  Iterator& operator++() {
    at_ = reinterpret_cast<Value*>(place() + stride_);
    return *this;
  }
  Iterator operator++(int) {
    const Iterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const Iterator& a, const Iterator& b) { return a.at_ == b.at_; }

 private:
  using Byte = std::conditional_t<kConst, const std::byte, std::byte>;
  Byte* place() const { return reinterpret_cast<Byte*>(at_); }

  Value* at_ = nullptr;
  std::size_t stride_ = 0;
};

// Members is a view of the members of an object, which must outlive it.
class Json::Members {
 public:
  struct Item {
    const std::string& key;
    const Json& value;
  };
  class Place {
   public:
    explicit Place(Iterator<true> at) : at_(at) {}
    Item operator*() const { return {at_.key(), *at_}; }
    Place& operator++() {
      ++at_;
      return *this;
    }
    bool operator==(const Place& other) const = default;

   private:
    Iterator<true> at_;
  };

  explicit Members(const Json& object) : object_(object) {}
  Place begin() const { return Place(object_.begin()); }
  Place end() const { return Place(object_.end()); }

 private:
  const Json& object_;
};

template <typename Range>
requires(!std::convertible_to<const Range&, std::string> &&
         !std::convertible_to<const Range&, std::string_view>) Json::Json(const Range& range)
requires requires {
  range.begin();
  range.end();
  typename Range::value_type;
}
{
  if constexpr (requires { typename Range::mapped_type; }) {
    *this = object();
    for (const auto& [key, value] : range) (*this)[std::string_view(key)] = Json(value);
  } else {
    *this = array();
    for (const auto& value : range) push_back(Json(static_cast<const typename Range::value_type&>(value)));
  }
}

template <typename T>
T Json::get() const {
  if constexpr (std::same_as<T, Json>) {
    return *this;
  } else if constexpr (std::same_as<T, bool>) {
    return boolean();
  } else if constexpr (std::unsigned_integral<T>) {
    return static_cast<T>(natural());
  } else if constexpr (std::integral<T>) {
    return static_cast<T>(whole());
  } else if constexpr (std::floating_point<T>) {
    return static_cast<T>(real());
  } else if constexpr (std::same_as<T, std::string>) {
    return text();
  } else if constexpr (requires { typename T::mapped_type; }) {
    must_be(Kind::object);
    T all;
    for (const auto& [key, value] : items()) all.emplace(key, value.template get<typename T::mapped_type>());
    return all;
  } else {
    must_be(Kind::array);
    T all;
    for (const Json& one : *this) all.insert(all.end(), one.get<typename T::value_type>());
    return all;
  }
}

template <typename T>
auto Json::value(std::string_view key, const T& other) const {
  using Result = std::conditional_t<std::convertible_to<const T&, std::string>, std::string, T>;
  must_be(Kind::object);
  const Json* found = member(key);
  return found != nullptr ? found->get<Result>() : Result(other);
}

// JsonEvent is what a listener hears while a text is read.
enum class JsonEvent : std::uint8_t { object_start, object_end, array_start, array_end, key, value };

// Hears of each value: its depth, what begins or ends there, the value, or the key. What it throws ends the
// reading; where it returns false the value is left out.
using JsonListener = std::function<bool(int depth, JsonEvent, const Json& value)>;

// Both throw Json::SyntaxError for a text that is not JSON, or nested deeper than any of ours.
Json parse_json(std::string_view text, const JsonListener& listener = nullptr);
Json parse_json(std::istream& text, const JsonListener& listener);

// Returns a value that is_discarded() for a text that is not JSON.
Json parse_json_or_discard(std::string_view text);
bool is_json(std::string_view text);

// Returns the content of a file. Throws Error (config), or Json::SyntaxError.
Json read_json(const std::filesystem::path& file);

// Returns one line, or lines that are indented by so many spaces a level. Bytes that are no UTF-8 become
// U+FFFD.
std::string json_text(const Json& json, int indent = -1);

}  // namespace trainyard
