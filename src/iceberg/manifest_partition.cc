#include "iceberg/manifest_partition.h"

#include <optional>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "base/decimal_bytes.h"
#include "base/text.h"
#include "base/utf8.h"
#include "iceberg/avro/record_reader.h"
#include "iceberg/avro/values.h"
#include "iceberg/manifest_fields.h"

namespace timelake::iceberg {
namespace {

using avro::Kind;

// Result type of a field of the spec; nothing when its column is gone or its transform unknown.
std::optional<Type> DeclaredType(const ManifestHeader& header, const PartitionField& field) {
  if (field.transform.kind == TransformKind::kUnknown) return std::nullopt;
  const Field* source = FindAnyFieldById(header.schema, field.source_id);
  if (source == nullptr) return std::nullopt;
  Type type = ResultType(field.transform, source->type);
  if (!type.is_primitive()) return std::nullopt;
  return type;
}

Type TypeOfValues(const std::vector<ManifestEntry>& entries, size_t index) {
  Type type;  // int
  for (const ManifestEntry& entry : entries) {
    if (index >= entry.file.partition.size()) continue;
    const Value& value = entry.file.partition[index];
    if (IsNull(value)) continue;
    if (std::holds_alternative<bool>(value)) type.id = TypeId::kBoolean;
    if (std::holds_alternative<int64_t>(value)) type.id = TypeId::kLong;
    if (std::holds_alternative<float>(value)) type.id = TypeId::kFloat;
    if (std::holds_alternative<double>(value)) type.id = TypeId::kDouble;
    if (std::holds_alternative<arrow::Decimal128>(value)) {
      type.id = TypeId::kDecimal;
      type.precision = 38;
    }
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) break;
    type.id = IsValidUtf8(*text) ? TypeId::kString : TypeId::kBinary;
    if (type.id == TypeId::kBinary) break;
  }
  return type;
}

// A JSON type; `suffix` keeps the names of fixed types apart, because a second definition of a name
// is invalid and not every reader follows references.
Result<std::string> AvroType(const Type& type, bool day, const std::string& suffix) {
  switch (type.id) {
    case TypeId::kBoolean: return R"("boolean")";
    case TypeId::kInt: return day ? R"({"type":"int","logicalType":"date"})" : R"("int")";
    case TypeId::kLong: return R"("long")";
    case TypeId::kFloat: return R"("float")";
    case TypeId::kDouble: return R"("double")";
    case TypeId::kDate: return R"({"type":"int","logicalType":"date"})";
    case TypeId::kTime: return R"({"type":"long","logicalType":"time-micros"})";
    case TypeId::kTimestamp:
      return R"({"type":"long","logicalType":"timestamp-micros","adjust-to-utc":false})";
    case TypeId::kTimestamptz:
      return R"({"type":"long","logicalType":"timestamp-micros","adjust-to-utc":true})";
    case TypeId::kString: return R"("string")";
    case TypeId::kBinary: return R"("bytes")";
    case TypeId::kUuid:
      return fmt::format(
          R"({{"type":"fixed","name":"uuid_fixed{}","size":16,"logicalType":"uuid"}})", suffix);
    case TypeId::kFixed:
      return fmt::format(R"({{"type":"fixed","name":"fixed_{}{}","size":{}}})", type.length, suffix,
                         type.length);
    case TypeId::kDecimal: {
      TL_ASSIGN_OR_RAISE(const int size, MinBytesForPrecision(type.precision));
      return fmt::format(R"({{"type":"fixed","name":"decimal_{0}_{1}{2}","size":{3},)"
                         R"("logicalType":"decimal","precision":{0},"scale":{1}}})",
                         type.precision, type.scale, suffix, size);
    }
    default: return InvalidArgument("a partition value cannot be a {}", TypeName(type));
  }
}

// Encodes a value that is not null; false when it is not of the type.
bool EncodeValue(const Type& type, const Value& value, avro::Encoder* out) {
  const auto* narrow = std::get_if<int32_t>(&value);
  const auto* text = std::get_if<std::string>(&value);
  switch (type.id) {
    case TypeId::kBoolean:
      if (!std::holds_alternative<bool>(value)) return false;
      out->Boolean(std::get<bool>(value));
      return true;
    case TypeId::kInt:
    case TypeId::kDate:
      if (narrow == nullptr) return false;
      out->Int(*narrow);
      return true;
    case TypeId::kLong:
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz:
      if (narrow == nullptr && !std::holds_alternative<int64_t>(value)) return false;
      out->Long(narrow != nullptr ? *narrow : std::get<int64_t>(value));
      return true;
    case TypeId::kFloat:
      if (!std::holds_alternative<float>(value)) return false;
      out->Float(std::get<float>(value));
      return true;
    case TypeId::kDouble:
      if (std::holds_alternative<float>(value)) {
        out->Double(std::get<float>(value));
        return true;
      }
      if (!std::holds_alternative<double>(value)) return false;
      out->Double(std::get<double>(value));
      return true;
    case TypeId::kDecimal: {
      const auto* decimal = std::get_if<arrow::Decimal128>(&value);
      auto size = MinBytesForPrecision(type.precision);
      if (decimal == nullptr || !size.ok()) return false;
      auto bytes = DecimalToFixedBytes(*decimal, *size);
      if (!bytes.ok()) return false;
      out->Fixed(*bytes);
      return true;
    }
    case TypeId::kString:
    case TypeId::kBinary:
      if (text == nullptr) return false;
      out->Bytes(*text);
      return true;
    case TypeId::kUuid:
    case TypeId::kFixed: {
      const size_t size = type.id == TypeId::kUuid ? 16 : static_cast<size_t>(type.length);
      if (text == nullptr || text->size() != size) return false;
      out->Fixed(*text);
      return true;
    }
    default: return false;
  }
}

// Any value as its Avro type has it; what no partition value can be is skipped.
Value DecodeUntyped(avro::Decoder& in, const avro::Node& type) {
  switch (type.kind) {
    case Kind::kBoolean: return in.Boolean();
    case Kind::kInt: return in.Int();
    case Kind::kLong: return in.Long();
    case Kind::kFloat: return in.Float();
    case Kind::kDouble: return in.Double();
    case Kind::kString:
    case Kind::kBytes:
    case Kind::kFixed: {
      const std::string_view bytes =
          type.kind == Kind::kFixed ? in.Fixed(static_cast<size_t>(type.size)) : in.Bytes();
      if (type.logical_type != "decimal" || !in.ok()) return std::string(bytes);
      auto decimal = DecimalFromBytes(bytes);
      if (decimal.ok()) return *decimal;
      in.Fail("a decimal of more than 16 bytes, or none");
      return {};
    }
    default: in.Skip(type); return {};
  }
}

// Brings a value of the file's type to the declared one: columns may have been promoted since.
Value Convert(avro::Decoder& in, const Type& type, Value value) {
  if (IsNull(value)) return value;
  bool fits = false;
  switch (type.id) {
    case TypeId::kBoolean: fits = std::holds_alternative<bool>(value); break;
    case TypeId::kInt:
    case TypeId::kDate:
      if (const auto* wide = std::get_if<int64_t>(&value)) {
        if (*wide == static_cast<int32_t>(*wide)) value = static_cast<int32_t>(*wide);
      }
      fits = std::holds_alternative<int32_t>(value);
      break;
    case TypeId::kLong:
    case TypeId::kTime:
    case TypeId::kTimestamp:
    case TypeId::kTimestamptz:
      if (const auto* narrow = std::get_if<int32_t>(&value)) value = int64_t{*narrow};
      fits = std::holds_alternative<int64_t>(value);
      break;
    case TypeId::kFloat: fits = std::holds_alternative<float>(value); break;
    case TypeId::kDouble:
      if (const auto* narrow = std::get_if<float>(&value)) value = double{*narrow};
      fits = std::holds_alternative<double>(value);
      break;
    case TypeId::kDecimal:
      if (const auto* bytes = std::get_if<std::string>(&value)) {
        if (auto decimal = DecimalFromBytes(*bytes); decimal.ok()) value = *decimal;
      }
      fits = std::holds_alternative<arrow::Decimal128>(value);
      break;
    case TypeId::kUuid:
      fits =
          std::holds_alternative<std::string>(value) && std::get<std::string>(value).size() == 16;
      break;
    default: fits = std::holds_alternative<std::string>(value); break;
  }
  if (fits) return value;
  in.Fail("a partition value that is not of type " + TypeName(type));
  return {};
}

// UTF-16 code unit(s) of a code point as _x<hex>, as the reference implementation has it.
void AppendEscaped(std::string_view sequence, std::string* out) {
  const auto lead = static_cast<unsigned char>(sequence[0]);
  uint32_t point = sequence.size() == 1 ? lead : lead & (0x7F >> sequence.size());
  for (const char c : sequence.substr(1)) point = point << 6 | (c & 0x3F);
  if (point >= 0x10000) {
    point -= 0x10000;
    *out += fmt::format("_x{:X}_x{:X}", 0xD800 + (point >> 10), 0xDC00 + (point & 0x3FF));
  } else {
    *out += fmt::format("_x{:X}", point);
  }
}

}  // namespace

std::vector<Type> PartitionTypes(const ManifestHeader& header,
                                 const std::vector<ManifestEntry>& entries) {
  std::vector<Type> types;
  for (size_t i = 0; i < header.spec.fields.size(); ++i) {
    auto declared = DeclaredType(header, header.spec.fields[i]);
    types.push_back(declared ? *std::move(declared) : TypeOfValues(entries, i));
  }
  return types;
}

std::string AvroName(std::string_view name) {
  std::string out;
  while (!name.empty()) {
    const char c = name[0];
    const bool digit = c >= '0' && c <= '9';
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
    const size_t size = std::max<size_t>(1, SequenceLength(name));
    if (digit && out.empty()) out += '_';
    if (digit || letter) {
      out += c;
    } else {
      AppendEscaped(name.substr(0, size), &out);
    }
    name.remove_prefix(size);
  }
  return out.empty() ? "_" : out;
}

Result<std::string> PartitionSchemaJson(const PartitionSpec& spec, const std::vector<Type>& types) {
  std::string fields;
  std::set<std::string> seen;
  for (size_t i = 0; i < spec.fields.size(); ++i) {
    const PartitionField& field = spec.fields[i];
    const bool day = field.transform.kind == TransformKind::kDay;
    TL_ASSIGN_OR_RAISE(std::string type, AvroType(types[i], day, ""));
    if (!seen.insert(type).second) {
      TL_ASSIGN_OR_RAISE(type, AvroType(types[i], day, fmt::format("_{}", field.field_id)));
    }
    const std::string name = AvroName(field.name);
    std::string original;
    if (name != field.name) {
      original = R"("iceberg-field-name":)" +
                 nlohmann::json(field.name)
                     .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
                 ",";
    }
    fields += fmt::format(R"({}{{"name":"{}","type":["null",{}],"default":null,{}"field-id":{}}})",
                          i > 0 ? "," : "", name, type, original, field.field_id);
  }
  return fmt::format(R"({{"type":"record","name":"{}","fields":[{}]}})", kPartitionRecord, fields);
}

Status EncodePartition(const PartitionSpec& spec, const std::vector<Type>& types,
                       const std::vector<Value>& partition, avro::Encoder* out) {
  if (partition.size() != spec.fields.size()) {
    return InvalidArgument("{} partition values where the spec {} has {} fields", partition.size(),
                           spec.spec_id, spec.fields.size());
  }
  for (size_t i = 0; i < partition.size(); ++i) {
    out->Branch(IsNull(partition[i]) ? 0 : 1);
    if (IsNull(partition[i]) || EncodeValue(types[i], partition[i], out)) continue;
    return InvalidArgument("partition value of {} is not a {}", Quote(spec.fields[i].name),
                           TypeName(types[i]));
  }
  return Status::OK();
}

PartitionReader PartitionReader::Make(const avro::Node* record, const ManifestHeader& header) {
  PartitionReader reader;
  reader.record_ = record;
  reader.size_ = header.spec.fields.size();
  if (record == nullptr) return reader;
  std::set<int> found;
  for (const avro::RecordField& field : record->fields) {
    Step step;
    step.field = &field;
    for (size_t i = 0; i < reader.size_; ++i) {
      const PartitionField& wanted = header.spec.fields[i];
      const bool matches = field.id != avro::kNoId
                               ? field.id == wanted.field_id
                               : field.name == wanted.name || field.name == AvroName(wanted.name);
      if (!matches || !found.insert(static_cast<int>(i)).second) continue;
      step.index = static_cast<int>(i);
      if (auto type = DeclaredType(header, wanted)) {
        step.typed = true;
        step.type = *std::move(type);
      }
      break;
    }
    if (step.index >= 0 || field.type->fixed_size != 0) reader.steps_.push_back(std::move(step));
  }
  return reader;
}

void PartitionReader::Read(avro::Decoder& in, const avro::Node& node,
                           std::vector<Value>* partition) const {
  const avro::Node* type = avro::Present(in, node);
  partition->resize(size_);
  if (type == nullptr || !in.ok()) return;
  if (type != record_) return avro::FailType(in, *type, "a record");
  for (const Step& step : steps_) {
    if (step.index < 0) {
      in.Skip(*step.field->type);
    } else if (const avro::Node* value_type = avro::Present(in, *step.field->type)) {
      Value value = DecodeUntyped(in, *value_type);
      if (step.typed && in.ok()) value = Convert(in, step.type, std::move(value));
      (*partition)[static_cast<size_t>(step.index)] = std::move(value);
    }
    if (!in.ok()) return in.InField(step.field->name);
  }
}

}  // namespace timelake::iceberg
