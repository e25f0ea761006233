#include "write/number_chunk.h"

#include <type_traits>
#include <utility>
#include <vector>

#include <parquet/bloom_filter.h>
#include <parquet/properties.h>
#include <parquet/schema.h>

#include "write/byte_split.h"
#include "write/chunk_pages.h"
#include "write/delta_packed.h"
#include "write/hybrid_runs.h"
#include "write/number_bounds.h"
#include "write/page_indices.h"
#include "write/page_rows.h"
#include "write/value_numbers.h"

namespace timelake::write {
namespace {

// `T` is the number, with the size of its Parquet type.
template <typename T>
class NumberChunk : public ColumnChunk {
 public:
  explicit NumberChunk(const ChunkPlace& place)
      : place_(place),
        pages_(place),
        cutter_(static_cast<size_t>(place.properties->max_rows_per_page())),
        nullable_(place.descriptor->max_definition_level() > 0),
        dictionary_open_(place.plan.encoding == ColumnEncoding::kDictionary) {}

  Status Append(const arrow::Array& rows) override {
    if (!nullable_ && rows.null_count() > 0) {
      return InvalidArgument("column {} holds nulls, but is required",
                             place_.descriptor->path()->ToDotString());
    }
    const T* values = rows.data()->GetValues<T>(1);
    if (dictionary_open_) cutter_.SetLength(rows, values, place_);
    return cutter_.Append(rows, values, [this](const PageOfRows<T>& page) { return Encode(page); });
  }

  Status Finish() override {
    TL_RETURN_NOT_OK(cutter_.Flush([this](const PageOfRows<T>& page) { return Encode(page); }));
    if (place_.bloom_filter == nullptr) return Status::OK();
    for (const Bits value : numbers_.values()) AddToFilter(value);
    return Status::OK();
  }

  bool knows_facts() const override { return true; }

  LeafFacts Facts() const override {
    LeafFacts facts{.values = pages_.rows(), .nulls = pages_.nulls(), .nans = nans_};
    if (bounds_.any) {
      facts.min = bounds_.min;
      facts.max = bounds_.max;
    }
    return facts;
  }

  Result<int64_t> WriteTo(const std::shared_ptr<arrow::io::OutputStream>& sink) override {
    const auto& values = numbers_.values();
    page_.Clear();
    page_.Append(values.data(), values.size() * sizeof(Bits));
    return pages_.WriteTo(sink, dictionary_used_ ? &page_ : nullptr, values.size(),
                          bounds_.Encode());
  }

 private:
  using Bits = std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>;

  Status Encode(const PageOfRows<T>& page) {
    const auto bounds = NumberBounds<T>::Of(page.values, page.count, &nans_);
    bounds_.Add(bounds);
    PageFacts facts{.rows = static_cast<int64_t>(page.rows),
                    .nulls = static_cast<int64_t>(page.rows - page.count),
                    .bounds = bounds.Encode()};
    page_.Clear();
    if (nullable_) AppendLevels(page.levels, page.rows, &page_);
    TL_ASSIGN_OR_RAISE(const bool indices, TryIndices(page));
    if (indices) {
      facts.encoding = parquet::Encoding::RLE_DICTIONARY;
      dictionary_used_ = true;
    } else {
      facts.encoding = AppendValues(page);
      if (place_.bloom_filter != nullptr) {
        for (size_t i = 0; i < page.count; ++i) AddToFilter(BitsOf(page.values[i]));
      }
    }
    return pages_.Add(page_, std::move(facts));
  }

  static Bits BitsOf(T value) {
    Bits bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return bits;
  }

  // Appends the page's indices to `page_`, if the dictionary is open and stays so.
  Result<bool> TryIndices(const PageOfRows<T>& page) {
    if (!dictionary_open_ || !NumberValues(page)) return false;
    TL_RETURN_NOT_OK(index_pages_.Append(indices_.data(), page.count, largest_, &pages_, &page_));
    return true;
  }

  // False, with nothing added, if the dictionary would get too large: it is closed then.
  bool NumberValues(const PageOfRows<T>& page) {
    const size_t before = numbers_.values().size();
    indices_.resize(page.count);
    largest_ = 0;
    Bits last = 0;
    uint32_t number = 0;
    for (size_t i = 0; i < page.count; ++i) {
      const Bits bits = BitsOf(page.values[i]);
      if (bits != last || i == 0) {
        number = numbers_.NumberOf(bits);
        largest_ = std::max(largest_, number);
        last = bits;
      }
      indices_[i] = number;
    }
    const auto limit = static_cast<size_t>(place_.properties->dictionary_pagesize_limit());
    if (numbers_.values().size() * sizeof(Bits) <= limit) return true;
    numbers_.Close(before);
    dictionary_open_ = false;
    return false;
  }

  parquet::Encoding::type AppendValues(const PageOfRows<T>& page) {
    const bool plain = place_.plan.encoding == ColumnEncoding::kPlain;
    if constexpr (std::is_floating_point_v<T>) {
      if (!plain) {
        AppendSplit<sizeof(T)>(page.values, page.count, &page_);
        return parquet::Encoding::BYTE_STREAM_SPLIT;
      }
    } else {
      if (!plain) {
        AppendDeltaPacked(page.values, page.count, &page_);
        return parquet::Encoding::DELTA_BINARY_PACKED;
      }
    }
    page_.Append(page.values, page.count * sizeof(T));
    return parquet::Encoding::PLAIN;
  }

  void AddToFilter(Bits bits) {
    T value;
    std::memcpy(&value, &bits, sizeof(value));
    place_.bloom_filter->InsertHash(place_.bloom_filter->Hash(value));
  }

  ChunkPlace place_;
  ChunkPages pages_;
  PageCutter<T> cutter_;
  bool nullable_;
  bool dictionary_open_;
  bool dictionary_used_ = false;
  ValueNumbers<Bits> numbers_;
  NumberBounds<T> bounds_;
  int64_t nans_ = 0;
  PageBytes page_;
  PageIndices index_pages_;
  std::vector<uint32_t> indices_;  // of the page
  uint32_t largest_ = 0;           // of those
};

}  // namespace

std::unique_ptr<ColumnChunk> MakeNumberChunk(const ChunkPlace& place, const arrow::DataType& type) {
  using arrow::Type;
  switch (type.id()) {
    case Type::INT32:
    case Type::DATE32: return std::make_unique<NumberChunk<int32_t>>(place);
    case Type::INT64:
    case Type::TIME64:
    case Type::TIMESTAMP: return std::make_unique<NumberChunk<int64_t>>(place);
    case Type::FLOAT: return std::make_unique<NumberChunk<float>>(place);
    case Type::DOUBLE: return std::make_unique<NumberChunk<double>>(place);
    default: return nullptr;
  }
}

}  // namespace timelake::write
