// Protobuf's binary form of a GraphDef becomes its text form, so that one reader knows what a graph is.

#include "base/protobuf_wire.h"
#include "interchange/graph_def.h"
#include "interchange/text_format.h"

namespace trainyard::interchange {
namespace {

constexpr std::size_t kMostContent = std::size_t{1} << 15;  // bytes of a constant that is read

enum class Form : std::uint8_t { text, integer, truth, type, message };

// A message is a list of the fields that are read of it; numbers are those of TensorFlow's .proto files.
struct Field;
using Message = std::span<const Field>;
struct Field {
  unsigned number;
  const char* name;
  Form form;
  Message message = {};
};

constexpr Field kDim[] = {{1, "size", Form::integer}};
constexpr Field kShape[] = {{2, "dim", Form::message, kDim}, {3, "unknown_rank", Form::truth}};
constexpr Field kTensor[] = {{1, "dtype", Form::type},
                             {2, "tensor_shape", Form::message, kShape},
                             {4, "tensor_content", Form::text},
                             {7, "int_val", Form::integer},
                             {10, "int64_val", Form::integer}};
constexpr Field kList[] = {{2, "s", Form::text},
                           {3, "i", Form::integer},
                           {5, "b", Form::truth},
                           {6, "type", Form::type},
                           {7, "shape", Form::message, kShape}};
constexpr Field kValue[] = {{1, "list", Form::message, kList},
                            {2, "s", Form::text},
                            {3, "i", Form::integer},
                            {5, "b", Form::truth},
                            {6, "type", Form::type},
                            {7, "shape", Form::message, kShape},
                            {8, "tensor", Form::message, kTensor}};
constexpr Field kAttribute[] = {{1, "key", Form::text}, {2, "value", Form::message, kValue}};
constexpr Field kNode[] = {{1, "name", Form::text},
                           {2, "op", Form::text},
                           {3, "input", Form::text},
                           {4, "device", Form::text},
                           {5, "attr", Form::message, kAttribute}};
constexpr Field kGraph[] = {{1, "node", Form::message, kNode}};

// DataType, by its numbers; those of references are 100 more.
constexpr const char* kTypes[] = {"DT_INVALID",  "DT_FLOAT",   "DT_DOUBLE", "DT_INT32",      "DT_UINT8",
                                  "DT_INT16",    "DT_INT8",    "DT_STRING", "DT_COMPLEX64",  "DT_INT64",
                                  "DT_BOOL",     "DT_QINT8",   "DT_QUINT8", "DT_QINT32",     "DT_BFLOAT16",
                                  "DT_QINT16",   "DT_QUINT16", "DT_UINT16", "DT_COMPLEX128", "DT_HALF",
                                  "DT_RESOURCE", "DT_VARIANT", "DT_UINT32", "DT_UINT64"};

std::string type_text(std::uint64_t number) {
  constexpr std::uint64_t kReference = 100;
  const bool refers = number > kReference;
  const std::uint64_t plain = refers ? number - kReference : number;
  return plain < std::size(kTypes) ? fmt::format("{}{}", kTypes[plain], refers ? "_REF" : "") : kTypes[0];
}

class TextWriter {
 public:
  explicit TextWriter(const std::string& who) : who_(who) {}

  void write(std::string_view bytes, Message message) {
    WireReader reader(bytes);
    while (const auto found = reader.next()) {
      const auto field = std::find_if(message.begin(), message.end(),
                                      [&](const Field& row) { return row.number == found->number; });
      if (field != message.end()) write(*field, *found);
      if (static_cast<std::int64_t>(text_.size()) > kMaxTextBytes)
        fail(ErrorKind::config, "{}: its nodes have more than {} bytes as text", who_, kMaxTextBytes);
    }
    if (!reader.at_end()) fail(ErrorKind::config, "{}: is no GraphDef, or is cut off", who_);
  }
  std::string take() { return std::move(text_); }

 private:
  void write(const Field& field, const WireField& found) {
    const bool is_bytes = found.wire == Wire::bytes;
    if (field.form == Form::message && is_bytes) {
      text_ += fmt::format("{} {{ ", field.name);
      write(found.bytes, field.message);
      text_ += "}\n";
    } else if (field.form == Form::text && is_bytes) {
      if (found.bytes.size() <= kMostContent) write_text(field.name, found.bytes);
    } else if (found.wire == Wire::varint) {
      write_number(field, found.value);
    } else if (is_bytes) {  // a packed list
      WireReader list(found.bytes);
      std::size_t numbers = 0;
      while (const auto value = list.next_varint())
        if (++numbers <= kMostContent) write_number(field, *value);
    }
  }

  void write_number(const Field& field, std::uint64_t value) {
    text_ += fmt::format("{}: {}\n", field.name,
                         field.form == Form::type    ? type_text(value)
                         : field.form == Form::truth ? std::string(value != 0 ? "true" : "false")
                                                     : std::to_string(static_cast<std::int64_t>(value)));
  }

  void write_text(const char* name, std::string_view bytes) {
    text_ += fmt::format("{}: \"", name);
    for (const char c : bytes) {
      const auto byte = static_cast<unsigned char>(c);
      if (byte < 0x20 || byte >= 0x7f || c == '"' || c == '\\')
        text_ += fmt::format("\\{:03o}", byte);
      else
        text_ += c;
    }
    text_ += "\"\n";
  }

  const std::string& who_;
  std::string text_;
};

}  // namespace

std::string text_of_graph_def(std::string_view bytes, const std::string& who) {
  TextWriter writer(who);
  writer.write(bytes, kGraph);
  return writer.take();
}

}  // namespace trainyard::interchange
