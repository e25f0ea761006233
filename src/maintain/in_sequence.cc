#include "maintain/in_sequence.h"

#include <algorithm>
#include <utility>

#include "iceberg/value.h"

namespace timelake::maintain {
namespace {

using iceberg::Value;

// What a file holds of the columns of the order.
struct Extent {
  const scan::ScanFile* file = nullptr;
  std::vector<Value> keys;  // null: all rows are
  Value first, last;        // times
};

std::optional<Value> BoundOf(const iceberg::Field& field,
                             const std::map<int, std::string>& bounds) {
  const auto bound = bounds.find(field.id);
  if (bound == bounds.end()) return std::nullopt;
  auto value = iceberg::FromBytes(field.type, bound->second);
  if (!value.ok()) return std::nullopt;
  return *std::move(value);
}

// The value that all rows have.
std::optional<Value> OnlyValue(const iceberg::Field& field, const iceberg::DataFile& file) {
  const auto nulls = file.null_value_counts.find(field.id);
  if (nulls == file.null_value_counts.end()) return std::nullopt;
  if (nulls->second == file.record_count) return Value();
  auto lower = BoundOf(field, file.lower_bounds);
  const auto upper = BoundOf(field, file.upper_bounds);
  // A bound that was cut short is no value: then the upper one was made greater.
  if (nulls->second != 0 || !lower || !upper || iceberg::Compare(*lower, *upper) != 0) {
    return std::nullopt;
  }
  return lower;
}

bool ReadExtent(const write::Target& target, const scan::ScanFile& file, Extent* extent) {
  extent->file = &file;
  const auto& order = target.order.fields;
  for (const iceberg::SortField& by : order) {
    const auto& fields = target.schema.fields;
    const auto field = std::find_if(fields.begin(), fields.end(),
                                    [&](const auto& f) { return f.id == by.source_id; });
    if (field == fields.end()) return false;
    if (&by == &order.back()) {
      const auto first = BoundOf(*field, file.data->lower_bounds);
      const auto last = BoundOf(*field, file.data->upper_bounds);
      const auto nulls = file.data->null_value_counts.find(field->id);
      if (!first || !last || nulls == file.data->null_value_counts.end() || nulls->second != 0) {
        return false;
      }
      extent->first = *first;
      extent->last = *last;
    } else {
      auto only = OnlyValue(*field, *file.data);
      if (!only) return false;
      extent->keys.push_back(*std::move(only));
    }
  }
  return true;
}

// As the rows of the files are ordered. Null is the least value of Compare.
int CompareKeys(const write::Target& target, const Extent& a, const Extent& b) {
  for (size_t i = 0; i < a.keys.size(); ++i) {
    const iceberg::SortField& by = target.order.fields[i];
    int order = iceberg::Compare(a.keys[i], b.keys[i]);
    if (iceberg::IsNull(a.keys[i]) || iceberg::IsNull(b.keys[i])) {
      if (by.null_order == iceberg::NullOrder::kLast) order = -order;
    } else if (by.direction == iceberg::SortDirection::kDescending) {
      order = -order;
    }
    if (order != 0) return order;
  }
  return 0;
}

}  // namespace

std::optional<std::vector<const scan::ScanFile*>> InSequence(
    const write::Target& target, const std::vector<const scan::ScanFile*>& files) {
  const auto& order = target.order.fields;
  // Times ascend, as the contract has it; whoever orders otherwise is not guessed at.
  if (order.empty() || !target.contract.time_id ||
      order.back().source_id != *target.contract.time_id ||
      order.back().direction != iceberg::SortDirection::kAscending) {
    return std::nullopt;
  }
  std::vector<Extent> extents(files.size());
  for (size_t i = 0; i < files.size(); ++i) {
    if (!ReadExtent(target, *files[i], &extents[i])) return std::nullopt;
  }
  std::stable_sort(extents.begin(), extents.end(), [&](const Extent& a, const Extent& b) {
    const int keys = CompareKeys(target, a, b);
    return keys != 0 ? keys < 0 : iceberg::Compare(a.first, b.first) < 0;
  });
  std::vector<const scan::ScanFile*> sequence;
  for (size_t i = 0; i < extents.size(); ++i) {
    const bool touches = i > 0 && CompareKeys(target, extents[i - 1], extents[i]) == 0 &&
                         iceberg::Compare(extents[i - 1].last, extents[i].first) >= 0;
    if (touches) return std::nullopt;
    sequence.push_back(extents[i].file);
  }
  return sequence;
}

}  // namespace timelake::maintain
