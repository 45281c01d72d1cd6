import { z } from 'zod'
import {
  aliases,
  chatTemplate,
  contextLength,
  count,
  load,
  maxQueued,
  modelId,
  namedSources,
  required,
  samplingDefaults,
  sha256,
  sources,
  toolFormat,
} from './model-fields.ts'
import { refuseArgument } from './reserved-arguments.ts'

const cacheType = z.enum(['f32', 'f16', 'bf16', 'q8_0', 'q4_0', 'q4_1', 'iq4_nl', 'q5_0', 'q5_1'])
const unquantized = new Set(['f32', 'f16', 'bf16'])

const gpuLayers = z.union([z.int().min(0), z.enum(['auto', 'max'])])

const draft = z
  .strictObject({
    source: sources.describe('The draft model: a small one with the vocabulary of the large one.'),
    maxTokens: count.exactOptional().describe('The most tokens that are drafted before the large model verifies them.'),
    minTokens: z.int().min(0).exactOptional().describe('Shorter drafts are not verified.'),
    minProbability: z.number().min(0).max(1).exactOptional().describe('Drafting stops at a token less probable than this.'),
    gpuLayers: gpuLayers.exactOptional().describe('Layers of the draft model that run on the GPU.'),
  })
  .check(({ value, issues }) => {
    const { minTokens = 0, maxTokens } = value
    if (maxTokens === undefined || minTokens <= maxTokens) return
    issues.push({ code: 'custom', path: ['minTokens'], message: `must not be above maxTokens (${maxTokens})`, input: minTokens })
  })
  .describe('Speculative decoding: a small model drafts tokens, and the large one verifies several in one step.')

const args = z
  .array(z.string().regex(/^[^\0]*$/, 'must not contain a NUL'))
  .check(({ value, issues }) => {
    for (const [index, argument] of value.entries()) {
      const message = refuseArgument(argument)
      if (message !== undefined) issues.push({ code: 'custom', path: [index], message, input: argument })
    }
  })
  .describe('Further arguments for llama-server, one entry for each word, such as `["--mlock", "--numa", "distribute"]`.')

/** A model that is served by the user's own llama-server. */
export const llamaServerModel = z
  .strictObject({
    engine: z.literal('llama-server').describe("A GGUF file, run by the user's own llama-server, which Dragoman starts."),
    id: modelId,
    binary: z
      .string()
      .min(1)
      .default('llama-server')
      .describe('The program: a path, or a name without slashes that is looked up on PATH.'),
    source: sources,
    sha256: sha256.exactOptional(),
    mmproj: namedSources.exactOptional().describe('The multimodal projector, with which the model reads images or audio.'),
    contextLength: contextLength
      .default(8192)
      .describe(
        'Tokens that one request may use, prompt and output together; at most what the model was trained for. Memory is ' +
          'allocated for every slot.',
      ),
    slots: count.default(4).describe('Requests that are generated at the same time.'),
    threads: count.exactOptional().describe("CPU threads; absent: llama-server's own choice."),
    gpuLayers: gpuLayers.exactOptional().describe('Layers that run on the GPU: a number, `auto` (what fits) or `max`.'),
    flashAttention: z
      .union([z.boolean(), z.literal('auto')])
      .default('auto')
      .describe('Faster attention that needs less memory; `auto`: where the device supports it.'),
    cacheTypeK: cacheType.exactOptional().describe('The number format of the cached keys; absent: f16.'),
    cacheTypeV: cacheType
      .exactOptional()
      .describe('The number format of the cached values; absent: f16. Quantized formats need flash attention.'),
    draft: draft.exactOptional(),
    chatTemplate: chatTemplate.exactOptional(),
    toolFormat: toolFormat.exactOptional(),
    aliases,
    load,
    required: required.exactOptional(),
    maxQueued,
    defaults: samplingDefaults.exactOptional(),
    args: args.default([]),
  })
  .check(({ value, issues }) => {
    const { cacheTypeV = 'f16', flashAttention } = value
    if (flashAttention !== false || unquantized.has(cacheTypeV)) return
    const message = `${cacheTypeV} needs flash attention: remove flashAttention, or use f16`
    issues.push({ code: 'custom', path: ['cacheTypeV'], message, input: cacheTypeV })
  })
  .describe('A model that a llama-server runs: for images, audio, speculative decoding, and custom builds of llama.cpp.')
