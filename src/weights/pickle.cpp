#include "weights/pickle.h"

#include <variant>

#include "base/error.h"

// The opcodes are those of Python's pickletools (protocol 2).
namespace trainyard::weights {
namespace {

constexpr std::size_t kMostValues = std::size_t{1} << 20;
constexpr std::size_t kMostDimensions = 6;

using Id = std::size_t;  // of a value, in the order they were made

struct Nothing {};    // None
struct SomeValue {};  // a number or text of no use here
struct SomeList {};
enum class Callable { ordered_dict, rebuild_tensor, rebuild_parameter };
struct Tuple {
  std::vector<Id> items;
};
struct Dict {
  std::vector<std::pair<Id, Id>> items;
};
struct Storage {
  std::string key;
  Element element;
  std::int64_t elements;
};
using Value = std::variant<Nothing, bool, std::int64_t, std::string, SomeValue, SomeList, Callable, Element,
                           Tuple, Dict, Storage, PickledTensor>;

struct StorageName {
  const char* name;
  Element element;
};
constexpr StorageName kStorages[] = {
    {"torch.FloatStorage", Element::f32}, {"torch.DoubleStorage", Element::f64},
    {"torch.HalfStorage", Element::f16},  {"torch.BFloat16Storage", Element::bf16},
    {"torch.LongStorage", Element::i64},  {"torch.IntStorage", Element::i32},
    {"torch.ShortStorage", Element::i16}, {"torch.CharStorage", Element::i8},
    {"torch.ByteStorage", Element::u8},   {"torch.BoolStorage", Element::boolean}};
// Keys under which a file of more than the weights has them.
constexpr const char* kInside[] = {"state_dict", "model_state_dict", "model"};

class Machine {
 public:
  Machine(std::span<const std::byte> code, const std::string& who) : code_(code), who_(who) {}

  std::vector<PickledTensor> run() {
    while (step()) {
    }
    if (stack_.size() != 1 || !marks_.empty()) refuse("leaves more or less than one value");
    std::vector<PickledTensor> tensors;
    for (const auto& [key, value] : state_dict(as<Dict>(stack_.back(), "a dictionary at the end")).items) {
      PickledTensor tensor = as<PickledTensor>(value, "tensors only");
      tensor.name = as<std::string>(key, "names of tensors");
      tensors.push_back(std::move(tensor));
    }
    return tensors;
  }

 private:
  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorKind::config, "'{}': its pickle {} (byte {}); wants a state dict of tensors", who_,
         fmt::format(format, std::forward<Args>(args)...), at_);
  }

  const Dict& state_dict(const Dict& whole) const {
    for (const char* inside : kInside)
      for (const auto& [key, value] : whole.items) {
        const auto* name = std::get_if<std::string>(&values_[key]);
        const auto* found = std::get_if<Dict>(&values_[value]);
        if (name != nullptr && found != nullptr && *name == inside) return *found;
      }
    return whole;
  }

  std::span<const std::byte> take(std::size_t bytes) {
    if (bytes > code_.size() - at_) refuse("is cut short");
    const auto taken = code_.subspan(at_, bytes);
    at_ += bytes;
    return taken;
  }
  std::uint64_t number(int bytes) {
    const auto part = take(static_cast<std::size_t>(bytes));
    std::uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; --i)
      value = value << 8 | std::to_integer<std::uint64_t>(part[static_cast<std::size_t>(i)]);
    return value;
  }
  std::string line() {
    const auto rest = code_.subspan(at_);
    const auto end = std::find(rest.begin(), rest.end(), std::byte{'\n'});
    if (end == rest.end()) refuse("is cut short");
    const auto text = take(static_cast<std::size_t>(end - rest.begin()));
    take(1);
    return {reinterpret_cast<const char*>(text.data()), text.size()};
  }

  void push(Value value) {
    if (values_.size() >= kMostValues) refuse("has more than {} values", kMostValues);
    values_.push_back(std::move(value));
    stack_.push_back(values_.size() - 1);
  }
  // An opcode may take only values above the last mark.
  Id pop() {
    if (stack_.size() <= (marks_.empty() ? 0 : marks_.back())) refuse("takes a value where there is none");
    const Id id = stack_.back();
    stack_.pop_back();
    return id;
  }
  std::vector<Id> pop_to_mark() {
    if (marks_.empty()) refuse("takes a mark where there is none");
    const auto first = stack_.begin() + static_cast<std::ptrdiff_t>(marks_.back());
    std::vector<Id> items(first, stack_.end());
    stack_.erase(first, stack_.end());
    marks_.pop_back();
    return items;
  }
  template <typename T>
  T& as(Id id, const char* what) {
    T* found = std::get_if<T>(&values_[id]);
    if (found == nullptr) refuse("has another value where it should have {}", what);
    return *found;
  }

  bool step() {
    const auto opcode = static_cast<char>(number(1));
    switch (opcode) {
      case '\x80':  // PROTO
        if (const std::uint64_t version = number(1); version != 2)
          refuse("is of protocol {}, and only 2 is read", version);
        return true;
      case '.':  // STOP
        return false;
      case '(':  // MARK
        if (marks_.size() >= kMostValues) refuse("has more than {} marks", kMostValues);
        marks_.push_back(stack_.size());
        return true;
      case 'c':  // GLOBAL
        push_global();
        return true;
      case 'q':  // BINPUT
        put(number(1));
        return true;
      case 'r':  // LONG_BINPUT
        put(number(4));
        return true;
      case 'h':  // BINGET
        get(number(1));
        return true;
      case 'j':  // LONG_BINGET
        get(number(4));
        return true;
      case 'R':  // REDUCE
        reduce();
        return true;
      case 'Q':  // BINPERSID
        push_storage();
        return true;
      case 's': {  // SETITEM
        const Id value = pop(), key = pop();
        set_items({key, value});
        return true;
      }
      case 'u':  // SETITEMS
        set_items(pop_to_mark());
        return true;
      case 'a':  // APPEND
        pop();
        keep_list();
        return true;
      case 'e':  // APPENDS
        pop_to_mark();
        keep_list();
        return true;
      case 'b':  // BUILD
        build();
        return true;
      default:
        if (!push_plain(opcode)) refuse("has opcode 0x{:02x}", static_cast<unsigned char>(opcode));
        return true;
    }
  }

  // Handles opcodes that only make a value.
  bool push_plain(char opcode) {
    switch (opcode) {
      case 'N':  // NONE
        push(Nothing{});
        return true;
      case '\x88':  // NEWTRUE
      case '\x89':  // NEWFALSE
        push(opcode == '\x88');
        return true;
      case 'K':  // BININT1
        push(static_cast<std::int64_t>(number(1)));
        return true;
      case 'M':  // BININT2
        push(static_cast<std::int64_t>(number(2)));
        return true;
      case 'J':  // BININT
        push(std::int64_t{static_cast<std::int32_t>(number(4))});
        return true;
      case '\x8a':  // LONG1
        push_long(number(1));
        return true;
      case 'G':  // BINFLOAT
        take(8);
        push(SomeValue{});
        return true;
      case ']':  // EMPTY_LIST
        push(SomeList{});
        return true;
      case 'X': {  // BINUNICODE
        const auto text = take(number(4));
        push(std::string(reinterpret_cast<const char*>(text.data()), text.size()));
        return true;
      }
      case '}':  // EMPTY_DICT
        push(Dict{});
        return true;
      case ')':  // EMPTY_TUPLE
        push(Tuple{});
        return true;
      case '\x85':  // TUPLE1
      case '\x86':  // TUPLE2
      case '\x87':  // TUPLE3
        push_tuple(static_cast<std::size_t>(opcode - '\x84'));
        return true;
      case 't':  // TUPLE
        push(Tuple{pop_to_mark()});
        return true;
      default:
        return false;
    }
  }

  // A number of so many bytes, the highest of which has the sign.
  void push_long(std::uint64_t bytes) {
    if (bytes > 8) return take(bytes), push(SomeValue{});
    const std::uint64_t value = number(static_cast<int>(bytes)),
                        sign = bytes == 0 ? 0 : std::uint64_t{1} << (8 * bytes - 1);
    push(static_cast<std::int64_t>((value ^ sign) - sign));
  }

  void keep_list() {
    const Id list = pop();
    as<SomeList>(list, "a list");
    stack_.push_back(list);
  }

  void push_tuple(std::size_t count) {
    std::vector<Id> items(count);
    for (std::size_t i = count; i-- > 0;) items[i] = pop();
    push(Tuple{std::move(items)});
  }

  void push_global() {
    const std::string module = line(), name = line();
    const std::string full = module + "." + name;
    if (full == "collections.OrderedDict") return push(Callable::ordered_dict);
    if (full == "torch._utils._rebuild_tensor_v2") return push(Callable::rebuild_tensor);
    if (full == "torch._utils._rebuild_parameter") return push(Callable::rebuild_parameter);
    for (const StorageName& storage : kStorages)
      if (full == storage.name) return push(storage.element);
    const bool readable = full.size() <= 80 &&
                          std::all_of(full.begin(), full.end(), [](char c) { return c > ' ' && c < '\x7f'; });
    refuse("names {}", readable ? "'" + full + "'" : "something unknown");
  }

  void put(std::uint64_t slot) {
    if (stack_.empty() || slot >= kMostValues) refuse("remembers what is not there");
    memory_[slot] = stack_.back();
  }
  void get(std::uint64_t slot) {
    const auto found = memory_.find(slot);
    if (found == memory_.end()) refuse("wants value {}, which it did not remember", slot);
    if (stack_.size() >= kMostValues) refuse("has more than {} values", kMostValues);
    stack_.push_back(found->second);
  }

  void set_items(const std::vector<Id>& items) {
    if (items.size() % 2 != 0) refuse("sets a key without a value");
    const Id dict = pop();
    Dict& target = as<Dict>(dict, "a dictionary");
    stack_.push_back(dict);
    for (std::size_t i = 0; i < items.size(); i += 2) target.items.emplace_back(items[i], items[i + 1]);
  }

  // ('storage', FloatStorage, key, device, elements)
  void push_storage() {
    const Tuple tuple = as<Tuple>(pop(), "the description of a storage");
    if (tuple.items.size() != 5 || as<std::string>(tuple.items[0], "the word storage") != "storage")
      refuse("has another value where it should have a storage");
    as<std::string>(tuple.items[3], "the name of a device");
    push(Storage{as<std::string>(tuple.items[2], "the key of a storage"),
                 as<Element>(tuple.items[1], "a type of storage"),
                 as<std::int64_t>(tuple.items[4], "a number of elements")});
  }

  void reduce() {
    const Tuple arguments = as<Tuple>(pop(), "arguments");
    switch (as<Callable>(pop(), "a known name")) {
      case Callable::ordered_dict:
        if (!arguments.items.empty()) refuse("makes an OrderedDict of something");
        return push(Dict{});
      case Callable::rebuild_tensor:
        return push(rebuild(arguments.items));
      case Callable::rebuild_parameter:
        return push(parameter(arguments.items));
    }
  }

  std::vector<std::int64_t> integers(Id id, const char* what) {
    const Tuple tuple = as<Tuple>(id, what);
    if (tuple.items.size() > kMostDimensions) refuse("has a tensor of {} dimensions", tuple.items.size());
    std::vector<std::int64_t> numbers;
    for (const Id item : tuple.items) numbers.push_back(as<std::int64_t>(item, what));
    return numbers;
  }

  // (storage, offset, shape, strides, requires_grad, backward_hooks)
  PickledTensor rebuild(const std::vector<Id>& items) {
    if (items.size() != 6) refuse("rebuilds a tensor of {} values", items.size());
    const Storage& storage = as<Storage>(items[0], "a storage");
    as<bool>(items[4], "whether a tensor is trained");
    if (!as<Dict>(items[5], "hooks").items.empty()) refuse("has a tensor with hooks");
    return {.name = "",
            .storage = storage.key,
            .element = storage.element,
            .storage_elements = storage.elements,
            .offset = as<std::int64_t>(items[1], "an offset"),
            .shape = integers(items[2], "a shape"),
            .strides = integers(items[3], "strides")};
  }

  // (tensor, requires_grad, backward_hooks)
  PickledTensor parameter(const std::vector<Id>& items) {
    if (items.size() != 3) refuse("rebuilds a parameter of {} values", items.size());
    as<bool>(items[1], "whether a parameter is trained");
    if (!as<Dict>(items[2], "hooks").items.empty()) refuse("has a parameter with hooks");
    return as<PickledTensor>(items[0], "a tensor");
  }

  // A state dict carries the versions of its modules; nothing here needs them.
  void build() {
    for (const auto& [key, value] : as<Dict>(pop(), "attributes").items)
      if (as<std::string>(key, "the name of an attribute") != "_metadata")
        refuse("sets another attribute than _metadata");
    const Id target = pop();
    as<Dict>(target, "a dictionary");
    stack_.push_back(target);
  }

  std::span<const std::byte> code_;
  const std::string& who_;
  std::size_t at_ = 0;
  std::vector<Value> values_;
  std::vector<Id> stack_;
  std::vector<std::size_t> marks_;  // heights of the stack
  std::map<std::uint64_t, Id> memory_;
};

}  // namespace

std::vector<PickledTensor> read_pickled_tensors(std::span<const std::byte> pickle, const std::string& who) {
  return Machine(pickle, who).run();
}

}  // namespace trainyard::weights
