import { z } from 'zod'
import { isObject } from '../../../base/json.ts'
import type { EmbedInput } from '../../../contract/engine.ts'
import type { Prompt, ReasoningOptions, ToolChoice } from '../../../contract/request.ts'

const tokensSchema = z.custom<Uint32Array>((value) => value instanceof Uint32Array)
const bytesSchema = z.custom<Uint8Array>((value) => value instanceof Uint8Array)
const vectorSchema = z.custom<Float32Array>((value) => value instanceof Float32Array)
const reasoningSchema = z.custom<ReasoningOptions>(isObject)
const toolChoiceSchema = z.custom<ToolChoice>(isObject)

const deviceSchema = z.object({ name: z.string(), description: z.string(), freeBytes: z.number(), totalBytes: z.number() })

/** Work for the worker other than generating. */
export const workerRequestSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('tokenize'),
    prompt: z.custom<Extract<Prompt, { type: 'chat' | 'text' }>>(isObject),
    reasoning: reasoningSchema,
    toolChoice: toolChoiceSchema.exactOptional(),
    addBos: z.boolean(),
    parseSpecial: z.boolean(),
    /** The reply has the bytes of each token, too. */
    pieces: z.boolean(),
  }),
  z.object({ type: z.literal('detokenize'), tokens: tokensSchema, special: z.boolean() }),
  z.object({
    type: z.literal('render'),
    prompt: z.custom<Extract<Prompt, { type: 'chat' }>>(isObject),
    reasoning: reasoningSchema,
    toolChoice: toolChoiceSchema.exactOptional(),
  }),
  /** `rank` and `embed` take a slot of the engine's queue; `cancel` ends them between two steps. */
  z.object({ type: z.literal('rank'), query: z.string().exactOptional(), texts: z.array(z.string()) }),
  z.object({ type: z.literal('embed'), inputs: z.custom<readonly EmbedInput[]>(Array.isArray) }),
  /** The memory of the GPUs. */
  z.object({ type: z.literal('devices') }),
])
export type WorkerRequest = z.infer<typeof workerRequestSchema>

/** The worker's reply; a failure is reported as `failed` instead. */
export const workerReplySchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('tokens'), tokens: tokensSchema, pieces: z.array(bytesSchema).exactOptional() }),
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('vectors'), vectors: z.array(vectorSchema), inputTokens: z.int() }),
  z.object({
    type: z.literal('scores'),
    scores: z.array(z.number()),
    areProbabilities: z.boolean(),
    inputTokens: z.int(),
  }),
  z.object({ type: z.literal('devices'), devices: z.array(deviceSchema) }),
  z.object({ type: z.literal('cancelled') }),
])
export type WorkerReply = z.infer<typeof workerReplySchema>
