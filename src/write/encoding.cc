#include "write/encoding.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <optional>
#include <string_view>

#include <arrow/extension_type.h>

#include "write/sampler.h"

namespace timelake::write {
namespace {

using iceberg::TypeId;

constexpr int64_t kMiniBlock = 32;  // of DELTA_BINARY_PACKED: one bit width for so many values

// The rows of a file that is about to be written.
struct FileRows {
  const std::vector<uint32_t>* order;
  int64_t begin, end;
  int64_t group_rows;  // rows of its largest row group

  int64_t count() const { return end - begin; }
  int64_t at(int64_t i) const { return (*order)[begin + i]; }
};

// Numbers of a column, whole or in parts.
template <typename T>
class Cells {
 public:
  Cells(const Rows& rows, size_t column) : whole_(rows.columns[column].get()), map_(rows.part_map) {
    if (whole_ != nullptr) {
      values_.push_back(whole_->data()->GetValues<T>(1));
      nulls_ = whole_->null_count() > 0;
      return;
    }
    for (const auto& part : rows.parts[column]) {
      parts_.push_back(part.get());
      nulls_ = nulls_ || part->null_count() > 0;
      values_.push_back(part->data()->GetValues<T>(1));
    }
  }

  std::optional<T> operator()(int64_t row) const {
    if (whole_ != nullptr) {
      return nulls_ && whole_->IsNull(row) ? std::nullopt : std::make_optional(values_[0][row]);
    }
    const PartMap::Place place = map_.Find(row);
    if (nulls_ && parts_[place.part]->IsNull(place.row)) return std::nullopt;
    return values_[place.part][place.row];
  }

 private:
  const arrow::Array* whole_;
  const PartMap& map_;
  std::vector<const arrow::Array*> parts_;
  std::vector<const T*> values_;
  bool nulls_ = false;
};

int64_t SampledRows(const FileRows& rows) { return std::min(rows.count(), kBlocks * kBlockRows); }

// Calls `begin_block()` and `visit(row)` for the sampled rows; true if that was every row.
template <typename Begin, typename Visit>
bool VisitSample(const FileRows& rows, Begin&& begin_block, Visit&& visit) {
  const bool complete = SampledRows(rows) == rows.count();
  const int64_t blocks = complete ? 1 : kBlocks;
  const int64_t length = complete ? rows.count() : kBlockRows;
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t first = blocks == 1 ? 0 : block * (rows.count() - length) / (blocks - 1);
    begin_block();
    for (int64_t i = first; i < first + length; ++i) visit(rows.at(i));
  }
  return complete;
}

// Bits of the differences of a run of neighbours, as DELTA_BINARY_PACKED stores them.
double DeltaBits(const std::vector<int64_t>& values) {
  double bits = 0;
  int64_t counted = 0;
  for (size_t first = 0; first + 1 < values.size(); first += kMiniBlock) {
    const size_t last = std::min(values.size() - 1, first + kMiniBlock);
    int64_t low = INT64_MAX, high = INT64_MIN;
    for (size_t i = first; i < last; ++i) {
      const int64_t delta = static_cast<int64_t>(static_cast<uint64_t>(values[i + 1]) -
                                                 static_cast<uint64_t>(values[i]));
      low = std::min(low, delta);
      high = std::max(high, delta);
    }
    const uint64_t range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low);
    bits += std::bit_width(range) * static_cast<double>(last - first);
    counted += static_cast<int64_t>(last - first);
  }
  return counted == 0 ? 0 : bits / static_cast<double>(counted);
}

template <typename T>
Sample SampleIntegers(const Cells<T>& cells, const FileRows& rows) {
  Sampler<uint64_t> sampler(SampledRows(rows));
  std::vector<int64_t> block;
  double bits = 0, blocks = 0;
  const auto end_block = [&] {
    bits += DeltaBits(block);
    blocks += !block.empty();
    block.clear();
  };
  const bool complete = VisitSample(
      rows,
      [&] {
        end_block();
        sampler.BeginBlock();
      },
      [&](int64_t row) {
        const auto value = cells(row);
        if (!value) return;
        sampler.Add(static_cast<uint64_t>(*value), sizeof(T));
        block.push_back(*value);
      });
  end_block();
  Sample sample = sampler.Finish(complete, rows.group_rows);
  sample.delta_bits = blocks == 0 ? 0 : bits / blocks;
  return sample;
}

template <typename T, typename Bits>
Sample SampleFloats(const Cells<T>& cells, const FileRows& rows) {
  Sampler<uint64_t> sampler(SampledRows(rows));
  const bool complete = VisitSample(
      rows, [&] { sampler.BeginBlock(); },
      [&](int64_t row) {
        if (const auto value = cells(row)) sampler.Add(std::bit_cast<Bits>(*value), sizeof(T));
      });
  return sampler.Finish(complete, rows.group_rows);
}

template <typename Array>
Sample SampleBytes(const arrow::Array& array, const FileRows& rows) {
  const auto& bytes = static_cast<const Array&>(array);
  Sampler<std::string_view> sampler(SampledRows(rows));
  const bool complete = VisitSample(
      rows, [&] { sampler.BeginBlock(); },
      [&](int64_t row) {
        if (bytes.IsNull(row)) return;
        const std::string_view view = bytes.GetView(row);
        sampler.Add(view, view.size() + sizeof(uint32_t));
      });
  return sampler.Finish(complete, rows.group_rows);
}

// Whether so few rows use a large dictionary that even their values one by one stay within the
// limit.
bool RowsFit(const arrow::StringArray& strings, const arrow::Int32Array& indices,
             const FileRows& rows, int64_t limit) {
  int64_t bytes = 0;
  for (int64_t i = 0; i < rows.count() && bytes <= limit; ++i) {
    const int64_t row = rows.at(i);
    if (indices.IsNull(row)) continue;
    bytes += strings.value_length(indices.Value(row)) + static_cast<int64_t>(sizeof(uint32_t));
  }
  return bytes <= limit;
}

// Whether the values that each row group uses stay within the limit as a dictionary page.
bool DictionaryFits(const arrow::DictionaryArray& array, const FileRows& rows, int64_t limit) {
  const auto& strings = static_cast<const arrow::StringArray&>(*array.dictionary());
  const int64_t prefix = sizeof(uint32_t);
  if (strings.total_values_length() + prefix * strings.length() <= limit) return true;
  const auto& indices = static_cast<const arrow::Int32Array&>(*array.indices());
  if (RowsFit(strings, indices, rows, limit)) return true;
  std::vector<int64_t> last_group(static_cast<size_t>(strings.length()), -1);
  int64_t bytes = 0;
  for (int64_t i = 0; i < rows.count(); ++i) {
    const int64_t group = i / rows.group_rows;
    if (i % rows.group_rows == 0) bytes = 0;
    const int64_t row = rows.at(i);
    if (indices.IsNull(row)) continue;
    int64_t& last = last_group[indices.Value(row)];
    if (last == group) continue;
    last = group;
    bytes += strings.value_length(indices.Value(row)) + prefix;
    if (bytes > limit) return false;
  }
  return true;
}

ColumnEncoding ChooseInteger(const Sample& sample, const table::Settings& settings,
                             int64_t group_rows) {
  const int64_t limit = settings.dictionary_page_bytes;
  if (settings.integer_encoding == "dictionary") return ColumnEncoding::kDictionary;
  if (settings.integer_encoding == "delta-binary-packed") return ColumnEncoding::kDelta;
  if (sample.bytes > static_cast<double>(limit)) return ColumnEncoding::kDelta;
  // Codes of a run are stored once.
  const double code_bits = std::ceil(std::log2(std::max(1.0, sample.distinct)));
  const double bits = code_bits * std::min(1.0, 2 * sample.changes) +
                      8 * sample.bytes / static_cast<double>(group_rows);
  return bits <= sample.delta_bits + 1 ? ColumnEncoding::kDictionary : ColumnEncoding::kDelta;
}

ColumnEncoding ChooseFloat(const Sample& sample, const table::Settings& settings,
                           int64_t group_rows) {
  if (settings.float_encoding == "dictionary") return ColumnEncoding::kDictionary;
  const bool repeats = sample.bytes <= static_cast<double>(settings.dictionary_page_bytes) &&
                       4 * sample.distinct <= static_cast<double>(group_rows);
  return repeats && settings.float_encoding != "byte-stream-split"
             ? ColumnEncoding::kDictionary
             : ColumnEncoding::kByteStreamSplit;
}

// What the setting `string-encoding` says; nullopt: auto.
std::optional<ColumnEncoding> ChosenStrings(const table::Settings& settings) {
  const std::string& chosen = settings.string_encoding;
  if (chosen == "dictionary") return ColumnEncoding::kDictionary;
  if (chosen == "plain") return ColumnEncoding::kPlain;
  if (chosen == "delta-length-byte-array") return ColumnEncoding::kDeltaLengths;
  if (chosen == "delta-byte-array") return ColumnEncoding::kDeltaStrings;
  return std::nullopt;
}

ColumnEncoding ChooseBytes(const Sample& sample, int64_t limit, int64_t group_rows) {
  const bool repeats = sample.bytes <= static_cast<double>(limit) &&
                       2 * sample.distinct <= static_cast<double>(group_rows);
  return repeats ? ColumnEncoding::kDictionary : ColumnEncoding::kPlain;
}

template <typename T>
bool HasNan(const Cells<T>& cells, const FileRows& rows) {
  for (int64_t i = 0; i < rows.count(); ++i) {
    const auto value = cells(rows.at(i));
    if (value && std::isnan(*value)) return true;
  }
  return false;
}

template <typename T>
ColumnPlan PlanIntegers(const Rows& rows, size_t column, const FileRows& file,
                        const table::Settings& settings) {
  ColumnPlan plan;
  plan.encoding =
      ChooseInteger(SampleIntegers(Cells<T>(rows, column), file), settings, file.group_rows);
  return plan;
}

template <typename T, typename Bits>
ColumnPlan PlanFloats(const Rows& rows, size_t column, const FileRows& file,
                      const table::Settings& settings) {
  const Cells<T> cells(rows, column);
  ColumnPlan plan;
  plan.encoding = ChooseFloat(SampleFloats<T, Bits>(cells, file), settings, file.group_rows);
  plan.statistics = !(rows.may_hold_nan[column] != 0 && HasNan(cells, file));
  return plan;
}

// Columns of other types, which are never in parts.
ColumnPlan PlanWhole(const arrow::Array& array, bool may_hold_nan, const FileRows& rows,
                     const table::Settings& settings) {
  using arrow::Type;
  const int64_t limit = settings.dictionary_page_bytes;
  ColumnPlan plan;
  switch (array.type_id()) {
    case Type::BOOL: plan.encoding = ColumnEncoding::kPlain; break;
    case Type::DICTIONARY:
      if (const auto chosen = ChosenStrings(settings)) {
        plan.encoding = *chosen;
      } else if (!DictionaryFits(static_cast<const arrow::DictionaryArray&>(array), rows, limit)) {
        plan.encoding = ColumnEncoding::kPlain;
      }
      plan.arrow_dictionary = plan.encoding == ColumnEncoding::kDictionary;
      break;
    case Type::STRING:
    case Type::BINARY:
      if (const auto chosen = ChosenStrings(settings)) {
        plan.encoding = *chosen;
      } else {
        plan.encoding =
            ChooseBytes(SampleBytes<arrow::BinaryArray>(array, rows), limit, rows.group_rows);
      }
      break;
    case Type::DECIMAL128:
    case Type::FIXED_SIZE_BINARY:
      plan.encoding = ChooseBytes(SampleBytes<arrow::FixedSizeBinaryArray>(array, rows), limit,
                                  rows.group_rows);
      break;
    case Type::EXTENSION:
      return PlanWhole(*static_cast<const arrow::ExtensionArray&>(array).storage(), may_hold_nan,
                       rows, settings);
    default:  // nested: dictionaries, as Arrow's writer does by itself
      plan.statistics = !may_hold_nan;
      break;
  }
  return plan;
}

ColumnPlan PlanColumn(const Rows& rows, size_t column, const FileRows& file,
                      const table::Settings& settings) {
  using arrow::Type;
  switch (rows.type(column)->id()) {
    case Type::INT32:
    case Type::DATE32: return PlanIntegers<int32_t>(rows, column, file, settings);
    case Type::INT64:
    case Type::TIME64:
    case Type::TIMESTAMP: return PlanIntegers<int64_t>(rows, column, file, settings);
    case Type::FLOAT: return PlanFloats<float, uint32_t>(rows, column, file, settings);
    case Type::DOUBLE: return PlanFloats<double, uint64_t>(rows, column, file, settings);
    default: break;
  }
  return PlanWhole(*rows.columns[column], rows.may_hold_nan[column] != 0, file, settings);
}

}  // namespace

std::vector<ColumnPlan> PlanColumns(const iceberg::Schema& schema,
                                    const std::vector<int>& delta_ids,
                                    const table::Settings& settings, const Rows& rows,
                                    const std::vector<uint32_t>& order, int64_t begin, int64_t end,
                                    int64_t row_group_rows) {
  const FileRows file{&order, begin, end, std::min(end - begin, row_group_rows)};
  std::vector<ColumnPlan> plans;
  for (size_t i = 0; i < schema.fields.size(); ++i) {
    const bool delta =
        std::find(delta_ids.begin(), delta_ids.end(), schema.fields[i].id) != delta_ids.end();
    if (delta) {
      plans.push_back({.encoding = ColumnEncoding::kDelta});
    } else {
      plans.push_back(PlanColumn(rows, i, file, settings));
    }
    const auto& bloom = settings.bloom_columns;
    plans.back().bloom_filter =
        std::find(bloom.begin(), bloom.end(), schema.fields[i].name) != bloom.end();
  }
  return plans;
}

}  // namespace timelake::write
