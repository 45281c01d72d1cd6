import type { GgufFileInfo } from 'node-llama-cpp'
import { isAssistant, problemOfAssistant } from './assistant-of-file.ts'

/**
 * The architectures whose layers for further tokens llama.cpp computes, and whether there may be several. It aborts the process where a
 * file has something else, so files are refused before they are loaded. glm-dsa is left out: its graph crashes, also in llama-server.
 */
const architectures: Readonly<Record<string, { readonly several?: true; readonly tensors?: readonly string[] }>> = {
  qwen35: {},
  qwen35moe: {},
  glm4moe: { tensors: ['ffn_gate_inp'] },
  deepseek2: {},
  deepseek32: {},
  deepseek4: {},
  bailingmoe3: {},
  cohere2moe: { tensors: ['ffn_gate_inp'] },
  nemotron_h_moe: { tensors: ['ffn_gate_inp'] },
  qwen3next: { tensors: ['ffn_gate_inp'] },
  mimo2: { several: true, tensors: ['attn_qkv', 'ffn_gate'] },
  step35: { several: true },
  hy_v3: { several: true },
}

type File = Pick<GgufFileInfo, 'metadata' | 'fullTensorInfo'>

/** Throws where the file has no layers for further tokens (of `model`), or some that llama.cpp cannot compute. */
export function refuseHeads(file: File, model?: File): void {
  const problem = isAssistant(file) ? problemOfAssistant(file, model) : problemOf(file)
  if (problem === undefined) return
  const setting = model === undefined ? 'speculation' : 'draft'
  throw new Error(`it has no multi-token prediction that llama.cpp can compute (${problem}): remove \`${setting}\``)
}

function problemOf({ metadata, fullTensorInfo = [] }: File): string | undefined {
  const name = metadata.general.architecture
  const own = (metadata as Readonly<Record<string, unknown>>)[name] as Facts | undefined
  const heads = own?.nextn_predict_layers ?? 0
  const known = architectures[name]
  if (known === undefined) return `not of the architecture ${name}`
  if (heads === 0) return `${name}.nextn_predict_layers is 0 or missing`
  if (heads > 1 && known.several === undefined) return `${heads} layers for it, and of ${name} only 1`
  // Its graph turns positions as if they were one number.
  if (name === 'glm4moe' && own?.rope?.dimension_sections !== undefined) return 'positions in pictures'
  const ratios = own?.attention?.compress_ratios ?? []
  if (ratios.slice(-heads).some((ratio) => Number(ratio) !== 0)) return 'with a compressed cache'
  const there = new Set(fullTensorInfo.map((tensor) => tensor.name))
  const blocks = own?.block_count ?? 0
  const wanted = ['nextn.eh_proj', 'nextn.enorm', 'nextn.hnorm', ...(known.tensors ?? [])]
  const missing = Array.from({ length: heads }, (_, head) => blocks - heads + head)
    .flatMap((block) => wanted.map((part) => `blk.${block}.${part}.weight`))
    .find((tensor) => !there.has(tensor))
  return missing && `the file lacks ${missing}`
}

type Facts = {
  readonly block_count?: number
  readonly nextn_predict_layers?: number
  /** For each layer; those for further tokens are last. */
  readonly attention?: { readonly compress_ratios?: readonly unknown[] }
  readonly rope?: { readonly dimension_sections?: unknown }
}
