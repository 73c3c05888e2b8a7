#include "weights/safetensors.h"

#include "base/json.h"

// github.com/huggingface/safetensors, "Format".
namespace trainyard::weights {
namespace {

constexpr std::size_t kLengthBytes = 8, kMostHeaderBytes = 100'000'000;  // the format's own limit
constexpr int kMostDepth = 4;                                            // an array in an object in an object
constexpr std::int64_t kMostElements = std::int64_t{1} << 40;
constexpr std::size_t kMostDimensions = 8;
constexpr const char* kAbout = "__metadata__";

struct TypeName {
  const char* name;
  Element element;
};
constexpr TypeName kTypes[] = {{"F32", Element::f32},     {"F64", Element::f64}, {"F16", Element::f16},
                               {"BF16", Element::bf16},   {"I64", Element::i64}, {"I32", Element::i32},
                               {"I16", Element::i16},     {"I8", Element::i8},   {"U8", Element::u8},
                               {"BOOL", Element::boolean}};

class Parser {
 public:
  Parser(std::span<const std::byte> file, const std::string& who) : file_(file), who_(who) {}

  std::vector<Tensor> run() {
    const Json header = read_header();
    for (const auto& [name, row] : header.items())
      if (name != kAbout) places_.push_back(read_row(name, row));
    std::stable_sort(places_.begin(), places_.end(),
                     [](const Place& a, const Place& b) { return a.begin < b.begin; });
    std::uint64_t end = 0;
    std::vector<Tensor> tensors;
    for (Place& place : places_) {
      if (place.begin != end)
        refuse("tensor '{}' begins at byte {} of the numbers, its predecessor ends at {}", place.tensor.name,
               place.begin, end);
      end = place.end;
      tensors.push_back(std::move(place.tensor));
    }
    if (end != data_.size()) refuse("its tensors take {} bytes, and {} follow the header", end, data_.size());
    check_names(tensors, who_);
    return tensors;
  }

 private:
  struct Place {
    Tensor tensor;
    std::uint64_t begin, end;
  };

  template <typename... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> format, Args&&... args) const {
    fail(ErrorKind::config, "'{}': {}; wants a safetensors file", who_,
         fmt::format(format, std::forward<Args>(args)...));
  }

  Json read_header() {
    if (file_.size() < kLengthBytes) refuse("is cut short");
    std::uint64_t bytes = 0;
    for (std::size_t i = kLengthBytes; i-- > 0;)
      bytes = bytes << 8 | std::to_integer<std::uint64_t>(file_[i]);
    if (bytes > kMostHeaderBytes)
      refuse("says that its header has {} bytes, at most {}", bytes, kMostHeaderBytes);
    if (bytes > file_.size() - kLengthBytes)
      refuse("is cut short: its header has {} bytes, {} are there", bytes, file_.size() - kLengthBytes);
    const std::span<const std::byte> text = file_.subspan(kLengthBytes, bytes);
    data_ = file_.subspan(kLengthBytes + bytes);
    Json header;
    try {
      header = parse_json({reinterpret_cast<const char*>(text.data()), text.size()},
                          [this](int depth, JsonEvent, const Json&) {
                            if (depth > kMostDepth) refuse("its header is nested too deep");
                            return true;
                          });
    } catch (const Json::Error&) {
      refuse("its header is no JSON");
    }
    if (!header.is_object()) refuse("its header is no JSON object");
    return header;
  }

  std::uint64_t whole(const std::string& name, const Json& number, const char* what) const {
    if (!number.is_number_unsigned()) refuse("{} of tensor '{}' is no whole number", what, name);
    return number.get<std::uint64_t>();
  }

  const Json& member(const std::string& name, const Json& row, const char* key) const {
    const auto found = row.find(key);
    if (found == row.end()) refuse("tensor '{}' has no {}", name, key);
    return *found;
  }

  Place read_row(const std::string& name, const Json& row) const {
    if (!row.is_object()) refuse("tensor '{}' is no JSON object", name);
    const Json &type = member(name, row, "dtype"), &shape = member(name, row, "shape"),
               &offsets = member(name, row, "data_offsets");
    const auto* found = std::find_if(std::begin(kTypes), std::end(kTypes),
                                     [&](const TypeName& one) { return type == one.name; });
    if (found == std::end(kTypes))
      fail(ErrorKind::config, "'{}': tensor '{}' is {}; wants F32, F64, F16, BF16 or integers", who_, name,
           type.is_string() ? type.get<std::string>() : "of no named type");
    if (!shape.is_array() || shape.size() > kMostDimensions)
      refuse("the shape of tensor '{}' is no list of at most {} numbers", name, kMostDimensions);
    if (!offsets.is_array() || offsets.size() != 2)
      refuse("data_offsets of tensor '{}' are no two numbers", name);
    Place place{{.name = name, .element = found->element},
                whole(name, offsets[0], "an offset"),
                whole(name, offsets[1], "an offset")};
    std::int64_t elements = 1;
    for (const Json& dim : shape) {
      const std::uint64_t size = whole(name, dim, "a dimension");
      if (size > kMostElements || (size > 0 && elements > kMostElements / static_cast<std::int64_t>(size)))
        refuse("tensor '{}' has more than {} elements", name, kMostElements);
      elements *= static_cast<std::int64_t>(size);
      place.tensor.dims.push_back(static_cast<std::int64_t>(size));
    }
    if (place.begin > place.end || place.end > data_.size())
      refuse("tensor '{}' lies at bytes {} to {} of {}", name, place.begin, place.end, data_.size());
    const std::uint64_t bytes = place.end - place.begin,
                        wanted = static_cast<std::uint64_t>(elements) * size_of(found->element);
    if (bytes != wanted)
      refuse("tensor '{}' is {} and has {} bytes, wants {}", name, place.tensor.to_string(), bytes, wanted);
    place.tensor.strides = plain_strides(place.tensor.dims);
    place.tensor.content = data_.subspan(place.begin, bytes);
    return place;
  }

  std::span<const std::byte> file_, data_;
  const std::string& who_;
  std::vector<Place> places_;
};

const char* type_name(Element element) {
  for (const TypeName& type : kTypes)
    if (type.element == element) return type.name;
  return "";
}

}  // namespace

std::vector<Tensor> parse_safetensors(std::span<const std::byte> file, const std::string& who) {
  return Parser(file, who).run();
}

void write_safetensors(const std::vector<OutgoingTensor>& tensors,
                       const std::map<std::string, std::string>& about,
                       const std::function<void(std::string_view)>& write) {
  Json header = Json::object();
  if (!about.empty()) header[kAbout] = about;
  std::int64_t end = 0;
  for (const OutgoingTensor& tensor : tensors) {
    const std::int64_t begin = end;
    std::int64_t elements = 1;
    for (const std::int64_t dim : tensor.dims) elements *= dim;
    end += elements * static_cast<std::int64_t>(size_of(tensor.element));
    header[tensor.name] = {
        {"dtype", type_name(tensor.element)}, {"shape", tensor.dims}, {"data_offsets", {begin, end}}};
  }
  std::string text = json_text(header);
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');  // readers map the numbers
  std::string length;
  for (std::size_t i = 0; i < kLengthBytes; ++i) length += static_cast<char>(text.size() >> 8 * i);
  write(length + text);
  for (const OutgoingTensor& tensor : tensors) {
    const std::vector<std::byte> content = tensor.content();
    write({reinterpret_cast<const char*>(content.data()), content.size()});
  }
}

}  // namespace trainyard::weights
