#include "write/take_strings.h"

#include <cstring>
#include <limits>

#include <arrow/util/bitmap_generate.h>

#include "base/memory.h"

namespace timelake::write {

Result<std::shared_ptr<arrow::Array>> TakeStrings(const arrow::StringArray& strings,
                                                  const arrow::Int32Array& positions) {
  const int64_t count = positions.length();
  const int32_t* places = positions.raw_values();
  const bool nulls = positions.null_count() > 0 || strings.null_count() > 0;
  const auto is_null = [&](int64_t i) { return positions.IsNull(i) || strings.IsNull(places[i]); };
  TL_ASSIGN_OR_RAISE(
      std::shared_ptr<arrow::Buffer> offsets,
      arrow::AllocateBuffer((count + 1) * static_cast<int64_t>(sizeof(int32_t)), CurrentPool()));
  auto* ends = reinterpret_cast<int32_t*>(offsets->mutable_data());
  int64_t bytes = 0;
  ends[0] = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (!nulls || !is_null(i)) bytes += strings.value_length(places[i]);
    if (bytes > std::numeric_limits<int32_t>::max()) {
      return arrow::Status::CapacityError("strings of more than 2 GiB in one column");
    }
    ends[i + 1] = static_cast<int32_t>(bytes);
  }
  TL_ASSIGN_OR_RAISE(std::shared_ptr<arrow::Buffer> data,
                     arrow::AllocateBuffer(bytes, CurrentPool()));
  for (int64_t i = 0; i < count; ++i) {
    if (ends[i + 1] == ends[i]) continue;
    const std::string_view text = strings.GetView(places[i]);
    std::memcpy(data->mutable_data() + ends[i], text.data(), text.size());
  }
  std::shared_ptr<arrow::Buffer> validity;
  if (nulls) {
    TL_ASSIGN_OR_RAISE(validity, arrow::AllocateEmptyBitmap(count, CurrentPool()));
    int64_t i = 0;
    arrow::internal::GenerateBitsUnrolled(validity->mutable_data(), 0, count,
                                          [&] { return !is_null(i++); });
  }
  return std::make_shared<arrow::StringArray>(count, std::move(offsets), std::move(data),
                                              std::move(validity));
}

}  // namespace timelake::write
