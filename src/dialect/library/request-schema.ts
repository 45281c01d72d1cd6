import { z } from 'zod'
import { CallerKeys } from '../../contract/caller-keys.ts'
import type {
  AdapterChoice,
  Forwarded,
  GenerationRequest,
  JsonObject,
  McpServerUse,
  OutputConstraint,
  ReasoningOptions,
  SiteRules,
  TaggedStructure,
  ToolApproval,
  ToolChoice,
  ToolUse,
  WebTerms,
} from '../../contract/request.ts'
import { dictionary, jsonObject, list } from '../wire/first-fault.ts'
import { integerBetween, nonEmptyText, stopList, wholeFrom } from '../wire/wire-types.ts'
import { promptSchema } from './prompt-schema.ts'
import { samplingSchema } from './sampling-schema.ts'
import { object, oneOf } from './typed-object.ts'

type Of<Union, Type extends string> = Extract<Union, { readonly type: Type }>

/** The fields of a request that a program may set; the server sets the others. */
export type StatedRequest = Omit<GenerationRequest, 'owner' | 'origin'>

const text = z.string()
const yes = z.literal(true)
const names = list(nonEmptyText, { error: 'an array of names' })
const json = jsonObject as z.ZodType<JsonObject>
const schema: z.ZodType<JsonObject | boolean> = z.union([json, z.boolean()], { error: 'a JSON Schema' })
/** OpenAI's limit. */
const maxChoices = 128
const top = wholeFrom(0)

const output = oneOf<OutputConstraint>('type', [
  object<Of<OutputConstraint, 'text'>>({ type: z.literal('text') }, {}),
  object<Of<OutputConstraint, 'json-object'>>({ type: z.literal('json-object') }, {}),
  object<Of<OutputConstraint, 'json-schema'>>(
    { type: z.literal('json-schema'), schema, strict: z.boolean() },
    { name: text, description: text },
  ),
  object<Of<OutputConstraint, 'regex'>>({ type: z.literal('regex'), pattern: nonEmptyText }, {}),
  object<Of<OutputConstraint, 'gbnf'>>({ type: z.literal('gbnf'), grammar: nonEmptyText }, {}),
  object<Of<OutputConstraint, 'tagged'>>(
    {
      type: z.literal('tagged'),
      structures: list(object<TaggedStructure>({ begin: nonEmptyText, schema, end: text }, {})).min(1, {
        error: 'at least one structure',
      }),
      triggers: list(nonEmptyText).min(1, { error: 'at least one trigger' }),
    },
    {},
  ),
])

const toolChoice = oneOf<ToolChoice>('type', [
  object<Of<ToolChoice, 'auto'>>({ type: z.literal('auto') }, { names }),
  object<Of<ToolChoice, 'none'>>({ type: z.literal('none') }, {}),
  object<Of<ToolChoice, 'required'>>({ type: z.literal('required') }, { names, isRepeated: yes }),
])

const sites = object<SiteRules>({}, { allowed: names, blocked: names })
const approval: z.ZodType<NonNullable<McpServerUse['approval']>> = z.union([
  z.literal('all'),
  object<{ readonly tools: readonly string[] }>({ tools: names }, {}),
  object<{ readonly allExcept: readonly string[] }>({ allExcept: names }, {}),
])
const mcpServer = object<McpServerUse>(
  { label: nonEmptyText },
  { url: nonEmptyText, headers: dictionary(text, text), allowedTools: names, approval, isListed: yes },
)
const toolUse = object<ToolUse>(
  {
    maxTurns: wholeFrom(0),
    heals: z.boolean(),
    approves: z.enum(['all', 'marked']),
    asks: z.enum(['with-event', 'by-ending', 'never']),
  },
  {
    names,
    mcpServers: list(mcpServer, { error: 'an array of MCP servers' }),
    maxCalls: dictionary(text, wholeFrom(0)),
    timeoutMs: wholeFrom(1),
    sessionId: nonEmptyText,
    approvals: list(object<ToolApproval>({ callId: nonEmptyText, isApproved: z.boolean() }, { reason: text })),
    web: object<WebTerms>({}, { searches: sites, pages: sites, userPlace: text }),
    showsServers: yes,
    hidesCalls: yes,
  },
)

/** A request of a program in this process. */
export const requestSchema = object<StatedRequest>(
  {
    id: nonEmptyText,
    model: nonEmptyText,
    prompt: promptSchema,
    sampling: samplingSchema,
    choices: integerBetween(1, maxChoices),
    toolChoice,
    parallelToolCalls: z.boolean(),
    reasoning: object<ReasoningOptions>(
      {},
      {
        enabled: z.boolean(),
        effort: nonEmptyText,
        budgetTokens: wholeFrom(0),
        budgetMessage: text,
        isWish: yes,
        preserve: z.boolean(),
      },
    ),
    output,
    stop: stopList(nonEmptyText, 'an array of non-empty strings'),
    ignoreEos: z.boolean(),
  },
  {
    toolUse,
    showsSpecialTokens: yes,
    logprobs: object<NonNullable<GenerationRequest['logprobs']>>({ top }, { topHere: top }),
    promptTokens: object<NonNullable<GenerationRequest['promptTokens']>>(
      {},
      { logprobs: object<{ readonly top: number }>({ top }, {}) },
    ),
    tellsInputFirst: yes,
    pinsPrompt: yes,
    comparesWith: text,
    tellsProgress: yes,
    maxOutputTokens: wholeFrom(0),
    isMaxOutputAssumed: yes,
    minOutputTokens: wholeFrom(0),
    adapter: oneOf<AdapterChoice>('type', [
      object<Of<AdapterChoice, 'none'>>({ type: z.literal('none') }, {}),
      object<Of<AdapterChoice, 'loaded'>>({ type: z.literal('loaded') }, {}),
      object<Of<AdapterChoice, 'named'>>({ type: z.literal('named'), name: nonEmptyText }, {}),
    ]),
    forwarded: object<Forwarded>(
      {},
      {
        user: text,
        safetyIdentifier: text,
        serviceTier: text,
        promptCacheKey: text,
        promptCacheRetention: text,
        metadata: dictionary(text, text),
      },
    ),
    serverFields: json,
    callerKeys: z.instanceof(CallerKeys, { error: 'CallerKeys' }),
  },
)
