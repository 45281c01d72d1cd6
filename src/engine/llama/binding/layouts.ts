import koffi, { type TypeObject } from 'koffi'

/**
 * The structs of llama.cpp's C interface that are passed by value or built here, with the names and the order of their fields in
 * include/llama.h, tools/mtmd/mtmd.h and mtmd-helper.h of the release that `library.ts` requires. Enums are `int32_t`.
 */

export type Fields = Readonly<Record<string, string>>

const pointer = 'void *'

export const structs = {
  llama_model_params: {
    devices: pointer,
    tensor_buft_overrides: pointer,
    n_gpu_layers: 'int32_t',
    split_mode: 'int32_t',
    load_mode: 'int32_t',
    lazy_mode: 'int32_t',
    main_gpu: 'int32_t',
    tensor_split: pointer,
    progress_callback: pointer,
    progress_callback_user_data: pointer,
    kv_overrides: pointer,
    vocab_only: 'bool',
    check_tensors: 'bool',
    use_extra_bufts: 'bool',
    no_host: 'bool',
    no_alloc: 'bool',
    load_mtp: 'bool',
  },
  llama_context_params: {
    n_ctx: 'uint32_t',
    n_batch: 'uint32_t',
    n_ubatch: 'uint32_t',
    n_seq_max: 'uint32_t',
    n_rs_seq: 'uint32_t',
    n_outputs_max: 'uint32_t',
    n_outputs_max_per_seq: 'uint32_t',
    n_threads: 'int32_t',
    n_threads_batch: 'int32_t',
    ctx_type: 'int32_t',
    rope_scaling_type: 'int32_t',
    pooling_type: 'int32_t',
    attention_type: 'int32_t',
    flash_attn_type: 'int32_t',
    rope_freq_base: 'float',
    rope_freq_scale: 'float',
    yarn_ext_factor: 'float',
    yarn_attn_factor: 'float',
    yarn_beta_fast: 'float',
    yarn_beta_slow: 'float',
    yarn_orig_ctx: 'uint32_t',
    defrag_thold: 'float',
    cb_eval: pointer,
    cb_eval_user_data: pointer,
    type_k: 'int32_t',
    type_v: 'int32_t',
    abort_callback: pointer,
    abort_callback_data: pointer,
    embeddings: 'bool',
    offload_kqv: 'bool',
    no_perf: 'bool',
    op_offload: 'bool',
    swa_full: 'bool',
    kv_unified: 'bool',
    samplers: pointer,
    n_samplers: 'size_t',
    ctx_other: pointer,
  },
  llama_batch: {
    n_tokens: 'int32_t',
    token: pointer,
    embd: pointer,
    pos: pointer,
    n_seq_id: pointer,
    seq_id: pointer,
    logits: pointer,
  },
  llama_sampler_chain_params: { no_perf: 'bool' },
  llama_logit_bias: { token: 'int32_t', bias: 'float' },
  llama_token_data: { id: 'int32_t', logit: 'float', p: 'float' },
  llama_token_data_array: { data: pointer, size: 'size_t', selected: 'int64_t', sorted: 'bool' },
  mtmd_context_params: {
    use_gpu: 'bool',
    device: pointer,
    print_timings: 'bool',
    n_threads: 'int32_t',
    image_marker: pointer,
    media_marker: pointer,
    flash_attn_type: 'int32_t',
    warmup: 'bool',
    image_min_tokens: 'int32_t',
    image_max_tokens: 'int32_t',
    cb_eval: pointer,
    cb_eval_user_data: pointer,
    batch_max_tokens: 'int32_t',
    progress_callback: pointer,
    progress_callback_user_data: pointer,
  },
  /** The only field of `mtmd_helper_init_opt`. */
  mtmd_helper_video_init_params: { fps_target: 'float', ffmpeg_bin_dir: pointer, timestamp_interval_ms: 'int64_t' },
  mtmd_helper_bitmap_wrapper: { bitmap: pointer, video_ctx: pointer },
  mtmd_input_part: { text: pointer, bitmap: pointer },
  mtmd_decoder_pos: { t: 'uint32_t', x: 'uint32_t', y: 'uint32_t', z: 'uint32_t' },
} as const satisfies Readonly<Record<string, Fields>>

export type StructName = keyof typeof structs

/** Made anew for each library: koffi's types have no names here, which would be global. */
export function structType(name: StructName): TypeObject {
  return koffi.struct(structs[name])
}
