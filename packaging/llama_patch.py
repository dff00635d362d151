"""Our changes to llama.cpp: a reply does not depend on what else is being read, to the last bit; AMX is put to use.

As it is, the same prompt gives logits that differ by up to 0.6: the kernels for one token, a few and many add up in
different orders, and so do cells that lie elsewhere in the KV cache. A job that was killed and resumed would word some
replies differently. Two pieces of source are put in (llama_source/, docs/decisions/0005): attention.inc adds up in the
order of the cells whatever surrounds them, and cells.inc keeps the cells of a sequence in the order of its positions.

A third, products.inc, multiplies with K-quants on AMX twice as fast and to the same bits (docs/decisions/0017).

A fourth, blocks.inc and sixteen_rows.inc, multiplies sixteen rows of weights at a time: with Q4_K, Q5_0, Q6_K (0067).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SOURCES = Path(__file__).resolve().parent / "llama_source"
ATTENTION = (SOURCES / "attention.inc").read_text()
CELLS = (SOURCES / "cells.inc").read_text()
PRODUCTS = (SOURCES / "products.inc").read_text()
BLOCKS = (SOURCES / "blocks.inc").read_text() + "\n" + (SOURCES / "sixteen_rows.inc").read_text()


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
THREADS = "vendor/llama.cpp/ggml/src/ggml-cpu/ggml-cpu.c"
THREADS_HEADER = "vendor/llama.cpp/ggml/src/ggml-cpu/ggml-cpu-impl.h"
OPERATIONS = "vendor/llama.cpp/ggml/src/ggml-cpu/ops.cpp"
CACHE = "vendor/llama.cpp/src/llama-kv-cache.cpp"
MATRICES = "vendor/llama.cpp/ggml/src/ggml-cpu/amx/mmq.cpp"
REPACKING = "vendor/llama.cpp/ggml/src/ggml-cpu/repack.cpp"

NO_PROGRAMS = Replacement(
    BUILD,
    begin="    # Enable building of the common library\n",
    end="    # Disable building curl support\n",
    old="set(LLAMA_BUILD_COMMON ON ",
    new="set(LLAMA_BUILD_COMMON OFF ",
)
"""What llama.cpp's own programs share (chat parsers, a web server) is half of the build; no library of the wheel needs
it."""

ONE_LOOK_AT_THE_MASK = (
    Insertion(
        THREADS_HEADER,
        "void ggml_threadpool_chunk_set(struct ggml_threadpool * tp, int value);\n",
        before="""// Redwell: which tiles of the cache the tokens see, known for one evaluation of a graph.
struct redwell_tiles {
    const struct ggml_tensor * mask; // whose tiles these are, NULL before the first
    uint8_t * seen;
    size_t room; // bytes of `seen`
    bool fresh;  // the mask was met just now
};

struct redwell_tiles * redwell_tiles_of(struct ggml_threadpool * tp);

""",
    ),
    Insertion(
        THREADS,
        "    enum ggml_status ec;\n};\n\n// Per-thread state\n",
        before="    struct redwell_tiles tiles;\n",
    ),
    Insertion(
        THREADS,
        "void ggml_threadpool_chunk_set(struct ggml_threadpool * tp, int value) {\n",
        before="struct redwell_tiles * redwell_tiles_of(struct ggml_threadpool * tp) {\n    return &tp->tiles;\n}\n\n",
    ),
    Insertion(
        THREADS,
        "        threadpool->prio             = tpp->prio;\n",
        before="        memset(&threadpool->tiles, 0, sizeof(threadpool->tiles));\n",
    ),
    Insertion(
        THREADS,
        "        // No worker threads should be accessing the parameters below at this stage\n",
        after="        threadpool->tiles.mask       = NULL;\n",
    ),
    Insertion(
        THREADS,
        "    ggml_aligned_free(threadpool, sizeof(struct ggml_threadpool));\n",
        before="    free(threadpool->tiles.seen);\n",
    ),
)
"""In a batch of 512 tokens the mask of a full cache has 28 MB, which each layer read once for each key head. The masks
of a graph are filled before its first layer: what is found there holds for all its layers, and for no other graph."""

CHANGES: tuple[Insertion | Replacement, ...] = (
    NO_PROGRAMS,
    *ONE_LOOK_AT_THE_MASK,
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
        before="        if (!cont && find_cells_by_tiles(cells, ubatch, s*n_tokens, n_tokens, res.idxs[s])) {\n"
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
