"""Our changes to llama.cpp: a reply does not depend on what else is being read, to the last bit; AMX is put to use.

As it is, the same prompt gives logits that differ by up to 0.6: the kernels for one token, a few and many add up in
different orders, and so do cells that lie elsewhere in the KV cache. A job that was killed and resumed would word some
replies differently. Two pieces of source are put in (llama_source/, docs/decisions/0005): attention.inc adds up in the
order of the cells whatever surrounds them, and cells.inc keeps the cells of a sequence in the order of its positions.

A third, products.inc, multiplies with K-quants on AMX twice as fast and to the same bits (docs/decisions/0017). Without
AMX, few rows are multiplied as many are: with Q4_K rounded after every 64 terms, with Q6_K once for 256 (0060).

A fourth, blocks.inc, multiplies with Q5_0, and with VNNI with Q8_0, sixteen rows of weights at a time (0067).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).resolve().parent / "llama_source"
ATTENTION = (SOURCES / "attention.inc").read_text()
CELLS = (SOURCES / "cells.inc").read_text()
PRODUCTS = (SOURCES / "products.inc").read_text()
BLOCKS = (SOURCES / "blocks.inc").read_text()


@dataclass(frozen=True, slots=True)
class Insertion:
    """Text put before or after an anchor that the file has exactly once."""

    file: str
    anchor: str
    before: str = ""
    after: str = ""

    def apply(self, text: str) -> str:
        """Return the text with the insertion made. Raises PatchFailed."""
        if text.count(self.anchor) != 1:
            raise PatchFailed(
                f"{self.file} has not exactly one '{self.anchor.strip()}': packaging/llama_patch.py must be adapted"
            )
        return text.replace(self.anchor, f"{self.before}{self.anchor}{self.after}")


@dataclass(frozen=True, slots=True)
class Replacement:
    """Text put in place of `old`, which stands exactly once between `begin` and `end`, each of which is there once."""

    file: str
    begin: str
    end: str
    old: str
    new: str

    def apply(self, text: str) -> str:
        """Return the text with `new`. Raises PatchFailed."""
        before, _, rest = text.partition(self.begin)
        part, end, after = rest.partition(self.end)
        if text.count(self.begin) != 1 or not end or part.count(self.old) != 1:
            raise PatchFailed(f"{self.file}: {self.begin.strip()} is not as it was: llama_patch.py must be adapted")
        return f"{before}{self.begin}{part.replace(self.old, self.new)}{end}{after}"


BUILD = "CMakeLists.txt"
OPERATIONS = "vendor/llama.cpp/ggml/src/ggml-cpu/ops.cpp"
CACHE = "vendor/llama.cpp/src/llama-kv-cache.cpp"
MATRICES = "vendor/llama.cpp/ggml/src/ggml-cpu/amx/mmq.cpp"
REPACKED = "vendor/llama.cpp/ggml/src/ggml-cpu/arch/x86/repack.cpp"
REPACKING = "vendor/llama.cpp/ggml/src/ggml-cpu/repack.cpp"
QUANTS = "vendor/llama.cpp/ggml/src/ggml-cpu/arch/x86/quants.c"
TILES = "vendor/llama.cpp/ggml/src/ggml-cpu/tiled/tiled-kernel.cpp"

ONE_ROW = Replacement(
    REPACKED,
    begin="void ggml_gemv_q4_K_8x8_q8_K(",
    end="void ggml_gemv_iq4_nl_8x8_q8_0(",
    old="""
                    iacc_b = _mm256_add_epi32(iacc_b, iacc_sb);
                    iacc_min_b = _mm256_add_epi32(iacc_min_b, iacc_min_sb);
""",
    new="""
                    // Redwell: here, as ggml_gemm_q4_K_8x8_q8_K does; what is added behind the loop is 0.
                    acc_row = _mm256_fmadd_ps(
                        _mm256_cvtepi32_ps(iacc_sb), _mm256_mul_ps(col_scale_f32, row_scale_f32), acc_row);
                    acc_min_rows = _mm256_fmadd_ps(
                        _mm256_cvtepi32_ps(iacc_min_sb), _mm256_mul_ps(col_dmin_f32, row_scale_f32), acc_min_rows);
""",
)
"""One row at a time rounds where several do, so it has the same product with these weights whatever is beside it."""


def _in_dot_product(old: str, new: str) -> Replacement:
    return Replacement(QUANTS, begin="void ggml_vec_dot_q6_K_q8_K(", end="#elif defined __AVX__\n", old=old, new=new)


FEWER_THAN_EIGHT_ROWS = (
    _in_dot_product(
        "    __m256 acc = _mm256_setzero_ps();\n",
        "    // Redwell: the whole number of a block is rounded once, as the tiles for eight rows and more do.\n"
        "    __m128 acc = _mm_setzero_ps();\n",
    ),
    _in_dot_product("        const float d = y[i].d * GGML_CPU_FP16_TO_FP32(x[i].d);\n\n", ""),
    _in_dot_product(
        "        acc = _mm256_fmadd_ps(_mm256_broadcast_ss(&d), _mm256_cvtepi32_ps(sumi), acc);\n",
        "        const float product = GGML_CPU_FP16_TO_FP32(x[i].d) * (float) hsum_i32_8(sumi);\n"
        "        acc = _mm_fmadd_ss(_mm_set_ss(product), _mm_set_ss(y[i].d), acc);\n",
    ),
    _in_dot_product("    *s = hsum_float_8(acc);\n", "    *s = _mm_cvtss_f32(acc);\n"),
    Replacement(
        TILES,
        begin="static void tiled_run_micro_vnni_8x16(",
        end="// 16x16 microtile as two explicit 8x16 band passes\n",
        old="_mm512_add_ps(_mm512_load_ps(p), _mm512_mul_ps(result, d1_vec))",
        new="_mm512_fmadd_ps(result, d1_vec, _mm512_load_ps(p))",
    ),
)
"""Q6_K: llama.cpp multiplies eight rows and more in tiles, fewer one by one; both add up a block of 256 in whole
numbers and round then. (The last change: the tiles of AVX-512 multiply and add in one step, as those of AVX2 do.)"""

NO_PROGRAMS = Replacement(
    BUILD,
    begin="    # Enable building of the common library\n",
    end="    # Disable building curl support\n",
    old="set(LLAMA_BUILD_COMMON ON ",
    new="set(LLAMA_BUILD_COMMON OFF ",
)
"""What llama.cpp's own programs share (chat parsers, a web server) is half of the build; no library of the wheel needs
it."""

CHANGES: tuple[Insertion | Replacement, ...] = (
    NO_PROGRAMS,
    ONE_ROW,
    *FEWER_THAN_EIGHT_ROWS,
    Insertion(
        OPERATIONS,
        "static void ggml_compute_forward_flash_attn_ext_f16(\n",
        before=ATTENTION,
    ),
    Insertion(
        OPERATIONS,
        "    // When use_ref is set, force the vec-only reference implementation (no tiling, no KV-chunking)\n",
        before="    if (redwell_takes(params, dst)) {\n        redwell_flash_attn(params, dst);\n"
        "        return;\n    }\n\n",
    ),
    Insertion(
        MATRICES,
        '#include "ggml-quants.h"\n',
        after="#include <vector>\n",
    ),
    Insertion(
        MATRICES,
        "} // anonymous namespace\n\n// get the packed tensor size for quantized weights\n",
        before=PRODUCTS,
    ),
    Insertion(
        MATRICES,
        "    if (is_floating_type) {\n        return 0;\n    }\n",
        after="    if (redwell_multiplies(dst)) {\n"
        "        return redwell_rows::size(dst->ne[1], src0->ne[0]);\n    }\n",
    ),
    Insertion(
        MATRICES,
        "    const int M = dst->ne[1];\n    const int N = dst->ne[0];\n",
        before="    if (redwell_multiplies(dst)) {\n        redwell_multiply(params, dst);\n        return;\n    }\n",
    ),
    Insertion(
        REPACKING,
        "#include <cmath>\n",
        before="#include <algorithm>\n",
    ),
    Insertion(
        REPACKING,
        "}  // namespace ggml::cpu::repack\n\nstatic const ggml::cpu::tensor_traits * "
        "ggml_repack_get_optimal_repack_type(const struct ggml_tensor * cur) {\n",
        before=BLOCKS,
        after="    if (const ggml::cpu::tensor_traits * traits = ggml::cpu::repack::redwell_repacks(cur)) {\n"
        "        return traits;\n    }\n\n",
    ),
    Insertion(
        CACHE,
        '#include "llama-kv-cache.h"\n',
        after="\n#include <algorithm>\n#include <unordered_map>\n#include <vector>\n",
    ),
    Insertion(
        CACHE,
        "llama_kv_cache::slot_info llama_kv_cache::find_slot(const llama_ubatch & ubatch, bool cont) const {\n",
        before=CELLS,
    ),
    Insertion(
        CACHE,
        "        uint32_t head_cur = v_heads[seq_to_stream[seq_id]];\n",
        before="        if (!cont && find_ascending_cells(cells, ubatch, s*n_tokens, n_tokens, res.idxs[s])) {\n"
        "            continue;\n        }\n\n",
    ),
)


VULKAN = "vendor/llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp"

FOR_OLD_VULKAN_HEADERS = (
    Replacement(
        VULKAN,
        begin="    VkBool32 enable_best_practice = layer_settings;\n",
        end="#ifdef __APPLE__\n    if (portability_enumeration_ext) {\n        instance_create_info.flags",
        old="""    std::vector<vk::LayerSettingEXT> settings = {
        {
            "VK_LAYER_KHRONOS_validation",
            "validate_best_practices",
            vk::LayerSettingTypeEXT::eBool32,
            1,
            &enable_best_practice
        },
    };
    vk::LayerSettingsCreateInfoEXT layer_setting_info(settings);
""",
        new="    (void) enable_best_practice;\n",
    ),
    Replacement(
        VULKAN,
        begin="    (void) enable_best_practice;\n",
        end="#ifdef __APPLE__\n    if (portability_enumeration_ext) {\n        instance_create_info.flags",
        old="layers, extensions, &layer_setting_info);",
        new="layers, extensions);",
    ),
)
"""The headers of Debian 12 lack what only checks llama.cpp's own calls, for those who write it."""


class PatchFailed(Exception):
    """The source is not the one this change was written for."""


def patch_source(root: Path, further: Sequence[Insertion | Replacement] = ()) -> None:
    """Change the unpacked source of llama-cpp-python at `root`. Raises PatchFailed, with nothing written."""
    changed: dict[Path, str] = {}
    for change in (*CHANGES, *further):
        path = root / change.file
        try:
            text = changed.get(path) or path.read_text()
        except OSError as error:
            raise PatchFailed(f"{path} cannot be read: {error}") from error
        changed[path] = change.apply(text)
    for path, text in changed.items():
        path.write_text(text)
