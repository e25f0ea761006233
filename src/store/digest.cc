#include "store/digest.h"

#include <array>
#include <memory>

#include "store/net_libraries.h"
#include "store/url_text.h"

namespace timelake::store {
namespace {

constexpr size_t kMaxDigest = 64;

enum class DigestKind { kSha256, kMd5 };

std::string Digest(DigestKind kind, std::string_view bytes) {
  const auto crypto = LoadCrypto();
  if (!crypto.ok()) return "";  // the caller has asked before
  std::array<unsigned char, kMaxDigest> out{};
  unsigned size = 0;
  const void* algorithm = kind == DigestKind::kSha256 ? (*crypto)->sha256() : (*crypto)->md5();
  if ((*crypto)->digest(bytes.data(), bytes.size(), out.data(), &size, algorithm, nullptr) != 1) {
    return "";
  }
  return std::string(reinterpret_cast<const char*>(out.data()), size);
}

// Without it libcrypto asks on the terminal for the password of an encrypted key.
int NoPassword(char* /*to*/, int /*size*/, int /*writing*/, void* /*user*/) { return -1; }

}  // namespace

std::string Sha256Hex(std::string_view bytes) { return Hex(Digest(DigestKind::kSha256, bytes)); }

std::string HmacSha256(std::string_view key, std::string_view text) {
  const auto crypto = LoadCrypto();
  if (!crypto.ok()) return "";
  std::array<unsigned char, kMaxDigest> out{};
  unsigned size = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  if ((*crypto)->hmac((*crypto)->sha256(), key.data(), static_cast<int>(key.size()), data,
                      text.size(), out.data(), &size) == nullptr) {
    return "";
  }
  return std::string(reinterpret_cast<const char*>(out.data()), size);
}

std::string Md5Base64(std::string_view bytes) { return Base64(Digest(DigestKind::kMd5, bytes)); }

Result<std::string> SignRs256(const std::string& key_pem, std::string_view text) {
  TL_ASSIGN_OR_RAISE(const Crypto* crypto, LoadCrypto());
  const std::unique_ptr<void, int (*)(void*)> memory(
      crypto->bio_new_mem_buf(key_pem.data(), static_cast<int>(key_pem.size())), crypto->bio_free);
  if (memory == nullptr) return IoError("out of memory");
  const std::unique_ptr<void, void (*)(void*)> key(
      crypto->pem_read_private_key(memory.get(), nullptr, NoPassword, nullptr), crypto->pkey_free);
  if (key == nullptr) return InvalidArgument("the private key is no unencrypted PEM key");
  const std::unique_ptr<void, void (*)(void*)> context(crypto->md_ctx_new(), crypto->md_ctx_free);
  if (context == nullptr) return IoError("out of memory");
  const auto* data = reinterpret_cast<const unsigned char*>(text.data());
  size_t size = 0;
  std::string signature;
  bool ok = crypto->sign_init(context.get(), nullptr, crypto->sha256(), nullptr, key.get()) == 1 &&
            crypto->sign(context.get(), nullptr, &size, data, text.size()) == 1;
  if (ok) {
    signature.resize(size);
    ok = crypto->sign(context.get(), reinterpret_cast<unsigned char*>(signature.data()), &size,
                      data, text.size()) == 1;
  }
  if (!ok) return InvalidArgument("the private key cannot sign: it must be an RSA key");
  signature.resize(size);
  return signature;
}

}  // namespace timelake::store
