#include "table/zstd_pages.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include <arrow/buffer.h>
#include <arrow/util/compression.h>
#include <parquet/column_page.h>
#include <parquet/exception.h>

namespace timelake::table {
namespace {

constexpr int64_t kMostBytes = std::numeric_limits<int32_t>::max();  // of a page
constexpr int64_t kKeptBytes = 4 << 20;
constexpr size_t kKeptWorkers = 2;

// What decompressing needs, kept by a thread while it is not in use.
struct Worker {
  std::unique_ptr<arrow::util::Codec> codec;
  std::shared_ptr<arrow::util::Decompressor> frames;
  std::shared_ptr<arrow::ResizableBuffer> buffer;
};

std::vector<Worker>& IdleWorkers() {
  thread_local std::vector<Worker> idle;
  return idle;
}

Worker TakeWorker() {
  auto& idle = IdleWorkers();
  if (!idle.empty()) {
    Worker worker = std::move(idle.back());
    idle.pop_back();
    return worker;
  }
  Worker worker;
  PARQUET_ASSIGN_OR_THROW(worker.codec, arrow::util::Codec::Create(arrow::Compression::ZSTD));
  PARQUET_ASSIGN_OR_THROW(worker.frames, worker.codec->MakeDecompressor());
  PARQUET_ASSIGN_OR_THROW(worker.buffer, arrow::AllocateResizableBuffer(0));
  return worker;
}

// Whether the frame at the beginning says how long it is unpacked: then it is unpacked in one go,
// straight into the output. Else the decompressor would make a window, of a size that the file
// says. (RFC 8878, 3.1.1)
bool SaysItsSize(const uint8_t* data, int64_t size) {
  constexpr uint8_t kMagic[] = {0x28, 0xB5, 0x2F, 0xFD};
  if (size < 6 || std::memcmp(data, kMagic, sizeof(kMagic)) != 0) return false;
  const uint8_t descriptor = data[4];
  const bool single_segment = (descriptor & 0x20) != 0;
  return (descriptor >> 6) != 0 || single_segment;
}

// The content size of such a frame; beyond `size` if it is not all there.
uint64_t SizeOf(const uint8_t* data, int64_t size) {
  const uint8_t descriptor = data[4];
  const int single_segment = (descriptor >> 5) & 1;
  constexpr int kDictionaryBytes[] = {0, 1, 2, 4};
  const int flag = descriptor >> 6;
  const int bytes = flag == 0 ? 1 : 1 << flag;
  const int at = 5 + (1 - single_segment) + kDictionaryBytes[descriptor & 3];
  if (at + bytes > size) return std::numeric_limits<uint64_t>::max();
  uint64_t content = 0;
  std::memcpy(&content, data + at, static_cast<size_t>(bytes));
  return flag == 1 ? content + 256 : content;
}

class ZstdPages : public parquet::PageReader {
 public:
  explicit ZstdPages(std::unique_ptr<parquet::PageReader> raw)
      : raw_(std::move(raw)), worker_(TakeWorker()) {}

  ~ZstdPages() override {
    auto& idle = IdleWorkers();
    // A page that is still held keeps its bytes.
    if (idle.size() < kKeptWorkers && worker_.buffer.use_count() == 1 &&
        worker_.buffer->capacity() <= kKeptBytes) {
      idle.push_back(std::move(worker_));
    }
  }

  std::shared_ptr<parquet::Page> NextPage() override {
    auto page = raw_->NextPage();
    if (!page) return page;
    switch (page->type()) {
      case parquet::PageType::DICTIONARY_PAGE:
        return Unpack(static_cast<const parquet::DictionaryPage&>(*page));
      case parquet::PageType::DATA_PAGE:
        return Unpack(static_cast<const parquet::DataPageV1&>(*page));
      case parquet::PageType::DATA_PAGE_V2: {
        const auto& data = static_cast<const parquet::DataPageV2&>(*page);
        return data.is_compressed() ? Unpack(data) : page;
      }
      default: return page;
    }
  }

  void set_max_page_header_size(uint32_t size) override { raw_->set_max_page_header_size(size); }

 private:
  std::shared_ptr<parquet::Page> Unpack(const parquet::DictionaryPage& page) {
    const auto unpacked = UnpackDictionary(page, page.num_values());
    return std::make_shared<parquet::DictionaryPage>(unpacked, page.num_values(), page.encoding(),
                                                     page.is_sorted());
  }

  std::shared_ptr<parquet::Page> Unpack(const parquet::DataPageV1& page) {
    return std::make_shared<parquet::DataPageV1>(
        UnpackBytes(page, 0, page.uncompressed_size()), page.num_values(), page.encoding(),
        page.definition_level_encoding(), page.repetition_level_encoding(),
        page.uncompressed_size(), page.statistics(), page.first_row_index(),
        page.size_statistics());
  }

  // The levels in front are not compressed.
  std::shared_ptr<parquet::Page> Unpack(const parquet::DataPageV2& page) {
    const int64_t levels = int64_t{page.definition_levels_byte_length()} +
                           int64_t{page.repetition_levels_byte_length()};
    return std::make_shared<parquet::DataPageV2>(
        UnpackBytes(page, levels, page.uncompressed_size()), page.num_values(), page.num_nulls(),
        page.num_rows(), page.encoding(), page.definition_levels_byte_length(),
        page.repetition_levels_byte_length(), page.uncompressed_size(), false, page.statistics(),
        page.first_row_index(), page.size_statistics());
  }

  static int64_t CheckedSize(uint64_t size) {
    if (size > static_cast<uint64_t>(kMostBytes)) {
      throw parquet::ParquetException("a page of more than 2 GiB");
    }
    return static_cast<int64_t>(size);
  }

  // The first `plain` bytes as they are, the rest unpacked; `size` bytes together.
  std::shared_ptr<arrow::Buffer> UnpackBytes(const parquet::Page& page, int64_t plain,
                                             int64_t size) {
    if (plain < 0 || plain > page.size() || size < plain || size > kMostBytes) {
      throw parquet::ParquetException("Invalid page header");
    }
    PARQUET_THROW_NOT_OK(worker_.buffer->Resize(size, /*shrink_to_fit=*/false));
    uint8_t* out = worker_.buffer->mutable_data();
    if (plain > 0) std::memcpy(out, page.data(), static_cast<size_t>(plain));
    // Of a page of nothing but nulls some writers store no frame at all.
    if (size > plain) {
      UnpackFrame(page.data() + plain, page.size() - plain, size - plain, out + plain);
    }
    return worker_.buffer;
  }

  // With the kept context; false if the bytes are not just one frame of that size.
  bool UnpackKept(const uint8_t* data, int64_t size, int64_t unpacked, uint8_t* out) {
    if (!SaysItsSize(data, size) || SizeOf(data, size) != static_cast<uint64_t>(unpacked)) {
      return false;
    }
    PARQUET_THROW_NOT_OK(worker_.frames->Reset());
    const auto done = worker_.frames->Decompress(size, data, unpacked, out);
    return done.ok() && done->bytes_read == size && done->bytes_written == unpacked;
  }

  void UnpackFrame(const uint8_t* data, int64_t size, int64_t unpacked, uint8_t* out) {
    if (UnpackKept(data, size, unpacked, out)) return;
    // Several frames, or damage, of which this tells more.
    PARQUET_ASSIGN_OR_THROW(const int64_t written,
                            worker_.codec->Decompress(size, data, unpacked, out));
    if (written != unpacked) {
      throw parquet::ParquetException(
          "Page didn't decompress to expected size, expected: " + std::to_string(unpacked) +
          ", but got:" + std::to_string(written));
    }
  }

  // The page does not tell what its header said of its size.
  std::shared_ptr<arrow::Buffer> UnpackDictionary(const parquet::Page& page, int32_t values) {
    if (values == 0 && page.size() == 0) return UnpackBytes(page, 0, 0);
    if (SaysItsSize(page.data(), page.size())) {
      const int64_t size = CheckedSize(SizeOf(page.data(), page.size()));
      PARQUET_THROW_NOT_OK(worker_.buffer->Resize(size, /*shrink_to_fit=*/false));
      if (UnpackKept(page.data(), page.size(), size, worker_.buffer->mutable_data())) {
        return worker_.buffer;
      }
    }
    return UnpackUnknown(page);
  }

  std::shared_ptr<arrow::Buffer> UnpackUnknown(const parquet::Page& page) {
    auto& buffer = *worker_.buffer;
    // Not the kept one: it would keep its window, too.
    PARQUET_ASSIGN_OR_THROW(const auto frames, worker_.codec->MakeDecompressor());
    int64_t read = 0, written = 0;
    while (read < page.size()) {
      // A page of nothing would otherwise never end.
      const int64_t more = std::max<int64_t>({written, 4 * int64_t{page.size()}, 1024});
      PARQUET_THROW_NOT_OK(
          buffer.Resize(CheckedSize(static_cast<uint64_t>(written + more)), false));
      PARQUET_ASSIGN_OR_THROW(
          const auto step,
          frames->Decompress(page.size() - read, page.data() + read, buffer.size() - written,
                             buffer.mutable_data() + written));
      read += step.bytes_read;
      written += step.bytes_written;
      if (step.bytes_read == 0 && step.bytes_written == 0) break;
    }
    if (!frames->IsFinished()) {
      throw parquet::ParquetException("the compressed dictionary page ends too early");
    }
    PARQUET_THROW_NOT_OK(buffer.Resize(written, false));
    return worker_.buffer;
  }

  const std::unique_ptr<parquet::PageReader> raw_;
  Worker worker_;
};

}  // namespace

std::unique_ptr<parquet::PageReader> DecompressZstd(std::unique_ptr<parquet::PageReader> raw) {
  return std::make_unique<ZstdPages>(std::move(raw));
}

}  // namespace timelake::table
