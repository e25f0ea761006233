#include <limits>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "iceberg/avro/binary.h"
#include "iceberg/avro/compression.h"
#include "iceberg/avro/container.h"
#include "iceberg/avro/schema.h"
#include "iceberg/avro/values.h"

namespace timelake::iceberg::avro {
namespace {

using ::testing::HasSubstr;

std::string FromHex(std::string_view hex) {
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    out.push_back(static_cast<char>(std::stoi(std::string(hex.substr(i, 2)), nullptr, 16)));
  }
  return out;
}

NodePtr Parsed(std::string_view json) { return ParseSchema(json).ValueOrDie(); }

// Avro specification, "Binary Encoding": the examples there.
TEST(AvroBinary, ZigZagExamples) {
  const std::pair<int64_t, std::string> kExamples[] = {
      {0, FromHex("00")},   {-1, FromHex("01")},   {1, FromHex("02")},    {-2, FromHex("03")},
      {-64, FromHex("7f")}, {64, FromHex("8001")}, {-65, FromHex("8101")}};
  for (const auto& [value, bytes] : kExamples) {
    Encoder out;
    out.Long(value);
    EXPECT_EQ(out.data(), bytes) << value;
    EXPECT_EQ(Decoder(bytes).Long(), value);
  }
}

TEST(AvroBinary, LongsRoundTrip) {
  std::mt19937_64 engine(7);
  for (int i = 0; i < 10'000; ++i) {
    const auto value = static_cast<int64_t>(engine() >> (engine() % 64));
    for (const int64_t v : {value, -value, std::numeric_limits<int64_t>::min(),
                            std::numeric_limits<int64_t>::max()}) {
      Encoder out;
      out.Long(v);
      Decoder in(out.data());
      ASSERT_EQ(in.Long(), v);
      ASSERT_TRUE(in.ok());
      ASSERT_EQ(in.remaining(), 0u);
    }
  }
}

TEST(AvroBinary, BadIntegersFail) {
  const std::string too_long = std::string(10, '\xFF') + '\x01';
  const std::string too_large = std::string(9, '\xFF') + '\x02';
  for (const std::string& bytes : {std::string(), std::string("\xFF"), too_long, too_large}) {
    Decoder in(bytes);
    EXPECT_EQ(in.Long(), 0);
    EXPECT_EQ(KindOf(in.status()), ErrorKind::kCorrupt);
  }
  Encoder out;
  out.Long(int64_t{1} << 31);
  Decoder in(out.data());
  in.Int();
  EXPECT_FALSE(in.ok());
}

TEST(AvroBinary, FirstFailureSticks) {
  Decoder in("\x7F", 100);
  EXPECT_EQ(in.Bytes(), "");
  in.InField("inner");
  in.InField("outer");
  in.Fail("later");
  EXPECT_EQ(in.Double(), 0);
  EXPECT_EQ(MessageOf(in.status()),
            "field outer.inner: length of text or bytes reaches beyond the end at byte 101");
}

TEST(AvroBinary, SkipsEveryType) {
  const NodePtr schema = Parsed(R"({"type":"record","name":"r","fields":[
      {"name":"a","type":"null"},{"name":"b","type":"boolean"},{"name":"c","type":"int"},
      {"name":"d","type":"long"},{"name":"e","type":"float"},{"name":"f","type":"double"},
      {"name":"g","type":"bytes"},{"name":"h","type":"string"},
      {"name":"i","type":{"type":"fixed","name":"four","size":4}},
      {"name":"j","type":{"type":"enum","name":"e","symbols":["A","B"]}},
      {"name":"k","type":{"type":"array","items":"four"}},
      {"name":"l","type":{"type":"map","values":["null","string"]}},
      {"name":"m","type":["null","four"]},
      {"name":"n","type":{"type":"array","items":"null"}},
      {"name":"o","type":{"type":"array","items":"string"}}]})");
  Encoder out;
  out.Boolean(true);
  out.Int(-5);
  out.Long(1'000'000'000'000);
  out.Float(1);
  out.Double(2);
  out.Bytes("xyz");
  out.Bytes("text");
  out.Fixed("four");
  out.Int(1);
  out.Block(2);
  out.Fixed("fourfour");
  out.Block(0);
  out.Block(1);
  out.Bytes("key");
  out.Branch(1);
  out.Bytes("value");
  out.Block(0);
  out.Branch(1);
  out.Fixed("four");
  out.Block(1'000'000);  // takes no bytes
  out.Block(0);
  out.Long(-2);  // a block with its size in bytes
  out.Long(4);
  out.Bytes("a");
  out.Bytes("b");
  out.Block(0);
  Decoder in(out.data());
  in.Skip(*schema);
  EXPECT_TRUE(in.status().ok()) << in.status();
  EXPECT_EQ(in.remaining(), 0u);
  for (size_t size = 0; size < out.size(); ++size) {
    Decoder cut(std::string_view(out.data()).substr(0, size));
    cut.Skip(*schema);
    EXPECT_FALSE(cut.ok()) << size;
  }
}

TEST(AvroBinary, HugeCountsEndAtOnce) {
  const int64_t kCounts[] = {std::numeric_limits<int64_t>::max(),
                             std::numeric_limits<int64_t>::min(), int64_t{1} << 40};
  for (const char* items :
       {R"("null")", R"("string")", R"("double")", R"({"type":"record","name":"e","fields":[]})"}) {
    const NodePtr node = Parsed(std::string(R"({"type":"array","items":)") + items + "}");
    for (const int64_t count : kCounts) {
      Encoder out;
      out.Long(count);
      Decoder skip(out.data());
      skip.Skip(*node);
      EXPECT_FALSE(skip.ok());
      std::vector<int64_t> list;
      Decoder read(out.data());
      ReadList(read, *node, &list);
      EXPECT_FALSE(read.ok());
    }
  }
}

TEST(AvroSchema, AttributesOfIceberg) {
  const NodePtr node = Parsed(R"({"type":"record","name":"r","namespace":"n","fields":[
      {"name":"a","field-id":5,"type":["null",{"type":"array","items":"int","element-id":6}]},
      {"name":"b","field-id":7,"type":{"type":"map","values":"long","key-id":8,"value-id":9}},
      {"name":"c","type":{"type":"fixed","name":"d","size":5,"logicalType":"decimal",
                          "precision":9,"scale":2}},
      {"name":"d","type":"n.d"},{"name":"e","type":"d"},{"name":"f","type":{"type":"d"}}]})");
  EXPECT_EQ(node->name, "n.r");
  EXPECT_EQ(node->fields[0].id, 5);
  EXPECT_EQ(node->fields[0].type->children[1]->element_id, 6);
  EXPECT_EQ(node->fields[1].type->key_id, 8);
  EXPECT_EQ(node->fields[1].type->value_id, 9);
  EXPECT_EQ(node->fields[2].id, kNoId);
  EXPECT_EQ(node->fields[2].type->logical_type, "decimal");
  EXPECT_EQ(node->fields[2].type->precision, 9);
  EXPECT_EQ(node->fields[2].type->scale, 2);
  for (size_t i = 3; i < 6; ++i) EXPECT_EQ(node->fields[i].type->size, 5) << i;
}

TEST(AvroSchema, BadSchemasAreCorrupt) {
  std::string deep = R"("int")";
  for (int i = 0; i < 100; ++i) deep = R"({"type":"array","items":)" + deep + "}";
  const std::string deeper(100'000, '[');
  // Every record uses the one before twice: 2^30 nodes from 31 definitions.
  std::string wide = R"({"type":"record","name":"top","fields":[{"name":"f","type":"int"})";
  for (int i = 0; i < 31; ++i) {
    const std::string before = i == 0 ? "int" : "r" + std::to_string(i - 1);
    wide += R"(,{"name":"f","type":{"type":"record","name":"r)" + std::to_string(i) +
            R"(","fields":[{"name":"a","type":")" + before + R"("},{"name":"b","type":")" + before +
            R"("}]}})";
  }
  wide += "]}";
  const std::string kBad[] = {
      "",
      "{",
      "1",
      "{}",
      R"("unknown")",
      R"({"type":"array"})",
      R"({"type":"record","name":"r"})",
      R"({"type":"record","fields":[]})",
      R"({"type":"fixed","name":"f","size":-1})",
      R"({"type":"fixed","name":"f","size":4294967296})",
      R"({"type":"fixed","name":"f"})",
      R"({"type":"record","name":"r","fields":[{"name":"self","type":["null","r"]}]})",
      R"({"type":"record","name":"r","fields":[{"name":"x"}]})",
      R"({"type":"record","name":"r","fields":[7]})",
      deep,
      deeper,
      wide};
  for (const std::string& json : kBad) {
    EXPECT_EQ(KindOf(ParseSchema(json).status()), ErrorKind::kCorrupt) << json.substr(0, 80);
  }
}

constexpr std::string_view kPlainSchema =
    R"({"type":"record","name":"x","fields":[{"name":"a","type":"long"},)"
    R"({"name":"b","type":["string","null"]}]})";

// What fastavro wrote with its codecs (zstandard: the python package of that name, no content
// size): 20 records of a number and either "text text text text text " or null.
void ExpectForeign(std::string_view codec, std::string_view packed_hex) {
  Encoder file;
  file.Fixed(kMagic);
  file.Block(2);
  file.Bytes(kSchemaKey);
  file.Bytes(kPlainSchema);
  file.Bytes(kCodecKey);
  file.Bytes(codec);
  file.Block(0);
  file.Fixed("0123456789abcdef");
  file.Long(20);
  file.Bytes(FromHex(packed_hex));
  file.Fixed("0123456789abcdef");
  ContainerReader reader = ContainerReader::Open(file.data()).ValueOrDie();
  Block block;
  ASSERT_TRUE(reader.Next(&block).ValueOrDie());
  EXPECT_EQ(block.count, 20);
  Decoder in(block.data);
  for (int64_t i = 0; i < 20; ++i) {
    EXPECT_EQ(RequiredLong(in, *reader.schema().fields[0].type), i);
    const auto text = OptionalText(in, *reader.schema().fields[1].type);
    EXPECT_EQ(text.has_value(), i % 2 == 1);
    EXPECT_EQ(text.value_or(""), i % 2 == 1 ? "text text text text text " : "");
  }
  EXPECT_TRUE(EndOfBlock(block, in).ok());
  EXPECT_FALSE(reader.Next(&block).ValueOrDie());
}

TEST(AvroContainer, ReadsForeignCodecs) {
  ExpectForeign("deflate",
                "63606262302a49ad2851c046b030b1e191e560e2c223cbc3c48747568049088fac0893181e59092629"
                "3cb2324c727864159894f0c8aa30a9e1910500");
  ExpectForeign(
      "snappy",
      "ac0224000202003274657874204e0500080402066a1e000808020a6a1e00080c020e6a1e00081002126a"
      "1e00081402166a1e000818021a6a1e00081c021e6a1e00082002226a1e00082402266a1e0092a6ad3e");
  ExpectForeign(
      "zstandard",
      "28b52ffd0000fd010054020002020032746578742004020608020a0c020e10021214021618021a1c021e"
      "2002222402260a00201c201c201c201c201c201c201c201c418503744102");
}

TEST(AvroContainer, WritesNullAndDeflate) {
  for (const Codec codec : {Codec::kNull, Codec::kDeflate}) {
    ContainerWriter writer(R"("string")", {{"key", std::string("\0value", 6)}}, codec);
    for (int i = 0; i < 5000; ++i) {
      writer.encoder()->Bytes("number " + std::to_string(i) + std::string(20, ' '));
      ASSERT_TRUE(writer.EndObject().ok());
    }
    const std::string file = writer.Finish().ValueOrDie();
    ContainerReader reader = ContainerReader::Open(file).ValueOrDie();
    EXPECT_EQ(reader.metadata().at("key"), std::string("\0value", 6));
    int next = 0;
    int blocks = 0;
    Block block;
    while (reader.Next(&block).ValueOrDie()) {
      Decoder in(block.data, block.offset);
      for (int64_t i = 0; i < block.count; ++i) {
        EXPECT_EQ(in.Bytes(), "number " + std::to_string(next++) + std::string(20, ' '));
      }
      EXPECT_TRUE(EndOfBlock(block, in).ok());
      ++blocks;
    }
    EXPECT_EQ(next, 5000);
    EXPECT_GT(blocks, 1);
  }
}

TEST(AvroCompression, LimitsAndDamage) {
  const std::string plain(1 << 20, 'x');
  const std::string packed = Compress(Codec::kDeflate, plain).ValueOrDie();
  EXPECT_EQ(Decompress(Codec::kDeflate, packed, 1 << 20).ValueOrDie(), plain);
  // PyIceberg 0.12 leaves part of zlib's checksum behind a block.
  EXPECT_EQ(Decompress(Codec::kDeflate, packed + "abc", 1 << 20).ValueOrDie(), plain);
  const auto corrupt = [](Codec codec, std::string_view bytes, int64_t limit) {
    EXPECT_EQ(KindOf(Decompress(codec, bytes, limit).status()), ErrorKind::kCorrupt);
  };
  corrupt(Codec::kDeflate, packed, (1 << 20) - 1);
  corrupt(Codec::kDeflate, packed, 0);
  corrupt(Codec::kDeflate, packed.substr(0, packed.size() / 2), 1 << 21);
  corrupt(Codec::kDeflate, "", 100);
  corrupt(Codec::kZstd, "", 100);
  corrupt(Codec::kZstd, "not zstd at all", 100);
  corrupt(Codec::kSnappy, "", 100);
  corrupt(Codec::kSnappy, "abcd", 100);
  corrupt(Codec::kSnappy,
          std::string(4, '\xFF') +
              "\x0F"
              "abcd",
          1 << 20);
  EXPECT_EQ(KindOf(ParseCodec("bzip2").status()), ErrorKind::kUnsupported);
  EXPECT_THAT(MessageOf(ParseCodec("bzip2").status()), HasSubstr("\"bzip2\""));
}

TEST(AvroContainer, DamagedFilesAreCorrupt) {
  ContainerWriter writer(R"("string")", {}, Codec::kNull);
  writer.encoder()->Bytes("text");
  ASSERT_TRUE(writer.EndObject().ok());
  const std::string file = writer.Finish().ValueOrDie();
  const auto read = [](std::string_view bytes) -> Status {
    TL_ASSIGN_OR_RAISE(auto reader, ContainerReader::Open(bytes));
    Block block;
    while (true) {
      TL_ASSIGN_OR_RAISE(const bool more, reader.Next(&block));
      if (!more) return Status::OK();
    }
  };
  EXPECT_TRUE(read(file).ok());
  // The header alone is a file without objects; a block is 2 + 5 + 16 bytes.
  const size_t header = file.size() - 23;
  for (size_t size = 0; size < file.size(); ++size) {
    const Status status = read(file.substr(0, size));
    EXPECT_EQ(status.ok(), size == header) << size;
    if (size != header) {
      EXPECT_EQ(KindOf(status), ErrorKind::kCorrupt);
    }
  }
  EXPECT_THAT(MessageOf(read("PAR1")), HasSubstr("not an Avro file"));
  std::string marker = file;
  marker.back() ^= 1;
  EXPECT_THAT(MessageOf(read(marker)), HasSubstr("sync marker"));
}

}  // namespace
}  // namespace timelake::iceberg::avro
