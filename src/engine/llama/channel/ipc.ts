import { z } from 'zod'
import { isObject } from '../../../base/json.ts'
import type { ErrorCode, ErrorOptions } from '../../../contract/errors.ts'
import type { GeneratedToken, PromptToken } from '../../../contract/event.ts'
import type { OutputFormat } from '../../../contract/output-format.ts'
import type { Prompt, ReasoningOptions, ToolChoice } from '../../../contract/request.ts'
import { cacheTypes } from '../../../contract/server/lifecycle.ts'
import type { RequestTemplate, TemplateChoice } from '../../../contract/template.ts'
import { draftKinds } from '../../../contract/usage.ts'
import type { GrammarProgram } from '../../../grammar/run/program.ts'
import type { FileSampling } from './file-sampling.ts'
import type { Weights } from './fit-weights.ts'
import type { ResolvedSampling } from './resolve-sampling.ts'
import { workerReplySchema, workerRequestSchema } from './worker-requests.ts'

const isTagged = (value: unknown): boolean => isObject(value) && 'type' in (value as object)
const templateChoiceSchema = z.custom<TemplateChoice>(isTagged)
const requestTemplateSchema = z.custom<RequestTemplate>(isTagged)
/** `start`: the tokens in front of it, where the template shows where it begins. */
const lastMessageSchema = z.object({ start: z.int().nonnegative().optional(), isOfUser: z.boolean() })
const gpuLayersSchema = z.union([z.int().nonnegative(), z.enum(['auto', 'max'])])

const draftCounts = { proposed: z.int(), accepted: z.int() }

/** How a worker loads its model. Absent numbers are decided by the worker, from the model and the machine. */
const loadOptionsSchema = z.object({
  modelPath: z.string(),
  /** The folder to import node-llama-cpp from; absent: where it is installed beside this program. */
  enginePath: z.string().optional(),
  contextLength: z.int().positive().optional(),
  /** Without a set context: its upper limit if memory allows. */
  longestContext: z.int().positive().optional(),
  slots: z.int().positive(),
  threads: z.int().positive().optional(),
  batchSize: z.int().positive().optional(),
  /** The longest that a round with a prompt's step may take, in ms. */
  stopWithinMs: z.int().positive().optional(),
  gpuLayers: gpuLayersSchema.optional(),
  /** Where the weights are; absent parts are decided by the worker. */
  placement: z
    .object({
      experts: z.union([z.literal('cpu'), z.int().nonnegative()]).exactOptional(),
      devices: z.array(z.string()).exactOptional(),
      tensorSplit: z.array(z.number()).exactOptional(),
      mainGpu: z.int().nonnegative().exactOptional(),
      noMmap: z.boolean().exactOptional(),
      lock: z.boolean().exactOptional(),
    })
    .exactOptional(),
  /** Weights that are placed as the free memory of the GPUs allows. */
  weights: z.custom<Weights>(isObject).exactOptional(),
  flashAttention: z.boolean(),
  /** Absent parts come from the file. */
  rope: z
    .object({
      scaling: z.enum(['none', 'linear', 'yarn']).exactOptional(),
      factor: z.number().positive().exactOptional(),
      originalContext: z.int().positive().exactOptional(),
      base: z.number().positive().exactOptional(),
    })
    .exactOptional(),
  speculation: z
    .discriminatedUnion('type', [
      z.object({
        type: z.literal('ngram'),
        maxTokens: z.int().positive(),
        /** Without measuring whether it is faster. */
        always: z.boolean().exactOptional(),
      }),
      z.object({
        type: z.literal('mtp'),
        maxTokens: z.int().positive(),
        /** A draft ends before a token that is less probable than this. */
        minProbability: z.number().min(0).max(1),
        /** Without measuring whether it is faster. */
        always: z.boolean().exactOptional(),
      }),
    ])
    .exactOptional(),
  /** A model that drafts tokens for this one. */
  draft: z
    .object({
      modelPath: z.string(),
      /** Absent: the architecture of the file decides. */
      type: z.enum(['model', 'mtp', 'eagle3']).exactOptional(),
      maxTokens: z.int().positive().exactOptional(),
      /** Shorter drafts are not verified. */
      minTokens: z.int().nonnegative().exactOptional(),
      /** A draft ends before a token that is less probable than this. */
      minProbability: z.number().min(0).max(1).exactOptional(),
      gpuLayers: gpuLayersSchema.exactOptional(),
      /** Without measuring whether it is faster. */
      always: z.boolean().exactOptional(),
    })
    .exactOptional(),
  /** Prefixes of at least `minTokens` are kept, first in memory, then in a folder. */
  prefixCache: z
    .object({
      minTokens: z.int().positive(),
      /** `spare`: what `spare-memory` commands grant. */
      memoryBytes: z.union([z.number().nonnegative(), z.literal('spare')]),
      /** Without a limit: what the disk has room for. */
      disk: z.object({ folder: z.string(), maxBytes: z.number().positive().exactOptional() }).exactOptional(),
    })
    .exactOptional(),
  /** The number formats of the cache, as `contract/server/lifecycle.ts` names them; absent: f16. */
  cacheTypeK: z.enum(cacheTypes).optional(),
  cacheTypeV: z.enum(cacheTypes).optional(),
  /** The projector with which the model reads pictures or sounds, and the library that runs it. */
  mmprojPath: z.string().exactOptional(),
  sensesPath: z.string().exactOptional(),
  /** LoRA adapters, which the context applies to everything. */
  adapters: z.array(z.object({ path: z.string(), scale: z.number() })).optional(),
  /** Replaces the template in the model file. */
  chatTemplate: z.string().optional(),
  /** The template that is used; absent: the model's own. */
  template: templateChoiceSchema.optional(),
  /** The format of calls in the model's text; absent: the template's. */
  toolFormat: z.string().optional(),
  reasoningTags: z.object({ open: z.string(), close: z.string() }).optional(),
  callsInReasoning: z.boolean().optional(),
})
export type LoadOptions = z.infer<typeof loadOptionsSchema>

/** Where vectors of a medium stand in place of tokens. */
export type PlacedSlice = {
  readonly start: number
  readonly tokens: number
  readonly positions: number
  /** The hash of the medium, and which of its parts this is. */
  readonly sha256: string
  readonly part: number
}

const tokensSchema = z.custom<Uint32Array>((value) => value instanceof Uint32Array)
/** The slices of a prompt's media, in order. */
const slicesSchema = z.custom<readonly PlacedSlice[]>(Array.isArray)
const outputFormatSchema = z.custom<OutputFormat>(isObject)

const outputPlanSchema = z.object({
  format: outputFormatSchema.optional(),
  /** The complete output matches this, from its first token. */
  grammar: z
    .object({
      /** Equal for equal grammars. */
      key: z.string(),
      program: z.custom<GrammarProgram>(isObject),
      /** It constrains parts of a text that may continue after them without limit. */
      isOpen: z.literal(true).exactOptional(),
    })
    .optional(),
})
export type OutputPlan = z.infer<typeof outputPlanSchema>

/** Parent to worker. The content was validated by the dialect; only the envelope is checked again. */
export const commandSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('load'), options: loadOptionsSchema }),
  z.object({
    type: z.literal('prepare'),
    id: z.string(),
    prompt: z.custom<Prompt>(isTagged),
    maxOutputTokens: z.int().nonnegative().optional(),
    reasoning: z.custom<ReasoningOptions>(isObject),
    toolChoice: z.custom<ToolChoice>(isObject),
  }),
  z.object({
    type: z.literal('run'),
    id: z.string(),
    tokens: tokensSchema,
    /** Its media. */
    slices: slicesSchema.exactOptional(),
    /** As `prepared` has it. */
    lastMessage: lastMessageSchema.optional(),
    /** Who may get what it leaves in slots, and in the store of prefixes. */
    owner: z.string(),
    /** For each choice. 0: only the prompt is read. Absent: the rest of the context. */
    maxOutputTokens: z.int().nonnegative().optional(),
    /** The turn cannot end before this many tokens. */
    minOutputTokens: z.int().nonnegative().optional(),
    stop: z.array(z.string()),
    ignoreEos: z.boolean(),
    sampling: z.custom<ResolvedSampling>(isObject),
    choices: z.int().positive(),
    /** The text has special tokens. */
    showsSpecialTokens: z.boolean().optional(),
    /** The number of top log-probabilities for each token; absent: no log-probabilities. */
    topLogprobs: z.int().nonnegative().optional(),
    /** The prompt's tokens are reported, with this many top log-probabilities; absent number: without log-probabilities. */
    echoPrompt: z.object({ topLogprobs: z.int().nonnegative().optional() }).optional(),
    plan: outputPlanSchema,
    /** That of the prompt; absent: the model's. */
    template: requestTemplateSchema.optional(),
    /** The prompt stays in its slot while another one is free. */
    pinsPrompt: z.boolean().optional(),
    /** The steps in which the prompt is read are reported. */
    tellsProgress: z.boolean().optional(),
    /** Reasoning is closed after this many tokens, with this text as its end. */
    reasoningBudget: z.object({ tokens: z.int().nonnegative(), message: z.string().optional() }).optional(),
  }),
  z.object({ type: z.literal('ask'), id: z.string(), request: workerRequestSchema }),
  /** Replaces the template for conversations; prepared requests are not affected. */
  z.object({ type: z.literal('use-template'), id: z.string(), choice: templateChoiceSchema }),
  /** What prefixes in memory may use from now on, where `memoryBytes` is `spare`. */
  z.object({ type: z.literal('spare-memory'), bytes: z.number().nonnegative() }),
  /** Saves the contents of the free slots, and prefixes in memory; no work follows. */
  z.object({ type: z.literal('save-prefixes'), id: z.string() }),
  z.object({ type: z.literal('cancel'), id: z.string() }),
  /** In reply to `media-wanted`; without `base64`, no request has it any more. */
  z.object({ type: z.literal('media'), sha256: z.string(), base64: z.string().exactOptional() }),
  /** A heartbeat; answered immediately by `pong`. */
  z.object({ type: z.literal('ping') }),
  /** Generation for one request pauses while its reader is slow. */
  z.object({ type: z.enum(['pause', 'resume']), id: z.string() }),
])
export type Command = z.infer<typeof commandSchema>
export type RunCommand = Extract<Command, { type: 'run' }>

/** Commands with exactly one reply. */
export type ExchangeCommand = Extract<Command, { type: 'prepare' | 'ask' | 'use-template' | 'save-prefixes' }>

/** An `AppError`, as its request gets it. */
export type Failure = { readonly code: ErrorCode; readonly message: string } & Pick<ErrorOptions, 'at' | 'overflow'>

/** The builds of llama.cpp, by what they compute on. */
export const llamaBuilds = ['cpu', 'cuda', 'metal', 'vulkan'] as const
export type LlamaBuild = (typeof llamaBuilds)[number]

/**
 * Worker to parent. Every `prepare` is answered by `prepared` or `failed`, every `ask` by `answered` or `failed`, every
 * `use-template` by `template-used` or `failed`, and every `run` ends with `done` or `failed`.
 */
const reportSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('log'), level: z.enum(['debug', 'info', 'warn', 'error']), message: z.string() }),
  z.object({ type: z.literal('pong') }),
  /** The worker lacks the bytes of a medium. */
  z.object({ type: z.literal('media-wanted'), sha256: z.string() }),
  z.object({ type: z.literal('loading'), progress: z.number() }),
  z.object({
    type: z.literal('ready'),
    build: z.enum(llamaBuilds),
    contextLength: z.int(),
    trainedContextLength: z.int().exactOptional(),
    vocabularySize: z.int(),
    description: z.string(),
    embeddingLength: z.int(),
    /** The texts of the tokens that end the turn. */
    endTexts: z.array(z.string()).readonly(),
    fileSampling: z.custom<FileSampling>(isObject),
    /** The model's own template, even if another one is in use. */
    chatTemplate: z.string().exactOptional(),
    ranks: z.literal(true).exactOptional(),
    infills: z.literal(true).exactOptional(),
    onlyEmbeds: z.literal(true).exactOptional(),
    /** Only with a projector. */
    reads: z.object({ image: z.boolean(), audio: z.boolean() }).exactOptional(),
  }),
  z.object({ type: z.literal('load-failed'), message: z.string() }),
  z.object({
    type: z.literal('prepared'),
    id: z.string(),
    tokens: tokensSchema,
    slices: slicesSchema.exactOptional(),
    /** Where the slots need to know. */
    lastMessage: lastMessageSchema.optional(),
    templateMs: z.number(),
    format: outputFormatSchema.optional(),
    /** Whether reasoning comes before a constrained output. */
    reasoningFront: z.enum(['never', 'opened', 'optional']),
  }),
  z.object({ type: z.literal('template-used'), id: z.string() }),
  z.object({ type: z.literal('prefixes-saved'), id: z.string() }),
  z.object({ type: z.literal('answered'), id: z.string(), reply: workerReplySchema }),
  z.object({ type: z.literal('failed'), id: z.string(), failure: z.custom<Failure>(isObject) }),
  z.object({
    type: z.literal('prompt-progress'),
    id: z.string(),
    cachedTokens: z.int(),
    readTokens: z.int(),
    elapsedMs: z.number(),
  }),
  z.object({
    type: z.literal('prompt-read'),
    id: z.string(),
    cachedTokens: z.int(),
    cachedIn: z.enum(['slot', 'memory', 'disk']),
    prefillMs: z.number(),
  }),
  z.object({ type: z.literal('prompt-tokens'), id: z.string(), tokens: z.custom<readonly PromptToken[]>(Array.isArray) }),
  z.object({
    type: z.literal('text'),
    id: z.string(),
    choice: z.int(),
    text: z.string(),
    tokens: z.custom<readonly GeneratedToken[]>(Array.isArray).optional(),
    /** When the token was generated, by `machineMs`: reports are read later. */
    madeMs: z.number(),
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
    /** With speculation: the tokens that were drafted, and those of them that the model chose too. */
    drafts: z.object({ ...draftCounts, kinds: z.partialRecord(z.enum(draftKinds), z.object(draftCounts)) }).exactOptional(),
    decodeMs: z.number(),
  }),
])
export type Report = z.infer<typeof reportSchema>

export type RequestReport = Extract<Report, { id: string }>

/** All reports since the last message of the worker, in order. */
export const reportsSchema = z.array(reportSchema)
