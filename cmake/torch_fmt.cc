// The compiled half of the fmt that lies among torch's headers: who includes those sees this one, not Debian's
// (src/base/fmt_library.cc), and libtorch keeps its own to itself.
#include <fmt/format-inl.h>

FMT_BEGIN_NAMESPACE
namespace detail {

template auto dragonbox::to_decimal(float) noexcept -> dragonbox::decimal_fp<float>;
template auto dragonbox::to_decimal(double) noexcept -> dragonbox::decimal_fp<double>;
template auto thousands_sep_impl(locale_ref) -> thousands_sep_result<char>;
template auto decimal_point_impl(locale_ref) -> char;
template void buffer<char>::append(const char*, const char*);

}  // namespace detail
FMT_END_NAMESPACE
