#include "tools/benchmarks/decode/picture_bytes.h"

#include <cstdio>
#include <cstdlib>

// After <cstdio>, which it needs.
#include <jpeglib.h>

namespace partita {

std::string PngBytes(uint32_t height, uint32_t width, std::vector<uint8_t> stored, const PngForm& form) {
  std::string bytes;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  const auto append = [](png_structp state, png_bytep data, size_t count) {
    static_cast<std::string*>(png_get_io_ptr(state))->append(reinterpret_cast<char*>(data), count);
  };
  png_set_write_fn(png, &bytes, append, [](png_structp) {});
  png_set_IHDR(png, info, width, height, form.depth, form.colour_type,
               form.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  if (!form.palette.empty()) png_set_PLTE(png, info, form.palette.data(), static_cast<int>(form.palette.size()));
  if (!form.palette_alpha.empty()) {
    png_set_tRNS(png, info, form.palette_alpha.data(), static_cast<int>(form.palette_alpha.size()), nullptr);
  }
  png_write_info(png, info);
  std::vector<png_bytep> rows(height);
  for (uint32_t y = 0; y < height; ++y) rows[y] = stored.data() + y * (stored.size() / height);
  png_write_image(png, rows.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

std::string JpegBytes(uint32_t height, uint32_t width, std::vector<uint8_t> pixels, bool progressive, int quality) {
  jpeg_compress_struct state = {};
  jpeg_error_mgr errors = {};
  state.err = jpeg_std_error(&errors);
  jpeg_create_compress(&state);
  unsigned char* memory = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&state, &memory, &size);
  state.image_height = height;
  state.image_width = width;
  state.input_components = static_cast<int>(pixels.size() / height / width);
  constexpr J_COLOR_SPACE kSpaces[] = {JCS_GRAYSCALE, JCS_UNKNOWN, JCS_RGB, JCS_CMYK};
  state.in_color_space = kSpaces[state.input_components - 1];
  jpeg_set_defaults(&state);
  jpeg_set_quality(&state, quality, TRUE);
  if (progressive) jpeg_simple_progression(&state);
  jpeg_start_compress(&state, TRUE);
  for (uint32_t y = 0; y < height; ++y) {
    JSAMPROW row = pixels.data() + y * width * static_cast<uint32_t>(state.input_components);
    jpeg_write_scanlines(&state, &row, 1);
  }
  jpeg_finish_compress(&state);
  jpeg_destroy_compress(&state);
  std::string bytes(reinterpret_cast<char*>(memory), size);
  std::free(memory);
  return bytes;
}

}  // namespace partita
