// Products of blocks.inc beside the same written plainly: whole numbers within a block, blocks one after another.
// Built and run by test_blocks.py. Prints the number of products that differ in a bit, for each type and row count.

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

typedef uint16_t ggml_half;

// As in ggml-common.h.
struct block_q5_0 {
    ggml_half d;
    uint8_t   qh[4];
    uint8_t   qs[16];
};

struct block_q8_0 {
    ggml_half d;
    int8_t    qs[32];
};

// What the class around the products needs of ggml; nothing here calls it.
#define GGML_PAD(x, n) (((x) + (n) - 1)/(n)*(n))
#define GGML_ASSERT(x) (void) (x)
#define GGML_UNUSED(x) (void) (x)
enum { GGML_OP_MUL_MAT, GGML_TYPE_F32, GGML_TYPE_Q8_0, GGML_TYPE_Q5_0 };
struct ggml_tensor {
    int type, op;
    int64_t ne[4];
    size_t nb[4];
    ggml_tensor * src[2];
    void * data;
};
struct ggml_compute_params {
    int ith, nth;
    void * wdata, * threadpool;
};
typedef void (*ggml_from_float_t)(const float *, void *, int64_t);
struct ggml_type_traits_cpu {
    ggml_from_float_t from_float;
};
static const ggml_type_traits_cpu * ggml_get_type_traits_cpu(int) { return nullptr; }
static int64_t ggml_nrows(const ggml_tensor * t) { return t->ne[1]*t->ne[2]*t->ne[3]; }
static int ggml_n_dims(const ggml_tensor *) { return 2; }
static void ggml_threadpool_chunk_set(void *, int) {}
static int ggml_threadpool_chunk_add(void *, int) { return 0; }
static void ggml_barrier(void *) {}
struct tensor_traits_base {
    virtual bool work_size(int, const ggml_tensor *, size_t &) = 0;
    virtual bool compute_forward(ggml_compute_params *, ggml_tensor *) = 0;
    virtual int repack(ggml_tensor *, const void *, size_t) = 0;
};
namespace ggml { namespace cpu { using tensor_traits = tensor_traits_base; } }

#include "blocks.inc"

static uint32_t state = 1;

static int draw(int below) {
    state = state*1664525u + 1013904223u;
    return (int) ((state >> 8) % (uint32_t) below);
}

static int weight(const block_q5_0 & block, int i) {
    const int fifth = block.qh[i/8] >> i%8 & 1;
    return ((i < 16 ? block.qs[i] & 15 : block.qs[i - 16] >> 4) | fifth << 4) - 16;
}

static int weight(const block_q8_0 & block, int i) {
    return block.qs[i];
}

static void fill(block_q5_0 & block, bool extreme) {
    for (uint8_t & byte : block.qh) {
        byte = extreme ? 255 : draw(256);
    }
    for (uint8_t & byte : block.qs) {
        byte = extreme ? 255 : draw(256);
    }
    block.d = _cvtss_sh((draw(1001) - 500)/5000.0f, 0);
}

static void fill(block_q8_0 & block, bool extreme) {
    for (int8_t & q : block.qs) {
        q = extreme ? 127 : draw(256) - 128;
    }
    block.d = _cvtss_sh((draw(1001) - 500)/5000.0f, 0);
}

template <int N>
static void multiply(
        float * out, const std::vector<redwell_weights> & weights, const redwell_tokens * tokens, int64_t blocks) {
    float * rows[N];
    for (int j = 0; j < N; ++j) {
        rows[j] = out + 16*j;
    }
    redwell_products<N>(rows, weights.data(), tokens, blocks);
}

template <typename BLOCK, typename ROWS>
static void compare(const char * name, int64_t blocks, int rows, int32_t zero) {
    std::vector<BLOCK> weights(16*blocks);
    std::vector<block_q8_0> input(rows*blocks);
    for (int64_t i = 0; i < 16*blocks; ++i) {
        fill(weights[i], i == 0);
    }
    for (int64_t i = 0; i < rows*blocks; ++i) {
        fill(input[i], i == 0);
    }
    std::vector<ROWS> interleaved(blocks);
    std::vector<redwell_weights> unpacked(blocks);
    std::vector<redwell_tokens> tokens(rows*blocks);
    for (int64_t b = 0; b < blocks; ++b) {
        redwell_interleave(&interleaved[b], &weights[b], blocks);
        redwell_unpack(&unpacked[b], interleaved[b]);
    }
    for (int row = 0; row < rows; ++row) {
        redwell_take_tokens(&tokens[row*blocks], &input[row*blocks], blocks, zero);
    }
    std::vector<float> out(16*rows);
    int row = 0;
    for (; row + REDWELL_AT_ONCE <= rows; row += REDWELL_AT_ONCE) {
        multiply<REDWELL_AT_ONCE>(&out[16*row], unpacked, &tokens[row*blocks], blocks);
    }
    for (; row < rows; ++row) {
        multiply<1>(&out[16*row], unpacked, &tokens[row*blocks], blocks);
    }
    int different = 0;
    for (int i = 0; i < 16*rows; ++i) {
        float total = 0.0f;
        for (int64_t b = 0; b < blocks; ++b) {
            const BLOCK & left = weights[i%16*blocks + b];
            const block_q8_0 & right = input[i/16*blocks + b];
            int sum = 0;
            for (int k = 0; k < 32; ++k) {
                sum += weight(left, k)*right.qs[k];
            }
            total = fmaf((float) sum, _cvtsh_ss(left.d)*_cvtsh_ss(right.d), total);
        }
        different += total != out[i];
    }
    printf("%s %d %d\n", name, rows, different);
}

int main() {
    for (int rows : {1, 3, 4, 8, 13, 64}) {
        compare<block_q5_0, redwell_q5_0x16>("q5_0", 28, rows, 16);
#if defined(REDWELL_VNNI_512) || defined(REDWELL_VNNI_256)
        compare<block_q8_0, redwell_q8_0x16>("q8_0", 28, rows, 128);
#endif
    }
}
