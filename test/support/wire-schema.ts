import { readFileSync } from 'node:fs'
import { Ajv, type ValidateFunction } from 'ajv'
import formats from 'ajv-formats'

type JsonSchema = {
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly definitions?: Readonly<Record<string, JsonSchema>>
  readonly required?: readonly string[]
  readonly enum?: readonly unknown[]
  readonly additionalProperties?: unknown
}

const folder = new URL('../fixtures/wire-schemas/', import.meta.url)
const text = { type: 'string' }
const textOrNull = { type: ['string', 'null'] }
const urlCitation = {
  type: 'object',
  properties: { url: text, title: text, start_index: { type: 'integer' }, end_index: { type: 'integer' } },
  required: ['url', 'title', 'start_index', 'end_index'],
  additionalProperties: false,
}
const annotation = {
  type: 'object',
  properties: { type: { const: 'url_citation' }, url_citation: urlCitation },
  required: ['type', 'url_citation'],
  additionalProperties: false,
}

const timingNames = [
  'cache_n',
  ...['prompt', 'predicted'].flatMap((what) => [`${what}_n`, `${what}_ms`, `${what}_per_token_ms`, `${what}_per_second`]),
]
/** llama-server's. */
const timings = {
  timings: {
    type: 'object',
    properties: Object.fromEntries(timingNames.map((name) => [name, { type: 'number', minimum: 0 }])),
    required: timingNames,
    additionalProperties: false,
  },
} as Record<string, JsonSchema>

const tokenBytes = { bytes: { type: 'array', items: { type: 'integer' } } } as Record<string, JsonSchema>
const tokenId = { token_id: { type: 'integer', minimum: 0 } } as Record<string, JsonSchema>

/** What Dragoman adds to OpenAI's objects, by definition; anything else that the schema does not name is a fault. */
const extensions: Readonly<Record<string, Readonly<Record<string, JsonSchema>>>> = {
  ChatCompletion: timings,
  ChatCompletionChunk: timings,
  'ChatCompletion.Choice': { stop_reason: text } as Record<string, JsonSchema>,
  'ChatCompletionChunk.Choice': { stop_reason: text } as Record<string, JsonSchema>,
  // tabbyAPI's.
  ChatCompletionTokenLogprob: tokenId,
  'ChatCompletionTokenLogprob.TopLogprob': tokenId,
  ChatCompletionMessage: { reasoning_content: textOrNull, reasoning: textOrNull } as Record<string, JsonSchema>,
  Model: {
    context_length: { type: 'integer' },
    max_context_length: { type: 'integer' },
    native_context_length: { type: 'integer' },
    quant: { type: 'string' },
    // llama-server's.
    tags: { type: 'array', items: text },
    status: {
      type: 'object',
      properties: {
        value: { enum: ['unloaded', 'loading', 'loaded', 'downloading'] },
        args: { type: 'array', items: text },
        failed: { type: 'boolean' },
        exit_code: { type: 'integer' },
      },
      required: ['value', 'args'],
      additionalProperties: false,
    },
    meta: { type: 'object' },
    source: { enum: ['preset', 'cache'] },
    can_remove: { type: 'boolean' },
    loaded: { type: 'boolean' },
    kind: { enum: ['chat', 'embeddings', 'rerank', 'other'] },
    state: text,
    aliases: { type: 'array', items: text },
  } as Record<string, JsonSchema>,
  // OpenAI's types have one shape for replies and chunks; in its streams these two are null until the end.
  CompletionChoice: { finish_reason: { type: ['string', 'null'], enum: ['stop', 'length', 'content_filter', null] } } as Record<
    string,
    JsonSchema
  >,
  // OpenAI's own replies have null for the first token of a prompt, which nothing precedes; its types do not say so.
  'CompletionChoice.Logprobs': {
    token_logprobs: { type: 'array', items: { type: ['number', 'null'] } },
    top_logprobs: { type: 'array', items: { type: ['object', 'null'], additionalProperties: { type: 'number' } } },
  } as Record<string, JsonSchema>,
  Completion: { usage: { anyOf: [{ $ref: '#/definitions/CompletionUsage' }, { type: 'null' }] }, ...timings } as Record<
    string,
    JsonSchema
  >,
  // Open Responses has the first four, and null for a usage that is not known yet, as OpenAI's own streams have; its types do not say so.
  Response: {
    store: { type: 'boolean' },
    max_tool_calls: { type: ['number', 'null'] },
    presence_penalty: { type: 'number' },
    frequency_penalty: { type: 'number' },
    usage: { anyOf: [{ $ref: '#/definitions/ResponseUsage' }, { type: 'null' }] },
  } as Record<string, JsonSchema>,
  // Open Responses requires the bytes of a token in events too.
  'ResponseTextDeltaEvent.Logprob': tokenBytes,
  'ResponseTextDeltaEvent.Logprob.TopLogprob': tokenBytes,
  'ResponseTextDoneEvent.Logprob': tokenBytes,
  'ResponseTextDoneEvent.Logprob.TopLogprob': tokenBytes,
  // Codex and others compact the conversation when they see the last one, which OpenAI sends too.
  ResponseError: {
    code: { enum: ['server_error', 'rate_limit_exceeded', 'invalid_prompt', 'context_length_exceeded'] },
  } as Record<string, JsonSchema>,
  // What the model read of a search, so that it reads it again.
  ResponseFunctionWebSearch: { result: text } as Record<string, JsonSchema>,
  // OpenAI's newest types have an object here.
  'ResponseOutputItem.McpCall': {
    error: {
      anyOf: [
        { type: 'null' },
        {
          type: 'object',
          properties: { type: { const: 'mcp_tool_execution_error' }, content: { type: 'array' } },
          required: ['type', 'content'],
          additionalProperties: false,
        },
      ],
    },
  } as Record<string, JsonSchema>,
  // OpenAI streams custom calls in the form that its whole replies have; its types do not say so.
  'ChatCompletionChunk.Choice.Delta.ToolCall': {
    type: { enum: ['function', 'custom'] },
    custom: { type: 'object', properties: { name: text, input: text }, required: ['input'], additionalProperties: false },
  } as Record<string, JsonSchema>,
  // OpenAI streams annotations in the form that its whole replies have; its types do not say so.
  'ChatCompletionChunk.Choice.Delta': {
    reasoning_content: textOrNull,
    reasoning: textOrNull,
    annotations: { type: 'array', minItems: 1, items: annotation },
  } as Record<string, JsonSchema>,
}

/**
 * Keys that the types require and real replies lack: the SDKs compute the first one; Anthropic's texts without sources have no
 * `citations`, and `@ai-sdk/anthropic` refuses null.
 */
const missing: Readonly<Record<string, string>> = { Response: 'output_text', TextBlock: 'citations' }

/** A schema of `test/fixtures/wire-schemas`, as it was generated. */
export function readWireSchema(name: string): JsonSchema {
  return JSON.parse(readFileSync(new URL(`${name}.schema.json`, folder), 'utf8'))
}

type CheckOptions = {
  /** The definition to check with, where it is not the schema's own. */
  readonly definition?: string
  /** Keys that the schema does not name are allowed. */
  readonly isOpen?: true
}

/** A check that throws with every fault: what is wrong by the schema, and every key that neither it nor we document. */
export function createWireCheck(name: string, { definition, isOpen }: CheckOptions = {}): (value: unknown) => void {
  return (value) => {
    const validate = validatorOf(name, { definition, isOpen: isOpen ?? false })
    if (validate(value)) return
    const faults = (validate.errors ?? []).map(
      (error) => `${error.instancePath} ${error.message} ${JSON.stringify(error.params)}`,
    )
    throw new Error(`not a valid ${name}:\n${faults.join('\n')}\n${JSON.stringify(value, null, 2)}`)
  }
}

const validators = new Map<string, ValidateFunction>()

/** Compiled at its first use: that takes longer than most files that check with it. */
function validatorOf(
  name: string,
  { definition, isOpen }: { definition: string | undefined; isOpen: boolean },
): ValidateFunction {
  const key = `${name} ${definition} ${isOpen}`
  const known = validators.get(key)
  if (known !== undefined) return known
  const schema = readWireSchema(name)
  const validate = compile(definition === undefined ? schema : { ...schema, $ref: `#/definitions/${definition}` }, isOpen)
  validators.set(key, validate)
  return validate
}

function compile(schema: JsonSchema & { readonly $ref?: string }, isOpen: boolean): ValidateFunction {
  const ajv = new Ajv({ allErrors: true, allowUnionTypes: true, code: { optimize: false } })
  formats.default(ajv)
  const definitions = Object.entries(schema.definitions ?? {}).map(([name, definition]) => [
    name,
    adapt(name, definition, isOpen),
  ])
  return ajv.compile({ ...schema, definitions: Object.fromEntries(definitions) })
}

function adapt(name: string, definition: JsonSchema, isOpen: boolean): JsonSchema {
  if (definition.properties === undefined || definition.additionalProperties !== undefined) return definition
  return {
    ...definition,
    properties: { ...definition.properties, ...extensions[name] },
    required: definition.required?.filter((key) => key !== missing[name]) ?? [],
    ...(!isOpen && { additionalProperties: false }),
  }
}
