#include <cstring>

#include <parquet/metadata.h>
#include <parquet/page_index.h>

#include "unit/write/random_rows.h"

// CASES O25: what the page index claims of pages holds: pages of nulls are flagged and have no
// bounds, and the boundary order that readers search by is true of the others.

namespace timelake::write {
namespace {

template <typename T>
int CompareFixed(const std::string& a, const std::string& b) {
  T x, y;
  std::memcpy(&x, a.data(), sizeof x);
  std::memcpy(&y, b.data(), sizeof y);
  return x < y ? -1 : static_cast<int>(y < x);
}

int CompareEncoded(parquet::Type::type type, const std::string& a, const std::string& b) {
  switch (type) {
    case parquet::Type::INT32: return CompareFixed<int32_t>(a, b);
    case parquet::Type::INT64: return CompareFixed<int64_t>(a, b);
    case parquet::Type::DOUBLE: return CompareFixed<double>(a, b);
    default: return a.compare(b);
  }
}

void CheckIndex(const parquet::ColumnIndex& index, parquet::Type::type type,
                const arrow::Array& column, int64_t page_rows) {
  const auto& nulls = index.null_pages();
  const auto &lower = index.encoded_min_values(), &upper = index.encoded_max_values();
  ASSERT_EQ(nulls.size(), lower.size());
  std::vector<size_t> with_values;
  for (size_t page = 0; page < nulls.size(); ++page) {
    const auto slice = column.Slice(static_cast<int64_t>(page) * page_rows, page_rows);
    EXPECT_EQ(nulls[page], slice->null_count() == slice->length()) << page;
    if (nulls[page]) {
      EXPECT_EQ(lower[page] + upper[page], "");
    } else {
      EXPECT_LE(CompareEncoded(type, lower[page], upper[page]), 0);
      with_values.push_back(page);
    }
  }
  for (size_t i = 1; i < with_values.size(); ++i) {
    const size_t before = with_values[i - 1], page = with_values[i];
    const int low = CompareEncoded(type, lower[before], lower[page]);
    const int high = CompareEncoded(type, upper[before], upper[page]);
    if (index.boundary_order() == parquet::BoundaryOrder::Ascending) {
      EXPECT_TRUE(low <= 0 && high <= 0) << page;
    } else if (index.boundary_order() == parquet::BoundaryOrder::Descending) {
      EXPECT_TRUE(low >= 0 && high >= 0) << page;
    }
  }
}

TEST(PageIndex, SaysWhatIsInThePages) {
  constexpr int64_t kPage = 64, kRows = 40 * kPage;
  const table::Env env = TestEnv();
  TargetSpec spec;
  spec.schema = "up:long, down:int, any:double, late:string, gaps:long";
  spec.time.clear();
  Target target = TargetOf(spec);
  target.settings.data_page_rows = kPage;
  const auto random = SeededRandom(5);
  arrow::Int64Builder up, gaps;
  arrow::Int32Builder down;
  arrow::DoubleBuilder any;
  arrow::StringBuilder late;
  for (int64_t i = 0; i < kRows; ++i) {
    const bool sixth = i / kPage < 6, gap = i / kPage % 3 == 1;
    ASSERT_TRUE(up.Append(i * i).ok());
    ASSERT_TRUE(down.Append(static_cast<int32_t>(-i)).ok());
    ASSERT_TRUE(
        (i % 10 == 0 ? any.AppendNull() : any.Append(static_cast<double>(random->Next64()) - 9e18))
            .ok());
    ASSERT_TRUE((sixth ? late.AppendNull() : late.Append(fmt::format("v{:05}", i))).ok());
    ASSERT_TRUE((gap ? gaps.AppendNull() : gaps.Append(i)).ok());
  }
  const auto batch = BatchOf({{"up", Unwrapped(up.Finish())},
                              {"down", Unwrapped(down.Finish())},
                              {"any", Unwrapped(any.Finish())},
                              {"late", Unwrapped(late.Finish())},
                              {"gaps", Unwrapped(gaps.Finish())}});
  const Written written = Unwrapped(WriteBatches(env, target, {batch}));
  ASSERT_EQ(written.keys.size(), 1u);
  const auto file = OpenParquet(env, written.keys[0]);
  const auto group = file->parquet_reader()->GetPageIndexReader()->RowGroup(0);
  const auto* schema = file->parquet_reader()->metadata()->schema();
  for (int i = 0; i < batch->num_columns(); ++i) {
    SCOPED_TRACE(schema->Column(i)->name());
    const auto index = group->GetColumnIndex(i);
    ASSERT_NE(index, nullptr);
    ASSERT_EQ(index->null_pages().size(), 40u);
    CheckIndex(*index, schema->Column(i)->physical_type(), *batch->column(i), kPage);
  }
  EXPECT_EQ(group->GetColumnIndex(0)->boundary_order(), parquet::BoundaryOrder::Ascending);
  EXPECT_EQ(group->GetColumnIndex(1)->boundary_order(), parquet::BoundaryOrder::Descending);
  EXPECT_EQ(group->GetColumnIndex(2)->boundary_order(), parquet::BoundaryOrder::Unordered);
}

}  // namespace
}  // namespace timelake::write
