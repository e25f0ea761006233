#include "write/array_bytes.h"

#include <arrow/api.h>
#include <arrow/util/byte_size.h>
#include <gtest/gtest.h>

namespace timelake::write {
namespace {

std::shared_ptr<arrow::Array> Made(const std::shared_ptr<arrow::DataType>& type, bool nulls) {
  auto builder = arrow::MakeBuilder(type).ValueOrDie();
  for (int i = 0; i < 100; ++i) {
    const auto status = nulls && i % 3 == 0 ? builder->AppendNull() : builder->AppendEmptyValue();
    EXPECT_TRUE(status.ok());
  }
  return builder->Finish().ValueOrDie();
}

// As Arrow counts, but for bits that share a byte with those beside them.
TEST(ArrayBytes, AreWhatArrowCounts) {
  const auto text = arrow::utf8();
  for (const auto& type :
       {arrow::boolean(), arrow::int8(), arrow::int32(), arrow::float64(), arrow::date32(),
        arrow::timestamp(arrow::TimeUnit::MICRO, "UTC"), arrow::decimal128(38, 4), text,
        arrow::binary(), arrow::fixed_size_binary(16), arrow::large_utf8(), arrow::list(text),
        arrow::struct_({arrow::field("a", text)}), arrow::dictionary(arrow::int32(), text)}) {
    for (const bool nulls : {false, true}) {
      const auto whole = Made(type, nulls);
      EXPECT_EQ(BytesOf(*whole->data()), *arrow::util::ReferencedBufferSize(*whole))
          << type->ToString() << (nulls ? " with nulls" : "");
      const auto part = whole->Slice(17, 40);
      EXPECT_NEAR(static_cast<double>(BytesOf(*part->data())),
                  static_cast<double>(*arrow::util::ReferencedBufferSize(*part)), 2)
          << type->ToString();
      EXPECT_EQ(BytesOf(*whole->Slice(5, 0)->data()), 0);
    }
  }
}

TEST(ArrayBytes, OfTextAreItsOffsetsAndCharacters) {
  arrow::StringBuilder builder;
  for (const char* one : {"a", "", "bcd", "efgh"}) ASSERT_TRUE(builder.Append(one).ok());
  const auto array = builder.Finish().ValueOrDie();
  EXPECT_EQ(BytesOf(*array->data()), 8 + 4 * 4);
  EXPECT_EQ(BytesOf(*array->Slice(2, 1)->data()), 3 + 1 * 4);
}

}  // namespace
}  // namespace timelake::write
