#pragma once

#include <initializer_list>

#include "record/figure_list.h"

namespace trainyard::record {

// The three kinds of results that a record holds apart.
enum class FigureKind { number, word, detail };

constexpr FigureKind kind_of(const Figure& figure) {
  return figure.is_number() ? FigureKind::number : figure.is_word() ? FigureKind::word : FigureKind::detail;
}

// Returns the row of the list, or null.
constexpr const Figure* find_figure(std::string_view name, FigureKind kind) {
  for (const Figure& figure : kFigures)
    if (figure.name == name && kind_of(figure) == kind) return &figure;
  return nullptr;
}

// The name of a figure that is in the list: the compiler refuses any other.
template <FigureKind kKind>
class FigureName {
 public:
  // NOLINTNEXTLINE(google-explicit-constructor): names are written as plain literals
  consteval FigureName(const char* name) : name_(name) {
    if (find_figure(name, kKind) == nullptr) throw "this name is not in the list of figures";
  }
  const char* text() const { return name_; }

 private:
  const char* name_;
};

using NumberName = FigureName<FigureKind::number>;
using WordName = FigureName<FigureKind::word>;
using DetailName = FigureName<FigureKind::detail>;

// Results of one kind by name. Code names them by literals, which are checked; what is read from files, and
// the figures of programs, may have any name.
template <FigureKind kKind, typename T>
class Results {
 public:
  using Map = std::map<std::string, T>;
  using Name = FigureName<kKind>;
  struct Entry {
    Name name;
    T value;
  };

  Results() = default;
  Results(std::initializer_list<Entry> entries) {
    for (const Entry& entry : entries) values_[entry.name.text()] = entry.value;
  }

  T& operator[](Name name) { return values_[name.text()]; }
  const T& at(Name name) const { return values_.at(name.text()); }
  bool contains(Name name) const { return values_.contains(name.text()); }
  typename Map::const_iterator find(Name name) const { return values_.find(name.text()); }
  void erase(Name name) { values_.erase(name.text()); }
  void emplace(Name name, T value) { values_.emplace(name.text(), std::move(value)); }
  typename Map::const_iterator begin() const { return values_.begin(); }
  typename Map::const_iterator end() const { return values_.end(); }
  bool empty() const { return values_.empty(); }
  std::size_t size() const { return values_.size(); }

  // All of them, by names that are only known when the program runs.
  Map& any() { return values_; }
  const Map& any() const { return values_; }

  friend bool operator==(const Results&, const Results&) = default;

 private:
  Map values_;
};

using Numbers = Results<FigureKind::number, double>;
using Words = Results<FigureKind::word, std::string>;
using Details = Results<FigureKind::detail, std::string>;

}  // namespace trainyard::record
