import { z } from 'zod'
import type { TemplateChoice } from '../../../contract/engine.ts'
import type { GeneratedToken, PromptToken } from '../../../contract/event.ts'
import type { OutputFormat } from '../../../contract/output-format.ts'
import type { OutputConstraint, Prompt, ReasoningOptions, ToolChoice } from '../../../contract/request.ts'
import type { FileSampling } from './file-sampling.ts'
import { answerSchema, questionSchema } from './questions.ts'

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null
const isTagged = (value: unknown): boolean => isObject(value) && 'type' in (value as object)
const templateChoiceSchema = z.custom<TemplateChoice>(isTagged)

/** How a worker loads its model. Absent numbers are decided by the worker, from the model and the machine. */
const loadOptionsSchema = z.object({
  modelPath: z.string(),
  contextLength: z.int().positive().optional(),
  slots: z.int().positive(),
  threads: z.int().positive().optional(),
  batchSize: z.int().positive().optional(),
  gpuLayers: z.union([z.int().nonnegative(), z.enum(['auto', 'max'])]).optional(),
  flashAttention: z.boolean(),
  /** Replaces the template in the model file. */
  chatTemplate: z.string().optional(),
  /** What the operator has switched to since the server started; absent: the model's own. */
  template: templateChoiceSchema.optional(),
  /** How calls look in the model's text, where the template alone does not say it right. */
  toolFormat: z.string().optional(),
  /** Calls are bound to the schemas of all tools, not only of the strict ones, also where no call is demanded. */
  bindsAllTools: z.boolean().optional(),
})
export type LoadOptions = z.infer<typeof loadOptionsSchema>

/** Sampling with every default filled in: what the worker does is exactly what this says. */
const samplingSchema = z.object({
  temperature: z.number().nonnegative(),
  topP: z.number(),
  topK: z.int().nonnegative(),
  minP: z.number(),
  seed: z.int().nonnegative(),
  repetitionPenalty: z.number().positive(),
  /** -1 is the whole context. */
  repetitionRange: z.int().min(-1),
  presencePenalty: z.number(),
  frequencyPenalty: z.number(),
  logitBias: z.array(z.tuple([z.int().nonnegative(), z.number()])),
  xtc: z.object({ probability: z.number(), threshold: z.number() }).optional(),
  dry: z
    .object({
      multiplier: z.number(),
      base: z.number(),
      allowedLength: z.int(),
      range: z.int(),
      sequenceBreakers: z.array(z.string()),
    })
    .optional(),
})
export type ResolvedSampling = z.infer<typeof samplingSchema>

const tokensSchema = z.custom<Uint32Array>((value) => value instanceof Uint32Array)
const outputFormatSchema = z.custom<OutputFormat>(isObject)

/** How one choice is to be written: the part of a run that `prepare` has found out. */
const shapeSchema = z.object({
  format: outputFormatSchema.optional(),
  /** What the text must match, from its first token to its last: GBNF, and the rule to begin with. */
  grammar: z
    .object({
      text: z.string(),
      root: z.string(),
      /** It binds parts of a text that may go on behind them for ever. */
      isOpen: z.literal(true).exactOptional(),
    })
    .optional(),
})
export type Shape = z.infer<typeof shapeSchema>

/** Parent to worker. What the dialect has validated is trusted; only its envelope is checked again. */
export const commandSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('load'), options: loadOptionsSchema }),
  z.object({
    type: z.literal('prepare'),
    id: z.string(),
    prompt: z.custom<Prompt>(isTagged),
    maxOutputTokens: z.int().nonnegative().optional(),
    output: z.custom<OutputConstraint>(isTagged),
    toolChoice: z.custom<ToolChoice>(isTagged),
    parallelToolCalls: z.boolean(),
    reasoning: z.custom<ReasoningOptions>(isObject),
  }),
  z.object({
    type: z.literal('run'),
    id: z.string(),
    tokens: tokensSchema,
    /** For each choice. 0: only the prompt is read. Absent: the rest of the context. */
    maxOutputTokens: z.int().nonnegative().optional(),
    /** The turn cannot end before. */
    minOutputTokens: z.int().nonnegative().exactOptional(),
    stop: z.array(z.string()),
    ignoreEos: z.boolean(),
    sampling: samplingSchema,
    choices: z.int().positive(),
    /** How many of the likeliest tokens are told beside each chosen one; absent: no log-probabilities. */
    topLogprobs: z.int().nonnegative().optional(),
    /** The prompt's tokens are told: with log-probabilities, and so many of the likeliest beside each, or without. */
    tellPrompt: z.object({ topLogprobs: z.int().nonnegative().exactOptional() }).exactOptional(),
    shape: shapeSchema,
    /** Reasoning is closed after this many tokens. */
    reasoningBudget: z.int().nonnegative().optional(),
  }),
  z.object({ type: z.literal('ask'), id: z.string(), question: questionSchema }),
  /** Conversations are rendered with another template from here on; what was prepared before is not touched. */
  z.object({ type: z.literal('use-template'), id: z.string(), choice: templateChoiceSchema }),
  z.object({ type: z.literal('cancel'), id: z.string() }),
  /** Asks whether the worker is alive; answered by `pong` at once. */
  z.object({ type: z.literal('ping') }),
  /** Generation of one request stands still while its reader is behind. */
  z.object({ type: z.enum(['pause', 'resume']), id: z.string() }),
])
export type Command = z.infer<typeof commandSchema>

/** What the worker answers once. */
export type QuestionCommand = Extract<Command, { type: 'prepare' | 'ask' | 'use-template' }>

const failureSchema = z.object({
  code: z.string(),
  message: z.string(),
  at: z
    .array(z.union([z.string(), z.number()]))
    .readonly()
    .exactOptional(),
  overflow: z
    .object({
      inputTokens: z.number(),
      estimated: z.boolean().exactOptional(),
      outputTokens: z.number().exactOptional(),
      contextLength: z.number(),
    })
    .optional(),
})
export type Failure = z.infer<typeof failureSchema>

/**
 * Worker to parent. Every `prepare` is answered by `prepared` or `failed`, every `ask` by `answered` or `failed`, every
 * `use-template` by `template-used` or `failed`, and every `run` ends with `done` or `failed`.
 */
export const reportSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('log'), level: z.enum(['debug', 'info', 'warn', 'error']), message: z.string() }),
  z.object({ type: z.literal('pong') }),
  z.object({ type: z.literal('loading'), progress: z.number() }),
  z.object({
    type: z.literal('ready'),
    contextLength: z.int(),
    vocabularySize: z.int(),
    description: z.string(),
    embeddingLength: z.int(),
    /** What the file says of sampling. */
    fileSampling: z.custom<FileSampling>(isObject),
    /** The model's own, whichever is in use. */
    chatTemplate: z.string().exactOptional(),
    ranks: z.literal(true).exactOptional(),
  }),
  z.object({ type: z.literal('load-failed'), message: z.string() }),
  z.object({
    type: z.literal('prepared'),
    id: z.string(),
    tokens: tokensSchema,
    templateMs: z.number(),
    shape: shapeSchema,
    /** How much of the wanted output the grammar makes certain. */
    structured: z.enum(['full', 'partial']).optional(),
  }),
  z.object({ type: z.literal('template-used'), id: z.string() }),
  z.object({ type: z.literal('answered'), id: z.string(), answer: answerSchema }),
  z.object({ type: z.literal('failed'), id: z.string(), failure: failureSchema }),
  z.object({ type: z.literal('prompt-read'), id: z.string(), cachedTokens: z.int(), prefillMs: z.number() }),
  z.object({ type: z.literal('prompt-tokens'), id: z.string(), tokens: z.custom<readonly PromptToken[]>(Array.isArray) }),
  z.object({
    type: z.literal('text'),
    id: z.string(),
    choice: z.int(),
    text: z.string(),
    tokens: z.custom<readonly GeneratedToken[]>(Array.isArray).optional(),
  }),
  z.object({
    type: z.literal('choice-done'),
    id: z.string(),
    choice: z.int(),
    reason: z.enum(['stop', 'length', 'context-full']),
    stopSequence: z.string().optional(),
  }),
  z.object({
    type: z.literal('done'),
    id: z.string(),
    cancelled: z.boolean(),
    outputTokens: z.int(),
    reasoningTokens: z.int(),
    decodeMs: z.number(),
  }),
])
export type Report = z.infer<typeof reportSchema>
