// Products of sixteen_rows.inc beside the same written plainly: whole numbers within a sub-block, one after another.
// Built and run by test_blocks.py. Prints the number of products that differ in a bit, for each type and row count.

#include <immintrin.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <type_traits>
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

struct block_q4_K {
    ggml_half d, dmin;
    uint8_t   scales[12];
    uint8_t   qs[128];
};

struct block_q6_K {
    uint8_t   ql[128];
    uint8_t   qh[64];
    int8_t    scales[16];
    ggml_half d;
};

// What the class around the products needs of ggml, for one thread.
#define GGML_PAD(x, n) (((x) + (n) - 1)/(n)*(n))
#define GGML_ASSERT(x) (void) (x)
#define GGML_UNUSED(x) (void) (x)
enum { GGML_OP_MUL_MAT };
enum ggml_type {
    GGML_TYPE_F32, GGML_TYPE_Q4_K, GGML_TYPE_Q5_0, GGML_TYPE_Q6_K, GGML_TYPE_Q8_0
};
struct ggml_tensor {
    ggml_type type;
    int op;
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
// As llama.cpp's quantize_row_q8_0_ref.
static void quantize_q8_0(const float * in, void * out, int64_t count) {
    for (int64_t b = 0; b < count/32; ++b) {
        block_q8_0 & block = ((block_q8_0 *) out)[b];
        float most = 0.0f;
        for (int i = 0; i < 32; ++i) {
            most = std::max(most, fabsf(in[32*b + i]));
        }
        const float d = most/127.0f, inverse = d ? 1.0f/d : 0.0f;
        block.d = _cvtss_sh(d, 0);
        for (int i = 0; i < 32; ++i) {
            block.qs[i] = (int8_t) roundf(in[32*b + i]*inverse);
        }
    }
}

static const ggml_type_traits_cpu * ggml_get_type_traits_cpu(int) {
    static const ggml_type_traits_cpu traits = {quantize_q8_0};
    return &traits;
}

static int64_t ggml_nrows(const ggml_tensor * t) { return t->ne[1]*t->ne[2]*t->ne[3]; }
static int ggml_n_dims(const ggml_tensor *) { return 2; }
static int chunk;
static void ggml_threadpool_chunk_set(void *, int value) { chunk = value; }
static int ggml_threadpool_chunk_add(void *, int more) { return (chunk += more) - more; }
static void ggml_barrier(void *) {}
struct tensor_traits_base {
    virtual bool work_size(int, const ggml_tensor *, size_t &) = 0;
    virtual bool compute_forward(ggml_compute_params *, ggml_tensor *) = 0;
    virtual int repack(ggml_tensor *, const void *, size_t) = 0;
};
namespace ggml { namespace cpu { using tensor_traits = tensor_traits_base; } }

#include "blocks.inc"
#include "sixteen_rows.inc"

static uint32_t state = 1;

static int draw(int below) {
    state = state*1664525u + 1013904223u;
    return (int) ((state >> 8) % (uint32_t) below);
}

// A row of a block, as llama.cpp's dequantize_row_* reads it: [sub-block] scale and minimum, [i] weight.
struct plain {
    std::vector<int> weights;
    std::vector<float> scales;
    std::vector<int> minima;
    float dmin = 0;
};

static plain read(const block_q5_0 & block) {
    plain out;
    for (int i = 0; i < 32; ++i) {
        const int fifth = block.qh[i/8] >> i%8 & 1;
        out.weights.push_back(((i < 16 ? block.qs[i] & 15 : block.qs[i - 16] >> 4) | fifth << 4) - 16);
    }
    out.scales = {_cvtsh_ss(block.d)};
    return out;
}

static plain read(const block_q8_0 & block) {
    plain out;
    out.weights.assign(block.qs, block.qs + 32);
    out.scales = {_cvtsh_ss(block.d)};
    return out;
}

static plain read(const block_q4_K & block) {
    plain out;
    out.dmin = _cvtsh_ss(block.dmin);
    for (int s = 0; s < 8; ++s) {
        const uint8_t * q = block.scales;
        const int scale = s < 4 ? q[s] & 63 : (q[s + 4] & 15) | (q[s - 4] >> 6) << 4;
        out.minima.push_back(s < 4 ? q[s + 4] & 63 : q[s + 4] >> 4 | (q[s] >> 6) << 4);
        out.scales.push_back(_cvtsh_ss(block.d)*scale);
        for (int i = 0; i < 32; ++i) {
            const int both = block.qs[s/2*32 + i];
            out.weights.push_back(s % 2 ? both >> 4 : both & 15);
        }
    }
    return out;
}

static plain read(const block_q6_K & block) {
    plain out;
    for (int s = 0; s < 16; ++s) {
        out.scales.push_back(_cvtsh_ss(block.d)*block.scales[s]);
    }
    for (int i = 0; i < 256; ++i) {
        const int half = i/128, quarter = i%128/32, l = i%32;
        const int low = block.ql[64*half + l + quarter%2*32], high = block.qh[32*half + l];
        out.weights.push_back(((quarter < 2 ? low & 15 : low >> 4) | (high >> 2*quarter & 3) << 4) - 32);
    }
    return out;
}

static void any_bytes(void * to, size_t count, bool extreme) {
    for (size_t i = 0; i < count; ++i) {
        ((uint8_t *) to)[i] = extreme ? 255 : draw(256);
    }
}

static ggml_half any_half() {
    return _cvtss_sh((draw(1001) - 500)/5000.0f, 0);
}

static void fill(block_q5_0 & block, bool extreme) {
    any_bytes(&block, sizeof(block), extreme);
    block.d = any_half();
}

static void fill(block_q8_0 & block, bool extreme) {
    any_bytes(&block, sizeof(block), false);
    for (int8_t & q : block.qs) {
        q = extreme ? 127 : q;
    }
    block.d = any_half();
}

static void fill(block_q4_K & block, bool extreme) {
    any_bytes(&block, sizeof(block), extreme);
    block.d = any_half();
    block.dmin = any_half();
}

static void fill(block_q6_K & block, bool extreme) {
    any_bytes(&block, sizeof(block), extreme);
    block.d = any_half();
}

// A block of a row of tokens: whole numbers up to 127, and what they are multiplied with.
struct quantized {
    std::vector<int> values;
    float d;
};

static quantized quantize(const float * in, int count) {
    quantized out;
    if (count == 32) {
        block_q8_0 block;
        quantize_q8_0(in, &block, 32);
        out.d = _cvtsh_ss(block.d);
        out.values.assign(block.qs, block.qs + 32);
        return out;
    }
    float most = 0.0f;
    for (int i = 0; i < count; ++i) {
        most = std::max(most, fabsf(in[i]));
    }
    out.d = most > 0.0f ? 1.0f/(127.0f/most) : 0.0f;
    for (int i = 0; i < count; ++i) {
        out.values.push_back(most > 0.0f ? (int) nearbyintf(in[i]*(127.0f/most)) : 0);
    }
    return out;
}

// A block's products, added to `total`.
static float add_block(float total, const plain & left, const quantized & right) {
    const int size = (int) (left.weights.size()/left.scales.size());
    float part = 0.0f;
    int below = 0;
    for (int s = 0; s < (int) left.scales.size(); ++s) {
        int sum = 0;
        for (int i = s*size; i < (s + 1)*size; ++i) {
            sum += left.weights[i]*right.values[i];
            below += left.minima.empty() ? 0 : left.minima[s]*right.values[i];
        }
        part = fmaf((float) sum, left.scales[s], part);
    }
    part = left.minima.empty() ? part : fmaf((float) below, -left.dmin, part);
    return fmaf(part, right.d, total);
}

// 53 rows of weights (no multiple of 16) times `rows` rows of tokens.
template <typename BLOCK>
static void compare(const char * name, ggml_type type, int values, int64_t blocks, int rows) {
    const int columns = 53, width = (int) blocks*values;
    std::vector<BLOCK> weights(columns*blocks), repacked(columns*blocks);
    for (size_t i = 0; i < weights.size(); ++i) {
        fill(weights[i], i == 0);
    }
    std::vector<float> input(rows*width), out(rows*columns);
    for (size_t i = 0; i < input.size(); ++i) { // the first block is as large as it can be, the second 0
        const int block = (int) i/values;
        input[i] = block == 0 ? -3.0f : block == 1 ? 0.0f : (draw(2001) - 1000)/777.0f;
    }
    ggml_tensor left = {type, 0, {width, columns, 1, 1}, {}, {}, repacked.data()};
    const size_t row_bytes = sizeof(float)*width, out_bytes = sizeof(float)*columns;
    ggml_tensor right = {
        GGML_TYPE_F32, 0, {width, rows, 1, 1}, {sizeof(float), row_bytes, rows*row_bytes, rows*row_bytes}, {}, input.data()};
    ggml_tensor product = {
        GGML_TYPE_F32, GGML_OP_MUL_MAT, {columns, rows, 1, 1}, {sizeof(float), out_bytes, rows*out_bytes, rows*out_bytes},
        {&left, &right}, out.data()};
    auto * traits = const_cast<tensor_traits_base *>(redwell_repacks(&left));
    size_t size = 0;
    const bool taken = !traits->repack(&left, weights.data(), weights.size()*sizeof(BLOCK)) &&
        traits->work_size(1, &product, size);
    std::vector<char> work(size);
    ggml_compute_params params = {0, 1, work.data(), nullptr};
    int different = taken && traits->compute_forward(&params, &product) ? 0 : 1;
    for (int i = 0; i < rows*columns; ++i) {
        float total = 0.0f;
        for (int64_t b = 0; b < blocks; ++b) {
            total = add_block(total, read(weights[i%columns*blocks + b]), quantize(&input[i/columns*width + b*values], values));
        }
        different += !std::isfinite(total) || total != out[i];
    }
    printf("%s %d %d\n", name, rows, different);
}

int main() {
    for (int rows : {1, 3, 4, 8, 13, 64}) {
        compare<block_q5_0>("q5_0", GGML_TYPE_Q5_0, 32, 40, rows);
        compare<block_q4_K>("q4_K", GGML_TYPE_Q4_K, 256, 7, rows);
        compare<block_q6_K>("q6_K", GGML_TYPE_Q6_K, 256, 7, rows);
#if defined(REDWELL_VNNI_512) || defined(REDWELL_VNNI_256)
        compare<block_q8_0>("q8_0", GGML_TYPE_Q8_0, 32, 40, rows);
#endif
    }
}
