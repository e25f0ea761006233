#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include <arrow/array.h>
#include <arrow/compute/api.h>

#include "base/text.h"
#include "iceberg/arrow_schema.h"
#include "write/convert.h"

// Values for struct, list and map columns.

namespace timelake::write {
namespace {

using arrow::Type;
using iceberg::TypeId;

int64_t SameRow(int64_t row) { return row; }

// A field that must not be null, although its parent is there. `parent` may be null.
Status CheckRequired(const Place& place, const arrow::Array& array, const arrow::Array* parent) {
  if (array.null_count() == 0) return Status::OK();
  for (int64_t i = 0; i < array.length(); ++i) {
    if (array.IsNull(i) && (parent == nullptr || parent->IsValid(i))) {
      return InvalidArgument("{}: null, but the column is required", place.At(i));
    }
  }
  return Status::OK();
}

Status CheckMembers(const Place& place, const arrow::StructType& given, const iceberg::Type& type) {
  std::set<std::string> known, seen;
  for (const iceberg::Field& field : type.fields) known.insert(field.name);
  for (const auto& field : given.fields()) {
    if (!seen.insert(field->name()).second) {
      return InvalidArgument("{}: the data has two fields {}", place.Whole(), Quote(field->name()));
    }
    if (!known.count(field->name())) {
      return InvalidArgument("{}: field {} is not in the table's schema; known are {}",
                             place.Whole(), Quote(field->name()),
                             Join({known.begin(), known.end()}, ", "));
    }
  }
  return Status::OK();
}

Result<std::shared_ptr<arrow::Array>> ToStruct(const Place& place, const arrow::StructArray& given,
                                               const iceberg::Type& type) {
  TL_RETURN_NOT_OK(CheckMembers(place, *given.struct_type(), type));
  std::vector<std::shared_ptr<arrow::Array>> children;
  for (const iceberg::Field& field : type.fields) {
    const Place child_place = place.Child(field.name, SameRow);
    const int index = given.struct_type()->GetFieldIndex(field.name);
    if (index < 0) {
      if (field.required) {
        return InvalidArgument("{}: the column is required, but missing in the data",
                               child_place.Whole());
      }
      TL_ASSIGN_OR_RAISE(children.emplace_back(),
                         arrow::MakeArrayOfNull(iceberg::ToArrow(field.type), given.length()));
      continue;
    }
    // Flattened: values below a null struct are null, whatever the data holds there.
    TL_ASSIGN_OR_RAISE(auto child, given.GetFlattenedField(index));
    TL_ASSIGN_OR_RAISE(children.emplace_back(), Convert(child_place, child, field.type, false));
    if (field.required) {
      TL_RETURN_NOT_OK(CheckRequired(child_place, *children.back(), &given));
    }
  }
  TL_ASSIGN_OR_RAISE(auto validity, ValidityOf(given));
  return std::make_shared<arrow::StructArray>(iceberg::ToArrow(type), given.length(), children,
                                              validity, given.null_count());
}

// The elements of all non-null lists one after the other, and where each list begins.
struct Elements {
  std::shared_ptr<arrow::Array> values;
  std::shared_ptr<arrow::Buffer> offsets;
  std::function<int64_t(int64_t)> list_of;  // element -> list
};

Result<Elements> ElementsOf(const arrow::ListArray& lists) {
  Elements elements;
  TL_ASSIGN_OR_RAISE(elements.values, lists.Flatten());
  TL_ASSIGN_OR_RAISE(elements.offsets,
                     arrow::AllocateBuffer((lists.length() + 1) * sizeof(int32_t)));
  auto* offsets = reinterpret_cast<int32_t*>(elements.offsets->mutable_data());
  offsets[0] = 0;
  for (int64_t i = 0; i < lists.length(); ++i) {
    offsets[i + 1] = offsets[i] + (lists.IsNull(i) ? 0 : lists.value_length(i));
  }
  elements.list_of = [offsets, length = lists.length()](int64_t element) {
    return std::upper_bound(offsets, offsets + length + 1, element) - offsets - 1;
  };
  return elements;
}

Result<std::shared_ptr<arrow::Array>> ToList(const Place& place, const arrow::ListArray& given,
                                             const iceberg::Type& type) {
  TL_ASSIGN_OR_RAISE(Elements elements, ElementsOf(given));
  const iceberg::Field& element = type.fields[0];
  const Place child_place = place.Child(element.name, elements.list_of);
  TL_ASSIGN_OR_RAISE(auto values, Convert(child_place, elements.values, element.type, false));
  if (element.required) TL_RETURN_NOT_OK(CheckRequired(child_place, *values, nullptr));
  TL_ASSIGN_OR_RAISE(auto validity, ValidityOf(given));
  return std::make_shared<arrow::ListArray>(iceberg::ToArrow(type), given.length(),
                                            elements.offsets, values, validity, given.null_count());
}

Result<std::shared_ptr<arrow::Array>> ToMap(const Place& place, const arrow::MapArray& given,
                                            const iceberg::Type& type) {
  // A map has the layout of a list of (key, value) structs.
  auto data = given.data()->Copy();
  data->type = arrow::list(given.map_type()->value_field());
  TL_ASSIGN_OR_RAISE(Elements elements, ElementsOf(arrow::ListArray(data)));
  const auto& entries = static_cast<const arrow::StructArray&>(*elements.values);
  std::shared_ptr<arrow::Array> columns[2];
  for (int i = 0; i < 2; ++i) {
    const iceberg::Field& field = type.fields[i];
    const Place child_place = place.Child(field.name, elements.list_of);
    TL_ASSIGN_OR_RAISE(auto child, entries.GetFlattenedField(i));
    TL_ASSIGN_OR_RAISE(columns[i], Convert(child_place, child, field.type, false));
    if (i == 0 || field.required) {
      TL_RETURN_NOT_OK(CheckRequired(child_place, *columns[i], nullptr));
    }
  }
  TL_ASSIGN_OR_RAISE(auto validity, ValidityOf(given));
  return std::make_shared<arrow::MapArray>(iceberg::ToArrow(type), given.length(), elements.offsets,
                                           columns[0], columns[1], validity, given.null_count());
}

}  // namespace

Result<std::shared_ptr<arrow::Array>> ConvertNested(const Place& place,
                                                    const std::shared_ptr<arrow::Array>& array,
                                                    const iceberg::Type& type) {
  if (type.id == TypeId::kStruct && array->type_id() == Type::STRUCT) {
    return ToStruct(place, static_cast<const arrow::StructArray&>(*array), type);
  }
  if (type.id == TypeId::kList && array->type_id() == Type::LIST) {
    return ToList(place, static_cast<const arrow::ListArray&>(*array), type);
  }
  if (type.id == TypeId::kMap && array->type_id() == Type::MAP) {
    return ToMap(place, static_cast<const arrow::MapArray&>(*array), type);
  }
  return TypeMismatch(place, *array->type(), type);
}

}  // namespace timelake::write
