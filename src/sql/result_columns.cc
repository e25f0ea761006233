#include "sql/result_columns.h"

#include <cstring>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <arrow/util/bit_util.h>
#include <arrow/util/bitmap_ops.h>
#include <duckdb/common/exception.hpp>
#include <duckdb/common/types/hugeint.hpp>
#include <duckdb/common/types/vector.hpp>

#include "sql/growing_buffer.h"

namespace timelake::sql {

namespace {

using duckdb::idx_t;
using duckdb::UnifiedVectorFormat;
using duckdb::Vector;
using duckdb::VectorType;

// The null bits of a growing column; none while there is no null.
class NullBits {
 public:
  void Append(const UnifiedVectorFormat& format, int64_t row, idx_t count) {
    if (format.validity.AllValid()) {
      // Once there is a null, a bit for each row.
      if (nulls_ > 0) {
        arrow::bit_util::SetBitsTo(Open(row, static_cast<int64_t>(count)), row,
                                   static_cast<int64_t>(count), true);
      }
      return;
    }
    uint8_t* bits = Open(row, static_cast<int64_t>(count));
    if (!format.sel->IsSet()) {
      const auto* source = reinterpret_cast<const uint8_t*>(format.validity.GetData());
      arrow::internal::CopyBitmap(source, 0, static_cast<int64_t>(count), bits, row);
      nulls_ += static_cast<int64_t>(count) -
                arrow::internal::CountSetBits(bits, row, static_cast<int64_t>(count));
      return;
    }
    for (idx_t i = 0; i < count; ++i) {
      const bool valid = format.validity.RowIsValidUnsafe(format.sel->get_index_unsafe(i));
      arrow::bit_util::SetBitTo(bits, row + static_cast<int64_t>(i), valid);
      nulls_ += valid ? 0 : 1;
    }
  }

  int64_t nulls() const { return nulls_; }

  // Null if all rows are valid.
  std::shared_ptr<arrow::Buffer> Finish() {
    filled_ = 0;
    if (std::exchange(nulls_, 0) > 0) return bits_.Finish();
    bits_ = {};
    return nullptr;
  }

 private:
  // Bits up to row + count, those before `row` filled.
  uint8_t* Open(int64_t row, int64_t count) {
    Extend(row + count);
    arrow::bit_util::SetBitsTo(bits_.data(), filled_, row - filled_, true);
    filled_ = row + count;
    return bits_.data();
  }

  void Extend(int64_t rows) {
    const int64_t more = arrow::bit_util::BytesForBits(rows) - bits_.size();
    std::memset(bits_.Reserve(more), 0, static_cast<size_t>(more));
    bits_.Advance(more);
  }

  GrowingBuffer bits_;
  int64_t filled_ = 0;
  int64_t nulls_ = 0;
};

class ColumnBase : public ResultColumn {
 public:
  explicit ColumnBase(std::shared_ptr<arrow::DataType> type) : type_(std::move(type)) {}

  void Append(Vector& values, idx_t count) final {
    UnifiedVectorFormat format;
    values.ToUnifiedFormat(count, format);
    AppendValues(values, format, count);
    nulls_.Append(format, rows_, count);
    rows_ += static_cast<int64_t>(count);
  }

  std::shared_ptr<arrow::ArrayData> Finish() final {
    const int64_t nulls = nulls_.nulls();
    std::vector<std::shared_ptr<arrow::Buffer>> buffers = {nulls_.Finish()};
    auto data = arrow::ArrayData::Make(type_, rows_, std::move(buffers), nulls);
    FinishValues(data.get());
    rows_ = 0;
    return data;
  }

 protected:
  // `format` is that of `values`. Under a null there may be anything.
  virtual void AppendValues(Vector& values, const UnifiedVectorFormat& format, idx_t count) = 0;
  virtual void FinishValues(arrow::ArrayData* data) = 0;

  int64_t rows() const { return rows_; }  // before those being appended

 private:
  const std::shared_ptr<arrow::DataType> type_;
  NullBits nulls_;
  int64_t rows_ = 0;
};

template <typename T>
class SameColumn : public ColumnBase {
 public:
  using ColumnBase::ColumnBase;

  void AppendValues(Vector&, const UnifiedVectorFormat& format, idx_t count) override {
    const auto bytes = static_cast<int64_t>(count * sizeof(T));
    uint8_t* out = values_.Reserve(bytes);
    const auto* source = reinterpret_cast<const T*>(format.data);
    if (!format.sel->IsSet()) {
      std::memcpy(out, source, static_cast<size_t>(bytes));
    } else {
      auto* target = reinterpret_cast<T*>(out);
      for (idx_t i = 0; i < count; ++i) target[i] = source[format.sel->get_index_unsafe(i)];
    }
    values_.Advance(bytes);
  }

  int64_t bytes() const override { return values_.size(); }
  void FinishValues(arrow::ArrayData* data) override { data->buffers.push_back(values_.Finish()); }

 private:
  GrowingBuffer values_;
};

// HUGEINT leaves as decimal(38, 0), which cannot hold all of its numbers.
class HugeColumn : public SameColumn<duckdb::hugeint_t> {
 public:
  using SameColumn::SameColumn;

  void AppendValues(Vector& values, const UnifiedVectorFormat& format, idx_t count) override {
    const auto* source = reinterpret_cast<const duckdb::hugeint_t*>(format.data);
    const duckdb::hugeint_t limit = duckdb::Hugeint::POWERS_OF_TEN[38];
    for (idx_t i = 0; i < count; ++i) {
      const idx_t at = format.sel->get_index(i);
      if (!format.validity.RowIsValid(at)) continue;
      if (source[at] < limit && source[at] > -limit) continue;
      throw duckdb::OutOfRangeException(
          "%s has more than the 38 digits of the DECIMAL(38, 0) that a HUGEINT leaves a query as; "
          "cast it to VARCHAR or DOUBLE",
          duckdb::Hugeint::ToString(source[at]));
    }
    SameColumn::AppendValues(values, format, count);
  }
};

template <typename T>
class DecimalColumn : public ColumnBase {
 public:
  using ColumnBase::ColumnBase;

  void AppendValues(Vector&, const UnifiedVectorFormat& format, idx_t count) override {
    const auto bytes = static_cast<int64_t>(count * 16);
    auto* out = reinterpret_cast<int64_t*>(values_.Reserve(bytes));
    const auto* source = reinterpret_cast<const T*>(format.data);
    for (idx_t i = 0; i < count; ++i) {
      const int64_t value = source[format.sel->get_index(i)];
      out[2 * i] = value;
      out[2 * i + 1] = value < 0 ? -1 : 0;
    }
    values_.Advance(bytes);
  }

  int64_t bytes() const override { return values_.size(); }
  void FinishValues(arrow::ArrayData* data) override { data->buffers.push_back(values_.Finish()); }

 private:
  GrowingBuffer values_;
};

class BitsColumn : public ColumnBase {
 public:
  using ColumnBase::ColumnBase;

  void AppendValues(Vector&, const UnifiedVectorFormat& format, idx_t count) override {
    const int64_t needed = arrow::bit_util::BytesForBits(rows() + static_cast<int64_t>(count));
    const int64_t more = needed - bits_.size();
    std::memset(bits_.Reserve(more), 0, static_cast<size_t>(more));
    bits_.Advance(more);
    uint8_t* bits = bits_.data();
    const auto* source = reinterpret_cast<const uint8_t*>(format.data);
    for (idx_t i = 0; i < count; ++i) {
      const uint64_t at = static_cast<uint64_t>(rows()) + i;
      // Under a null the byte may be any.
      const int bit = source[format.sel->get_index(i)] != 0 ? 1 : 0;
      bits[at / 8] = static_cast<uint8_t>(bits[at / 8] | (bit << (at % 8)));
    }
  }

  int64_t bytes() const override { return bits_.size(); }
  void FinishValues(arrow::ArrayData* data) override { data->buffers.push_back(bits_.Finish()); }

 private:
  GrowingBuffer bits_;
};

// Offsets and bytes of strings.
class StringBytes {
 public:
  // Room for `count` strings of so many bytes.
  void Reserve(idx_t count, int64_t bytes) {
    constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
    if (bytes_.size() + bytes > kMost) {
      // As DuckDB's own converter says it.
      throw duckdb::InvalidInputException(
          "Arrow Appender: The maximum total string size for regular string buffers is %u but the "
          "offset of %lu exceeds this.\n* SET arrow_large_buffer_size=true to use large string "
          "buffers",
          kMost, bytes_.size() + bytes);
    }
    if (offsets_.size() == 0) {
      *reinterpret_cast<int32_t*>(offsets_.Reserve(4)) = 0;
      offsets_.Advance(4);
    }
    next_offset_ = reinterpret_cast<int32_t*>(offsets_.Reserve(static_cast<int64_t>(count) * 4));
    offsets_.Advance(static_cast<int64_t>(count) * 4);
    begin_ = bytes_.Reserve(bytes + duckdb::string_t::INLINE_LENGTH) - bytes_.size();
  }

  void Add(const duckdb::string_t& value) {
    const auto size = static_cast<uint32_t>(value.GetSize());
    if (size <= duckdb::string_t::INLINE_LENGTH) {
      // A constant size is a few instructions; what is too much gets overwritten.
      std::memcpy(begin_ + bytes_.size(), value.GetPrefix(), duckdb::string_t::INLINE_LENGTH);
    } else {
      std::memcpy(begin_ + bytes_.size(), value.GetData(), size);
    }
    bytes_.Advance(size);
    AddNull();
  }

  void AddNull() { *next_offset_++ = static_cast<int32_t>(bytes_.size()); }

  int64_t bytes() const { return bytes_.size() + offsets_.size(); }

  void Finish(arrow::ArrayData* data) {
    Reserve(0, 0);
    data->buffers.push_back(offsets_.Finish());
    data->buffers.push_back(bytes_.Finish());
  }

 private:
  GrowingBuffer offsets_, bytes_;
  int32_t* next_offset_ = nullptr;
  uint8_t* begin_ = nullptr;
};

class TextColumn : public ColumnBase {
 public:
  using ColumnBase::ColumnBase;

  void AppendValues(Vector&, const UnifiedVectorFormat& format, idx_t count) override {
    const auto* source = UnifiedVectorFormat::GetData<duckdb::string_t>(format);
    const bool all_valid = format.validity.AllValid();
    uint64_t bytes = 0;
    for (idx_t i = 0; i < count; ++i) {
      const idx_t at = format.sel->get_index(i);
      if (all_valid || format.validity.RowIsValidUnsafe(at)) bytes += source[at].GetSize();
    }
    text_.Reserve(count, static_cast<int64_t>(bytes));
    for (idx_t i = 0; i < count; ++i) {
      const idx_t at = format.sel->get_index(i);
      if (all_valid || format.validity.RowIsValidUnsafe(at)) {
        text_.Add(source[at]);
      } else {
        text_.AddNull();
      }
    }
  }

  int64_t bytes() const override { return text_.bytes(); }
  void FinishValues(arrow::ArrayData* data) override { text_.Finish(data); }

 private:
  StringBytes text_;
};

class DictionaryColumn : public ColumnBase {
 public:
  using ColumnBase::ColumnBase;

  void AppendValues(Vector& values, const UnifiedVectorFormat& format, idx_t count) override {
    const auto bytes = static_cast<int64_t>(count * sizeof(int32_t));
    auto* out = reinterpret_cast<int32_t*>(codes_.Reserve(bytes));
    const auto* source = UnifiedVectorFormat::GetData<duckdb::string_t>(format);
    std::vector<int32_t>* known = KnownCodes(values);
    for (idx_t i = 0; i < count; ++i) {
      const idx_t at = format.sel->get_index(i);
      if (!format.validity.RowIsValid(at)) {
        out[i] = 0;
      } else if (!known) {
        out[i] = CodeOf(source[at]);
      } else {
        int32_t& code = (*known)[at];
        if (code < 0) code = CodeOf(source[at]);
        out[i] = code;
      }
    }
    codes_.Advance(bytes);
  }

  int64_t bytes() const override { return codes_.size() + text_.bytes(); }

  void FinishValues(arrow::ArrayData* data) override {
    data->buffers.push_back(codes_.Finish());
    auto dictionary =
        arrow::ArrayData::Make(arrow::utf8(), static_cast<int64_t>(entries_.size()), {nullptr}, 0);
    text_.Finish(dictionary.get());
    data->dictionary = std::move(dictionary);
    entries_.clear();
    known_.clear();
    last_known_ = nullptr;
  }

 private:
  // Codes by positions in the dictionary of `values`, -1 where not known yet; null if they are not
  // from a dictionary that can be recognised.
  std::vector<int32_t>* KnownCodes(const Vector& values) {
    if (values.GetVectorType() != VectorType::DICTIONARY_VECTOR) return nullptr;
    const auto size = duckdb::DictionaryVector::DictionarySize(values);
    const std::string& id = duckdb::DictionaryVector::DictionaryId(values);
    if (!size.IsValid() || id.empty()) return nullptr;
    if (duckdb::DictionaryVector::Child(values).GetVectorType() != VectorType::FLAT_VECTOR) {
      return nullptr;  // positions in `values` are not those in the dictionary
    }
    if (!last_known_ || last_id_ != id) {
      last_id_ = id;
      last_known_ = &known_[id];
    }
    if (last_known_->size() < size.GetIndex()) last_known_->resize(size.GetIndex(), -1);
    return last_known_;
  }

  int32_t CodeOf(const duckdb::string_t& value) {
    const std::string_view text(value.GetData(), value.GetSize());
    if (const auto found = entries_.find(text); found != entries_.end()) return found->second;
    const auto code = static_cast<int32_t>(entries_.size());
    text_.Reserve(1, static_cast<int64_t>(text.size()));
    text_.Add(value);
    entries_.emplace(text, code);
    return code;
  }

  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
  };

  GrowingBuffer codes_;
  StringBytes text_;
  std::unordered_map<std::string, int32_t, Hash, std::equal_to<>> entries_;
  std::unordered_map<std::string, std::vector<int32_t>> known_;  // by the dictionaries' ids
  std::string last_id_;
  std::vector<int32_t>* last_known_ = nullptr;
};

template <template <typename> typename Column>
std::unique_ptr<ResultColumn> ByWidth(duckdb::PhysicalType physical,
                                      std::shared_ptr<arrow::DataType> type) {
  switch (duckdb::GetTypeIdSize(physical)) {
    case 1: return std::make_unique<Column<int8_t>>(std::move(type));
    case 2: return std::make_unique<Column<int16_t>>(std::move(type));
    case 4: return std::make_unique<Column<int32_t>>(std::move(type));
    case 8: return std::make_unique<Column<int64_t>>(std::move(type));
    default: return std::make_unique<SameColumn<duckdb::hugeint_t>>(std::move(type));
  }
}

}  // namespace

std::unique_ptr<ResultColumn> MakeResultColumn(ColumnPath path, const duckdb::LogicalType& type,
                                               std::shared_ptr<arrow::DataType> arrow_type) {
  switch (path) {
    case ColumnPath::kBits: return std::make_unique<BitsColumn>(std::move(arrow_type));
    case ColumnPath::kHuge: return std::make_unique<HugeColumn>(std::move(arrow_type));
    case ColumnPath::kSame: return ByWidth<SameColumn>(type.InternalType(), std::move(arrow_type));
    case ColumnPath::kDecimal:
      return ByWidth<DecimalColumn>(type.InternalType(), std::move(arrow_type));
    case ColumnPath::kText: return std::make_unique<TextColumn>(std::move(arrow_type));
    case ColumnPath::kDictionary: return std::make_unique<DictionaryColumn>(std::move(arrow_type));
    case ColumnPath::kOther: break;
  }
  return nullptr;
}

}  // namespace timelake::sql
