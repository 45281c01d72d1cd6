import { z } from 'zod'
import type { EmbedInput } from '../../../contract/engine.ts'
import type { Prompt, ReasoningOptions } from '../../../contract/request.ts'

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null
const tokensSchema = z.custom<Uint32Array>((value) => value instanceof Uint32Array)
const vectorSchema = z.custom<Float32Array>((value) => value instanceof Float32Array)
const reasoningSchema = z.custom<ReasoningOptions>(isObject)

/** What a worker can be asked besides to generate. */
export const questionSchema = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('tokenize'),
    prompt: z.custom<Extract<Prompt, { type: 'chat' | 'text' }>>(isObject),
    reasoning: reasoningSchema,
    addBos: z.boolean(),
    parseSpecial: z.boolean(),
  }),
  z.object({ type: z.literal('detokenize'), tokens: tokensSchema, special: z.boolean() }),
  z.object({
    type: z.literal('render'),
    prompt: z.custom<Extract<Prompt, { type: 'chat' }>>(isObject),
    reasoning: reasoningSchema,
  }),
  /** These two need a slot; a `cancel` ends them between two steps. */
  z.object({ type: z.literal('rank'), query: z.string().exactOptional(), texts: z.array(z.string()) }),
  z.object({ type: z.literal('embed'), inputs: z.custom<readonly EmbedInput[]>(Array.isArray) }),
])
export type Question = z.infer<typeof questionSchema>

/** What a worker answers; a question that cannot be answered is reported as `failed`. */
export const answerSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('tokens'), tokens: tokensSchema }),
  z.object({ type: z.literal('text'), text: z.string() }),
  z.object({ type: z.literal('vectors'), vectors: z.array(vectorSchema), inputTokens: z.int() }),
  z.object({
    type: z.literal('scores'),
    scores: z.array(z.number()),
    areProbabilities: z.boolean(),
    inputTokens: z.int(),
  }),
  z.object({ type: z.literal('cancelled') }),
])
export type Answer = z.infer<typeof answerSchema>
