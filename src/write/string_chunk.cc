#include "write/string_chunk.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <parquet/bloom_filter.h>
#include <parquet/properties.h>
#include <parquet/schema.h>
#include <parquet/types.h>

#include "write/chunk_pages.h"
#include "write/hybrid_runs.h"
#include "write/page_indices.h"
#include "write/page_rows.h"

namespace timelake::write {
namespace {

constexpr int64_t kPlainPageBytes = 1 << 20;  // as Arrow's writer has it

// Smallest and largest string, by bytes.
struct StringBounds {
  std::string_view min, max;
  bool any = false;

  void Add(std::string_view value) {
    if (!any || value < min) min = value;
    if (!any || max < value) max = value;
    any = true;
  }
  parquet::EncodedStatistics Encode() const {
    parquet::EncodedStatistics statistics;
    if (!any) return statistics;
    statistics.set_min(std::string(min));
    statistics.set_max(std::string(max));
    return statistics;
  }
};

class StringChunk : public ColumnChunk {
 public:
  explicit StringChunk(const ChunkPlace& place)
      : place_(place),
        pages_(place),
        cutter_(static_cast<size_t>(place.properties->max_rows_per_page())),
        nullable_(place.descriptor->max_definition_level() > 0) {}

  Status Append(const arrow::Array& rows) override {
    if (!nullable_ && rows.null_count() > 0) {
      return InvalidArgument("column {} holds nulls, but is required",
                             place_.descriptor->path()->ToDotString());
    }
    const auto& coded = static_cast<const arrow::DictionaryArray&>(rows);
    TL_RETURN_NOT_OK(Take(coded.dictionary()));
    const auto& indices = *coded.indices();
    const auto* codes = indices.data()->GetValues<int32_t>(1);
    cutter_.SetLength(indices, codes, place_);
    return cutter_.Append(indices, codes,
                          [this](const PageOfRows<int32_t>& page) { return Encode(page); });
  }

  Status Finish() override {
    TL_RETURN_NOT_OK(
        cutter_.Flush([this](const PageOfRows<int32_t>& page) { return Encode(page); }));
    if (place_.bloom_filter == nullptr) return Status::OK();
    for (size_t code = 0; code < values_.size(); ++code) {
      if (last_page_[code] == 0) continue;
      const parquet::ByteArray value(values_[code]);
      place_.bloom_filter->InsertHash(place_.bloom_filter->Hash(&value));
    }
    return Status::OK();
  }

  bool knows_facts() const override { return true; }

  LeafFacts Facts() const override {
    LeafFacts facts{.values = pages_.rows(), .nulls = pages_.nulls()};
    if (bounds_.any) {
      facts.min = std::string(bounds_.min);
      facts.max = std::string(bounds_.max);
    }
    return facts;
  }

  Result<int64_t> WriteTo(const std::shared_ptr<arrow::io::OutputStream>& sink) override {
    page_.Clear();
    for (size_t code = 0; code < used_size_; ++code) AppendPlain(values_[code]);
    return pages_.WriteTo(sink, dictionary_used_ ? &page_ : nullptr, used_size_, bounds_.Encode());
  }

 private:
  Status Take(const std::shared_ptr<arrow::Array>& dictionary) {
    if (dictionary_ != nullptr && dictionary->data() == dictionary_->data()) return Status::OK();
    if (dictionary_ != nullptr) {
      return InternalError("rows of column {} come with several dictionaries",
                           place_.descriptor->path()->ToDotString());
    }
    if (dictionary->null_count() > 0) {
      return InternalError("the dictionary of column {} holds a null",
                           place_.descriptor->path()->ToDotString());
    }
    dictionary_ = dictionary;
    const auto& strings = static_cast<const arrow::StringArray&>(*dictionary);
    const int64_t limit = place_.properties->dictionary_pagesize_limit();
    int64_t bytes = 0;
    for (int64_t i = 0; i < strings.length(); ++i) {
      values_.push_back(strings.GetView(i));
      bytes += strings.value_length(i) + static_cast<int64_t>(sizeof(uint32_t));
      if (bytes <= limit) dictionary_size_ = values_.size();
    }
    last_page_.resize(values_.size(), 0);
    return Status::OK();
  }

  void AppendPlain(std::string_view value) {
    const auto length = static_cast<uint32_t>(value.size());
    page_.Append(&length, sizeof(length));
    page_.Append(value.data(), value.size());
  }

  // Looks at each distinct value of the page once.
  PageFacts Look(const PageOfRows<int32_t>& page) {
    ++page_number_;
    largest_ = 0;
    PageFacts facts{.rows = static_cast<int64_t>(page.rows),
                    .nulls = static_cast<int64_t>(page.rows - page.count)};
    StringBounds bounds;
    for (size_t i = 0; i < page.count;) {
      const int32_t code = page.values[i];
      const size_t begin = i;
      while (i < page.count && page.values[i] == code) ++i;
      const std::string_view value = values_[static_cast<size_t>(code)];
      facts.string_bytes += static_cast<int64_t>((i - begin) * value.size());
      uint64_t& last_page = last_page_[static_cast<size_t>(code)];
      if (std::exchange(last_page, page_number_) == page_number_) continue;
      bounds.Add(value);
      largest_ = std::max(largest_, static_cast<uint32_t>(code));
    }
    if (bounds.any) {
      bounds_.Add(bounds.min);
      bounds_.Add(bounds.max);
    }
    facts.bounds = bounds.Encode();
    return facts;
  }

  Status Encode(const PageOfRows<int32_t>& page) {
    PageFacts facts = Look(page);
    plain_ = plain_ || (page.count > 0 && largest_ >= dictionary_size_);
    if (plain_ && facts.string_bytes > kPlainPageBytes && page.rows > 1) return Halve(page);
    page_.Clear();
    if (nullable_) AppendLevels(page.levels, page.rows, &page_);
    if (plain_) {
      for (size_t i = 0; i < page.count; ++i) {
        AppendPlain(values_[static_cast<size_t>(page.values[i])]);
      }
      facts.encoding = parquet::Encoding::PLAIN;
    } else {
      static_assert(sizeof(uint32_t) == sizeof(int32_t));  // one may be read as the other
      TL_RETURN_NOT_OK(index_pages_.Append(reinterpret_cast<const uint32_t*>(page.values),
                                           page.count, largest_, &pages_, &page_));
      facts.encoding = parquet::Encoding::RLE_DICTIONARY;
      dictionary_used_ = true;
      if (page.count > 0) used_size_ = std::max(used_size_, size_t{largest_} + 1);
    }
    return pages_.Add(page_, std::move(facts));
  }

  // Long strings one by one make shorter pages.
  Status Halve(const PageOfRows<int32_t>& page) {
    const size_t rows = page.rows / 2;
    size_t count = rows;
    if (page.levels != nullptr) {
      count = static_cast<size_t>(std::count(page.levels, page.levels + rows, 1u));
    }
    TL_RETURN_NOT_OK(Encode({page.values, count, page.levels, rows}));
    const uint32_t* levels = page.levels == nullptr ? nullptr : page.levels + rows;
    return Encode({page.values + count, page.count - count, levels, page.rows - rows});
  }

  ChunkPlace place_;
  ChunkPages pages_;
  PageCutter<int32_t> cutter_;
  bool nullable_;
  std::shared_ptr<arrow::Array> dictionary_;  // what `values_` points into
  std::vector<std::string_view> values_;
  std::vector<uint64_t> last_page_;  // that used the value, counted from 1
  size_t dictionary_size_ = 0;       // so many of them fit
  size_t used_size_ = 0;             // so many of those are used by pages of indices
  bool dictionary_used_ = false;
  bool plain_ = false;  // no more pages of indices
  uint64_t page_number_ = 0;
  uint32_t largest_ = 0;  // code in the page
  StringBounds bounds_;
  PageIndices index_pages_;
  PageBytes page_;
};

}  // namespace

std::unique_ptr<ColumnChunk> MakeStringChunk(const ChunkPlace& place) {
  return std::make_unique<StringChunk>(place);
}

}  // namespace timelake::write
